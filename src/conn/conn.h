/* A connection: a socket, its input, one output queue, a timeout, and a user that knows what the
 * bytes mean.
 *
 * A connection knows no protocol. Its user (HTTP/1.1, an upgraded stream, an attempt to connect) is
 * a table of callbacks and a pointer. Everything that happens to a connection is an event: it
 * starts with uvh_conn_event_begin and ends with uvh_conn_event_end, also when one event starts
 * another. The end of the outermost one does, in this order: flush the output, close if done, set
 * the timeout, schedule remaining work. Nothing else does any of these.
 *
 * Always true: between events an open connection is in exactly one list of timeouts, and kept input
 * is not empty. The memory lives until the poller has let go of the socket and there is no
 * reference left. Used on the thread of the connection's loop only. */
#ifndef UVH_CONN_CONN_H
#define UVH_CONN_CONN_H

#include <stdint.h>

#include "base/compiler.h"
#include "conn/output.h"
#include "conn/shared.h"
#include "tls/session.h"

enum uvh_conn_state {
    UVH_CONN_OPEN = 0,
    UVH_CONN_CONNECTING,  /* made by us, and not connected yet */
    UVH_CONN_HANDSHAKING, /* of TLS: no bytes of the user are received or sent yet, or any more */
    /* our side has ended; what comes is discarded until the peer ends its own */
    UVH_CONN_LINGERING,
    UVH_CONN_CLOSED,
};

/* What the user of a connection does with its events. A callback may close the connection, but for
 * those that are marked as questions. */
struct uvh_conn_user {
    /* Question: bytes would be taken now. The output may be blocked (uvh_conn_is_blocked). */
    bool (*wants_bytes)(const struct uvh_conn *conn);
    /* Takes bytes, which may be overwritten: how many; 0 when they are too few to do anything. */
    size_t (*receive)(struct uvh_conn *conn, char *data, size_t size);
    /* The peer has ended its side, and the bytes before that were taken. */
    void (*peer_ended)(struct uvh_conn *conn);
    /* Question: the user is to be told as soon as the peer has ended its side, whether bytes are
     * taken or not. NULL: no. */
    bool (*awaits_peer_end)(const struct uvh_conn *conn);
    void (*peer_end_seen)(struct uvh_conn *conn);
    /* Bytes cannot be received: no memory for a buffer. */
    void (*out_of_memory)(struct uvh_conn *conn);
    /* The output queue has become empty. */
    void (*sent)(struct uvh_conn *conn);
    /* A file of the output queue could not be read; the connection is closed next. */
    void (*read_failed)(struct uvh_conn *conn, int error);
    /* Question: the user waits for an empty output queue to write more, and may now. */
    bool (*wants_drain)(const struct uvh_conn *conn);
    void (*drain)(struct uvh_conn *conn);
    /* Question: nothing more will be written, so the connection ends once the output queue is
     * empty. */
    bool (*is_done)(const struct uvh_conn *conn);
    /* The end of an event: the timeout that the connection is under, unless output is pending. */
    enum uvh_conn_timeout (*settle)(struct uvh_conn *conn);
    /* UVH_CONN_TIMEOUT_IDLE or UVH_CONN_TIMEOUT_HEADER has expired. */
    void (*timed_out)(struct uvh_conn *conn, enum uvh_conn_timeout timeout);
    /* A peer that should begin a TLS handshake has sent plain text. The connection is plain from
     * now on, for an error to be told, and what was sent is thrown away. NULL: it is closed. */
    void (*is_plain)(struct uvh_conn *conn);
    /* Of an outgoing connection: UVH_CONN_CONNECTING is over, or UVH_CONN_HANDSHAKING is: 0 or an
     * error. */
    void (*connected)(struct uvh_conn *conn, int status);
    /* The connection was closed. The last call. */
    void (*closed)(struct uvh_conn *conn);
};

/* Bytes received and not used yet, in a buffer that is pinned for them. */
struct uvh_conn_input {
    struct uvh_buffer *buffer; /* NULL when there are none */
    uint32_t offset;
    uint32_t length;
};

/* What the program keeps with a connection. */
struct uvh_connection_data {
    uint64_t id;
    void *data;
    void (*release)(void *data);
};

struct uvh_conn {
    struct uvh_poller_socket socket;
    struct uvh_timeout timeout;
    /* in shared->ready: work is left for the next loop iteration; `queued` */
    struct uvh_list ready;
    struct uvh_conn_shared *shared;
    const struct uvh_conn_user *user;
    void *owner;                      /* the user's object; NULL: it has none now */
    struct uvh_connection_data *data; /* NULL until asked for */
    struct uvh_tls_session *tls;      /* NULL: plain text */
    struct uvh_conn_input in;
    struct uvh_output out;
    uint32_t refs;          /* objects that point here, which keep the memory */
    uint32_t write_timeout; /* seconds; 0: the usual one */
    /* bytes in the socket's send queue when the write timeout was last armed */
    uint32_t unsent;
    unsigned char state;         /* enum uvh_conn_state */
    unsigned char timeout_class; /* enum uvh_conn_timeout */
    unsigned char depth;         /* events that have begun and not ended */
    bool peer_ended : 1;         /* the end of the peer's side was read */
    bool end_reported : 1;       /* ... and the user was told */
    bool close_after : 1;        /* no bytes are taken any more; close once everything is sent */
    bool discarding : 1;         /* no input is wanted any more; it is read and thrown away */
    bool linger : 1;             /* the peer may still be sending, so closing waits for its end */
    bool received : 1;           /* bytes, in this event */
    bool sent : 1;               /* bytes, in this event */
    bool starved : 1;            /* the kept input is too short to be used before more comes */
    bool yielded : 1;            /* output stopped in this event so that others have their turn */
    bool restart_timeout : 1;    /* the timeout begins anew although its class stays */
    bool removed : 1;            /* the poller has let go of the socket */
    bool outgoing : 1;           /* made by us: not counted among the accepted ones */
    bool queued : 1;             /* `ready` is in the queue of handshakes */
};

/* Takes a socket over. The caller sets `owner` (with a reference) and, while it connects, `state`,
 * or begins a handshake (uvh_conn_begin_tls), and ends the event that has begun.
 * NULL with `*error`:
 *   UVHTTP_ENOMEM, or what the poller says; the socket stays the caller's. */
struct uvh_conn *uvh_conn_open(struct uvh_conn_shared *shared, int socket,
                               const struct uvh_conn_user *user, int *error);

/* Within the event of uvh_conn_open: a handshake comes first. The session is the connection's
 * then. */
static inline void uvh_conn_begin_tls(struct uvh_conn *conn, struct uvh_tls_session *session)
{
    conn->tls = session;
    conn->state = UVH_CONN_HANDSHAKING;
}

static inline void uvh_conn_event_begin(struct uvh_conn *conn)
{
    conn->depth++;
}
void uvh_conn_event_end(struct uvh_conn *conn);

/* Within an event. Closes at once: what is pending is lost, and the user is told. Harmless when
 * closed already. */
void uvh_conn_close(struct uvh_conn *conn);

/* The same for a connection that owes its peer nothing: with TLS the peer is told that this is a
 * regular end. */
void uvh_conn_end(struct uvh_conn *conn);

/* The same as uvh_conn_close, so that the peer does not take it for a regular end. */
void uvh_conn_reset(struct uvh_conn *conn);

/* Closes once the output is sent; `linger`: the peer may still be sending. */
static inline void uvh_conn_close_when_sent(struct uvh_conn *conn, bool linger)
{
    conn->close_after = true;
    conn->linger |= linger;
}

/* Within an event: reads what there is, once. Used before a connection is given up. */
void uvh_conn_try_read(struct uvh_conn *conn);

/* The memory stays while there are references. After unref it may be gone, unless within an
 * event. */
static inline void uvh_conn_ref(struct uvh_conn *conn)
{
    conn->refs++;
}
void uvh_conn_unref(struct uvh_conn *conn);

/* The server stops, or is short of descriptors: a connection that waits for the first byte of a
 * handshake is closed; others may finish it. */
void uvh_conn_drain_handshake(struct uvh_conn *conn);

/* On the loop, after uvh_tls_session_work on a session that the connection had: it goes on, or the
 * session of one that was closed meanwhile is freed. Takes over a reference of the connection. */
void uvh_conn_worked(struct uvh_conn *conn, struct uvh_tls_session *session);

/* By shared.c: the socket is ready, removed from the poller; the timeout has expired; work was
 * left. */
void uvh_conn_ready(struct uvh_poller_socket *socket);
void uvh_conn_removed(struct uvh_poller_socket *socket);
void uvh_conn_timed_out(struct uvh_conn *conn);
void uvh_conn_resume(struct uvh_conn *conn);

/* The socket takes bytes as they are: plain text, or what the kernel encrypts. */
static inline bool uvh_conn_sends_plain(const struct uvh_conn *conn)
{
    return UVH_LIKELY(conn->tls == NULL) || conn->tls->offloaded;
}

/* Bytes of ciphertext, or of alerts that the kernel encrypts, that the socket has not taken. */
static inline size_t uvh_conn_encrypted(const struct uvh_conn *conn)
{
    return UVH_LIKELY(conn->tls == NULL) ? 0 : uvh_tls_session_pending(conn->tls);
}

/* Something has still to be sent: of the queue, or as ciphertext. */
static inline bool uvh_conn_has_output(const struct uvh_conn *conn)
{
    return !uvh_output_is_empty(&conn->out) || uvh_conn_encrypted(conn) > 0;
}

/* Bytes that were collected or encrypted, and are pending. */
static inline size_t uvh_conn_pending(const struct uvh_conn *conn)
{
    return uvh_output_collected(&conn->out) + uvh_conn_encrypted(conn);
}

/* More output has to wait: for space in the socket, for what is queued by reference, or for the end
 * of a handshake. */
static inline bool uvh_conn_is_blocked(const struct uvh_conn *conn)
{
    return conn->out.entries != NULL || (!conn->socket.writable && uvh_conn_has_output(conn)) ||
           conn->state == UVH_CONN_HANDSHAKING;
}

static inline bool uvh_conn_is_closed(const struct uvh_conn *conn)
{
    return conn->state == UVH_CONN_CLOSED;
}

/* The peer's address for a log line, in a buffer of the caller's. */
const char *uvh_conn_peer(const struct uvh_conn *conn, char text[UVH_SOCKET_ADDRESS_TEXT]);

/* Asserts in debug builds that the members fit together. */
void uvh_conn_check(const struct uvh_conn *conn);

/* receive.c, within an event: what the socket has; what was kept; the peer's end, which was read;
 * and what is of no use any more, from a lingering connection's socket and from the kept input. */
void uvh_receive_readable(struct uvh_conn *conn);
void uvh_receive_kept(struct uvh_conn *conn);
void uvh_receive_end(struct uvh_conn *conn);
void uvh_receive_discard(struct uvh_conn *conn);
void uvh_receive_forget(struct uvh_conn *conn);

/* Within `receive`: a reference to the buffer of the bytes at hand, which stay where they are as
 * long as it is held. NULL when no bytes are being received. */
struct uvh_buffer *uvh_receive_pin(struct uvh_conn *conn);

#endif
