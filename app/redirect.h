/* A plain HTTP listener that sends everybody to https: a second server on the loop of the one that has the sites. */
#ifndef UVH_APP_REDIRECT_H
#define UVH_APP_REDIRECT_H

#include "setup.h"

struct uvh_redirect {
    uvhttp_server_t *server; /* NULL: the setup wants none, or it was freed */
    struct uvh_address listen[UVH_OPTIONS_LISTEN_MAX];
    size_t listen_count;
    int https_port;
};

/* Listens on the hosts of those addresses (`count`, with their final ports) that have TLS, if the setup wants it.
 * `config` is that of `sites`. False after a message was printed. To be closed, whatever the result. */
bool uvh_redirect_open(struct uvh_redirect *redirect, const struct uvh_setup_tls *setup,
                       const struct uvh_address *addresses, size_t count, uvhttp_server_t *sites,
                       const uvhttp_config_t *config);

/* Ends the server at once, before that of the sites is freed: it runs the loop until nothing is left. */
void uvh_redirect_close(struct uvh_redirect *redirect, uvhttp_server_t *sites);

#endif
