/* A stream: bytes in both directions for a user's own protocol, on a carrier.
 *
 * The carrier is a connection, a tunnel within one or, until connected, the state of the connection
 * attempts. Invariant: a connection that carries a stream has it as its owner. A stream is freed
 * when the callback of the loop in which its `closed` ran has returned, since its user may be
 * calling it. */
#ifndef UVH_CONN_STREAM_H
#define UVH_CONN_STREAM_H

#include <uvhttp/stream.h>

#include "net/timeouts.h"

struct uvh_conn;
struct uvh_tunnel;
struct uvh_conn_shared;
struct uvh_connecting;

enum uvh_carrier {
    UVH_CARRIER_NONE = 0, /* not set yet */
    UVH_CARRIER_CONN,
    UVH_CARRIER_CONNECTING, /* stream_connect.c */
    UVH_CARRIER_TUNNEL,
    UVH_CARRIER_CLOSED,
};

/* The operations of a tunnel, each but `write` within an event of its connection. */
struct uvh_tunnel_functions {
    /* True when nothing can be written any more. */
    bool (*is_ended)(const struct uvh_tunnel *tunnel);
    /* Takes all of it, in an event of its own. Returns 0; UVHTTP_ENOMEM with nothing taken;
     * UVHTTP_EDISCONNECTED when the tunnel ended in that event, and the stream is invalid. */
    int (*write)(struct uvh_tunnel *tunnel, const uvhttp_slice_t *areas, size_t count);
    /* Bytes that are queued. */
    size_t (*pending)(const struct uvh_tunnel *tunnel);
    /* True when they wait for the peer. */
    bool (*is_blocked)(const struct uvh_tunnel *tunnel);
    /* `paused` or `wants_drain` of the stream has changed. */
    void (*changed)(struct uvh_tunnel *tunnel);
    /* Ends our side once everything is sent; then closes. */
    void (*end)(struct uvh_tunnel *tunnel);
    void (*close)(struct uvh_tunnel *tunnel);
};

/* A part of a connection that carries a stream: one of HTTP/2. Its protocol calls uvh_stream_closed
 * when it has ended. */
struct uvh_tunnel {
    const struct uvh_tunnel_functions *functions;
    struct uvh_conn *conn;
    struct uvhttp_stream *stream;
};

struct uvhttp_stream {
    union {
        struct uvh_conn *conn;
        struct uvh_connecting *connecting;
        struct uvh_tunnel *tunnel;
        struct uvh_conn_shared *closed;
    } on;
    struct uvh_list link; /* in shared->streams, or that of a replaced generation */
    uvhttp_stream_events_t events;
    void *arg;
    struct uvh_timeout timer; /* in one of shared->timers when set */
    uint32_t backlog;         /* bytes; limit of pending output */
    unsigned char carrier;    /* enum uvh_carrier, kind of `on` */
    bool starting : 1;        /* the user has not received it yet */
    bool paused : 1;
    bool wants_drain : 1;  /* a write was refused */
    bool is_websocket : 1; /* counted */
};

_Static_assert(sizeof(struct uvhttp_stream) <= 104, "it is part of what an idle connection costs");

/* Zeroed except for the arguments; NULL when out of memory. */
struct uvhttp_stream *uvh_stream_new(struct uvh_conn_shared *shared,
                                     const uvhttp_stream_events_t *events, void *arg);

/* Within an event: the connection carries the stream from now on; the stream replaces its previous
 * user. */
void uvh_stream_begin(struct uvhttp_stream *stream, struct uvh_conn *conn);

/* The same for a tunnel, whose `functions` and `conn` are set. */
void uvh_stream_begin_tunnel(struct uvhttp_stream *stream, struct uvh_tunnel *tunnel);

/* The stream's timer has expired. The stream may be invalid after this call. */
void uvh_stream_on_timer(struct uvhttp_stream *stream);

/* Connected by uvhttp_stream_connect, or about to be. */
bool uvh_stream_is_outgoing(const struct uvhttp_stream *stream);

/* Its carrier has ended: notifies the user. The stream is freed later. */
void uvh_stream_closed(struct uvhttp_stream *stream, struct uvh_conn_shared *shared);

/* Frees the closed streams; not called within an event. */
void uvh_stream_free_closed(struct uvh_conn_shared *shared);

/* Ends all streams of a list when the server stops. Returns the number of those of clients that had
 * not ended before. */
size_t uvh_stream_stop_all(struct uvh_list *streams);

#endif
