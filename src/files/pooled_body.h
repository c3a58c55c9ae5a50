/* A body that is made by jobs of the heavy lane, a slice at a time, while the client takes it.
 *
 * Always true: at most one slice is being made and one being sent, so memory is bounded however
 * slow the client is; the loop does nothing for it but copying; a source that fails ends the
 * connection, so that the client does not take what it has for the whole. Called by
 * static_listing.c on the loop's thread. */
#ifndef UVH_FILES_POOLED_BODY_H
#define UVH_FILES_POOLED_BODY_H

#include <uvhttp/response.h>

#include "base/bytes.h"

struct uvh_pooled_source {
    /* In a job, one call at a time: appends the next slice, not empty unless it is the last. 0; 1
     * with the last one; or an error (negative). */
    int (*make)(void *arg, struct uvh_bytes *slice);
    /* Once, when `make` will not be called any more: in the job that has made the last slice; on
     * the loop when the first one was the last, or when memory has run out; else in a job of its
     * own. */
    void (*close)(void *arg);
    void *arg;
};

/* Sends what `first` holds, which was made by the source already, and then what it makes;
 * `complete` says that there is no more: then the body goes in one piece, with its length. Takes
 * both over, whatever the result, which is that of the send functions. */
int uvh_pooled_body_send(uvhttp_response_t *response, const char *content_type,
                         struct uvh_bytes *first, bool complete,
                         const struct uvh_pooled_source *source);

#endif
