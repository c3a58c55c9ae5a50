/* The system calls on a connection's socket: nothing else reads, writes or shuts it down.
 *
 * The functions select the transport (plain, TLS, kernel TLS). Results are those of
 * platform/socket.h. They update the readiness bits and the byte counters. */
#ifndef UVH_CONN_CONN_IO_H
#define UVH_CONN_CONN_IO_H

#include <errno.h>

#include "base/compiler.h"
#include "conn/conn.h"
#include "conn/tls_io.h"

/* Returns bytes received; 0: the peer has ended its side; -EAGAIN. */
static inline ssize_t uvh_conn_io_receive(struct uvh_conn *conn, void *data, size_t size)
{
    if (UVH_UNLIKELY(conn->tls != NULL))
        return uvh_tls_io_receive(conn, data, size);
    ssize_t count = uvh_socket_receive(conn->socket.fd, data, size);
    if (UVH_LIKELY(count > 0)) {
        /* A short read means that the socket is empty, except at an end or urgent data, which stops
         * a read. */
        if ((size_t)count < size && !conn->socket.peer_ended && !conn->socket.urgent)
            conn->socket.readable = false;
        conn->received = true;
        uvh_counter_add(&conn->shared->bytes_received, (uint64_t)count);
    } else if (count < 0) {
        conn->socket.readable = false;
    } else {
        /* stays readable, so that no poller reports it again */
        conn->socket.peer_ended = true;
    }
    return count;
}

static inline void uvh_conn_io_count_sent(struct uvh_conn *conn, size_t count)
{
    conn->sent = true;
    uvh_counter_add(&conn->shared->bytes_sent, count);
}

/* Sends bytes unencrypted: plain text, or kernel TLS. */
static inline ssize_t uvh_conn_io_send_plain(struct uvh_conn *conn, const uvhttp_slice_t *areas,
                                             size_t count, size_t size, bool more)
{
    ssize_t sent = uvh_socket_send(conn->socket.fd, areas, count, more);
    if (UVH_UNLIKELY(sent < (ssize_t)size))
        conn->socket.writable = false;
    if (UVH_LIKELY(sent > 0))
        uvh_conn_io_count_sent(conn, (size_t)sent);
    return sent;
}

/* Returns bytes sent. A short write or -EAGAIN means that the socket is full, if it is not writable
 * then. `more`: more follows at once. */
static inline ssize_t uvh_conn_io_send(struct uvh_conn *conn, const uvhttp_slice_t *areas,
                                       size_t count, size_t size, bool more)
{
    if (UVH_UNLIKELY(conn->tls != NULL))
        return uvh_tls_io_send(conn, areas, count, size, more);
    return uvh_conn_io_send_plain(conn, areas, count, size, more);
}

static inline ssize_t uvh_conn_io_send_file_plain(struct uvh_conn *conn, int descriptor,
                                                  uint64_t offset, size_t size)
{
    ssize_t sent = uvh_socket_send_file(conn->socket.fd, descriptor, offset, size);
    if (UVH_UNLIKELY(sent == -EAGAIN))
        conn->socket.writable = false;
    if (UVH_LIKELY(sent > 0))
        uvh_conn_io_count_sent(conn, (size_t)sent);
    return sent;
}

/* Returns bytes of a file sent; 0: the file ends earlier; -EAGAIN: the socket is full. A short
 * write can have other reasons. */
static inline ssize_t uvh_conn_io_send_file(struct uvh_conn *conn, int descriptor, uint64_t offset,
                                            size_t size)
{
    if (UVH_UNLIKELY(conn->tls != NULL))
        return uvh_tls_io_send_file(conn, descriptor, offset, size);
    return uvh_conn_io_send_file_plain(conn, descriptor, offset, size);
}

/* Sends pending ciphertext. Returns 0, or
 *   -EAGAIN: some of it is still pending, and the socket is full,
 *   another negative errno: the connection broke. */
static inline int uvh_conn_io_flush(struct uvh_conn *conn)
{
    return UVH_LIKELY(uvh_conn_encrypted(conn) == 0) ? 0 : uvh_tls_io_flush(conn);
}

/* Sends close_notify where the transport has it. Results as above. */
static inline int uvh_conn_io_end(struct uvh_conn *conn)
{
    return UVH_LIKELY(conn->tls == NULL) ? 0 : uvh_tls_io_end(conn);
}

/* Ends our side; the peer's side stays open. */
static inline void uvh_conn_io_shutdown(struct uvh_conn *conn)
{
    uvh_socket_end_sending(conn->socket.fd);
}

/* Makes close reset the connection, so that the peer cannot take it for a regular end. */
static inline void uvh_conn_io_reset_when_closed(struct uvh_conn *conn)
{
    uvh_socket_reset_when_closed(conn->socket.fd);
}

/* Bytes that the peer has not acknowledged; 0 where this is unknown. */
static inline size_t uvh_conn_io_unsent(const struct uvh_conn *conn)
{
    return uvh_socket_unsent(conn->socket.fd);
}

#endif
