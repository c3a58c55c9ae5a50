/* The trace that a request belongs to (W3C Trace Context): the fields traceparent and tracestate.
 *
 *     const uvhttp_trace_t *trace = uvhttp_request_trace(req);
 *     char parent[UVHTTP_TRACEPARENT_SIZE];
 *     if (trace != NULL)
 *         uvhttp_trace_write_parent(trace, parent); // for a request to the next service
 *
 * Access logs have it with the names {trace_id} and {span_id}.
 * Source: https://www.w3.org/TR/trace-context/ */
#ifndef UVHTTP_TRACE_H
#define UVHTTP_TRACE_H

#include <uvhttp/request.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    UVHTTP_TRACE_ID_SIZE = 33,    /* 32 hexadecimal digits, and NUL */
    UVHTTP_SPAN_ID_SIZE = 17,     /* 16 of them, and NUL */
    UVHTTP_TRACEPARENT_SIZE = 56, /* "00-TRACE-SPAN-FLAGS", and NUL */
};

/* The trace of a request. Ids are lower-case hexadecimal digits. */
typedef struct uvhttp_trace {
    char trace_id[UVHTTP_TRACE_ID_SIZE];
    /* of the request that has caused this one; "" if the trace begins here */
    char parent_id[UVHTTP_SPAN_ID_SIZE];
    char span_id[UVHTTP_SPAN_ID_SIZE]; /* of this request; chosen by the server */
    bool sampled;                      /* the caller records the trace */
    const char *state;                 /* the value of tracestate, to be passed on; "" if none */
} uvhttp_trace_t;

/* The trace of the request, evaluated at the first call; it lives as long as the exchange. Without
 * a valid traceparent, or with several, a new trace begins: with random ids, not sampled. Loop
 * thread, or the handler's for blocking routes. NULL when out of memory or without random
 * numbers. */
UVHTTP_EXPORT const uvhttp_trace_t *uvhttp_request_trace(uvhttp_request_t *request);

/* Writes the traceparent of a request that this one causes; "" for NULL. */
UVHTTP_EXPORT void uvhttp_trace_write_parent(const uvhttp_trace_t *trace,
                                             char out[UVHTTP_TRACEPARENT_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
