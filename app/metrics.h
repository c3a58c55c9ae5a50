/* Metrics at an address of their own: a second server on the loop of the one that has the sites,
 * whose counters it tells. It has none of the rules of a site. */
#ifndef UVH_APP_METRICS_H
#define UVH_APP_METRICS_H

#include "setup.h"

struct uvh_metrics {
    uvhttp_server_t *server;   /* NULL: the setup wants none, or it was freed */
    struct uvh_address listen; /* with the final port, once it listens */
    const char *path;
};

/* Makes the server when the setup asks for it, without its route (site.c adds that, and tells what
 * is wrong with it). `config` is that of `sites`. 0 or UVHTTP_ENOMEM. */
int uvh_metrics_open(struct uvh_metrics *metrics, const struct uvh_setup *setup,
                     uvhttp_server_t *sites, const uvhttp_config_t *config);

/* Listens, if there is a server. False after a message was printed. */
bool uvh_metrics_listen(struct uvh_metrics *metrics);

/* Ends the server at once, before that of the sites is freed: it runs the loop until nothing is
 * left. */
void uvh_metrics_close(struct uvh_metrics *metrics, uvhttp_server_t *sites);

#endif
