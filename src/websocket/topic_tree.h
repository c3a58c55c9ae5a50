/* Stores subscriptions and finds the subscribers of a topic: patterns as a tree of their levels,
 * without sockets and without locks.
 *
 * A pattern is levels separated by '/'; '+' matches one level, '#' at the end any number. A topic
 * has neither. Subscribing and unsubscribing walk the levels of the pattern. A match visits only
 * nodes that match the beginning of the topic, each once: no recursion, no allocation.
 *
 * Invariants: a match visits a subscriber once, however many of its patterns match. Unused nodes
 * are freed. One thread. The visit callback must not change the tree: a caller that runs users'
 * code stores the visited subscribers first. */
#ifndef UVH_WEBSOCKET_TOPIC_TREE_H
#define UVH_WEBSOCKET_TOPIC_TREE_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/hash_table.h"
#include "base/list.h"

/* Embedded by the caller. */
struct uvh_topic_subscriber {
    struct uvh_list subscriptions;
    size_t count;
    uint64_t visit; /* the last match it was visited in */
};

struct uvh_topic_subscription {
    struct uvh_hash_link link;     /* in tree->subscriptions */
    struct uvh_list at_node;       /* in a list of its node */
    struct uvh_list of_subscriber; /* in its subscriber's list */
    struct uvh_topic_node *node;
    struct uvh_topic_subscriber *subscriber;
    bool below;     /* the pattern ends with '#' */
    void *presence; /* used by the owner; NULL at first */
};

/* The levels of a pattern up to this one. */
struct uvh_topic_node {
    struct uvh_hash_link link; /* in tree->nodes, unless it is a '+' */
    struct uvh_topic_node *parent;
    struct uvh_topic_node *plus; /* the child that matches any level */
    /* During a match: the next node that matches the levels so far. */
    struct uvh_topic_node *reached;
    struct uvh_list exact; /* subscriptions whose pattern ends here */
    struct uvh_list below; /* those with a '#' after this */
    size_t children;       /* `plus` included */
    size_t length;         /* bytes of the level */
    char name[];
};

struct uvh_topic_tree {
    const uvhttp_allocator_t *allocator;
    struct uvh_topic_node *root;         /* NULL while there is no subscription */
    struct uvh_hash_table nodes;         /* literal levels, by parent and name */
    struct uvh_hash_table subscriptions; /* by node and subscriber */
    uint64_t seed;
    uint64_t visits; /* matches so far */
    size_t memory;   /* bytes of nodes and subscriptions */
};

/* `seed` must be unpredictable for clients, which may choose patterns. The tree must not be moved
 * after this. */
void uvh_topic_tree_init(struct uvh_topic_tree *tree, const uvhttp_allocator_t *allocator,
                         uint64_t seed);
/* Requires that no subscription is left. */
void uvh_topic_tree_release(struct uvh_topic_tree *tree);

static inline void uvh_topic_subscriber_init(struct uvh_topic_subscriber *subscriber)
{
    uvh_list_init(&subscriber->subscriptions);
    subscriber->count = 0;
    subscriber->visit = 0;
}

/* Not empty; '+' only as a whole level, '#' only as the last one. */
bool uvh_topic_is_pattern(const char *pattern, size_t length);
/* Not empty, and without '+' and '#'. */
bool uvh_topic_is_topic(const char *topic, size_t length);

/* The subscription to exactly this pattern; NULL when there is none. */
struct uvh_topic_subscription *uvh_topic_tree_find(struct uvh_topic_tree *tree,
                                                   const struct uvh_topic_subscriber *subscriber,
                                                   const char *pattern, size_t length);

/* Subscribes to a pattern to which it is not subscribed. NULL when out of memory; then nothing has
 * changed. */
struct uvh_topic_subscription *uvh_topic_tree_add(struct uvh_topic_tree *tree,
                                                  struct uvh_topic_subscriber *subscriber,
                                                  const char *pattern, size_t length);

/* Removes a subscription and frees it. */
void uvh_topic_tree_remove(struct uvh_topic_tree *tree,
                           struct uvh_topic_subscription *subscription);

/* Its first subscription; NULL when there is none. */
static inline struct uvh_topic_subscription *
uvh_topic_subscriber_first(const struct uvh_topic_subscriber *subscriber)
{
    if (uvh_list_empty(&subscriber->subscriptions))
        return NULL;
    return UVH_CONTAINER_OF(subscriber->subscriptions.next, struct uvh_topic_subscription,
                            of_subscriber);
}

/* Calls `visit` for each subscriber with a matching pattern. */
void uvh_topic_tree_match(struct uvh_topic_tree *tree, const char *topic, size_t length,
                          void (*visit)(struct uvh_topic_subscriber *subscriber, void *arg),
                          void *arg);

#endif
