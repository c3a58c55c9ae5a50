/* Encodes events of a text/event-stream (WHATWG HTML, section "Server-sent events").
 *
 * Part of uvhttp_parser: no I/O, no allocation. Any thread. */
#ifndef UVHTTP_SSE_H
#define UVHTTP_SSE_H

#include <uvhttp/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One event; zero fields are omitted, so `{.data = {"hello", 5}}` is an event. A slice with a
 * base and length 0 is sent as empty: empty data is an event, an empty id resets the client's
 * last event ID. All text is UTF-8. */
typedef struct uvhttp_sse_event {
    uvhttp_slice_t id;    /* returned by clients as Last-Event-ID; no NUL, CR or LF */
    uvhttp_slice_t event; /* the type; "message" if omitted; no NUL, CR or LF */
    /* any number of lines that end with CR LF, CR or LF; the client receives LF */
    uvhttp_slice_t data;
    /* lines that clients ignore; alone, even empty, it is a heartbeat */
    uvhttp_slice_t comment;
    /* reconnection time of the client in milliseconds; 0 omits it */
    uint32_t retry_ms;
} uvhttp_sse_event_t;

/* Returns the size of the event in bytes, including the empty line that ends it, and writes it to
 * `out` if `size` is large enough; otherwise writes nothing: call with NULL to get the size. The
 * output is not NUL-terminated. Returns -1 if id or event contain invalid characters, or without
 * event.
 *
 * An event without data reaches no listener, but its id and retry_ms apply. */
UVHTTP_EXPORT ptrdiff_t uvhttp_sse_encode(const uvhttp_sse_event_t *event, char *out, size_t size);

#ifdef __cplusplus
}
#endif

#endif
