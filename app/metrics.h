/* Metrics at their own address: a second server on the loop of the one with the sites, whose
 * counters it reports. The rules of sites do not apply to it. */
#ifndef UVH_APP_METRICS_H
#define UVH_APP_METRICS_H

#include "setup.h"

struct uvh_metrics {
    uvhttp_server_t *server;   /* NULL: not configured, or freed */
    struct uvh_address listen; /* with the final port after listen */
    const char *path;
};

/* Creates the server if the setup has one, without its route (site.c adds that and reports its
 * problems). `config` is that of `sites`. Returns 0 or UVHTTP_ENOMEM. */
int uvh_metrics_open(struct uvh_metrics *metrics, const struct uvh_setup *setup,
                     uvhttp_server_t *sites, const uvhttp_config_t *config);

/* Listens if there is a server. False after a message was printed. */
bool uvh_metrics_listen(struct uvh_metrics *metrics);

/* Stops and frees the server at once, before that of the sites is freed: runs the loop until all
 * handles are closed. */
void uvh_metrics_close(struct uvh_metrics *metrics, uvhttp_server_t *sites);

#endif
