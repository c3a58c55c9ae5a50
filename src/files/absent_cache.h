/* Caches the paths that lead to no file, each with its result: not found, forbidden, or a page for
 * missing files.
 *
 * Separate from the file cache, so that requests for missing names never evict files. Invariants:
 * at most the allowed number of entries, each key no longer than UVH_ABSENT_CACHE_MAX_KEY. Every
 * entry is in the table and in the LRU list. The least recently requested entry is evicted first.
 * Used by its owner's thread, which runs a loop. */
#ifndef UVH_FILES_ABSENT_CACHE_H
#define UVH_FILES_ABSENT_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include <uvhttp/types.h>

#include "base/hash_table.h"
#include "base/list.h"
#include "base/owner.h"
#include "files/path_versions.h"

enum { UVH_ABSENT_CACHE_MAX_KEY = 255 }; /* bytes; longer paths are looked up each time */

struct uvh_absent_entry {
    int error;      /* a negative errno or UVHTTP_ENOTREG */
    int page;       /* of the settings, sent instead; UVH_STATIC_NO_PAGE: none */
    bool for_html;  /* clients that accept HTML get the page, others the error */
    uint64_t until; /* milliseconds of the loop's clock; then the path is checked again */
    struct uvh_path_state state; /* of where the file would appear; see uvh_file_entry */
    uint64_t seen;

    struct uvh_list recent; /* newest first */
    struct uvh_hash_link link;
    size_t key_length;
    char key[];
};

struct uvh_absent_cache {
    size_t limit;
    uint64_t seed;
    struct uvh_hash_table table;
    struct uvh_list recent;
    struct uvh_owner owner;
};

/* Allocates nothing before the first entry. */
void uvh_absent_cache_init(struct uvh_absent_cache *cache, const uvhttp_allocator_t *allocator,
                           size_t limit, uint64_t seed);
void uvh_absent_cache_release(struct uvh_absent_cache *cache);

/* The entry of that key, now the newest, or NULL. Borrowed until the next call of another
 * function. */
struct uvh_absent_entry *uvh_absent_cache_find(struct uvh_absent_cache *cache, uvhttp_slice_t key);

/* The entry of that key, or a new one, for the caller to fill in. NULL when the key is too long,
 * the limit is 0, or out of memory. */
struct uvh_absent_entry *uvh_absent_cache_put(struct uvh_absent_cache *cache, uvhttp_slice_t key);

/* Does nothing without such an entry. */
void uvh_absent_cache_remove(struct uvh_absent_cache *cache, uvhttp_slice_t key);

#endif
