/* The system calls on the socket of a TLS connection, as conn_io.h for plain text: results count
 * plaintext.
 *
 * Invariants: between events ciphertext is pending only when the socket is full; received
 * ciphertext that is not decrypted is kept in the session, with the socket marked readable. Called
 * by conn_io.h and conn.c, within an event. */
#ifndef UVH_CONN_TLS_IO_H
#define UVH_CONN_TLS_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/socket.h"

struct uvh_conn;

/* Continues the handshake: the connection may be open, plain or closed after it. `limited`: it
 * needs a slot for the ClientHello (handshakes.h). */
void uvh_tls_io_handshake(struct uvh_conn *conn, bool limited);

/* Before the handshake: bytes for it that were read already, which are copied. False if out of
 * memory. */
bool uvh_tls_io_feed(struct uvh_conn *conn, const char *data, size_t size);

/* Continues the handshake after a step on another thread. */
void uvh_tls_io_worked(struct uvh_conn *conn);

/* Server stop: closes a connection whose client has sent nothing, after a last read. */
void uvh_tls_io_drain(struct uvh_conn *conn);

/* Starts the handshake of an outgoing connection. */
void uvh_tls_io_begin(struct uvh_conn *conn);

/* Results as in conn_io.h. */
ssize_t uvh_tls_io_receive(struct uvh_conn *conn, void *data, size_t size);
ssize_t uvh_tls_io_send(struct uvh_conn *conn, const uvhttp_slice_t *areas, size_t count,
                        size_t size, bool more);
ssize_t uvh_tls_io_send_file(struct uvh_conn *conn, int descriptor, uint64_t offset, size_t size);
int uvh_tls_io_flush(struct uvh_conn *conn);
int uvh_tls_io_end(struct uvh_conn *conn);

#endif
