/* What the cache cannot answer: one job (static_load.c), and what it brings goes into the cache and
 * to all who asked for it meanwhile.
 *
 * Always true: at most one trip for a path is under way for each worker, but for listings, which
 * differ by request, and for those that began before an upload. A request that waits lies in its
 * own exchange's memory and leaves the queue when its client does, so what waits is bounded by
 * the connections there are. Called by static_files.c on the loop's thread of the worker that
 * has the request and the cache. */
#ifndef UVH_FILES_STATIC_FETCH_H
#define UVH_FILES_STATIC_FETCH_H

#include <uvhttp/response.h>

#include "files/static_files.h"

/* The same question as on the quick path, answered thoroughly: the entry may be used without
 * looking at the file, since it was looked at lately and nothing has changed in its folder, or
 * somebody is looking just now. */
bool uvh_static_fetch_usable(const struct uvhttp_static *context, struct uvh_file_entry *entry,
                             uint64_t now);

/* Answers from the paths that led to no file; false when this is not one of them. `*result` is that
 * of a handler. */
bool uvh_static_fetch_absent(struct uvhttp_static *context, struct uvh_static_cache *cache,
                             uvhttp_response_t *response, uvhttp_slice_t path, int *result);

/* `path` (NUL-terminated, without a slash at its beginning) lives as long as the request. Results
 * are those of a handler. */
int uvh_static_fetch(struct uvhttp_static *context, struct uvh_static_cache *cache,
                     uvhttp_response_t *response, uvhttp_slice_t path);

/* Answers with a page of the settings: as a file for the status 200, as the body of an error for
 * others. An error page that cannot be had is a line of text instead, and one line in the log until
 * it is there again. */
int uvh_static_fetch_page(struct uvhttp_static *context, struct uvh_static_cache *cache,
                          uvhttp_response_t *response, int page, int status);

/* Answers with the page of that status, or a line of text where there is none. */
int uvh_static_fetch_status(struct uvhttp_static *context, struct uvh_static_cache *cache,
                            uvhttp_response_t *response, int status);

#endif
