/* A hash table, and one LRU list per budget, so that the oldest entry is found at once. */
#include "files/file_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/counter.h"
#include "base/hash.h"

static struct uvh_file_entry *oldest_in_memory(struct uvh_file_cache *cache)
{
    struct uvh_list *list = &cache->in_memory;
    return uvh_list_empty(list)
               ? NULL
               : UVH_CONTAINER_OF(list->previous, struct uvh_file_entry, by_memory);
}

static struct uvh_file_entry *oldest_on_disk(struct uvh_file_cache *cache)
{
    struct uvh_list *list = &cache->on_disk;
    return uvh_list_empty(list)
               ? NULL
               : UVH_CONTAINER_OF(list->previous, struct uvh_file_entry, by_descriptor);
}

/* The least recently used entry of both lists; NULL when the cache is empty. */
static struct uvh_file_entry *oldest(struct uvh_file_cache *cache)
{
    struct uvh_file_entry *a = oldest_in_memory(cache);
    struct uvh_file_entry *b = oldest_on_disk(cache);
    return a == NULL || (b != NULL && b->used < a->used) ? b : a;
}

static struct uvh_file_entry *find(const struct uvh_file_cache *cache, const char *key,
                                   size_t length, uint64_t hash)
{
    struct uvh_hash_link *link = uvh_hash_table_find(&cache->table, hash);
    for (; link != NULL; link = uvh_hash_table_next(link)) {
        struct uvh_file_entry *entry = UVH_CONTAINER_OF(link, struct uvh_file_entry, link);
        if (entry->key_length == length && memcmp(entry->key, key, length) == 0)
            return entry;
    }
    return NULL;
}

static void to_front(struct uvh_list *list, struct uvh_list *link)
{
    if (list->next == link || uvh_list_empty(link))
        return;
    uvh_list_remove(link);
    uvh_list_prepend(list, link);
}

static void touch(struct uvh_file_cache *cache, struct uvh_file_entry *entry)
{
    entry->used = ++cache->finds;
    to_front(&cache->in_memory, &entry->by_memory);
    to_front(&cache->on_disk, &entry->by_descriptor);
}

static void publish(struct uvh_file_cache *cache)
{
    uvh_counter_set(&cache->counts.entries, cache->table.count);
    uvh_counter_set(&cache->counts.memory, cache->memory);
    uvh_counter_set(&cache->counts.descriptors, cache->descriptors);
}

static void evict(struct uvh_file_cache *cache, struct uvh_file_entry *entry)
{
    uvh_counter_add(&cache->counts.evictions, 1);
    uvh_file_cache_remove(cache, entry);
}

static void evict_for(struct uvh_file_cache *cache, size_t memory, size_t descriptors,
                      size_t entries)
{
    while (cache->memory + memory > cache->limits.memory)
        evict(cache, oldest_in_memory(cache));
    while (cache->descriptors + descriptors > cache->limits.descriptors)
        evict(cache, oldest_on_disk(cache));
    while (cache->table.count + entries > cache->limits.entries)
        evict(cache, oldest(cache));
}

void uvh_file_cache_init(struct uvh_file_cache *cache, const uvhttp_allocator_t *allocator,
                         const struct uvh_file_cache_limits *limits, uint64_t seed)
{
    *cache = (struct uvh_file_cache){.limits = *limits, .seed = seed};
    uvh_hash_table_init(&cache->table, allocator);
    uvh_list_init(&cache->in_memory);
    uvh_list_init(&cache->on_disk);
}

#if defined(UVH_DEBUG_CHECKS)
static void hand_over_entry(struct uvh_file_entry *entry)
{
    uvh_owner_hand_over(&entry->owner);
    for (int i = 0; i < UVH_CODING_COUNT; i++) {
        if (entry->variants[i] != NULL)
            hand_over_entry(entry->variants[i]);
    }
}
#endif

void uvh_file_cache_hand_over(struct uvh_file_cache *cache)
{
#if defined(UVH_DEBUG_CHECKS)
    uvh_owner_hand_over(&cache->owner);
    for (const struct uvh_list *link = cache->in_memory.next; link != &cache->in_memory;
         link = link->next)
        hand_over_entry(UVH_CONTAINER_OF(link, struct uvh_file_entry, by_memory));
    for (const struct uvh_list *link = cache->on_disk.next; link != &cache->on_disk;
         link = link->next)
        hand_over_entry(UVH_CONTAINER_OF(link, struct uvh_file_entry, by_descriptor));
#else
    (void)cache;
#endif
}

void uvh_file_cache_release(struct uvh_file_cache *cache)
{
    struct uvh_file_entry *entry;
    uvh_file_cache_hand_over(cache); /* the previous owner no longer uses it */
    while ((entry = oldest(cache)) != NULL)
        uvh_file_cache_remove(cache, entry);
    uvh_hash_table_release(&cache->table);
}

struct uvh_file_entry *uvh_file_cache_find(struct uvh_file_cache *cache, const char *key,
                                           size_t length)
{
    uvh_owner_check(&cache->owner);
    struct uvh_file_entry *entry = find(cache, key, length, uvh_hash(key, length, cache->seed));
    if (entry != NULL)
        touch(cache, entry);
    return entry;
}

bool uvh_file_cache_insert(struct uvh_file_cache *cache, struct uvh_file_entry *entry)
{
    uvh_owner_check(&cache->owner);
    size_t memory = uvh_file_entry_memory(entry);
    size_t descriptors = uvh_file_entry_descriptors(entry);
    if (memory > cache->limits.memory || descriptors > cache->limits.descriptors ||
        cache->limits.entries == 0)
        return false;
    uint64_t hash = uvh_hash(entry->key, entry->key_length, cache->seed);
    struct uvh_file_entry *known = find(cache, entry->key, entry->key_length, hash);
    if (known != NULL && known->checked_at > entry->checked_at)
        return false;
    if (known != NULL)
        uvh_file_cache_remove(cache, known);
    evict_for(cache, memory, descriptors, 1);
    uvh_file_entry_ref(entry);
    uvh_hash_table_add(&cache->table, &entry->link, hash);
    entry->used = ++cache->finds;
    entry->cache = cache;
    if (memory > 0 || descriptors == 0)
        uvh_list_prepend(&cache->in_memory, &entry->by_memory);
    if (descriptors > 0)
        uvh_list_prepend(&cache->on_disk, &entry->by_descriptor);
    cache->memory += memory;
    cache->descriptors += descriptors;
    publish(cache);
    return true;
}

void uvh_file_cache_attach(struct uvh_file_entry *entry, enum uvh_coding coding,
                           struct uvh_file_entry *variant)
{
    struct uvh_file_cache *cache = entry->cache;
    size_t memory = uvh_file_entry_memory(variant);
    if (cache == NULL || entry->variants[coding] != NULL ||
        memory > cache->limits.memory - uvh_file_entry_memory(entry))
        return;
    uvh_owner_check(&cache->owner);
    touch(cache, entry); /* so that it is not evicted itself */
    evict_for(cache, memory, 0, 0);
    uvh_file_entry_ref(variant);
    entry->variants[coding] = variant;
    cache->memory += memory;
    if (uvh_list_empty(&entry->by_memory))
        uvh_list_prepend(&cache->in_memory, &entry->by_memory);
    publish(cache);
}

static void copy_entry(struct uvh_file_cache *cache, const struct uvh_file_entry *entry)
{
    struct uvh_file_entry *copy = uvh_file_entry_copy(entry);
    if (copy == NULL)
        return;
    uvh_file_cache_insert(cache, copy);
    uvh_file_entry_unref(copy);
}

/* Copies the oldest first, so that the LRU order is preserved. */
void uvh_file_cache_copy(struct uvh_file_cache *cache, const struct uvh_file_cache *from)
{
    const struct uvh_list *link;
    for (link = from->on_disk.previous; link != &from->on_disk; link = link->previous)
        copy_entry(cache, UVH_CONTAINER_OF(link, struct uvh_file_entry, by_descriptor));
    for (link = from->in_memory.previous; link != &from->in_memory; link = link->previous) {
        const struct uvh_file_entry *entry =
            UVH_CONTAINER_OF(link, struct uvh_file_entry, by_memory);
        if (uvh_list_empty(&entry->by_descriptor)) /* the others are in the list already */
            copy_entry(cache, entry);
    }
}

void uvh_file_cache_remove(struct uvh_file_cache *cache, struct uvh_file_entry *entry)
{
    uvh_owner_check(&cache->owner);
    if (entry->cache != cache)
        return;
    uvh_hash_table_remove(&cache->table, &entry->link);
    entry->cache = NULL;
    uvh_list_remove(&entry->by_memory);
    uvh_list_remove(&entry->by_descriptor);
    cache->memory -= uvh_file_entry_memory(entry);
    cache->descriptors -= uvh_file_entry_descriptors(entry);
    publish(cache);
    uvh_file_entry_unref(entry);
}

void uvh_file_cache_shed(struct uvh_file_cache *cache)
{
    uvh_owner_check(&cache->owner);
    size_t kept = cache->descriptors / 2;
    while (cache->descriptors > kept)
        evict(cache, oldest_on_disk(cache));
}
