/* Events of a text/event-stream (WHATWG HTML, section "Server-sent events") as bytes.
 *
 * Part of uvhttp_parser: no I/O, no allocation. Any thread. */
#ifndef UVHTTP_SSE_H
#define UVHTTP_SSE_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One event; what is zero is left out, so that `{.data = {"hello", 5}}` is an event. A slice with a
 * base and length 0 is sent as empty: empty data is an event of its own, an empty id makes the
 * client forget the last one. All text is UTF-8. */
typedef struct uvhttp_sse_event {
    uvhttp_slice_t id;    /* what comes back as Last-Event-ID; no NUL, CR or LF */
    uvhttp_slice_t event; /* the type; "message" when left out; no NUL, CR or LF */
    /* any number of lines, ended by CR LF, CR or LF: the client gets them with LF */
    uvhttp_slice_t data;
    /* lines that clients ignore; alone, and even empty, it is a heartbeat */
    uvhttp_slice_t comment;
    /* milliseconds a client waits before it connects again; 0 leaves it out */
    uint32_t retry;
} uvhttp_sse_event_t;

/* The number of bytes of the event with the empty line that ends it. They are written to `out` when
 * `size` is as much or more, else nothing is: call with NULL to learn the size. Nothing is
 * terminated by NUL. -1 when id or event hold what they must not, or there is no event.
 *
 * An event without data reaches no listener, but its id and retry count. */
UVHTTP_EXPORT ptrdiff_t uvhttp_sse_encode(const uvhttp_sse_event_t *event, char *out, size_t size);

#ifdef __cplusplus
}
#endif

#endif
