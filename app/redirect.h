/* Plain HTTP listeners that redirect every request to https: a second server on the loop of the one
 * with the sites. */
#ifndef UVH_APP_REDIRECT_H
#define UVH_APP_REDIRECT_H

#include "setup.h"

struct uvh_redirect {
    uvhttp_server_t *server; /* NULL: not configured, or freed */
    struct uvh_address listen[UVH_OPTIONS_LISTEN_MAX];
    size_t listen_count;
    int https_port;
};

/* Checks the redirect port without listening on it. False with a problem noted. */
bool uvh_redirect_check(const struct uvh_setup *setup, const struct uvh_options *options,
                        struct uvh_problems *problems);

/* Listens on the hosts of the `addresses` with TLS, if the setup has a redirect port. The addresses
 * have their final ports; `config` is that of `sites`. False after a message was printed. Close
 * `redirect` in either case. */
bool uvh_redirect_open(struct uvh_redirect *redirect, const struct uvh_setup *setup,
                       const struct uvh_address *addresses, size_t count, uvhttp_server_t *sites,
                       const uvhttp_config_t *config);

/* Redirects to the port of the first address with TLS from now on. */
void uvh_redirect_follow(struct uvh_redirect *redirect, const struct uvh_address *addresses,
                         size_t count);

/* Frees the server, before that of the sites is freed: runs the loop until all handles are
 * closed. */
void uvh_redirect_close(struct uvh_redirect *redirect, uvhttp_server_t *sites);

#endif
