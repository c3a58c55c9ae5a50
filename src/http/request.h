/* The request as a value: a parsed head, its framing, the router's match, and the body once it is
 * complete.
 *
 * Invariants after uvh_request_init: `bytes` + offsets of `head` are readable and writable, the
 * byte after the target is NUL. The path is NUL-terminated and normalized, begins with '/' or is
 * "*" or empty, and has UVH_REQUEST_PATH_SLACK readable bytes after it. Filled by server/, read by
 * handlers. */
#ifndef UVH_HTTP_REQUEST_H
#define UVH_HTTP_REQUEST_H

#include <uvhttp/parser.h>
#include <uvhttp/request.h>

#include "base/arena.h"

enum {
    UVH_REQUEST_MAX_PARAMS = 16,
    UVH_REQUEST_PATH_SLACK =
        16, /* readable bytes after a path, so that the router may load whole blocks */
};

/* A parameter name of a route. */
struct uvh_param_name {
    const char *base;
    size_t length;
    bool wildcard; /* "*name" or "*": also found as "*" */
};

/* A parameter value of a request. */
struct uvh_param {
    uvhttp_slice_t value; /* a part of the path */
    const char *text;     /* `value` decoded and NUL-terminated, created on first use */
};

/* Data attached under a key. */
struct uvh_attachment {
    struct uvh_attachment *next; /* attached before this one */
    const void *key;
    void *data;
    void (*release)(void *data);
};

struct uvhttp_request {
    struct uvh_arena *arena;
    char *bytes; /* the head's base, writable */
    const uvhttp_head_t *head;
    const uvhttp_head_t *trailers; /* NULL: none */
    char *trailer_bytes;
    uvhttp_framing_t framing;
    uvhttp_slice_t path;
    uvhttp_slice_t body;
    const char *body_text;                    /* a copy of it; NULL until requested */
    const struct uvh_param_name *param_names; /* the route's */
    struct uvh_param *params;
    size_t param_count;
    void *user_data;
    struct uvh_attachment *attachments; /* newest first */
    /* receives a streamed body; NULL until set */
    uvhttp_body_cb on_body;
    void *body_arg;
    uint64_t body_limit; /* set by middleware, when `body_limited` */
    bool body_limited;
    bool body_paused;
    bool is_http2;
    /* `bytes` of an empty request; accessors write a NUL after each value */
    char nothing[1];
};

/* Resets to an empty request; `head` is initialized and empty. */
void uvh_request_clear(struct uvhttp_request *request, const uvhttp_head_t *head);

/* Releases attached data. */
void uvh_request_release_attached(struct uvhttp_request *request);
static inline void uvh_request_release(struct uvhttp_request *request)
{
    if (request->attachments != NULL)
        uvh_request_release_attached(request);
}

/* The id of its sampled trace; NULL for most requests. */
extern const char uvh_request_exemplar_key;
static inline const char *uvh_request_exemplar(const struct uvhttp_request *request)
{
    return request->attachments == NULL
               ? NULL
               : uvhttp_request_attached(request, &uvh_request_exemplar_key);
}

/* Sets up everything that follows from head and framing; `request` must be zeroed. Returns NONE, or
 * why the path is rejected; sets `*out_of_memory` when it could not be stored. */
uvhttp_reason_t uvh_request_init(struct uvhttp_request *request, struct uvh_arena *arena,
                                 const uvhttp_head_t *head, bool *out_of_memory);

/* Replaces the path, and the query if `target` has a '?'. `target` is NUL-terminated and lives as
 * long as the exchange. Returns 0, or with nothing replaced UVHTTP_EINVAL (no valid path) or
 * UVHTTP_ENOMEM. */
int uvh_request_rewrite(struct uvhttp_request *request, uvhttp_slice_t target);

#endif
