/* Loads what the cache does not have: one job (static_load.c), whose result goes into the cache and
 * to all requests for it.
 *
 * Invariants: at most one load per path and worker is in progress, except for listings, which
 * differ by request, and for loads that began before an upload. A queued request is in its own
 * exchange's memory and leaves the queue when its client disconnects, so the number of connections
 * bounds the queue. Called on the loop's thread of the worker that owns the request and the
 * cache. */
#ifndef UVH_FILES_STATIC_FETCH_H
#define UVH_FILES_STATIC_FETCH_H

#include <uvhttp/response.h>

#include "files/static_files.h"

/* The complete check of whether the entry may be used without revalidation: it was checked recently
 * and its directory has not changed, or revalidation is in progress. */
bool uvh_static_fetch_usable(const struct uvhttp_static *context, struct uvh_file_entry *entry,
                             uint64_t now);

/* Sends the cached response of a path without a file; false when the path is not in that cache.
 * `*result` is that of a handler. */
bool uvh_static_fetch_absent(struct uvhttp_static *context, struct uvh_static_cache *cache,
                             uvhttp_response_t *response, uvhttp_slice_t path, int *result);

/* `path` (NUL-terminated, without a leading slash) lives as long as the request. Returns the result
 * of a handler. */
int uvh_static_fetch(struct uvhttp_static *context, struct uvh_static_cache *cache,
                     uvhttp_response_t *response, uvhttp_slice_t path);

/* The same for exactly that file. `key` is NUL, then the path. */
int uvh_static_fetch_exact(struct uvhttp_static *context, struct uvh_static_cache *cache,
                           uvhttp_response_t *response, uvhttp_slice_t key);

/* Sends a page of the settings: as a file for the status 200, as the body of an error for others.
 * When an error page cannot be loaded, it sends a line of text, and logs one line until the page is
 * there again. */
int uvh_static_fetch_page(struct uvhttp_static *context, struct uvh_static_cache *cache,
                          uvhttp_response_t *response, int page, int status);

/* Sends the page of that status, or a line of text without one. */
int uvh_static_fetch_status(struct uvhttp_static *context, struct uvh_static_cache *cache,
                            uvhttp_response_t *response, int status);

#endif
