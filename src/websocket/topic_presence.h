/* Counts the connections subscribed to a pattern in this process, over all workers: one table under
 * a lock, which subscribing and unsubscribing take, and messages do not.
 *
 * Invariant: the adapter is notified of the first and the last subscription in the order in which
 * they occur, since that happens under the lock. Any thread. */
#ifndef UVH_WEBSOCKET_TOPIC_PRESENCE_H
#define UVH_WEBSOCKET_TOPIC_PRESENCE_H

#include <stdbool.h>

#include <uvhttp/topics.h>

#include "base/hash_table.h"
#include "platform/lock.h"

/* A pattern with subscriptions, or with a pending notification. */
struct uvh_topic_present {
    struct uvh_hash_link link;
    size_t count; /* connections */
    size_t refs;  /* users of the text */
    size_t length;
    char pattern[]; /* NUL-terminated */
};

struct uvh_topic_presence {
    const uvhttp_allocator_t *allocator;
    struct uvh_lock lock;
    struct uvh_hash_table table;
    uint64_t seed;
    uvhttp_topics_adapter_t functions; /* of the adapter; all NULL without one */
    void *adapter;
};

void uvh_topic_presence_init(struct uvh_topic_presence *presence,
                             const uvhttp_allocator_t *allocator, uint64_t seed);
/* Requires that no subscription is left. */
void uvh_topic_presence_release(struct uvh_topic_presence *presence);

/* Adds one; `*count` is the new number. Takes a reference for the subscription. NULL when out of
 * memory. */
struct uvh_topic_present *uvh_topic_presence_enter(struct uvh_topic_presence *presence,
                                                   const char *pattern, size_t length,
                                                   size_t *count);

/* Removes one; returns the number left. Does not drop the reference. */
size_t uvh_topic_presence_leave(struct uvh_topic_presence *presence,
                                struct uvh_topic_present *present);

/* The caller of a user's callback with the text needs its own reference. */
void uvh_topic_presence_ref(struct uvh_topic_presence *presence, struct uvh_topic_present *present);
void uvh_topic_presence_unref(struct uvh_topic_presence *presence,
                              struct uvh_topic_present *present);

size_t uvh_topic_presence_count(struct uvh_topic_presence *presence, const char *pattern,
                                size_t length);

#endif
