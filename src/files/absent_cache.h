/* The paths that lately led to no file, with what was said instead (not there, not allowed, a page
 * for whatever is missing).
 *
 * Apart from the files, so that asking for names that do not exist throws out no file however
 * often it is done. Always true: at most as many as allowed, each no longer than
 * UVH_ABSENT_CACHE_MAX_KEY; every entry is in one bucket and in the list. What was asked for
 * least lately goes first. Used by its owner's thread, which is that of a loop. Called by
 * static_fetch.c. */
#ifndef UVH_FILES_ABSENT_CACHE_H
#define UVH_FILES_ABSENT_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include <uvhttp/types.h>

#include "base/list.h"
#include "base/owner.h"
#include "files/path_versions.h"

enum { UVH_ABSENT_CACHE_MAX_KEY = 255 }; /* bytes; what is longer is looked for each time */

struct uvh_absent_entry {
    int error;      /* a negative errno or UVHTTP_ENOTREG */
    int page;       /* of the settings, sent instead; UVH_STATIC_NO_PAGE: none */
    bool for_html;  /* the page is for who accepts HTML, the error for others */
    uint64_t until; /* milliseconds of the loop's clock; from then on the path is looked at again */
    struct uvh_path_state state; /* of where it would appear; see uvh_file_entry */
    uint64_t seen;

    struct uvh_list recent; /* newest first */
    struct uvh_absent_entry *next;
    uint64_t hash;
    size_t key_length;
    char key[];
};

struct uvh_absent_cache {
    const uvhttp_allocator_t *allocator;
    size_t limit;
    size_t count;
    uint64_t seed;
    size_t bucket_count; /* a power of two; 0 before the first entry */
    struct uvh_absent_entry **buckets;
    struct uvh_list recent;
    struct uvh_owner owner;
};

/* Takes no memory before the first entry. */
void uvh_absent_cache_init(struct uvh_absent_cache *cache, const uvhttp_allocator_t *allocator,
                           size_t limit, uint64_t seed);
void uvh_absent_cache_release(struct uvh_absent_cache *cache);

/* The entry of that key, now the newest, or NULL. Borrowed until the next call of another
 * function. */
struct uvh_absent_entry *uvh_absent_cache_find(struct uvh_absent_cache *cache, uvhttp_slice_t key);

/* The entry of that key, a new one if there was none, for the caller to fill in. NULL when it is
 * too long, nothing may be kept, or memory ran out. */
struct uvh_absent_entry *uvh_absent_cache_put(struct uvh_absent_cache *cache, uvhttp_slice_t key);

/* Harmless when there is none. */
void uvh_absent_cache_remove(struct uvh_absent_cache *cache, uvhttp_slice_t key);

#endif
