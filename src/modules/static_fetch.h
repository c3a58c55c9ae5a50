/* What the cache cannot answer: one trip to the thread pool (static_load.c), and what it brings goes into the cache and to the client.
 *
 * Called by static_files.c on the loop's thread of the worker that has the request and the cache. */
#ifndef UVH_MODULES_STATIC_FETCH_H
#define UVH_MODULES_STATIC_FETCH_H

#include <uvhttp/response.h>

#include "modules/file_cache.h"
#include "modules/static_settings.h"

/* `known` may be NULL; otherwise it is looked at again. `path` (NUL-terminated, without a slash at its beginning) lives as long as the request. Results are those of a
 * handler. */
int uvh_static_fetch(const struct uvh_static_settings *settings, struct uvh_file_cache *cache,
                     uvhttp_response_t *response, uvhttp_slice_t path, struct uvh_file_entry *known);

#endif
