/* Chained buckets that double with the number of entries, and one list per kind, so that either budget finds its oldest entry at once.
 * Called by static_files.c. */
#include "modules/file_cache.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/counter.h"
#include "base/hash.h"

enum { FIRST_BUCKETS = 256 };

static bool in_cache(const struct uvh_file_entry *entry)
{
    return !uvh_list_empty(&entry->recent);
}

static struct uvh_file_entry *oldest(struct uvh_list *list)
{
    return uvh_list_empty(list) ? NULL : UVH_CONTAINER_OF(list->previous, struct uvh_file_entry, recent);
}

static struct uvh_file_entry **bucket_of(struct uvh_file_cache *cache, uint64_t hash)
{
    return &cache->buckets[hash & (cache->bucket_count - 1)];
}

/* Without memory for more buckets the chains just become longer. */
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

static struct uvh_file_entry *look_up(struct uvh_file_cache *cache, const char *key, size_t length,
                                      uint64_t hash)
{
    struct uvh_file_entry *entry = *bucket_of(cache, hash);
    while (entry != NULL &&
           (entry->hash != hash || entry->key_length != length || memcmp(entry->key, key, length) != 0))
        entry = entry->next;
    return entry;
}

static void touch(struct uvh_file_cache *cache, struct uvh_file_entry *entry)
{
    struct uvh_list *list = entry->descriptor < 0 ? &cache->in_memory : &cache->on_disk;
    entry->used = ++cache->finds;
    if (list->next == &entry->recent)
        return;
    uvh_list_remove(&entry->recent);
    uvh_list_prepend(list, &entry->recent);
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

static void make_room(struct uvh_file_cache *cache, size_t memory, size_t descriptors)
{
    while (cache->memory + memory > cache->limits.memory)
        evict(cache, oldest(&cache->in_memory));
    while (cache->descriptors + descriptors > cache->limits.descriptors)
        evict(cache, oldest(&cache->on_disk));
    while (cache->count + 1 > cache->limits.entries) {
        struct uvh_file_entry *a = oldest(&cache->in_memory);
        struct uvh_file_entry *b = oldest(&cache->on_disk);
        if (a == NULL || (b != NULL && b->used < a->used))
            a = b;
        evict(cache, a);
    }
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

void uvh_file_cache_release(struct uvh_file_cache *cache)
{
    struct uvh_file_entry *entry;
    while ((entry = oldest(&cache->in_memory)) != NULL || (entry = oldest(&cache->on_disk)) != NULL)
        uvh_file_cache_remove(cache, entry);
    uvh_free(cache->allocator, cache->buckets);
    cache->buckets = NULL;
}

struct uvh_file_entry *uvh_file_cache_find(struct uvh_file_cache *cache, const char *key, size_t length)
{
    struct uvh_file_entry *entry = look_up(cache, key, length, uvh_hash(key, length, cache->seed));
    if (entry != NULL)
        touch(cache, entry);
    return entry;
}

bool uvh_file_cache_insert(struct uvh_file_cache *cache, struct uvh_file_entry *entry)
{
    size_t memory = entry->descriptor < 0 ? (size_t)entry->size : 0;
    size_t descriptors = entry->descriptor < 0 ? 0 : 1;
    if (memory > cache->limits.memory || descriptors > cache->limits.descriptors ||
        cache->limits.entries == 0)
        return false;
    entry->hash = uvh_hash(entry->key, entry->key_length, cache->seed);
    struct uvh_file_entry *known = look_up(cache, entry->key, entry->key_length, entry->hash);
    if (known != NULL && known->looked_at > entry->looked_at)
        return false;
    if (known != NULL)
        uvh_file_cache_remove(cache, known);
    make_room(cache, memory, descriptors);
    if (cache->count >= cache->bucket_count)
        grow(cache);
    uvh_file_entry_ref(entry);
    struct uvh_file_entry **bucket = bucket_of(cache, entry->hash);
    entry->next = *bucket;
    *bucket = entry;
    entry->used = ++cache->finds;
    uvh_list_prepend(entry->descriptor < 0 ? &cache->in_memory : &cache->on_disk, &entry->recent);
    cache->count++;
    cache->memory += memory;
    cache->descriptors += descriptors;
    publish(cache);
    return true;
}

static void copy_list(struct uvh_file_cache *cache, const struct uvh_list *list)
{
    for (const struct uvh_list *link = list->previous; link != list; link = link->previous) {
        struct uvh_file_entry *copy =
            uvh_file_entry_copy(UVH_CONTAINER_OF(link, struct uvh_file_entry, recent));
        if (copy == NULL)
            continue;
        uvh_file_cache_insert(cache, copy);
        uvh_file_entry_unref(copy);
    }
}

void uvh_file_cache_copy(struct uvh_file_cache *cache, const struct uvh_file_cache *from)
{
    copy_list(cache, &from->on_disk);
    copy_list(cache, &from->in_memory);
}

void uvh_file_cache_remove(struct uvh_file_cache *cache, struct uvh_file_entry *entry)
{
    if (!in_cache(entry))
        return;
    struct uvh_file_entry **link = bucket_of(cache, entry->hash);
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    entry->next = NULL;
    uvh_list_remove(&entry->recent);
    cache->count--;
    if (entry->descriptor < 0)
        cache->memory -= (size_t)entry->size;
    else
        cache->descriptors--;
    publish(cache);
    uvh_file_entry_unref(entry);
}

void uvh_file_cache_shed(struct uvh_file_cache *cache)
{
    size_t kept = cache->descriptors / 2;
    while (cache->descriptors > kept)
        evict(cache, oldest(&cache->on_disk));
}
