/* The response as a value: status, fields, and the source of the body. Filled by handlers, read by
 * h1/head.c and h1/respond.c.
 *
 * Invariants: every field name is a token and every value free of CR, LF and NUL; a body's release
 * callback runs exactly once. */
#ifndef UVH_HTTP_RESPONSE_H
#define UVH_HTTP_RESPONSE_H

#include <stdatomic.h>

#include <uvhttp/error.h>
#include <uvhttp/response.h>

#include "base/arena.h"
#include "base/bytes.h"

struct uvh_header {
    uvhttp_slice_t name;
    uvhttp_slice_t value;
};

enum uvh_body_source {
    UVH_BODY_MEMORY = 0,   /* `base`; also the empty body */
    UVH_BODY_FILE = 1,     /* `descriptor` from `offset` */
    UVH_BODY_STREAMED = 2, /* streamed by uvhttp_response_write */
    UVH_BODY_STREAM = 3,   /* none: after the 101 the connection becomes `stream` */
    UVH_BODY_PARTS = 4,    /* `parts`; once sent, the current part: memory or a file */
};

/* The remaining parts of a body in several parts. */
struct uvh_body_parts {
    const uvhttp_part_t *next;
    size_t count;
};

struct uvh_body {
    const char *base;
    uint64_t size; /* bytes still to be sent; may be UVHTTP_LENGTH_UNKNOWN if streamed */
    uint64_t offset;
    int descriptor;
    unsigned char source; /* enum uvh_body_source */
    /* the memory is invalid after the sending call: unsent bytes must be copied */
    bool transient;
    uvhttp_release_cb release; /* NULL: none */
    void *release_arg;
    struct uvh_body_parts *parts; /* NULL unless there are several */
};

enum uvh_response_state {
    UVH_RESPONSE_OPEN = 0,     /* nothing sent yet */
    UVH_RESPONSE_BEGUN,        /* the head is passed on, the body is streamed */
    UVH_RESPONSE_SENT,         /* passed on; no changes are allowed */
    UVH_RESPONSE_DISCONNECTED, /* the client disconnected before it was complete */
};

/* Fields in the order in which they are sent. */
struct uvh_header_list {
    struct uvh_header *items;
    uint16_t count;
    uint16_t capacity;
};

/* A send hook: sees the response before it is sent. */
struct uvh_send_hook {
    struct uvh_send_hook *next; /* set before this one */
    uvhttp_send_cb send;
    void *arg;
};

/* A filter: changes the bytes of a streamed body. */
struct uvh_filter {
    struct uvh_filter *next; /* its input is the output of this one */
    uvhttp_filter_cb filter;
    uvhttp_release_cb release; /* NULL: none */
    void *arg;
};

struct uvhttp_response {
    struct uvh_arena *arena;
    uint16_t status;
    unsigned char state; /* enum uvh_response_state */
    bool close_after;
    bool sending;     /* hooks are running: fields may change, nothing may be sent */
    bool finishing;   /* the hook that deferred the response has its result, and is running */
    bool wants_drain; /* a write was refused: notify when writable */
    bool heartbeat;   /* an event stream: a comment is sent when idle */
    /* ended by the server, not by its handler, for which it counts as disconnected */
    bool taken_away;
    bool failure_logged; /* the next error of the handler has its log line already */
    struct uvh_header_list headers;
    struct uvh_header_list trailers;
    /* while an error of the server is sent: why, for uvhttp_server_on_error */
    const char *error_reason;
    struct uvh_send_hook *hooks; /* newest first */
    /* server/send_deferred.c: passed on by the handler, and waits for a job of a hook; NULL: none
     */
    struct uvh_deferred_send *deferred;
    /* set by the send call; wins over a header of that name; NUL-terminated, or NULL */
    uvhttp_slice_t content_type;
    const uvhttp_prepared_t *prepared;
    struct uvh_body body;
    /* bytes of body that may be sent; for a streamed body, the rest of them */
    uint64_t body_limit;
    struct uvh_filter *filters; /* in the order in which they run; NULL: none */
    /* with filters: bytes that the handler must still write; `body.size` is unknown then */
    uint64_t length_left;
    uvhttp_abort_cb on_abort;
    void *abort_arg;
    uvhttp_drain_cb on_drain;
    void *drain_arg;
    uvhttp_peer_end_cb on_peer_end;
    void *peer_end_arg;
    /* for a handler on another thread: set when nothing can be sent any more */
    const atomic_bool *disconnected;
    struct uvhttp_stream *stream; /* of an upgrade */
    struct uvh_pull *pull;        /* server/send_stream.c; NULL unless the body is pulled */
    struct uvh_pace *pace;        /* conn/pace.h; NULL unless the rate is limited */
    uvhttp_read_error_cb on_read_error;
    void *read_error_arg;
};

struct uvhttp_prepared {
    struct uvh_bytes lines; /* lines "Name: value\r\n" */
    struct uvh_bytes block; /* the same for HTTP/2: encoded fields */
    bool has_content_type;  /* it then wins over all others */
    bool has_upgrade;       /* listed in Connection */
    /* unique id of these fields with `body`; 0: no fixed body */
    uint64_t id;
    /* Promised by uvhttp_prepared_set_body or ..._set_descriptor. */
    uvhttp_slice_t body; /* `base` NULL: in a file */
    int descriptor;      /* of the file; else -1 */
    uint64_t offset;     /* in the file */
};

/* Runs the release callbacks of the body and of its filters, unless they have run. */
void uvh_response_run_releases(struct uvhttp_response *response);
static inline void uvh_response_release_body(struct uvhttp_response *response)
{
    if (response->body.release != NULL || response->filters != NULL)
        uvh_response_run_releases(response);
}

/* Why nothing more can be sent of a response that has ended: UVHTTP_EDISCONNECTED or
 * UVHTTP_ERESPONDED. */
static inline int uvh_response_over_code(const struct uvhttp_response *response)
{
    return response->state == UVH_RESPONSE_DISCONNECTED || response->taken_away
               ? UVHTTP_EDISCONNECTED
               : UVHTTP_ERESPONDED;
}

/* Fails where a response cannot be sent: UVHTTP_EDISCONNECTED or UVHTTP_ERESPONDED; else 0. */
int uvh_response_check_open(const struct uvhttp_response *response);

/* Resets the response for an error response of the server: discards everything the handler has
 * set. */
void uvh_response_forget(struct uvhttp_response *response);

/* Drops references that are valid only until the response was sent. */
static inline void uvh_response_forget_lent(struct uvhttp_response *response)
{
    response->prepared = NULL;
    response->content_type = (uvhttp_slice_t){NULL, 0};
}

/* True for a field of the connection, which HTTP/2 does not have (RFC 9113 section 8.2.2). */
bool uvh_response_is_connection_field(uvhttp_slice_t name);

/* Copies these references into the arena instead, for a response that is sent later. Returns 0 or
 * UVHTTP_ENOMEM. */
int uvh_response_keep_lent(struct uvhttp_response *response);

/* Copies the list of fields, so that an earlier copy of the struct is not changed. Returns 0 or
 * UVHTTP_ENOMEM. */
int uvh_response_own_headers(struct uvhttp_response *response);

/* True for a status that never has a body (RFC 9110 section 6.4.1). */
static inline bool uvh_response_is_bodiless(int status)
{
    return status == 204 || status == 304 || status < 200;
}

#endif
