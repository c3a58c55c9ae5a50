/* The response as a value: status, fields, and where the body comes from. Filled by handlers, read
 * by h1/head.c and h1/respond.c.
 *
 * Always true: every field name is a token and every value free of CR, LF and NUL; a body's release
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
    UVH_BODY_MEMORY = 0, /* `base`; also the empty body */
    UVH_BODY_FILE = 1,   /* `descriptor` from `offset` */
    UVH_BODY_PIECES = 2, /* comes by uvhttp_response_write */
    UVH_BODY_STREAM = 3, /* none: with 101 the connection becomes `stream` */
    UVH_BODY_PARTS = 4,  /* `parts`; once it is sent, the part whose turn it is: memory or a file */
};

/* What is still to come of a body in several parts. */
struct uvh_body_parts {
    const uvhttp_part_t *next;
    size_t count;
};

struct uvh_body {
    const char *base;
    uint64_t size; /* bytes still to be sent; UVHTTP_LENGTH_UNKNOWN is possible for pieces */
    uint64_t offset;
    int descriptor;
    unsigned char source; /* enum uvh_body_source */
    /* the bytes are gone when the sending call returns: what is left must be copied */
    bool transient;
    uvhttp_release_cb release; /* NULL: nobody needs to know */
    void *release_arg;
    struct uvh_body_parts *parts; /* NULL unless there are several */
};

enum uvh_response_state {
    UVH_RESPONSE_OPEN = 0, /* nothing sent yet */
    UVH_RESPONSE_BEGUN,    /* the head is handed over, the body comes in pieces */
    UVH_RESPONSE_SENT,     /* handed over; nothing may be changed any more */
    UVH_RESPONSE_GONE,     /* the client has gone before it was complete */
};

/* Fields in the order they go out. */
struct uvh_header_list {
    struct uvh_header *items;
    uint16_t count;
    uint16_t capacity;
};

/* Somebody who sees the response before it leaves. */
struct uvh_send_hook {
    struct uvh_send_hook *next; /* set before this one */
    uvhttp_send_cb send;
    void *arg;
};

/* Somebody who changes the bytes of a body in pieces. */
struct uvh_filter {
    struct uvh_filter *next; /* it gets what this one makes */
    uvhttp_filter_cb filter;
    uvhttp_release_cb release; /* NULL: nobody needs to know */
    void *arg;
};

struct uvhttp_response {
    struct uvh_arena *arena;
    uint16_t status;
    unsigned char state; /* enum uvh_response_state */
    bool close_after;
    bool sending;     /* the hooks are at work: fields may change, nothing may be sent */
    bool wants_drain; /* a piece was refused: tell when there is room */
    bool heartbeat;   /* a stream of events: a comment goes out when nothing else does */
    bool taken_away;  /* the server has ended it, not its handler, for whom it is gone */
    struct uvh_header_list headers;
    struct uvh_header_list trailers;
    struct uvh_send_hook *hooks; /* the newest first */
    uvhttp_slice_t
        /* given with the send call; wins over a header of that name; NUL-terminated, or NULL */
        content_type;
    const uvhttp_prepared_t *prepared;
    struct uvh_body body;
    /* bytes of body that may leave; of a body in pieces, those that still may */
    uint64_t body_limit;
    struct uvh_filter *filters; /* the first to see a piece first; NULL: it leaves as it is */
    uint64_t
        /* with filters: bytes that the handler still has to give; `body.size` is unknown then */
        length_left;
    uvhttp_abort_cb on_abort;
    void *abort_arg;
    uvhttp_drain_cb on_drain;
    void *drain_arg;
    uvhttp_peer_end_cb on_peer_end;
    void *peer_end_arg;
    /* of a handler on another thread: set when nothing can be sent any more */
    const atomic_bool *gone;
    struct uvhttp_stream *stream; /* of an upgrade */
    struct uvh_pull *pull;        /* server/send_pieces.c; NULL unless the body is pulled */
    struct uvh_pace *pace;        /* conn/pace.h; NULL unless the rate is limited */
    uvhttp_read_error_cb on_read_error;
    void *read_error_arg;
};

struct uvhttp_prepared {
    struct uvh_bytes lines; /* "Name: value\r\n" each */
    bool has_content_type;  /* which then wins over all others */
    bool has_upgrade;       /* which Connection then names */
    /* of these fields with `body`, never given twice; 0: they are of no one body */
    uint64_t id;
    /* What uvhttp_prepared_set_body or ..._set_descriptor has promised. */
    uvhttp_slice_t body; /* `base` NULL: in a file */
    int descriptor;      /* of that; else -1 */
    uint64_t offset;     /* in it */
};

/* Runs the release callbacks of the body and of its filters if they have not run yet. */
void uvh_response_run_releases(struct uvhttp_response *response);
static inline void uvh_response_release_body(struct uvhttp_response *response)
{
    if (response->body.release != NULL || response->filters != NULL)
        uvh_response_run_releases(response);
}

/* Why nothing more can be sent of a response that is over: UVHTTP_EGONE or UVHTTP_EANSWERED. */
static inline int uvh_response_over_code(const struct uvhttp_response *response)
{
    return response->state == UVH_RESPONSE_GONE || response->taken_away ? UVHTTP_EGONE
                                                                        : UVHTTP_EANSWERED;
}

/* Fails where a response cannot be sent: UVHTTP_EGONE or UVHTTP_EANSWERED; else 0. */
int uvh_response_check_open(const struct uvhttp_response *response);

/* Begins anew for an answer of the server's own: what a handler set for its own is gone. */
void uvh_response_forget(struct uvhttp_response *response);

/* What had to live only until the response was sent. */
static inline void uvh_response_forget_lent(struct uvhttp_response *response)
{
    response->prepared = NULL;
    response->content_type = (uvhttp_slice_t){NULL, 0};
}

/* Gives the fields a list of their own, so that a copy made of the struct before stays as it is. 0
 * or UVHTTP_ENOMEM. */
int uvh_response_own_headers(struct uvhttp_response *response);

/* A status that never has a body (RFC 9110 section 6.4.1). */
static inline bool uvh_response_is_bodiless(int status)
{
    return status == 204 || status == 304 || status < 200;
}

#endif
