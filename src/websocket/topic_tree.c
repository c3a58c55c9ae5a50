/* A match proceeds level by level: from all nodes that match the levels so far to those of their
 * children that match the next one. They form a chain through the nodes themselves. A node has one
 * parent, so it is in the chain at most once. */
#include "websocket/topic_tree.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

/* The rest of a pattern or topic after its first levels are removed. */
struct levels {
    const char *at;
    const char *end;
    bool over; /* the last level was removed; an empty one after the last '/' counts */
};

struct level {
    const char *name;
    size_t length;
};

static struct levels levels_of(const char *text, size_t length)
{
    return (struct levels){text, text + length, false};
}

static struct level cut_level(struct levels *rest)
{
    size_t left = (size_t)(rest->end - rest->at);
    const char *slash = memchr(rest->at, '/', left);
    struct level level = {rest->at, slash != NULL ? (size_t)(slash - rest->at) : left};
    rest->over = slash == NULL;
    rest->at = slash != NULL ? slash + 1 : rest->end;
    return level;
}

static bool is_wild(struct level level, char sign)
{
    return level.length == 1 && level.name[0] == sign;
}

bool uvh_topic_is_topic(const char *topic, size_t length)
{
    return length > 0 && memchr(topic, '+', length) == NULL && memchr(topic, '#', length) == NULL;
}

bool uvh_topic_is_pattern(const char *pattern, size_t length)
{
    struct levels rest = levels_of(pattern, length);
    if (length == 0)
        return false;
    while (!rest.over) {
        struct level level = cut_level(&rest);
        bool wild = is_wild(level, '+') || (is_wild(level, '#') && rest.over);
        if (!wild && level.length > 0 && !uvh_topic_is_topic(level.name, level.length))
            return false;
    }
    return true;
}

/* ---- nodes ---- */

static uint64_t of_pointer(const void *pointer)
{
    return ((uint64_t)(uintptr_t)pointer >> 4) * 0x9e3779b97f4a7c15;
}

static uint64_t level_hash(const struct uvh_topic_tree *tree, struct level level)
{
    return uvh_hash(level.name, level.length, tree->seed);
}

static struct uvh_topic_node *literal_child(const struct uvh_topic_tree *tree,
                                            const struct uvh_topic_node *parent, struct level level,
                                            uint64_t hash)
{
    hash ^= of_pointer(parent);
    struct uvh_hash_link *link = uvh_hash_table_find(&tree->nodes, hash);
    for (; link != NULL; link = uvh_hash_table_next(link)) {
        struct uvh_topic_node *node = UVH_CONTAINER_OF(link, struct uvh_topic_node, link);
        if (node->parent == parent && node->length == level.length &&
            memcmp(node->name, level.name, level.length) == 0)
            return node;
    }
    return NULL;
}

static struct uvh_topic_node *child(const struct uvh_topic_tree *tree,
                                    const struct uvh_topic_node *parent, struct level level)
{
    if (is_wild(level, '+'))
        return parent->plus;
    return literal_child(tree, parent, level, level_hash(tree, level));
}

static struct uvh_topic_node *new_node(struct uvh_topic_tree *tree, struct uvh_topic_node *parent,
                                       struct level level)
{
    struct uvh_topic_node *node = uvh_alloc(tree->allocator, sizeof(*node) + level.length);
    if (node == NULL)
        return NULL;
    memset(node, 0, sizeof(*node));
    node->parent = parent;
    node->length = level.length;
    if (level.length > 0)
        memcpy(node->name, level.name, level.length);
    uvh_list_init(&node->exact);
    uvh_list_init(&node->below);
    tree->memory += sizeof(*node) + level.length;
    return node;
}

static struct uvh_topic_node *add_child(struct uvh_topic_tree *tree, struct uvh_topic_node *parent,
                                        struct level level)
{
    struct uvh_topic_node *node = new_node(tree, parent, level);
    if (node == NULL)
        return NULL;
    parent->children++;
    if (is_wild(level, '+'))
        parent->plus = node;
    else
        uvh_hash_table_add(&tree->nodes, &node->link, level_hash(tree, level) ^ of_pointer(parent));
    return node;
}

/* Removes unused nodes, from this one upwards. */
static void prune(struct uvh_topic_tree *tree, struct uvh_topic_node *node)
{
    while (node != NULL && node->children == 0 && uvh_list_empty(&node->exact) &&
           uvh_list_empty(&node->below)) {
        struct uvh_topic_node *parent = node->parent;
        if (parent == NULL)
            tree->root = NULL;
        else if (parent->plus == node)
            parent->plus = NULL;
        else
            uvh_hash_table_remove(&tree->nodes, &node->link);
        if (parent != NULL)
            parent->children--;
        tree->memory -= sizeof(*node) + node->length;
        uvh_free(tree->allocator, node);
        node = parent;
    }
}

/* ---- subscriptions ---- */

void uvh_topic_tree_init(struct uvh_topic_tree *tree, const uvhttp_allocator_t *allocator,
                         uint64_t seed)
{
    *tree = (struct uvh_topic_tree){.allocator = allocator, .seed = seed};
    uvh_hash_table_init(&tree->nodes, allocator);
    uvh_hash_table_init(&tree->subscriptions, allocator);
}

void uvh_topic_tree_release(struct uvh_topic_tree *tree)
{
    uvh_hash_table_release(&tree->nodes);
    uvh_hash_table_release(&tree->subscriptions);
}

static uint64_t subscription_hash(const struct uvh_topic_node *node,
                                  const struct uvh_topic_subscriber *subscriber)
{
    uint64_t mixed = of_pointer(node) ^ (of_pointer(subscriber) >> 7);
    return mixed ^ (mixed >> 32);
}

struct uvh_topic_subscription *uvh_topic_tree_find(struct uvh_topic_tree *tree,
                                                   const struct uvh_topic_subscriber *subscriber,
                                                   const char *pattern, size_t length)
{
    struct levels rest = levels_of(pattern, length);
    const struct uvh_topic_node *node = tree->root;
    bool below = false;
    while (node != NULL && !rest.over && !below) {
        struct level level = cut_level(&rest);
        below = is_wild(level, '#');
        if (!below)
            node = child(tree, node, level);
    }
    if (node == NULL)
        return NULL;
    uint64_t hash = subscription_hash(node, subscriber);
    struct uvh_hash_link *link = uvh_hash_table_find(&tree->subscriptions, hash);
    for (; link != NULL; link = uvh_hash_table_next(link)) {
        struct uvh_topic_subscription *one =
            UVH_CONTAINER_OF(link, struct uvh_topic_subscription, link);
        if (one->node == node && one->subscriber == subscriber && one->below == below)
            return one;
    }
    return NULL;
}

/* The node in which a pattern ends, with missing nodes created. NULL when out of memory; then no
 * nodes are added. */
static struct uvh_topic_node *make_path(struct uvh_topic_tree *tree, const char *pattern,
                                        size_t length, bool *below)
{
    struct levels rest = levels_of(pattern, length);
    if (tree->root == NULL)
        tree->root = new_node(tree, NULL, (struct level){NULL, 0});
    struct uvh_topic_node *node = tree->root;
    *below = false;
    while (node != NULL && !rest.over) {
        struct level level = cut_level(&rest);
        *below = is_wild(level, '#');
        if (*below)
            break;
        struct uvh_topic_node *next = child(tree, node, level);
        if (next == NULL)
            next = add_child(tree, node, level);
        if (next == NULL)
            prune(tree, node);
        node = next;
    }
    return node;
}

struct uvh_topic_subscription *uvh_topic_tree_add(struct uvh_topic_tree *tree,
                                                  struct uvh_topic_subscriber *subscriber,
                                                  const char *pattern, size_t length)
{
    bool below;
    struct uvh_topic_node *node = make_path(tree, pattern, length, &below);
    if (node == NULL)
        return NULL;
    struct uvh_topic_subscription *one = uvh_alloc(tree->allocator, sizeof(*one));
    if (one == NULL) {
        prune(tree, node);
        return NULL;
    }
    *one = (struct uvh_topic_subscription){.node = node, .subscriber = subscriber, .below = below};
    uvh_list_init(&one->at_node);
    uvh_list_init(&one->of_subscriber);
    uvh_hash_table_add(&tree->subscriptions, &one->link, subscription_hash(node, subscriber));
    uvh_list_append(below ? &node->below : &node->exact, &one->at_node);
    uvh_list_append(&subscriber->subscriptions, &one->of_subscriber);
    subscriber->count++;
    tree->memory += sizeof(*one);
    return one;
}

void uvh_topic_tree_remove(struct uvh_topic_tree *tree, struct uvh_topic_subscription *one)
{
    struct uvh_topic_node *node = one->node;
    uvh_hash_table_remove(&tree->subscriptions, &one->link);
    uvh_list_remove(&one->at_node);
    uvh_list_remove(&one->of_subscriber);
    one->subscriber->count--;
    tree->memory -= sizeof(*one);
    uvh_free(tree->allocator, one);
    prune(tree, node);
}

/* ---- matching ---- */

struct match {
    uint64_t visit;
    void (*call)(struct uvh_topic_subscriber *subscriber, void *arg);
    void *arg;
};

static void visit_all(const struct uvh_list *subscriptions, const struct match *match)
{
    for (const struct uvh_list *at = subscriptions->next; at != subscriptions; at = at->next) {
        struct uvh_topic_subscriber *subscriber =
            UVH_CONTAINER_OF(at, struct uvh_topic_subscription, at_node)->subscriber;
        if (subscriber->visit == match->visit)
            continue;
        subscriber->visit = match->visit;
        match->call(subscriber, match->arg);
    }
}

/* From the nodes that match so far to their children that match this level. */
static struct uvh_topic_node *reach(const struct uvh_topic_tree *tree, struct uvh_topic_node *nodes,
                                    struct level level, const struct match *match)
{
    struct uvh_topic_node *reached = NULL;
    uint64_t hash = level_hash(tree, level);
    for (const struct uvh_topic_node *node = nodes; node != NULL; node = node->reached) {
        visit_all(&node->below, match);
        struct uvh_topic_node *next = literal_child(tree, node, level, hash);
        if (next != NULL) {
            next->reached = reached;
            reached = next;
        }
        if (node->plus != NULL) {
            node->plus->reached = reached;
            reached = node->plus;
        }
    }
    return reached;
}

void uvh_topic_tree_match(struct uvh_topic_tree *tree, const char *topic, size_t length,
                          void (*visit)(struct uvh_topic_subscriber *subscriber, void *arg),
                          void *arg)
{
    struct match match = {++tree->visits, visit, arg};
    struct levels rest = levels_of(topic, length);
    struct uvh_topic_node *nodes = tree->root;
    if (nodes != NULL)
        nodes->reached = NULL;
    while (nodes != NULL && !rest.over)
        nodes = reach(tree, nodes, cut_level(&rest), &match);
    for (const struct uvh_topic_node *node = nodes; node != NULL; node = node->reached) {
        visit_all(&node->exact, &match);
        visit_all(&node->below, &match);
    }
}
