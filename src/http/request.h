/* The request as a value: a parsed head, its framing, what the router found, and the body once it
 * is complete.
 *
 * Always true after uvh_request_init: `bytes` + offsets of `head` are readable and writable, the
 * byte behind the target is NUL, and path is NUL-terminated, normalized, begins with '/' or is "*"
 * or empty, and has UVH_REQUEST_PATH_SLACK readable bytes behind it. Filled by server/, read by
 * handlers. */
#ifndef UVH_HTTP_REQUEST_H
#define UVH_HTTP_REQUEST_H

#include <uvhttp/parser.h>
#include <uvhttp/request.h>

#include "base/arena.h"

enum {
    UVH_REQUEST_MAX_PARAMS = 16,
    UVH_REQUEST_PATH_SLACK =
        16, /* bytes behind a path that can be read, so that the router may load whole blocks */
};

/* What a route says of a parameter. */
struct uvh_param_name {
    const char *base;
    size_t length;
    bool wildcard; /* "*name" or "*": also found as "*" */
};

/* And what a request does. */
struct uvh_param {
    uvhttp_slice_t value; /* a piece of the path */
    const char *text;     /* `value` decoded and with a NUL, made when first asked for */
};

/* What somebody has attached under a key. */
struct uvh_attachment {
    struct uvh_attachment *next; /* attached before this one */
    const void *key;
    void *data;
    void (*release)(void *data);
};

struct uvhttp_request {
    struct uvh_arena *arena;
    char *bytes; /* the head's base, which is ours to write to */
    const uvhttp_head_t *head;
    const uvhttp_head_t *trailers; /* NULL when none came */
    char *trailer_bytes;
    uvhttp_framing_t framing;
    uvhttp_slice_t path;
    uvhttp_slice_t body;
    const struct uvh_param_name *param_names; /* the route's */
    struct uvh_param *params;
    size_t param_count;
    void *user_data;
    struct uvh_attachment *attachments; /* the newest first */
    /* who takes the body in pieces; NULL until it is asked for */
    uvhttp_body_cb on_body;
    void *body_arg;
    uint64_t body_limit; /* what middleware allows, when `body_limited` */
    bool body_limited;
    bool body_paused;
    char nothing
        /* `bytes` of a request of which nothing is known; accessors write a NUL behind what they
         * give */
        [1];
};

/* Makes it a request of which nothing is known: `head` is initialized and empty. */
void uvh_request_clear(struct uvhttp_request *request, const uvhttp_head_t *head);

/* Releases what was attached. */
void uvh_request_release_attached(struct uvhttp_request *request);
static inline void uvh_request_release(struct uvhttp_request *request)
{
    if (request->attachments != NULL)
        uvh_request_release_attached(request);
}

/* Sets up everything that follows from head and framing; `request` is zeroed before. NONE, or why
 * the path is refused; sets `*out_of_memory` when it could not be stored. */
uvhttp_reason_t uvh_request_init(struct uvhttp_request *request, struct uvh_arena *arena,
                                 const uvhttp_head_t *head, bool *out_of_memory);

#endif
