/* The protocols of a worker's connections, as the worker uses them, and the choice of one.
 * Implemented by protocols/. */
#ifndef UVH_SERVER_PROTOCOLS_H
#define UVH_SERVER_PROTOCOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conn/shared.h"

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

/* `receive` and `settle` of a connection until its protocol is chosen, by ALPN or its first
 * bytes. */
size_t uvh_protocols_receive(struct uvh_conn *conn, char *data, size_t size);
enum uvh_conn_timeout uvh_protocols_settle(struct uvh_conn *conn);

/* True when no request is in progress. */
bool uvh_protocols_is_idle(const struct uvh_conn *conn);

/* The worker begins to drain: connections that can tell their client do so. */
void uvh_protocols_begin_drain(struct uvh_worker *worker);

/* Called while the server drains, after removing the connection from its timeout list. Closes a
 * connection without a request, after a last check for one. */
void uvh_protocols_drain(struct uvh_conn *conn);

/* Called when descriptors are scarce: closes a connection that has been idle for `idle_ms` in the
 * same way. False: kept, because its client has just connected. */
bool uvh_protocols_make_way(struct uvh_conn *conn, uint64_t idle_ms);

#endif
