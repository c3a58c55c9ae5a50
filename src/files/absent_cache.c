/* See the header. */
#include "files/absent_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/hash.h"

static struct uvh_absent_entry *find(const struct uvh_absent_cache *cache, uvhttp_slice_t key,
                                     uint64_t hash)
{
    struct uvh_hash_link *link = uvh_hash_table_find(&cache->table, hash);
    for (; link != NULL; link = uvh_hash_table_next(link)) {
        struct uvh_absent_entry *entry = UVH_CONTAINER_OF(link, struct uvh_absent_entry, link);
        if (entry->key_length == key.length && memcmp(entry->key, key.base, key.length) == 0)
            return entry;
    }
    return NULL;
}

static void drop(struct uvh_absent_cache *cache, struct uvh_absent_entry *entry)
{
    uvh_hash_table_remove(&cache->table, &entry->link);
    uvh_list_remove(&entry->recent);
    uvh_free(cache->table.allocator, entry);
}

static void drop_oldest(struct uvh_absent_cache *cache)
{
    drop(cache, UVH_CONTAINER_OF(cache->recent.previous, struct uvh_absent_entry, recent));
}

void uvh_absent_cache_init(struct uvh_absent_cache *cache, const uvhttp_allocator_t *allocator,
                           size_t limit, uint64_t seed)
{
    *cache = (struct uvh_absent_cache){.limit = limit, .seed = seed};
    uvh_hash_table_init(&cache->table, allocator);
    uvh_list_init(&cache->recent);
}

void uvh_absent_cache_release(struct uvh_absent_cache *cache)
{
    while (cache->table.count > 0)
        drop_oldest(cache);
    uvh_hash_table_release(&cache->table);
}

struct uvh_absent_entry *uvh_absent_cache_find(struct uvh_absent_cache *cache, uvhttp_slice_t key)
{
    uvh_owner_check(&cache->owner);
    if (cache->table.count == 0 || key.length > UVH_ABSENT_CACHE_MAX_KEY)
        return NULL;
    struct uvh_absent_entry *entry = find(cache, key, uvh_hash(key.base, key.length, cache->seed));
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
    entry = uvh_alloc(cache->table.allocator, sizeof(*entry) + key.length);
    if (entry == NULL)
        return NULL;
    if (cache->table.count >= cache->limit)
        drop_oldest(cache);
    *entry = (struct uvh_absent_entry){.key_length = key.length};
    if (key.length > 0)
        memcpy(entry->key, key.base, key.length);
    uvh_list_init(&entry->recent);
    uvh_list_prepend(&cache->recent, &entry->recent);
    uvh_hash_table_add(&cache->table, &entry->link, uvh_hash(key.base, key.length, cache->seed));
    return entry;
}

void uvh_absent_cache_remove(struct uvh_absent_cache *cache, uvhttp_slice_t key)
{
    uvh_owner_check(&cache->owner);
    if (cache->table.count == 0 || key.length > UVH_ABSENT_CACHE_MAX_KEY)
        return;
    struct uvh_absent_entry *entry = find(cache, key, uvh_hash(key.base, key.length, cache->seed));
    if (entry != NULL)
        drop(cache, entry);
}
