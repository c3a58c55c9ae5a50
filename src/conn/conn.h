/* A connection: a socket, its input, one output queue, a timeout, and a user that implements the
 * protocol.
 *
 * A connection knows no protocol. Its user (HTTP/1.1, HTTP/2, an upgraded stream, a connection
 * attempt) is a table of callbacks and a pointer. Everything that happens to a connection is an
 * event: it starts with uvh_conn_event_begin and ends with uvh_conn_event_end, also when one event
 * starts another. The end of the outermost event does, in this order: flush the output, close if
 * done, set the timeout, schedule remaining work. Nothing else does any of these.
 *
 * Invariants: between events an open connection is in exactly one timeout list, and kept input is
 * not empty. The memory stays valid until the poller has released the socket and no reference is
 * left. Used on the thread of the connection's loop only. */
#ifndef UVH_CONN_CONN_H
#define UVH_CONN_CONN_H

#include <stdint.h>

#include "base/compiler.h"
#include "conn/output.h"
#include "conn/shared.h"
#include "platform/socket.h"
#include "tls/session.h"

enum uvh_conn_state {
    UVH_CONN_OPEN = 0,
    UVH_CONN_CONNECTING, /* outgoing, not connected yet */
    /* TLS handshake: no application data is received or sent yet, or any longer */
    UVH_CONN_HANDSHAKING,
    /* our side has ended; input is discarded until the peer ends its side */
    UVH_CONN_LINGERING,
    UVH_CONN_CLOSED,
};

/* The user's event callbacks. A callback may close the connection, except those marked as
 * queries. */
struct uvh_conn_user {
    /* Query: whether bytes would be accepted now. The output may be blocked
     * (uvh_conn_is_blocked). */
    bool (*wants_bytes)(const struct uvh_conn *conn);
    /* Processes bytes, which it may overwrite. Returns the number consumed; 0: incomplete input. */
    size_t (*receive)(struct uvh_conn *conn, char *data, size_t size);
    /* The peer has ended its side, and all bytes before that were consumed. */
    void (*peer_ended)(struct uvh_conn *conn);
    /* Query: whether the user is notified as soon as the peer has ended its side, even if it
     * accepts no bytes. NULL: no. */
    bool (*awaits_peer_end)(const struct uvh_conn *conn);
    void (*peer_end_seen)(struct uvh_conn *conn);
    /* Bytes cannot be received: out of memory for a buffer. */
    void (*out_of_memory)(struct uvh_conn *conn);
    /* An event ends: appends output that is due. NULL: all of it is in the queue already. */
    void (*fill)(struct uvh_conn *conn);
    /* The output queue has become empty. */
    void (*sent)(struct uvh_conn *conn);
    /* A file of the output queue could not be read; the connection is closed next. */
    void (*read_failed)(struct uvh_conn *conn, int error);
    /* Query: whether the user waits for an empty output queue to write more, and may write now. */
    bool (*wants_drain)(const struct uvh_conn *conn);
    void (*drain)(struct uvh_conn *conn);
    /* Query: whether nothing more will be written, so that the connection closes once the output
     * queue is empty. */
    bool (*is_done)(const struct uvh_conn *conn);
    /* End of an event: returns the timeout that applies. conn.c overrides it during a handshake,
     * while lingering, and while output is pending. */
    enum uvh_conn_timeout (*settle)(struct uvh_conn *conn);
    /* A timeout that `settle` has returned has expired. */
    void (*timed_out)(struct uvh_conn *conn, enum uvh_conn_timeout timeout);
    /* A peer that should start a TLS handshake has sent plain text. The connection is plain from
     * now on, so that an error can be sent; the received bytes are discarded. NULL: the connection
     * is closed. */
    void (*is_plain)(struct uvh_conn *conn);
    /* Outgoing connections: UVH_CONN_CONNECTING or UVH_CONN_HANDSHAKING has ended with 0 or an
     * error. */
    void (*connected)(struct uvh_conn *conn, int status);
    /* The connection was closed. This is the last call. */
    void (*closed)(struct uvh_conn *conn);
};

/* Bytes received and not consumed yet, in a buffer pinned for them. */
struct uvh_conn_input {
    struct uvh_buffer *buffer; /* NULL: none */
    uint32_t offset;
    uint32_t length;
};

/* Application data of a connection. */
struct uvh_connection_data {
    uint64_t id;
    void *data;
    void (*release)(void *data);
    uvhttp_slice_t proxy_values; /* of a PROXY header, as TLVs; in the same allocation */
};

struct uvh_conn {
    struct uvh_poller_socket socket;
    struct uvh_timeout timeout;
    /* in shared->ready: work is pending for the next loop iteration; see `queued` */
    struct uvh_list ready;
    struct uvh_conn_shared *shared;
    const struct uvh_conn_user *user;
    void *owner;                      /* the user's object; NULL: none at present */
    struct uvh_connection_data *data; /* allocated on first use */
    struct uvh_tls_session *tls;      /* NULL: plain text */
    struct uvh_conn_input in;
    struct uvh_output out;
    uint32_t refs;          /* references to this object, which keep the memory valid */
    uint32_t write_timeout; /* seconds; 0: the server's default */
    uint32_t old_at;        /* seconds by the loop's clock; 0: never */
    /* bytes in the socket's send queue when the write timeout was last armed */
    uint32_t unsent;
    /* read once, since a socket that the client has reset does not know it any more */
    struct uvh_socket_peer peer;
    unsigned char state;         /* enum uvh_conn_state */
    unsigned char timeout_class; /* enum uvh_conn_timeout */
    unsigned char depth;         /* nesting level: events begun and not ended */
    bool peer_ended : 1;         /* the end of the peer's side was read */
    bool end_reported : 1;       /* ... and the user was notified */
    bool close_after : 1;        /* input is not accepted; close once everything is sent */
    bool discarding : 1;         /* input is read and discarded */
    bool linger : 1;          /* the peer may still be sending: wait for its end before closing */
    bool received : 1;        /* bytes were received in this event */
    bool sent : 1;            /* bytes were sent in this event */
    bool starved : 1;         /* the kept input is incomplete */
    bool yielded : 1;         /* output stopped in this event to let other connections run */
    bool restart_timeout : 1; /* restart the timeout although its class is unchanged */
    bool removed : 1;         /* the poller has released the socket */
    bool outgoing : 1;        /* outgoing, not counted among the accepted connections */
    bool queued : 1;          /* `ready` is in the queue of handshakes */
};

/* Takes ownership of a socket and begins an event. The caller sets `owner` (with a reference) and,
 * for an outgoing connection, `state`, or starts a handshake (uvh_conn_begin_tls), and then ends
 * the event. Returns NULL with `*error`:
 *   UVHTTP_ENOMEM, or the poller's error; the caller keeps the socket. */
struct uvh_conn *uvh_conn_open(struct uvh_conn_shared *shared, int socket,
                               const struct uvh_conn_user *user, int *error);

/* Within the event of uvh_conn_open: starts with a handshake. The connection takes ownership of the
 * session. */
static inline void uvh_conn_begin_tls(struct uvh_conn *conn, struct uvh_tls_session *session)
{
    conn->tls = session;
    conn->state = UVH_CONN_HANDSHAKING;
}

/* The second in which a connection that opens now is old: up to a tenth of `max_ms` earlier, as
 * `random` says. */
uint32_t uvh_conn_old_at(uint64_t now_ms, uint64_t max_ms, uint32_t random);

bool uvh_conn_is_past(const struct uvh_conn *conn, uint32_t second);

/* True if it should close with its next response, so that its client connects again. */
static inline bool uvh_conn_is_old(const struct uvh_conn *conn)
{
    return conn->old_at != 0 && uvh_conn_is_past(conn, conn->old_at);
}

static inline void uvh_conn_event_begin(struct uvh_conn *conn)
{
    conn->depth++;
}
void uvh_conn_event_end(struct uvh_conn *conn);

/* Within an event. Closes at once: pending output is lost, and the user is notified. No effect when
 * already closed. */
void uvh_conn_close(struct uvh_conn *conn);

/* As uvh_conn_close, for a connection with nothing left to send: with TLS it sends close_notify. */
void uvh_conn_end(struct uvh_conn *conn);

/* As uvh_conn_close, with a reset, so that the peer does not take it for a regular end. */
void uvh_conn_reset(struct uvh_conn *conn);

/* Closes once the output is sent; `linger`: the peer may still be sending. */
static inline void uvh_conn_close_when_sent(struct uvh_conn *conn, bool linger)
{
    conn->close_after = true;
    conn->linger |= linger;
}

/* Within an event: reads once. Used before a connection is given up. */
void uvh_conn_try_read(struct uvh_conn *conn);

/* The memory stays valid while there are references. After unref it may be freed, unless within an
 * event. */
static inline void uvh_conn_ref(struct uvh_conn *conn)
{
    conn->refs++;
}
void uvh_conn_unref(struct uvh_conn *conn);

/* On server stop or lack of descriptors: closes a connection that has not received the first byte
 * of a handshake. Handshakes in progress may finish. */
void uvh_conn_drain_handshake(struct uvh_conn *conn);

/* On the loop, after uvh_tls_session_work on a session of the connection. Continues the connection,
 * or frees the session if the connection was closed meanwhile. Takes ownership of one reference. */
void uvh_conn_worked(struct uvh_conn *conn, struct uvh_tls_session *session);

/* Called by shared.c: socket ready, socket removed from the poller, timeout expired, work
 * pending. */
void uvh_conn_ready(struct uvh_poller_socket *socket);
void uvh_conn_removed(struct uvh_poller_socket *socket);
void uvh_conn_timed_out(struct uvh_conn *conn);
void uvh_conn_resume(struct uvh_conn *conn);

/* True when the socket takes unencrypted bytes: plain text, or kernel TLS. */
static inline bool uvh_conn_sends_plain(const struct uvh_conn *conn)
{
    return UVH_LIKELY(conn->tls == NULL) || conn->tls->offloaded;
}

/* Bytes of ciphertext, or of alerts for kernel TLS, that the socket has not accepted. */
static inline size_t uvh_conn_encrypted(const struct uvh_conn *conn)
{
    return UVH_LIKELY(conn->tls == NULL) ? 0 : uvh_tls_session_pending(conn->tls);
}

/* True when output is pending, in the queue or as ciphertext. */
static inline bool uvh_conn_has_output(const struct uvh_conn *conn)
{
    return !uvh_output_is_empty(&conn->out) || uvh_conn_encrypted(conn) > 0;
}

/* Bytes that are collected or encrypted, and pending. */
static inline size_t uvh_conn_pending(const struct uvh_conn *conn)
{
    return uvh_output_collected(&conn->out) + uvh_conn_encrypted(conn);
}

/* True when further output must wait: for the socket, for entries queued by reference, or for the
 * end of a handshake. */
static inline bool uvh_conn_is_blocked(const struct uvh_conn *conn)
{
    return conn->out.entries != NULL || (!conn->socket.writable && uvh_conn_has_output(conn)) ||
           conn->state == UVH_CONN_HANDSHAKING;
}

static inline bool uvh_conn_is_closed(const struct uvh_conn *conn)
{
    return conn->state == UVH_CONN_CLOSED;
}

/* The peer's address for a log line, in a buffer of the caller. */
const char *uvh_conn_peer(const struct uvh_conn *conn, char text[UVH_SOCKET_ADDRESS_TEXT]);

/* Asserts the invariants in debug builds. */
void uvh_conn_check(const struct uvh_conn *conn);

/* receive.c, within an event: receive from the socket; process kept input; handle the end of the
 * peer's side; discard input of a lingering connection, and kept input. */
void uvh_receive_readable(struct uvh_conn *conn);
void uvh_receive_kept(struct uvh_conn *conn);
void uvh_receive_end(struct uvh_conn *conn);
void uvh_receive_discard(struct uvh_conn *conn);
void uvh_receive_forget(struct uvh_conn *conn);

/* Within `receive`: returns a reference to the buffer of the current bytes, which stay in place
 * while it is referenced. NULL when no bytes are being received. */
struct uvh_buffer *uvh_receive_pin(struct uvh_conn *conn);

#endif
