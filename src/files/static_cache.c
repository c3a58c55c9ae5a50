/* Initializes and releases the parts in order. */
#include "files/static_cache.h"

void uvh_static_cache_init(struct uvh_static_cache *cache,
                           const struct uvh_static_cache_options *options)
{
    *cache = (struct uvh_static_cache){.counts = {.hits = 0}};
    uvh_absent_cache_init(&cache->absent, options->allocator, options->absent, options->seed);
    for (size_t i = 0; i < UVH_STATIC_CACHE_PENDING_SLOTS; i++)
        uvh_list_init(&cache->pending_loads[i]);
    uvh_file_cache_init(&cache->files, options->allocator, &options->limits, options->seed);
}

void uvh_static_cache_release(struct uvh_static_cache *cache)
{
    uvh_file_cache_release(&cache->files);
    uvh_absent_cache_release(&cache->absent);
}
