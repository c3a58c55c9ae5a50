/* Chained buckets that double with the number of entries, and one LRU list per budget, so that the
 * oldest entry is found at once. Called by static_files.c. */
#include "files/file_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/counter.h"
#include "base/hash.h"

enum { FIRST_BUCKETS = 256 };

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

static struct uvh_file_entry **bucket_of(struct uvh_file_cache *cache, uint64_t hash)
{
    return &cache->buckets[hash & (cache->bucket_count - 1)];
}

/* Keeps twice as many buckets as entries, since each entry visited may be a cache miss of the CPU.
 * Out of memory only makes the chains longer. */
static void grow(struct uvh_file_cache *cache)
{
    size_t count = cache->bucket_count * 2;
    struct uvh_file_entry **buckets =
        uvh_alloc_zero(cache->allocator, count * sizeof(struct uvh_file_entry *));
    if (buckets == NULL)
        return;
    for (size_t i = 0; i < cache->bucket_count; i++) {
        struct uvh_file_entry *entry = cache->buckets[i];
        while (entry != NULL) {
            struct uvh_file_entry *next = entry->next;
            struct uvh_file_entry **bucket = &buckets[entry->hash & (count - 1)];
            entry->next = *bucket;
            *bucket = entry;
            entry = next;
        }
    }
    uvh_free(cache->allocator, cache->buckets);
    cache->buckets = buckets;
    cache->bucket_count = count;
}

static struct uvh_file_entry *find(struct uvh_file_cache *cache, const char *key, size_t length,
                                   uint64_t hash)
{
    struct uvh_file_entry *entry = *bucket_of(cache, hash);
    while (entry != NULL && (entry->hash != hash || entry->key_length != length ||
                             memcmp(entry->key, key, length) != 0))
        entry = entry->next;
    return entry;
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
    uvh_counter_set(&cache->counts.entries, cache->count);
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
    while (cache->count + entries > cache->limits.entries)
        evict(cache, oldest(cache));
}

int uvh_file_cache_init(struct uvh_file_cache *cache, const uvhttp_allocator_t *allocator,
                        const struct uvh_file_cache_limits *limits, uint64_t seed)
{
    *cache = (struct uvh_file_cache){
        .allocator = allocator, .limits = *limits, .seed = seed, .bucket_count = FIRST_BUCKETS};
    uvh_list_init(&cache->in_memory);
    uvh_list_init(&cache->on_disk);
    cache->buckets = uvh_alloc_zero(allocator, FIRST_BUCKETS * sizeof(struct uvh_file_entry *));
    return cache->buckets == NULL ? UVHTTP_ENOMEM : 0;
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
    for (size_t i = 0; i < cache->bucket_count; i++) {
        for (struct uvh_file_entry *entry = cache->buckets[i]; entry != NULL; entry = entry->next)
            hand_over_entry(entry);
    }
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
    uvh_free(cache->allocator, cache->buckets);
    cache->buckets = NULL;
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
    entry->hash = uvh_hash(entry->key, entry->key_length, cache->seed);
    struct uvh_file_entry *known = find(cache, entry->key, entry->key_length, entry->hash);
    if (known != NULL && known->checked_at > entry->checked_at)
        return false;
    if (known != NULL)
        uvh_file_cache_remove(cache, known);
    evict_for(cache, memory, descriptors, 1);
    if (cache->count >= cache->bucket_count / 2)
        grow(cache);
    uvh_file_entry_ref(entry);
    struct uvh_file_entry **bucket = bucket_of(cache, entry->hash);
    entry->next = *bucket;
    *bucket = entry;
    entry->used = ++cache->finds;
    entry->cache = cache;
    if (memory > 0 || descriptors == 0)
        uvh_list_prepend(&cache->in_memory, &entry->by_memory);
    if (descriptors > 0)
        uvh_list_prepend(&cache->on_disk, &entry->by_descriptor);
    cache->count++;
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
    struct uvh_file_entry **link = bucket_of(cache, entry->hash);
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    entry->next = NULL;
    entry->cache = NULL;
    uvh_list_remove(&entry->by_memory);
    uvh_list_remove(&entry->by_descriptor);
    cache->count--;
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
