/* All that one worker remembers of a folder: its files, paths that led to none, what is being
 * looked for at the moment, and counts.
 *
 * Touched by the worker's thread alone, but for `counts`, which every thread may read. Made by
 * static_files.c, filled by static_fetch.c. */
#ifndef UVH_FILES_STATIC_CACHE_H
#define UVH_FILES_STATIC_CACHE_H

#include <stdatomic.h>

#include "files/absent_cache.h"
#include "files/file_cache.h"

enum { UVH_STATIC_CACHE_FLIGHTS = 64 }; /* buckets of looks under way; a power of two */

struct uvh_static_counts {
    _Atomic uint64_t hits;
    _Atomic uint64_t negative_hits;
    _Atomic uint64_t misses;
    _Atomic uint64_t looks;
    _Atomic uint64_t loads;
    _Atomic uint64_t coalesced;
    _Atomic uint64_t negative_entries; /* at the moment */
};

struct uvh_static_cache {
    struct uvh_file_cache files; /* first: it is what a request for a file that is known looks at */
    struct uvh_absent_cache absent;
    struct uvh_static_counts counts;
    struct uvh_list flights[UVH_STATIC_CACHE_FLIGHTS];
};

struct uvh_static_cache_order {
    const uvhttp_allocator_t *allocator;
    struct uvh_file_cache_limits limits;
    size_t absent; /* paths that lead to no file */
    uint64_t seed;
};

/* 0 or UVHTTP_ENOMEM. */
int uvh_static_cache_init(struct uvh_static_cache *cache,
                          const struct uvh_static_cache_order *order);
void uvh_static_cache_release(struct uvh_static_cache *cache);

#endif
