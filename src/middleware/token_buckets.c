/* See token_buckets.h. The arithmetic is the "generic cell rate algorithm" (ITU-T I.371, annex A):
 * taking a token delays the time at which the bucket is full by one interval. No token is left when
 * that time would be more than `burst` intervals ahead. */
#include "middleware/token_buckets.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "platform/lock.h"

enum {
    SET_SIZE = 8,
    KEYS_PER_SET = 4, /* on average, at most: half a set, so that few sets overflow */
    SHARDS = 64,      /* locks; usually more than threads, so contention is rare */
    CACHE_LINE = 64,
};

struct bucket {
    uint64_t key; /* the hash of kind and key */
    uint64_t full_at;
};

struct set {
    struct bucket buckets[SET_SIZE];
};

struct shard {
    struct uvh_lock lock;
    char padding[CACHE_LINE]; /* padding: two locks never share a cache line */
};

struct uvh_token_buckets {
    const uvhttp_allocator_t *allocator;
    uint64_t interval;
    uint64_t depth; /* of a bucket, as time: burst * interval */
    uint64_t seed;
    size_t set_count; /* a power of two */
    struct set *sets;
    struct shard shards[SHARDS];
};

struct uvh_token_buckets *uvh_token_buckets_new(const struct uvh_token_buckets_config *config)
{
    const uvhttp_allocator_t *allocator = config->allocator;
    struct uvh_token_buckets *buckets = uvh_alloc_zero(allocator, sizeof(*buckets));
    if (buckets == NULL)
        return NULL;
    size_t count = 1;
    while (count * KEYS_PER_SET < config->keys)
        count *= 2;
    buckets->sets = uvh_alloc_zero(allocator, count * sizeof(*buckets->sets));
    if (buckets->sets == NULL) {
        uvh_free(allocator, buckets);
        return NULL;
    }
    buckets->allocator = allocator;
    buckets->interval = config->interval;
    buckets->depth = config->burst * config->interval;
    buckets->seed = config->seed;
    buckets->set_count = count;
    for (int i = 0; i < SHARDS; i++)
        uvh_lock_init(&buckets->shards[i].lock);
    return buckets;
}

void uvh_token_buckets_free(struct uvh_token_buckets *buckets)
{
    if (buckets == NULL)
        return;
    for (int i = 0; i < SHARDS; i++)
        uvh_lock_destroy(&buckets->shards[i].lock);
    uvh_free(buckets->allocator, buckets->sets);
    uvh_free(buckets->allocator, buckets);
}

/* The key's bucket, or the one of its set that is full soonest, which is reused for the key. */
static struct bucket *find_or_reuse(struct set *set, uint64_t key)
{
    struct bucket *fullest = &set->buckets[0];
    for (int i = 0; i < SET_SIZE; i++) {
        struct bucket *bucket = &set->buckets[i];
        if (bucket->key == key)
            return bucket;
        if (bucket->full_at < fullest->full_at)
            fullest = bucket;
    }
    *fullest = (struct bucket){.key = key};
    return fullest;
}

static struct uvh_token_verdict take(const struct uvh_token_buckets *buckets, struct bucket *bucket,
                                     uint64_t now)
{
    uint64_t missing = bucket->full_at > now ? bucket->full_at - now : 0;
    struct uvh_token_verdict verdict = {.granted = missing + buckets->interval <= buckets->depth};
    if (verdict.granted) {
        missing += buckets->interval;
        bucket->full_at = now + missing;
    }
    /* More than the depth is missing when a thread's clock is behind the one of the previous
     * call. */
    verdict.left = missing < buckets->depth ? (buckets->depth - missing) / buckets->interval : 0;
    if (missing > buckets->depth - buckets->interval)
        verdict.next_in = missing - (buckets->depth - buckets->interval);
    else if (missing > 0)
        verdict.next_in = (missing - 1) % buckets->interval + 1;
    return verdict;
}

struct uvh_token_verdict uvh_token_buckets_take(struct uvh_token_buckets *buckets, unsigned kind,
                                                const void *key, size_t length, uint64_t now)
{
    uint64_t hash = uvh_hash(key, length, buckets->seed + kind);
    size_t index = (size_t)hash & (buckets->set_count - 1);
    struct uvh_lock *lock = &buckets->shards[index % SHARDS].lock;
    uvh_lock_acquire(lock);
    struct uvh_token_verdict verdict =
        take(buckets, find_or_reuse(&buckets->sets[index], hash), now);
    uvh_lock_release(lock);
    return verdict;
}
