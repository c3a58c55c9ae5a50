/* What the cache cannot answer: one trip to the thread pool (static_load.c), and what it brings goes into the cache and to the client.
 *
 * Called by static_files.c on the loop's thread of the worker that has the request and the cache. */
#ifndef UVH_MODULES_STATIC_FETCH_H
#define UVH_MODULES_STATIC_FETCH_H

#include <uvhttp/response.h>

#include "base/compiler.h"
#include "modules/file_cache.h"
#include "modules/static_settings.h"

/* The entry may be used without looking at the file: it was looked at lately, or somebody is doing so just now. */
static inline bool uvh_static_fetch_is_usable(const struct uvh_static_settings *settings,
                                              const struct uvh_file_entry *entry, uint64_t now)
{
    if (UVH_LIKELY(now < entry->fresh_until))
        return true;
    return entry->looking && now < entry->fresh_until + settings->revalidate_ms;
}

/* `known` may be NULL; otherwise it is looked at again. `path` (NUL-terminated, without a slash at its beginning) lives as long as the request. Results are those of a
 * handler. */
int uvh_static_fetch(const struct uvh_static_settings *settings, struct uvh_file_cache *cache,
                     uvhttp_response_t *response, uvhttp_slice_t path, struct uvh_file_entry *known);

/* Answers with a page of the settings, from the cache or by a trip of its own: as a file for the status 200, as the body of an error for others. An
 * error page that cannot be had is a line of text instead, and one line in the log until it is there again. */
int uvh_static_fetch_page(const struct uvh_static_settings *settings, struct uvh_file_cache *cache,
                          uvhttp_response_t *response, int page, int status);

/* Answers with the page of that status, or a line of text where there is none. */
int uvh_static_fetch_status(const struct uvh_static_settings *settings, struct uvh_file_cache *cache,
                            uvhttp_response_t *response, int status);

#endif
