/* A stream: bytes both ways for a user's own protocol, on a carrier.
 *
 * The carrier is a connection, or, until it is connected, the record of the attempts to connect. A
 * stream of HTTP/2 will be a third kind. Always true: a connection that carries a stream has it as
 * its owner; the stream's memory goes with its `closed` callback. */
#ifndef UVH_CONN_STREAM_H
#define UVH_CONN_STREAM_H

#include <uvhttp/stream.h>

#include "net/timeouts.h"

struct uvh_conn;
struct uvh_conn_shared;
struct uvh_connecting;

enum uvh_carrier {
    UVH_CARRIER_NONE = 0, /* not yet */
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
    uint32_t backlog;         /* bytes that may be pending */
    unsigned char carrier;    /* enum uvh_carrier, of `on` */
    bool starting : 1;        /* the user does not know it yet */
    bool paused : 1;
    bool wants_drain : 1; /* a write was refused */
};

_Static_assert(sizeof(struct uvhttp_stream) <= 104, "it is part of what an idle connection costs");

/* Zeroed but for what is given here; NULL when memory ran out. */
struct uvhttp_stream *uvh_stream_new(struct uvh_conn_shared *shared,
                                     const uvhttp_stream_events_t *events, void *arg);

/* Within an event: the connection carries the stream from now on, instead of its user before. */
void uvh_stream_begin(struct uvhttp_stream *stream, struct uvh_conn *conn);

/* The time of its timer has come. The stream may be gone afterwards. */
void uvh_stream_on_timer(struct uvhttp_stream *stream);

/* Its carrier has ended: tells the user, and frees the stream. */
void uvh_stream_closed(struct uvhttp_stream *stream, struct uvh_conn_shared *shared);

/* The server stops. */
void uvh_stream_stop_all(struct uvh_conn_shared *shared);

#endif
