/* The protocols that connections of a worker speak: the ways from accepting to them. Implemented by
 * h1/. */
#ifndef UVH_SERVER_PROTOCOLS_H
#define UVH_SERVER_PROTOCOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uvh_conn;
struct uvh_tls_contexts;
struct uvh_worker;

/* Bytes of the largest connection. */
size_t uvh_protocols_conn_size(void);

/* Takes over an accepted socket. `tls`: by which it is served; NULL: plain text. `reject`: answers
 * 503 and closes.
 * Returns 0, or
 *   UVHTTP_ENOMEM, or libuv's code; the socket stays the caller's. */
int uvh_protocols_accept(struct uvh_worker *worker, int socket, struct uvh_tls_contexts *tls,
                         bool reject);

/* The server drains: a connection without a request is closed, after one last look whether one has
 * come. It was taken out of the list of its timeout. */
void uvh_protocols_drain(struct uvh_conn *conn);

/* Descriptors are scarce: a connection that has been idle for `idle_ms` is closed in the same way.
 * False: not this one, whose client has just connected. */
bool uvh_protocols_make_way(struct uvh_conn *conn, uint64_t idle_ms);

#endif
