/* Listening: addresses, ports and descriptors. */
#ifndef UVH_APP_LISTEN_H
#define UVH_APP_LISTEN_H

#include <uvhttp/tls.h>

#include "setup.h"

/* The listen addresses with ports filled in, and their number. Those with a port chosen by the
 * system come first: the server reports the port of its first listener, and the others then use the
 * same. */
size_t uvh_listen_order(const struct uvh_options *options, bool tls,
                        struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX]);

/* An https:// address needs a certificate. Returns UVH_EXIT_OK, or an exit code after a message was
 * printed. */
int uvh_listen_check(const struct uvh_options *options, bool tls);

/* True if an address uses TLS when there is a certificate (`tls`). */
bool uvh_listen_has_tls(const struct uvh_address *address, bool tls);

/* Where a server listens. */
struct uvh_listening {
    struct uvh_address wanted[UVH_OPTIONS_LISTEN_MAX];    /* as configured: port 0 is any */
    struct uvh_address addresses[UVH_OPTIONS_LISTEN_MAX]; /* with their final ports and schemes */
    size_t count;
};

/* Listens on every address of the options, unless the server listens there already, as `now` says
 * (NULL: nowhere; then a message is printed instead of a problem). `tls` NULL: plain HTTP
 * everywhere. False with a problem noted; then it listens where it did before. */
bool uvh_listen_all(uvhttp_server_t *server, const struct uvh_setup *setup,
                    const struct uvh_options *options, uvhttp_tls_t *tls,
                    const struct uvh_listening *now, struct uvh_listening *next,
                    struct uvh_problems *problems);

/* Ends listening at the addresses of `from` that are not in `to`. Connections stay open. */
void uvh_listen_leave(uvhttp_server_t *server, const struct uvh_listening *from,
                      const struct uvh_listening *to);

/* Listens on one address without TLS. Returns 0, or an error; the server has logged that of a unix
 * socket. */
int uvh_listen_plain(uvhttp_server_t *server, const struct uvh_address *address);

/* Prints why listening fails; `option` is the flag to choose another port. */
void uvh_listen_refuse(const struct uvh_address *address, const char *option, int err);

/* Checks without listening whether this machine has the addresses, and the directories of unix
 * sockets exist. A port may be in use: by the server that is to be restarted. False with problems
 * noted. */
bool uvh_listen_probe(const struct uvh_options *options, const struct uvh_setup *setup,
                      struct uvh_problems *problems);

/* Warns if the process may not have as many descriptors as connections are allowed. The library
 * does so when it listens. */
void uvh_listen_check_limit(const uvhttp_config_t *config,
                            void (*warn)(const char *text, void *arg), void *arg);

/* Raises the soft limit of descriptors to the hard limit: a shell's default is far below
 * max_connections. */
void uvh_listen_raise_descriptor_limit(void);

#endif
