/* Chained buckets, as many as the limit of entries, which is small. */
#include "files/absent_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/hash.h"

static struct uvh_absent_entry **find_link(struct uvh_absent_cache *cache, uvhttp_slice_t key,
                                           uint64_t hash)
{
    struct uvh_absent_entry **link = &cache->buckets[hash & (cache->bucket_count - 1)];
    while (*link != NULL && ((*link)->hash != hash || (*link)->key_length != key.length ||
                             memcmp((*link)->key, key.base, key.length) != 0))
        link = &(*link)->next;
    return link;
}

static void drop(struct uvh_absent_cache *cache, struct uvh_absent_entry **link)
{
    struct uvh_absent_entry *entry = *link;
    *link = entry->next;
    uvh_list_remove(&entry->recent);
    cache->count--;
    uvh_free(cache->allocator, entry);
}

static void drop_oldest(struct uvh_absent_cache *cache)
{
    const struct uvh_absent_entry *oldest =
        UVH_CONTAINER_OF(cache->recent.previous, struct uvh_absent_entry, recent);
    drop(cache, find_link(cache, (uvhttp_slice_t){oldest->key, oldest->key_length}, oldest->hash));
}

static bool open_buckets(struct uvh_absent_cache *cache)
{
    size_t count = 16;
    if (cache->buckets != NULL)
        return true;
    while (count < cache->limit)
        count *= 2;
    cache->buckets = uvh_alloc_zero(cache->allocator, count * sizeof(struct uvh_absent_entry *));
    cache->bucket_count = cache->buckets == NULL ? 0 : count;
    return cache->buckets != NULL;
}

void uvh_absent_cache_init(struct uvh_absent_cache *cache, const uvhttp_allocator_t *allocator,
                           size_t limit, uint64_t seed)
{
    *cache = (struct uvh_absent_cache){.allocator = allocator, .limit = limit, .seed = seed};
    uvh_list_init(&cache->recent);
}

void uvh_absent_cache_release(struct uvh_absent_cache *cache)
{
    while (cache->count > 0)
        drop_oldest(cache);
    uvh_free(cache->allocator, cache->buckets);
    cache->buckets = NULL;
    cache->bucket_count = 0;
}

struct uvh_absent_entry *uvh_absent_cache_find(struct uvh_absent_cache *cache, uvhttp_slice_t key)
{
    uvh_owner_check(&cache->owner);
    if (cache->count == 0 || key.length > UVH_ABSENT_CACHE_MAX_KEY)
        return NULL;
    struct uvh_absent_entry *entry =
        *find_link(cache, key, uvh_hash(key.base, key.length, cache->seed));
    if (entry != NULL) {
        uvh_list_remove(&entry->recent);
        uvh_list_prepend(&cache->recent, &entry->recent);
    }
    return entry;
}

struct uvh_absent_entry *uvh_absent_cache_put(struct uvh_absent_cache *cache, uvhttp_slice_t key)
{
    uvh_owner_check(&cache->owner);
    if (cache->limit == 0 || key.length > UVH_ABSENT_CACHE_MAX_KEY)
        return NULL;
    struct uvh_absent_entry *entry = uvh_absent_cache_find(cache, key);
    if (entry != NULL)
        return entry;
    if (!open_buckets(cache))
        return NULL;
    entry = uvh_alloc(cache->allocator, sizeof(*entry) + key.length);
    if (entry == NULL)
        return NULL;
    if (cache->count >= cache->limit)
        drop_oldest(cache);
    *entry = (struct uvh_absent_entry){.hash = uvh_hash(key.base, key.length, cache->seed),
                                       .key_length = key.length};
    if (key.length > 0)
        memcpy(entry->key, key.base, key.length);
    uvh_list_init(&entry->recent);
    uvh_list_prepend(&cache->recent, &entry->recent);
    *find_link(cache, key, entry->hash) = entry; /* not in the chain, so this is its end */
    cache->count++;
    return entry;
}

void uvh_absent_cache_remove(struct uvh_absent_cache *cache, uvhttp_slice_t key)
{
    uvh_owner_check(&cache->owner);
    if (cache->count == 0 || key.length > UVH_ABSENT_CACHE_MAX_KEY)
        return;
    struct uvh_absent_entry **link =
        find_link(cache, key, uvh_hash(key.base, key.length, cache->seed));
    if (*link != NULL)
        drop(cache, link);
}
