/* A stream: bytes in both directions for a user's own protocol, on a carrier.
 *
 * The carrier is a connection or, until connected, the state of the connection attempts. Invariant:
 * a connection that carries a stream has it as its owner; the stream is freed after its `closed`
 * callback. */
#ifndef UVH_CONN_STREAM_H
#define UVH_CONN_STREAM_H

#include <uvhttp/stream.h>

#include "net/timeouts.h"

struct uvh_conn;
struct uvh_conn_shared;
struct uvh_connecting;

enum uvh_carrier {
    UVH_CARRIER_NONE = 0, /* not set yet */
    UVH_CARRIER_CONN,
    UVH_CARRIER_CONNECTING, /* stream_connect.c */
};

struct uvhttp_stream {
    union {
        struct uvh_conn *conn;
        struct uvh_connecting *connecting;
    } on;
    struct uvh_list link; /* in shared->streams */
    uvhttp_stream_events_t events;
    void *arg;
    struct uvh_timeout timer; /* in one of shared->timers when set */
    uint32_t backlog;         /* bytes; limit of pending output */
    unsigned char carrier;    /* enum uvh_carrier, kind of `on` */
    bool starting : 1;        /* the user has not received it yet */
    bool paused : 1;
    bool wants_drain : 1; /* a write was refused */
};

_Static_assert(sizeof(struct uvhttp_stream) <= 104, "it is part of what an idle connection costs");

/* Zeroed except for the arguments; NULL when out of memory. */
struct uvhttp_stream *uvh_stream_new(struct uvh_conn_shared *shared,
                                     const uvhttp_stream_events_t *events, void *arg);

/* Within an event: the connection carries the stream from now on; the stream replaces its previous
 * user. */
void uvh_stream_begin(struct uvhttp_stream *stream, struct uvh_conn *conn);

/* The stream's timer has expired. The stream may be invalid after this call. */
void uvh_stream_on_timer(struct uvhttp_stream *stream);

/* Its carrier has ended: notifies the user, and frees the stream. */
void uvh_stream_closed(struct uvhttp_stream *stream, struct uvh_conn_shared *shared);

/* Ends all streams when the server stops. */
void uvh_stream_stop_all(struct uvh_conn_shared *shared);

#endif
