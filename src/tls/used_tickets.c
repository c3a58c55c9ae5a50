/* A ring of tickets by time of use, with hash chains by id. New tickets are linked at the front of
 * their chain, so the oldest one is the last. */
#include "tls/used_tickets.h"

#include <string.h>

#include "base/alloc.h"

#define NONE UINT32_MAX

enum { DROPS_MOST = 64 }; /* per claim, because all workers wait meanwhile */

struct uvh_tls_used_ticket {
    uint64_t id;
    int64_t begun;
    uint32_t next; /* slot of the next older one in the chain */
};

void uvh_tls_used_tickets_init(struct uvh_tls_used_tickets *used,
                               const uvhttp_allocator_t *allocator, int64_t now)
{
    memset(used, 0, sizeof(*used));
    uvh_lock_init(&used->lock);
    used->allocator = allocator;
    used->forgotten = INT64_MIN;
    used->since = now;
}

void uvh_tls_used_tickets_release(struct uvh_tls_used_tickets *used)
{
    uvh_free(used->allocator, used->ring);
    uvh_free(used->allocator, used->buckets);
    uvh_lock_destroy(&used->lock);
}

/* Ids are the server's own random numbers, so they need no hash. */
static uint32_t *bucket_of(const struct uvh_tls_used_tickets *used, uint64_t id)
{
    return &used->buckets[id & (used->capacity - 1)];
}

static bool contains(const struct uvh_tls_used_tickets *used, uint64_t id)
{
    uint32_t slot = *bucket_of(used, id);
    while (slot != NONE && used->ring[slot].id != id)
        slot = used->ring[slot].next;
    return slot != NONE;
}

static void append(struct uvh_tls_used_tickets *used, uint64_t id, int64_t begun)
{
    size_t slot = (used->first + used->count) & (used->capacity - 1);
    uint32_t *bucket = bucket_of(used, id);
    used->ring[slot] = (struct uvh_tls_used_ticket){.id = id, .begun = begun, .next = *bucket};
    *bucket = (uint32_t)slot;
    used->count++;
}

static void drop_oldest(struct uvh_tls_used_tickets *used)
{
    const struct uvh_tls_used_ticket *oldest = &used->ring[used->first];
    uint32_t *link = bucket_of(used, oldest->id);
    while (*link != used->first)
        link = &used->ring[*link].next;
    *link = NONE;
    if (oldest->begun > used->forgotten)
        used->forgotten = oldest->begun;
    used->first = (used->first + 1) & (used->capacity - 1);
    used->count--;
}

static bool allocate(struct uvh_tls_used_tickets *used, size_t capacity)
{
    used->ring = uvh_alloc(used->allocator, capacity * sizeof(*used->ring));
    used->buckets = uvh_alloc(used->allocator, capacity * sizeof(*used->buckets));
    used->capacity = capacity;
    if (used->ring == NULL || used->buckets == NULL) {
        uvh_free(used->allocator, used->ring);
        uvh_free(used->allocator, used->buckets);
        return false;
    }
    memset(used->buckets, 0xff, capacity * sizeof(*used->buckets));
    return true;
}

static bool grow(struct uvh_tls_used_tickets *used, size_t limit)
{
    struct uvh_tls_used_tickets larger = {.allocator = used->allocator};
    size_t capacity = 1;
    while (capacity < limit)
        capacity *= 2;
    if (!allocate(&larger, capacity))
        return false;
    for (size_t i = 0; i < used->count; i++) {
        const struct uvh_tls_used_ticket *one =
            &used->ring[(used->first + i) & (used->capacity - 1)];
        append(&larger, one->id, one->begun);
    }
    uvh_free(used->allocator, used->ring);
    uvh_free(used->allocator, used->buckets);
    used->ring = larger.ring;
    used->buckets = larger.buckets;
    used->capacity = capacity;
    used->first = 0;
    return true;
}

bool uvh_tls_used_tickets_reserve(struct uvh_tls_used_tickets *used, size_t limit, int64_t lifetime)
{
    uvh_lock_acquire(&used->lock);
    bool good = limit <= used->capacity || grow(used, limit);
    if (good) {
        used->limit = limit;
        used->lifetime = lifetime > used->lifetime ? lifetime : used->lifetime;
    }
    uvh_lock_release(&used->lock);
    return good;
}

bool uvh_tls_used_tickets_claim(struct uvh_tls_used_tickets *used, uint64_t id, int64_t begun,
                                int64_t now)
{
    uvh_lock_acquire(&used->lock);
    for (int i = 0;
         i < DROPS_MOST && used->count > 0 && used->ring[used->first].begun + used->lifetime <= now;
         i++)
        drop_oldest(used);
    bool full = used->count >= used->limit;
    bool good = begun > used->forgotten && !full && !contains(used, id);
    if (good)
        append(used, id, begun);
    /* it is not registered, so it must not be accepted later */
    else if (full && begun > used->forgotten)
        used->forgotten = begun;
    uvh_lock_release(&used->lock);
    return good;
}
