/* The system calls on the socket of a connection with TLS, as conn_io.h has them for plain text:
 * results count plaintext.
 *
 * Always true: between events ciphertext is pending only when the socket is full, and what was
 * received and not decrypted is kept in the session, with the socket marked readable. Called by
 * conn_io.h and conn.c, within an event. */
#ifndef UVH_CONN_TLS_IO_H
#define UVH_CONN_TLS_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/socket.h"

struct uvh_conn;

/* Goes on with the handshake: the connection may be open, plain or closed after it. `limited`: it
 * needs a slot for the client's hello (handshakes.h). */
void uvh_tls_io_handshake(struct uvh_conn *conn, bool limited);

/* The handshake goes on after a step on another thread. */
void uvh_tls_io_worked(struct uvh_conn *conn);

/* The server stops: a connection whose client has said nothing is closed, after one last look. */
void uvh_tls_io_drain(struct uvh_conn *conn);

/* The same at the beginning of the client's end. */
void uvh_tls_io_begin(struct uvh_conn *conn);

/* Results as in conn_io.h. */
ssize_t uvh_tls_io_receive(struct uvh_conn *conn, void *data, size_t size);
ssize_t uvh_tls_io_send(struct uvh_conn *conn, const uvhttp_slice_t *areas, size_t count,
                        size_t size, bool more);
ssize_t uvh_tls_io_send_file(struct uvh_conn *conn, int descriptor, uint64_t offset, size_t size);
int uvh_tls_io_flush(struct uvh_conn *conn);
int uvh_tls_io_end(struct uvh_conn *conn);

#endif
