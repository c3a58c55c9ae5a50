/* The server of the metrics or of the status page: another server with an address of its own, which
 * reports the counters of the server with the sites and runs on its loop. It serves nothing else;
 * response fields and authentication of sites do not apply to it. */
#ifndef UVH_APP_METRICS_H
#define UVH_APP_METRICS_H

#include "setup.h"

struct uvh_metrics {
    uvhttp_server_t *server;   /* NULL: not configured, or freed */
    struct uvh_address listen; /* after uvh_metrics_listen with the port in use */
    const char *path;          /* of the route, "/metrics" */
    const char *key;           /* "metrics" or "status" */
    /* the one whose server has the route, since both have the same address; or NULL */
    const struct uvh_metrics *shared;
};

/* True if both have the same address. */
bool uvh_metrics_share(const struct uvh_setup *setup);

/* Creates the server if `wanted` has an address for it. uvh_site_build adds the route, and notes
 * a problem if its path is invalid. `sites` is the server with the sites, `config` its
 * configuration. Returns 0 or UVHTTP_ENOMEM. */
int uvh_metrics_open(struct uvh_metrics *metrics, const struct uvh_setup_metrics *wanted,
                     const char *key, uvhttp_server_t *sites, const uvhttp_config_t *config);

/* Listens, if there is a metrics server. False, with the error printed, if that fails. */
bool uvh_metrics_listen(struct uvh_metrics *metrics);

/* Frees the server without a graceful stop, and runs the loop until all its handles are closed.
 * Call it before `sites` is freed. */
void uvh_metrics_close(struct uvh_metrics *metrics, uvhttp_server_t *sites);

#endif
