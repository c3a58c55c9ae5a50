/* A stream over an HTTP/1.1 connection, from the 101 on: the connection's third use beside requests and refusals.
 *
 * Always true: conn->stream and stream->conn point to each other until the connection is closed; the stream's memory goes with its `closed`
 * callback. Public functions in stream.c; conn*.c call what stands here. */
#ifndef UVH_SERVER_STREAM_H
#define UVH_SERVER_STREAM_H

#include <uvhttp/stream.h>

#include "net/timeouts.h"

struct uvh_conn;
struct uvh_server;
struct uvh_worker;

struct uvhttp_stream {
    struct uvh_conn *conn;
    struct uvh_list link; /* the worker's list */
    uvhttp_stream_events_t events;
    void *arg;
    struct uvh_timeout timer; /* in one of the worker's lists when set */
    uint32_t backlog;         /* bytes that may wait */
    bool starting : 1;        /* uvhttp_response_upgrade has not returned */
    bool connecting : 1;      /* stream_connect.c has it; `conn` is not open yet */
    bool paused : 1;
    bool end_told : 1;    /* that the client has ended its side */
    bool wants_drain : 1; /* a write was refused */
};

_Static_assert(sizeof(struct uvhttp_stream) <= 104, "it is part of what an idle connection costs");

/* Zeroed but for what is given here; NULL when memory ran out. */
struct uvhttp_stream *uvh_stream_new(const struct uvh_server *server, const uvhttp_stream_events_t *events,
                                     void *arg);

/* Hands received bytes on. The stream, and the connection's socket, may be gone afterwards. */
void uvh_stream_deliver(struct uvhttp_stream *stream, char *data, size_t size);

/* The client has ended its side and everything before that was delivered. As above. */
void uvh_stream_deliver_end(struct uvhttp_stream *stream);

/* Everything has left; tells who waits for that. As above. */
void uvh_stream_drained(struct uvhttp_stream *stream);

/* The time of its timer has come: tells. As above. */
void uvh_stream_time_has_come(struct uvhttp_stream *stream);

/* The connection was closed: tells, and frees the stream. */
void uvh_stream_closed(struct uvhttp_stream *stream);

/* The server stops. */
void uvh_stream_stop_all(struct uvh_worker *worker);

#endif
