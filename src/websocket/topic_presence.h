/* How many connections have subscribed to a pattern on this machine, whatever their worker: one
 * table behind a lock, which subscribing and unsubscribing take, and messages do not.
 *
 * Always true: the adapter is told of the first one and of the last one in the order in which they
 * came and went, since that happens under the lock. Any thread. Called by topics.c. */
#ifndef UVH_WEBSOCKET_TOPIC_PRESENCE_H
#define UVH_WEBSOCKET_TOPIC_PRESENCE_H

#include <stdbool.h>

#include <uvhttp/topics.h>

#include "platform/lock.h"
#include "websocket/topic_table.h"

/* A pattern somebody has subscribed to, or is being told of. */
struct uvh_topic_present {
    struct uvh_topic_link link;
    size_t count; /* connections */
    size_t refs;  /* who needs the text */
    size_t length;
    char pattern[]; /* NUL-terminated */
};

struct uvh_topic_presence {
    const uvhttp_allocator_t *allocator;
    struct uvh_lock lock;
    struct uvh_topic_table table;
    uint64_t seed;
    uvhttp_topics_adapter_t functions; /* of the adapter; all NULL without one */
    void *adapter;
};

void uvh_topic_presence_init(struct uvh_topic_presence *presence,
                             const uvhttp_allocator_t *allocator, uint64_t seed);
/* Nobody is subscribed any more. */
void uvh_topic_presence_release(struct uvh_topic_presence *presence);

/* One more; `*count` with it. Holds a reference for the subscription. NULL when memory ran out. */
struct uvh_topic_present *uvh_topic_presence_enter(struct uvh_topic_presence *presence,
                                                   const char *pattern, size_t length,
                                                   size_t *count);

/* One less; returns how many are left. The reference stays. */
size_t uvh_topic_presence_leave(struct uvh_topic_presence *presence,
                                struct uvh_topic_present *present);

/* Whoever calls the user with the text has a reference of its own. */
void uvh_topic_presence_hold(struct uvh_topic_presence *presence,
                             struct uvh_topic_present *present);
void uvh_topic_presence_let_go(struct uvh_topic_presence *presence,
                               struct uvh_topic_present *present);

size_t uvh_topic_presence_count(struct uvh_topic_presence *presence, const char *pattern,
                                size_t length);

#endif
