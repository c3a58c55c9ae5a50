/* The protocols of a worker's connections, as accept code uses them. Implemented by h1/. */
#ifndef UVH_SERVER_PROTOCOLS_H
#define UVH_SERVER_PROTOCOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uvh_conn;
struct uvh_tls_contexts;
struct uvh_worker;

/* Size in bytes of the largest connection struct. */
size_t uvh_protocols_conn_size(void);

/* Takes ownership of an accepted socket. `tls` NULL: plain text. `reject`: responds 503 and closes.
 * Returns 0, or
 *   UVHTTP_ENOMEM, or libuv's code; the caller keeps the socket. */
int uvh_protocols_accept(struct uvh_worker *worker, int socket, struct uvh_tls_contexts *tls,
                         bool reject);

/* Called while the server drains, after removing the connection from its timeout list. Closes a
 * connection without a request, after a last check for one. */
void uvh_protocols_drain(struct uvh_conn *conn);

/* Called when descriptors are scarce: closes a connection that has been idle for `idle_ms` in the
 * same way. False: kept, because its client has just connected. */
bool uvh_protocols_make_way(struct uvh_conn *conn, uint64_t idle_ms);

#endif
