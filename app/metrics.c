/* The servers of the metrics and of the status page run on the loop of the server with the sites,
 * and serve until the end of the shutdown. */
#include "metrics.h"

#include <stdio.h>
#include <string.h>

#include <uv.h>

#include "listen.h"

static void on_freed(void *arg)
{
    struct uvh_metrics *metrics = arg;
    metrics->server = NULL;
}

bool uvh_metrics_share(const struct uvh_setup *setup)
{
    const struct uvh_setup_metrics *one = &setup->metrics, *other = &setup->status;
    return one->has_listen && other->has_listen && one->listen.port == other->listen.port &&
           strcmp(one->listen.host, other->listen.host) == 0;
}

int uvh_metrics_open(struct uvh_metrics *metrics, const struct uvh_setup_metrics *wanted,
                     const char *key, uvhttp_server_t *sites, const uvhttp_config_t *config)
{
    uvhttp_config_t own = *config;
    *metrics =
        (struct uvh_metrics){.path = wanted->path.text, .listen = wanted->listen, .key = key};
    if (!wanted->has_listen)
        return 0;
    own.workers = 1;       /* required on the caller's loop */
    own.stuck_loop_ms = 0; /* the other server watches that loop */
    /* The other server logs start and stop. */
    if (own.log_level > UVHTTP_LOG_WARNING)
        own.log_level = UVHTTP_LOG_WARNING;
    metrics->server = uvhttp_server_new_with(uvhttp_server_loop(sites), &own);
    int err = uvhttp_server_keep(metrics->server, on_freed, metrics);
    if (err != 0 && metrics->server != NULL)
        uvhttp_server_free(metrics->server);
    if (err != 0)
        metrics->server = NULL;
    return err;
}

bool uvh_metrics_listen(struct uvh_metrics *metrics)
{
    struct uvh_address *address = &metrics->listen;
    if (metrics->server == NULL)
        return true;
    const char *path = uvh_address_path(address);
    char option[32];
    snprintf(option, sizeof(option), "'listen' of '%s'", metrics->key);
    int err = uvh_listen_plain(metrics->server, address);
    if (err == 0 && path == NULL)
        address->port = uvhttp_server_port(metrics->server);
    if (err != 0 && path == NULL)
        uvh_listen_refuse(address, option, err);
    return err == 0; /* errors of a unix socket are logged already */
}

void uvh_metrics_close(struct uvh_metrics *metrics, uvhttp_server_t *sites)
{
    if (metrics->server == NULL)
        return;
    uvhttp_server_free(metrics->server);
    while (metrics->server != NULL)
        uv_run(uvhttp_server_loop(sites), UV_RUN_ONCE);
}
