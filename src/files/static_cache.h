/* The cached state of one worker for a directory: files, paths without a file, loads in progress,
 * and counts.
 *
 * Used by the worker's thread only, except `counts`, which every thread may read. Created by
 * static_files.c, filled by static_fetch.c. */
#ifndef UVH_FILES_STATIC_CACHE_H
#define UVH_FILES_STATIC_CACHE_H

#include <stdatomic.h>

#include "files/absent_cache.h"
#include "files/file_cache.h"

enum { UVH_STATIC_CACHE_PENDING_SLOTS = 64 }; /* buckets of loads in progress; a power of two */

struct uvh_static_counts {
    _Atomic uint64_t hits;
    _Atomic uint64_t negative_hits;
    _Atomic uint64_t misses;
    _Atomic uint64_t lookups;
    _Atomic uint64_t loads;
    _Atomic uint64_t coalesced;
    _Atomic uint64_t negative_entries; /* at the moment */
};

struct uvh_static_cache {
    struct uvh_file_cache files; /* first: a request for a cached file reads it first */
    struct uvh_absent_cache absent;
    struct uvh_static_counts counts;
    struct uvh_list pending_loads[UVH_STATIC_CACHE_PENDING_SLOTS];
};

struct uvh_static_cache_options {
    const uvhttp_allocator_t *allocator;
    struct uvh_file_cache_limits limits;
    size_t absent; /* paths that lead to no file */
    uint64_t seed;
};

void uvh_static_cache_init(struct uvh_static_cache *cache,
                           const struct uvh_static_cache_options *options);
void uvh_static_cache_release(struct uvh_static_cache *cache);

#endif
