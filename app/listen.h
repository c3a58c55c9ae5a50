/* Listening: addresses, ports and descriptors. */
#ifndef UVH_APP_LISTEN_H
#define UVH_APP_LISTEN_H

#include "options.h"

/* The addresses to listen on, ports filled in, and their number. Those whose port the system is to choose come first: the server can
 * tell the port of its first listener, and the others then take the same. */
size_t uvh_listen_order(const struct uvh_options *options,
                        struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX]);

/* Listens on every address of the options, which then stand in `addresses` with their final ports. False after a message was printed. */
bool uvh_listen_all(uvhttp_server_t *server, const struct uvh_options *options,
                    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX], size_t *count);

/* The limit a shell gives is far below max_connections; the hard one is what the administrator allows. */
void uvh_listen_raise_descriptor_limit(void);

#endif
