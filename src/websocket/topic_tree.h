/* Who has subscribed to what, and who gets a message of a topic: patterns as a tree of their
 * levels, without sockets and without locks.
 *
 * A pattern is levels between '/'; '+' stands for one level, '#' at the end for any number. A topic
 * has neither. Subscribing and unsubscribing walk the levels of the pattern, and a match visits
 * those nodes that fit the topic's beginning, each once, whatever was subscribed to: no recursion,
 * no allocation.
 *
 * Always true: a subscriber is visited once for a topic, however many of its patterns fit; nodes
 * that nobody needs are gone. One thread. What a visit calls may not change the tree: who lets
 * users' code run takes down first who was visited. Called by topics.c. */
#ifndef UVH_WEBSOCKET_TOPIC_TREE_H
#define UVH_WEBSOCKET_TOPIC_TREE_H

#include <stdbool.h>

#include "base/compiler.h"
#include "base/list.h"
#include "websocket/topic_table.h"

/* In the memory of who subscribes. */
struct uvh_topic_subscriber {
    struct uvh_list subscriptions;
    size_t count;
    uint64_t visit; /* the last match it was visited in */
};

struct uvh_topic_subscription {
    struct uvh_topic_link link;    /* in tree->subscriptions */
    struct uvh_list at_node;       /* in a list of its node */
    struct uvh_list of_subscriber; /* in its subscriber's list */
    struct uvh_topic_node *node;
    struct uvh_topic_subscriber *subscriber;
    bool below;     /* the pattern ends with '#' */
    void *presence; /* the owner's; NULL at first */
};

/* A pattern's levels so far. */
struct uvh_topic_node {
    struct uvh_topic_link link; /* in tree->nodes, unless it is a '+' */
    struct uvh_topic_node *parent;
    struct uvh_topic_node *plus; /* the child that stands for any level */
    /* the next one that fits what was looked at of a topic, during a match */
    struct uvh_topic_node *reached;
    struct uvh_list exact; /* subscriptions whose pattern ends here */
    struct uvh_list below; /* those that have a '#' behind this */
    size_t children;       /* `plus` included */
    size_t length;         /* bytes of the level */
    char name[];
};

struct uvh_topic_tree {
    const uvhttp_allocator_t *allocator;
    struct uvh_topic_node *root;          /* NULL while there is no subscription */
    struct uvh_topic_table nodes;         /* literal levels, by parent and name */
    struct uvh_topic_table subscriptions; /* by node and subscriber */
    uint64_t seed;
    uint64_t visits; /* matches so far */
    size_t memory;   /* bytes of nodes and subscriptions */
};

/* `seed`: foreseen by nobody outside, since patterns may come from there. The tree keeps its
 * address. */
void uvh_topic_tree_init(struct uvh_topic_tree *tree, const uvhttp_allocator_t *allocator,
                         uint64_t seed);
/* Nobody is subscribed any more. */
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

/* Subscribes to a pattern to which it is not subscribed. NULL when memory ran out; then nothing has
 * changed. */
struct uvh_topic_subscription *uvh_topic_tree_add(struct uvh_topic_tree *tree,
                                                  struct uvh_topic_subscriber *subscriber,
                                                  const char *pattern, size_t length);

/* Ends a subscription, which is gone then. */
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

/* Calls `visit` for each subscriber that has a pattern which fits. */
void uvh_topic_tree_match(struct uvh_topic_tree *tree, const char *topic, size_t length,
                          void (*visit)(struct uvh_topic_subscriber *subscriber, void *arg),
                          void *arg);

#endif
