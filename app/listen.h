/* Listening: addresses, ports and descriptors. */
#ifndef UVH_APP_LISTEN_H
#define UVH_APP_LISTEN_H

#include <uvhttp/tls.h>

#include "options.h"

/* The addresses to listen on, ports filled in, and their number. Those whose port the system is to
 * choose come first: the server can tell the port of its first listener, and the others then take
 * the same. */
size_t uvh_listen_order(const struct uvh_options *options, bool tls,
                        struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX]);

/* An address with https:// needs a certificate. UVH_EXIT_OK, or an exit code after a message was
 * printed. */
int uvh_listen_check(const struct uvh_options *options, bool tls);

/* Whether TLS is spoken at an address when there is a certificate (`tls`). */
bool uvh_listen_has_tls(const struct uvh_address *address, bool tls);

/* Listens on every address of the options, which then stand in `addresses` with their final ports
 * and schemes. `tls` NULL: plain HTTP everywhere. False after a message was printed. */
bool uvh_listen_all(uvhttp_server_t *server, const struct uvh_options *options, uvhttp_tls_t *tls,
                    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX], size_t *count);

/* Says why nothing can listen there; `option` is what chooses another port. */
void uvh_listen_refuse(const struct uvh_address *address, const char *option, int err);

/* The limit a shell gives is far below max_connections; the hard one is what the administrator
 * allows. */
void uvh_listen_raise_descriptor_limit(void);

#endif
