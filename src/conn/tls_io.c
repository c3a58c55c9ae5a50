/* Moves ciphertext between the socket and the session. */
#include "conn/tls_io.h"

#include <errno.h>

#include <uvhttp/error.h>

#include "conn/conn_io.h"
#include "conn/handshakes.h"
#include "platform/file.h"
#include "platform/socket_tls.h"

enum {
    CIPHERTEXT = 32 * 1024, /* bytes per read */
    /* consecutive reads without plaintext, so that a peer does not block the loop */
    READS_MOST = 2,
    /* consecutive bytes without plaintext; reading costs more than sending */
    FRUITLESS_MOST = 1024 * 1024,
    SLICE = 64 * 1024, /* bytes of plaintext that are encrypted at a time */
    ALERT = 2,         /* bytes of an alert */
};

/* ---- ciphertext ---- */

/* Returns bytes; 0: end of the peer's side; a negative errno. */
static ssize_t receive_ciphertext(struct uvh_conn *conn, char *data, size_t size)
{
    ssize_t count = uvh_socket_receive(conn->socket.fd, data, size);
    if (count == 0)
        conn->socket.peer_ended = true;
    if (count < 0 || ((size_t)count < size && !conn->socket.peer_ended && !conn->socket.urgent))
        conn->socket.readable = false;
    return count;
}

/* A server that rejects the client's certificate sends an alert and closes, maybe before the
 * client's first write (RFC 8446 section 4.4.2.4). When that write fails, the received alert has
 * the reason. */
static void read_alert(const struct uvh_conn *conn)
{
    char ciphertext[CIPHERTEXT], waste[CIPHERTEXT]; /* not cleared */
    struct uvh_tls_session *session = conn->tls;
    if (session->info == NULL || session->input.length > 0)
        return;
    ssize_t count = uvh_socket_receive(conn->socket.fd, ciphertext, sizeof(ciphertext));
    session->input = (uvhttp_slice_t){ciphertext, count > 0 ? (size_t)count : 0};
    while (uvh_tls_session_read(session, waste, sizeof(waste)) > 0) {
    }
    session->input = (uvhttp_slice_t){NULL, 0};
}

/* With kernel TLS, alerts are all that a session sends. */
static int flush_alerts(struct uvh_conn *conn)
{
    struct uvh_tls_session *session = conn->tls;
    int err = 0;
    while (err == 0 && uvh_tls_session_pending(session) > 0) {
        err = uvh_socket_tls_send_alert(conn->socket.fd, session->output->data + session->sent);
        if (err == 0)
            uvh_tls_session_consume(session, ALERT);
    }
    conn->socket.writable = err == 0;
    return err;
}

int uvh_tls_io_flush(struct uvh_conn *conn)
{
    struct uvh_tls_session *session = conn->tls;
    size_t pending = uvh_tls_session_pending(session);
    if (pending == 0)
        return 0;
    if (!conn->socket.writable)
        return -EAGAIN;
    if (session->offloaded)
        return flush_alerts(conn);
    uvhttp_slice_t area = {session->output->data + session->sent, pending};
    ssize_t sent = uvh_socket_send(conn->socket.fd, &area, 1, false);
    if (sent < (ssize_t)pending)
        conn->socket.writable = false;
    if (sent < 0 && conn->outgoing)
        read_alert(conn);
    if (sent < 0)
        return (int)sent;
    if (sent > 0)
        conn->sent = true;
    uvh_tls_session_consume(session, (size_t)sent);
    return (size_t)sent == pending ? 0 : -EAGAIN;
}

/* ---- the handshake ---- */

static void fail(struct uvh_conn *conn, const char *reason)
{
    uvh_tls_io_flush(conn); /* sends an alert, best effort */
    conn->shared->callbacks->handshake_failed(conn, reason);
    if (conn->outgoing) {
        conn->tls->why = reason;
        conn->user->connected(conn, UVHTTP_ETLS);
        return;
    }
    uvh_counter_add(&conn->shared->tls_failures, 1);
    uvh_conn_close(conn);
}

/* True for a request in plain text, or a header of the PROXY protocol, which begins with CR LF: the
 * first byte of a handshake is 22 (RFC 8446 section 5.1). */
static bool is_plain_text(const char *data)
{
    return (data[0] >= 'A' && data[0] <= 'Z') || data[0] == '\r';
}

static void become_plain(struct uvh_conn *conn)
{
    uvh_counter_add(&conn->shared->tls_failures, 1);
    conn->shared->callbacks->handshake_failed(conn, "the client sent a plain HTTP request");
    if (conn->user->is_plain == NULL) {
        uvh_conn_close(conn);
        return;
    }
    uvh_tls_session_free(conn->tls);
    conn->tls = NULL;
    conn->state = UVH_CONN_OPEN;
    conn->user->is_plain(conn);
}

static void count_handshake(struct uvh_conn *conn)
{
    uvh_counter_add(&conn->shared->tls_handshakes, 1);
    if (uvh_tls_session_is_resumed(conn->tls))
        uvh_counter_add(&conn->shared->tls_resumed, 1);
}

/* After a read of a connection that was opened by early data: the handshake may have finished or
 * failed. */
static void see_to_handshake(struct uvh_conn *conn, ssize_t result)
{
    const char *why = result == 0 ? "the client closed the connection" : conn->tls->why;
    if (!uvh_tls_session_is_early(conn->tls)) {
        count_handshake(conn);
    } else if (result <= 0 && result != -EAGAIN) {
        uvh_counter_add(&conn->shared->tls_failures, 1);
        conn->shared->callbacks->handshake_failed(conn,
                                                  why != NULL ? why : uvhttp_strerror((int)result));
    }
}

/* Enables kernel TLS where it is configured and available. Everything that the session has
 * encrypted must be sent before. A client that receives its tickets slowly is not tried again. */
static void offload(struct uvh_conn *conn)
{
    struct uvh_tls_session *session = conn->tls;
    const struct uvh_socket_tls_keys *keys = uvh_tls_session_keys(session);
    if (keys == NULL)
        return;
    bool sent = uvh_tls_session_pending(session) == 0;
    int err = sent ? uvh_socket_tls_start(conn->socket.fd, keys) : -EAGAIN;
    uvh_tls_session_offload(session, err);
    if (err == 0)
        uvh_counter_add(&conn->shared->tls_offloaded, 1);
}

static void succeed(struct uvh_conn *conn)
{
    struct uvh_tls_session *session = conn->tls;
    conn->state = UVH_CONN_OPEN;
    if (uvh_tls_session_has_input(session))
        conn->socket.readable = true;
    if (conn->outgoing)
        conn->user->connected(conn, 0);
    else if (!uvh_tls_session_is_early(session)) { /* otherwise reads continue the handshake */
        offload(conn);
        count_handshake(conn);
    }
}

/* A read has returned 0 or an error. */
static void see_to_end(struct uvh_conn *conn, ssize_t result)
{
    if (!conn->tls->begun) /* connected and closed without data, as a port check */
        uvh_conn_close(conn);
    else
        fail(conn, result == 0 ? "the peer closed the connection" : uvhttp_strerror((int)result));
}

/* Reads ciphertext for the handshake. False when there is none now, or the connection has
 * changed. */
static bool receive_handshake(struct uvh_conn *conn, char *ciphertext, bool limited)
{
    struct uvh_tls_session *session = conn->tls;
    /* kept when the connection was opened by early data, or came with the header of a proxy */
    bool kept = uvh_tls_session_has_input(session);
    if (kept && session->begun)
        return true;
    if (!kept && !conn->socket.readable)
        return false;
    if (limited && !uvh_tls_session_has_hello(session) && !uvh_handshakes_take_slot(conn))
        return false;
    if (!kept) {
        ssize_t count = receive_ciphertext(conn, ciphertext, CIPHERTEXT);
        if (count == -EAGAIN)
            return false;
        if (count <= 0) {
            see_to_end(conn, count);
            return false;
        }
        session->input = (uvhttp_slice_t){ciphertext, (size_t)count};
    }
    if (!session->begun && is_plain_text(session->input.base)) {
        become_plain(conn);
        return false;
    }
    session->begun = true;
    return true;
}

bool uvh_tls_io_feed(struct uvh_conn *conn, const char *data, size_t size)
{
    conn->tls->input = (uvhttp_slice_t){data, size};
    conn->socket.readable |= size > 0;
    return uvh_tls_session_keep_input(conn->tls);
}

/* Handles the result of a handshake step. False: the handshake is over. */
static bool goes_on(struct uvh_conn *conn, int err)
{
    int flushed = err == -EPROTO ? 0 : uvh_tls_io_flush(conn);
    if (err == -EPROTO)
        fail(conn, conn->tls->why);
    else if (flushed != 0 && flushed != -EAGAIN)
        fail(conn, uvhttp_strerror(flushed));
    else if (err == -EAGAIN)
        return true;
    else
        succeed(conn);
    return false;
}

/* Runs one step, here or on another thread. False: nothing more to do now. */
static bool step(struct uvh_conn *conn, bool limited)
{
    struct uvh_tls_session *session = conn->tls;
    bool works = conn->shared->handshakes.on_threads && !conn->outgoing &&
                 (limited || !uvh_tls_session_has_hello(session));
    int err = works ? -EAGAIN : uvh_tls_session_handshake(session);
    if (err != -EPROTO && !uvh_tls_session_keep_input(session)) {
        fail(conn, "out of memory");
        return false;
    }
    if (!works)
        return goes_on(conn, err);
    if (!uvh_handshakes_work(conn))
        fail(conn, "out of memory");
    return false;
}

void uvh_tls_io_handshake(struct uvh_conn *conn, bool limited)
{
    char ciphertext[CIPHERTEXT]; /* not cleared */
    struct uvh_tls_session *session = conn->tls;
    if (session->working)
        return;
    if (conn->queued) {
        if (conn->socket.peer_ended || conn->socket.failed)
            fail(conn, "the peer closed the connection");
        return;
    }
    limited = limited && !conn->outgoing;
    int flushed = uvh_tls_io_flush(conn);
    conn->socket.readable |= conn->socket.failed; /* a read returns the error */
    for (int reads = 0; reads < READS_MOST && receive_handshake(conn, ciphertext, limited);
         reads++) {
        if (!step(conn, limited))
            return;
        flushed = 0;
    }
    if (conn->state != UVH_CONN_HANDSHAKING || conn->queued)
        return;
    if (flushed != 0 && flushed != -EAGAIN)
        fail(conn, uvhttp_strerror(flushed));
    else if (conn->socket.failed && !session->begun)
        uvh_conn_close(conn);
    else if (conn->socket.failed && !conn->socket.readable) /* no further event will come */
        fail(conn, "the connection failed");
}

void uvh_tls_io_worked(struct uvh_conn *conn)
{
    if (goes_on(conn, uvh_tls_session_worked(conn->tls)))
        uvh_tls_io_handshake(conn, true);
}

void uvh_tls_io_drain(struct uvh_conn *conn)
{
    conn->socket.readable = true;
    uvh_tls_io_handshake(conn, false); /* there may be nothing to read */
    if (conn->state == UVH_CONN_HANDSHAKING && !conn->queued && !conn->tls->begun &&
        !conn->outgoing)
        uvh_conn_close(conn);
}

void uvh_tls_io_begin(struct uvh_conn *conn)
{
    if (uvh_tls_session_handshake(conn->tls) == -EAGAIN)
        uvh_tls_io_handshake(conn, false);
    else
        fail(conn, conn->tls->why);
}

/* ---- receiving ---- */

/* Decrypts as much plaintext as is available and fits; otherwise the result of the session's
 * read. */
static ssize_t decrypt(struct uvh_tls_session *session, char *data, size_t size)
{
    size_t total = 0;
    ssize_t count = 1;
    while (total < size && count > 0) {
        count = uvh_tls_session_read(session, data + total, size - total);
        if (count > 0)
            total += (size_t)count;
    }
    return total > 0 ? (ssize_t)total : count;
}

/* Reads more than the session has buffered; results as of a read. */
static ssize_t receive_more(struct uvh_conn *conn, char *data, size_t size)
{
    char ciphertext[CIPHERTEXT]; /* not cleared */
    struct uvh_tls_session *session = conn->tls;
    ssize_t result = -EAGAIN;
    for (int reads = 0; reads < READS_MOST && result == -EAGAIN && conn->socket.readable; reads++) {
        ssize_t count = receive_ciphertext(conn, ciphertext, sizeof(ciphertext));
        if (count == 0) { /* may be forged: an end without close_notify */
            session->why = "the connection was closed without close_notify";
            return -ECONNRESET;
        }
        if (count < 0)
            return count;
        session->input = (uvhttp_slice_t){ciphertext, (size_t)count};
        result = decrypt(session, data, size);
        session->fruitless = result > 0 ? 0 : session->fruitless + (size_t)count;
        if (result == -EAGAIN && session->fruitless > FRUITLESS_MOST) {
            session->why = "the peer sends too many empty records";
            return -EPROTO;
        }
        if (!uvh_tls_session_keep_input(session))
            return -ENOMEM;
    }
    return result;
}

ssize_t uvh_tls_io_receive(struct uvh_conn *conn, void *data, size_t size)
{
    struct uvh_tls_session *session = conn->tls;
    if (conn->state == UVH_CONN_LINGERING) /* it is discarded, so it may be invalid */
        return receive_ciphertext(conn, data, size);
    bool early = uvh_tls_session_is_early(session);
    ssize_t result = decrypt(session, data, size);
    if (result == -EAGAIN)
        result = receive_more(conn, data, size);
    if (UVH_UNLIKELY(early))
        see_to_handshake(conn, result);
    if (result > 0) {
        conn->received = true;
        uvh_counter_add(&conn->shared->bytes_received, (uint64_t)result);
        /* More may be available at once: bytes, the end, or an error. */
        if (uvh_tls_session_has_more(session))
            conn->socket.readable = true;
    } else if (result == 0) {
        conn->socket.peer_ended = true;
        conn->socket.readable = true; /* stays readable, like a plain connection that has ended */
    } else if (result == -EPROTO) {
        uvh_tls_io_flush(conn); /* sends an alert, best effort */
        if (session->rekeyed)
            conn->shared->callbacks->tls_failed(conn, session->why);
    }
    return result;
}

/* ---- sending ---- */

/* Enough bytes for one flush. */
static bool is_full(const struct uvh_conn *conn)
{
    return uvh_tls_session_pending(conn->tls) >= SLICE;
}

static ssize_t sent_plaintext(struct uvh_conn *conn, size_t count, bool more)
{
    int flushed = more && !is_full(conn) ? 0 : uvh_tls_io_flush(conn);
    if (flushed != 0 && flushed != -EAGAIN)
        return flushed;
    /* Encrypting is not progress of the peer: uvh_tls_io_flush records what it accepts. */
    uvh_counter_add(&conn->shared->bytes_sent, count);
    return (ssize_t)count;
}

ssize_t uvh_tls_io_send(struct uvh_conn *conn, const uvhttp_slice_t *areas, size_t count,
                        size_t size, bool more)
{
    if (conn->tls->offloaded)
        return uvh_conn_io_send_plain(conn, areas, count, size, more);
    int flushed = is_full(conn) ? uvh_tls_io_flush(conn) : 0;
    if (flushed != 0)
        return flushed;
    size_t part = size < SLICE ? size : SLICE;
    int err = uvh_tls_session_write(conn->tls, areas, part, uv_now(conn->shared->loop));
    return err != 0 ? err : sent_plaintext(conn, part, more && part == size);
}

ssize_t uvh_tls_io_send_file(struct uvh_conn *conn, int descriptor, uint64_t offset, size_t size)
{
    if (conn->tls->offloaded)
        return uvh_conn_io_send_file_plain(conn, descriptor, offset, size);
    int flushed = is_full(conn) ? uvh_tls_io_flush(conn) : 0;
    if (flushed != 0)
        return flushed;
    struct uvh_buffer *buffer = uvh_buffer_take(&conn->shared->buffers, SLICE);
    if (buffer == NULL)
        return -ENOMEM;
    ssize_t count =
        (ssize_t)uvh_file_read(descriptor, buffer->data, size < SLICE ? size : SLICE, offset);
    if (count > 0) {
        uvhttp_slice_t area = {buffer->data, (size_t)count};
        int err =
            uvh_tls_session_write(conn->tls, &area, (size_t)count, uv_now(conn->shared->loop));
        if (err != 0)
            count = err;
    }
    uvh_buffer_unref(buffer);
    if (count > 0)
        return sent_plaintext(conn, (size_t)count, false);
    uvh_tls_io_flush(conn); /* what is sent before the file */
    return count;
}

int uvh_tls_io_end(struct uvh_conn *conn)
{
    uvh_tls_session_close(conn->tls);
    return uvh_tls_io_flush(conn);
}
