/* The last reference frees an entry. It may have no connections before that, while the user's
 * callback for the last one runs. */
#include "websocket/topic_presence.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/hash.h"

void uvh_topic_presence_init(struct uvh_topic_presence *presence,
                             const uvhttp_allocator_t *allocator, uint64_t seed)
{
    presence->allocator = allocator;
    presence->seed = seed;
    uvh_lock_init(&presence->lock);
    uvh_hash_table_init(&presence->table, allocator);
}

void uvh_topic_presence_release(struct uvh_topic_presence *presence)
{
    uvh_hash_table_release(&presence->table);
    uvh_lock_destroy(&presence->lock);
}

static struct uvh_topic_present *find(struct uvh_topic_presence *presence, const char *pattern,
                                      size_t length, uint64_t hash)
{
    struct uvh_hash_link *link = uvh_hash_table_find(&presence->table, hash);
    for (; link != NULL; link = uvh_hash_table_next(link)) {
        struct uvh_topic_present *one = UVH_CONTAINER_OF(link, struct uvh_topic_present, link);
        if (one->length == length && memcmp(one->pattern, pattern, length) == 0)
            return one;
    }
    return NULL;
}

static struct uvh_topic_present *find_or_add(struct uvh_topic_presence *presence,
                                             const char *pattern, size_t length)
{
    uint64_t hash = uvh_hash(pattern, length, presence->seed);
    struct uvh_topic_present *one = find(presence, pattern, length, hash);
    if (one != NULL)
        return one;
    one = uvh_alloc(presence->allocator, sizeof(*one) + length + 1);
    if (one == NULL)
        return NULL;
    memset(one, 0, sizeof(*one));
    one->length = length;
    memcpy(one->pattern, pattern, length);
    one->pattern[length] = '\0';
    uvh_hash_table_add(&presence->table, &one->link, hash);
    return one;
}

struct uvh_topic_present *uvh_topic_presence_enter(struct uvh_topic_presence *presence,
                                                   const char *pattern, size_t length,
                                                   size_t *count)
{
    uvh_lock_acquire(&presence->lock);
    struct uvh_topic_present *one = find_or_add(presence, pattern, length);
    if (one != NULL) {
        one->refs++;
        *count = ++one->count;
        if (one->count == 1 && presence->functions.subscribe != NULL)
            presence->functions.subscribe(presence->adapter, one->pattern);
    }
    uvh_lock_release(&presence->lock);
    return one;
}

size_t uvh_topic_presence_leave(struct uvh_topic_presence *presence,
                                struct uvh_topic_present *present)
{
    uvh_lock_acquire(&presence->lock);
    size_t left = --present->count;
    if (left == 0 && presence->functions.unsubscribe != NULL)
        presence->functions.unsubscribe(presence->adapter, present->pattern);
    uvh_lock_release(&presence->lock);
    return left;
}

void uvh_topic_presence_ref(struct uvh_topic_presence *presence, struct uvh_topic_present *present)
{
    uvh_lock_acquire(&presence->lock);
    present->refs++;
    uvh_lock_release(&presence->lock);
}

void uvh_topic_presence_unref(struct uvh_topic_presence *presence,
                              struct uvh_topic_present *present)
{
    uvh_lock_acquire(&presence->lock);
    bool last = --present->refs == 0;
    if (last)
        uvh_hash_table_remove(&presence->table, &present->link);
    uvh_lock_release(&presence->lock);
    if (last)
        uvh_free(presence->allocator, present);
}

size_t uvh_topic_presence_count(struct uvh_topic_presence *presence, const char *pattern,
                                size_t length)
{
    uvh_lock_acquire(&presence->lock);
    const struct uvh_topic_present *one =
        find(presence, pattern, length, uvh_hash(pattern, length, presence->seed));
    size_t count = one == NULL ? 0 : one->count;
    uvh_lock_release(&presence->lock);
    return count;
}
