/* A body made by jobs of the heavy lane, one slice at a time, while it is sent.
 *
 * Invariants: at most one slice is being made and one being sent, so memory is bounded however slow
 * the client is. The loop only copies. A source that fails ends the connection, so that the client
 * does not take a truncated body for a complete one. Called on the loop's thread. */
#ifndef UVH_FILES_POOLED_BODY_H
#define UVH_FILES_POOLED_BODY_H

#include <uvhttp/response.h>

#include "base/bytes.h"

struct uvh_pooled_source {
    /* In a job, one call at a time: appends the next slice, not empty unless it is the last.
     * Returns 0; 1 with the last one; or an error (negative). */
    int (*make)(void *arg, struct uvh_bytes *slice);
    /* Called once, after the last call of `make`: in the job that made the last slice; on the loop
     * when the first slice was the last, or when out of memory; else in a separate job. */
    void (*close)(void *arg);
    void *arg;
};

/* Sends `first`, which the source has made already, then the following slices; `complete` means
 * that there are none: then the body is sent at once, with its length. Takes ownership of both,
 * whatever the result, which is that of the send functions. */
int uvh_pooled_body_send(uvhttp_response_t *response, const char *content_type,
                         struct uvh_bytes *first, bool complete,
                         const struct uvh_pooled_source *source);

#endif
