/* A node is a path segment. Literal children are in an open-addressing hash table; the ":" child
 * and the "*" endpoint are separate members. A match tries them in that order, and backtracks when
 * the deeper levels have no route for path and method. Parameters with a type or suffix are in a
 * list of the ":" child, which exists even if no route uses it as such, so that a node without them
 * needs no further check. Data that a match reads is adjacent: a
 * child's name, as two integers, is next to the pointer to it; the routes of a path are in its
 * node. Paths without parameters are looked up directly (literal.h). */
#include "route/tree.h"

#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "route/pattern.h"
#include "route/segment.h"

enum { FIRST_CAPACITY = 4, FIRST_SHIFT = 62, PLACES_PER_CHILD = 4 };

/* A literal child. */
struct child {
    uint64_t first, last; /* of its segment */
    size_t length;
    struct uvh_node *node; /* NULL: an empty slot */
};

/* A parameter with a type or a suffix. */
struct variant {
    struct variant *next; /* with a shorter suffix, or the same and no type */
    struct uvh_node *node;
    enum uvh_pattern_type type;
    size_t suffix_length;
    char suffix[];
};

struct uvh_node {
    const struct child *children;
    uint32_t mask;  /* table size - 1 */
    uint32_t shift; /* the hash's highest 64 - shift bits are the slot */
    struct uvh_node *param;
    struct uvh_endpoint *rest; /* routes that end with "*" */
    struct uvh_endpoint here;  /* routes that end with this segment */
    size_t child_count;        /* 0: `children` is not owned */
    char *text;                /* its segment, if longer than two words */
    struct variant *variants;  /* of a ":" child */
};

/* The table of nodes without children, so that a match needs no check. */
static const struct child no_children[FIRST_CAPACITY];

/* Arguments of a walk through the tree: it looks for a route of one method or, with `allow` set,
 * collects the methods of all routes for the path. */
struct walk {
    uvhttp_method_t method;
    uvhttp_slice_t name;
    struct uvh_match *match;
    struct uvh_methods *allow;
    const char *end;      /* of the path */
    bool more;            /* match as if the path had one more slash at its end */
    uvhttp_slash_t least; /* ignore routes with a stricter slash policy */
};

/* Continues a lookup that missed in slot `i`. Arguments by value, so that a segment stays in
 * registers. */
static UVH_NEVER_INLINE const struct uvh_node *find_further(const struct uvh_node *node, size_t i,
                                                            uint64_t first, uint64_t last,
                                                            size_t length, const char *base)
{
    for (;; i = (i + 1) & node->mask) {
        const struct child *child = &node->children[i];
        if (child->node == NULL)
            return NULL;
        if (child->first == first && child->last == last && child->length == length &&
            (length <= UVH_SEGMENT_BLOCK || memcmp(child->node->text, base, length) == 0))
            return child->node;
    }
}

static UVH_ALWAYS_INLINE const struct uvh_node *find_child(const struct uvh_node *node,
                                                           const struct uvh_segment *segment)
{
    size_t i = (size_t)(uvh_segment_hash(segment->first, segment->last) >> node->shift);
    const struct child *child = &node->children[i];
    uint64_t difference = (child->first ^ segment->first) | (child->last ^ segment->last) |
                          (child->length ^ segment->length);
    if (UVH_LIKELY(difference == 0 && segment->length <= UVH_SEGMENT_BLOCK))
        return child->node;
    if (child->node == NULL)
        return NULL;
    return find_further(node, i, segment->first, segment->last, segment->length, segment->base);
}

static void insert_child(struct child *children, unsigned shift, const struct child *child)
{
    size_t mask = ((size_t)1 << (64 - shift)) - 1;
    size_t i = (size_t)(uvh_segment_hash(child->first, child->last) >> shift);
    while (children[i].node != NULL)
        i = (i + 1) & mask;
    children[i] = *child;
}

static void free_children(struct uvh_tree *tree, struct uvh_node *node)
{
    if (node->child_count > 0)
        uvh_free(tree->allocator, (void *)(uintptr_t)node->children);
}

/* Adds a child; the load factor stays so low that most children are in their first slot. */
static int add_child(struct uvh_tree *tree, struct uvh_node *node, const struct child *child)
{
    size_t old = (size_t)node->mask + 1;
    if (node->child_count > 0 && (node->child_count + 1) * PLACES_PER_CHILD <= old) {
        insert_child((struct child *)(uintptr_t)node->children, node->shift, child);
        node->child_count++;
        return 0;
    }
    size_t capacity = node->child_count == 0 ? FIRST_CAPACITY : old * 2;
    unsigned shift = node->child_count == 0 ? node->shift : node->shift - 1;
    struct child *children = uvh_alloc_zero(tree->allocator, capacity * sizeof(*children));
    if (children == NULL)
        return UVHTTP_ENOMEM;
    for (size_t i = 0; i < old; i++) {
        if (node->children[i].node != NULL)
            insert_child(children, shift, &node->children[i]);
    }
    insert_child(children, shift, child);
    free_children(tree, node);
    node->children = children;
    node->shift = shift;
    node->mask = (uint32_t)(capacity - 1);
    node->child_count++;
    return 0;
}

static struct uvh_node *new_node(struct uvh_tree *tree)
{
    struct uvh_node *node = uvh_alloc_zero(tree->allocator, sizeof(*node));
    if (node == NULL)
        return NULL;
    node->children = no_children;
    node->mask = FIRST_CAPACITY - 1;
    node->shift = FIRST_SHIFT;
    return node;
}

static struct uvh_node *new_child(struct uvh_tree *tree, struct uvh_node *node,
                                  const struct uvh_segment *segment)
{
    struct child child = {segment->first, segment->last, segment->length, new_node(tree)};
    if (child.node == NULL)
        return NULL;
    if (segment->length > UVH_SEGMENT_BLOCK)
        child.node->text = uvh_alloc_string(tree->allocator, segment->base, segment->length);
    if ((segment->length > UVH_SEGMENT_BLOCK && child.node->text == NULL) ||
        add_child(tree, node, &child) != 0) {
        uvh_free(tree->allocator, child.node->text);
        uvh_free(tree->allocator, child.node);
        return NULL;
    }
    return child.node;
}

/* True if `a` is tried before `b`. */
static bool precedes(const struct variant *a, size_t suffix_length, enum uvh_pattern_type type)
{
    return a->suffix_length > suffix_length ||
           (a->suffix_length == suffix_length && a->type >= type);
}

/* The node of a variant of the ":" child, created if missing; NULL when out of memory. */
static struct uvh_node *add_variant(struct uvh_tree *tree, struct uvh_node *param,
                                    const struct uvh_pattern_param *wanted)
{
    size_t length = wanted->suffix.length;
    struct variant **at = &param->variants;
    for (; *at != NULL && precedes(*at, length, wanted->type); at = &(*at)->next) {
        if ((*at)->type == wanted->type && (*at)->suffix_length == length &&
            memcmp((*at)->suffix, wanted->suffix.base, length) == 0)
            return (*at)->node;
    }
    struct variant *variant = uvh_alloc(tree->allocator, sizeof(*variant) + length);
    struct uvh_node *node = new_node(tree);
    if (variant == NULL || node == NULL) {
        uvh_free(tree->allocator, variant);
        uvh_free(tree->allocator, node);
        return NULL;
    }
    *variant = (struct variant){*at, node, wanted->type, length};
    memcpy(variant->suffix, wanted->suffix.base, length);
    *at = variant;
    return node;
}

/* The child for a pattern's segment, created if missing; NULL when out of memory. */
static struct uvh_node *descend(struct uvh_tree *tree, struct uvh_node *node,
                                const struct uvh_segment *segment)
{
    if (segment->length > 0 && segment->base[0] == ':') {
        if (node->param == NULL)
            node->param = new_node(tree);
        struct uvh_pattern_param param;
        (void)uvh_pattern_split_param((uvhttp_slice_t){segment->base, segment->length}, &param);
        bool plain = param.type == UVH_PATTERN_ANY && param.suffix.length == 0;
        return node->param == NULL || plain ? node->param : add_variant(tree, node->param, &param);
    }
    const struct uvh_node *there = find_child(node, segment);
    return there != NULL ? (struct uvh_node *)(uintptr_t)there : new_child(tree, node, segment);
}

/* The recursion is as deep as the longest pattern. */
static void free_node(struct uvh_tree *tree, struct uvh_node *node)
{
    if (node == NULL)
        return;
    for (size_t i = 0; i <= node->mask; i++)
        free_node(tree, node->children[i].node);
    free_node(tree, node->param);
    while (node->variants != NULL) {
        struct variant *variant = node->variants;
        node->variants = variant->next;
        free_node(tree, variant->node);
        uvh_free(tree->allocator, variant);
    }
    uvh_endpoint_release(&node->here, tree->allocator);
    if (node->rest != NULL)
        uvh_endpoint_release(node->rest, tree->allocator);
    uvh_free(tree->allocator, node->rest);
    free_children(tree, node);
    uvh_free(tree->allocator, node->text);
    uvh_free(tree->allocator, node);
}

/* The endpoint of a pattern, created if missing; NULL when out of memory. */
static struct uvh_endpoint *make_endpoint(struct uvh_tree *tree, const char *pattern)
{
    struct uvh_node *node = tree->root;
    const char *end = pattern + strlen(pattern);
    for (const char *at = pattern + 1; at != NULL;) {
        struct uvh_segment segment = uvh_segment_at(at, end);
        at = uvh_segment_after(&segment, end);
        if (segment.length > 0 && segment.base[0] == '*') {
            if (node->rest == NULL)
                node->rest = uvh_alloc_zero(tree->allocator, sizeof(*node->rest));
            return node->rest;
        }
        node = descend(tree, node, &segment);
        if (node == NULL)
            return NULL;
    }
    return &node->here;
}

int uvh_tree_insert(struct uvh_tree *tree, struct uvh_route *route, const struct uvh_route **taken)
{
    *taken = NULL;
    struct uvh_endpoint *endpoint = make_endpoint(tree, route->pattern);
    if (endpoint == NULL || uvh_literal_reserve(&tree->literals, tree->allocator) != 0)
        return UVHTTP_ENOMEM;
    int err = uvh_endpoint_add(endpoint, &tree->methods, route, taken);
    if (err == 0 && route->param_count == 0)
        uvh_literal_add(&tree->literals, uvh_slice(route->pattern), endpoint);
    return err;
}

int uvh_tree_init(struct uvh_tree *tree, const uvhttp_allocator_t *allocator)
{
    *tree = (struct uvh_tree){.allocator = allocator};
    uvh_methods_init(&tree->methods, allocator);
    tree->root = new_node(tree);
    return tree->root == NULL ? UVHTTP_ENOMEM : 0;
}

void uvh_tree_release(struct uvh_tree *tree)
{
    free_node(tree, tree->root);
    uvh_free(tree->allocator, tree->literals.slots);
    uvh_methods_release(&tree->methods);
}

/* True when the endpoint ends the walk. */
static UVH_ALWAYS_INLINE bool try_endpoint(const struct uvh_endpoint *endpoint, size_t depth,
                                           const struct walk *walk)
{
    if (walk->allow != NULL) {
        uvh_endpoint_collect(endpoint, walk->least, walk->allow);
        return false;
    }
    const struct uvh_route *route =
        uvh_endpoint_find(endpoint, walk->method, walk->name, walk->least);
    if (UVH_LIKELY(route != NULL)) {
        walk->match->route = route;
        walk->match->param_count = depth;
        return true;
    }
    if (uvh_endpoint_counts(endpoint, walk->least))
        walk->match->known_path = true;
    return false;
}

static UVH_ALWAYS_INLINE void set_param(const struct walk *walk, size_t depth, const char *base,
                                        size_t length)
{
    struct uvh_param *param = &walk->match->params[depth];
    param->value = (uvhttp_slice_t){base, length};
    param->text = NULL;
}

/* Tries the "*" endpoint, with the rest of the path from `from`. */
static bool try_rest(const struct uvh_node *node, const char *from, size_t depth,
                     const struct walk *walk)
{
    if (node->rest == NULL)
        return false;
    set_param(walk, depth, from, (size_t)(walk->end - from));
    return try_endpoint(node->rest, depth + 1, walk);
}

/* The path ends at this node. */
static UVH_ALWAYS_INLINE bool match_end(const struct uvh_node *node, size_t depth,
                                        const struct walk *walk)
{
    static const struct uvh_segment empty = {.base = ""};
    if (UVH_LIKELY(!walk->more))
        return try_endpoint(&node->here, depth, walk);
    const struct uvh_node *child = find_child(node, &empty);
    if (child != NULL && try_endpoint(&child->here, depth, walk))
        return true;
    return try_rest(node, walk->end, depth, walk);
}

static bool match_below(const struct uvh_node *node, const char *at, size_t depth,
                        const struct walk *walk);

/* Continues a match at a node whose ":" child has variants, after its literal children. Takes no
 * segment, which would have to be in memory. */
static UVH_NEVER_INLINE bool match_variants(const struct uvh_node *node, const char *at,
                                            size_t depth, const struct walk *walk)
{
    struct uvh_segment segment = uvh_segment_at(at, walk->end);
    const char *next = uvh_segment_after(&segment, walk->end);
    for (const struct variant *variant = node->param->variants; variant != NULL;
         variant = variant->next) {
        if (segment.length <= variant->suffix_length)
            continue;
        uvhttp_slice_t value = {at, segment.length - variant->suffix_length};
        if (memcmp(at + value.length, variant->suffix, variant->suffix_length) != 0 ||
            !uvh_pattern_fits(variant->type, value))
            continue;
        set_param(walk, depth, value.base, value.length);
        if (match_below(variant->node, next, depth + 1, walk))
            return true;
    }
    set_param(walk, depth, at, segment.length);
    return match_below(node->param, next, depth + 1, walk) || try_rest(node, at, depth, walk);
}

/* Descends from a node: iterates while there is only one way, recurses where it may have to
 * backtrack. `at` is the next segment, NULL at the end of the path. */
static bool match_below(const struct uvh_node *node, const char *at, size_t depth,
                        const struct walk *walk)
{
    while (at != NULL) {
        struct uvh_segment segment = uvh_segment_at(at, walk->end);
        const char *next = uvh_segment_after(&segment, walk->end);
        const struct uvh_node *child = find_child(node, &segment);
        const struct uvh_node *param = node->param;
        if (child != NULL) {
            if (param == NULL && node->rest == NULL) {
                node = child;
                at = next;
                continue;
            }
            if (match_below(child, next, depth, walk))
                return true;
        }
        if (param == NULL || segment.length == 0)
            return try_rest(node, at, depth, walk);
        if (UVH_UNLIKELY(param->variants != NULL))
            return match_variants(node, at, depth, walk);
        set_param(walk, depth, segment.base, segment.length);
        if (node->rest != NULL)
            return match_below(param, next, depth + 1, walk) || try_rest(node, at, depth, walk);
        node = param;
        at = next;
        depth++;
    }
    return match_end(node, depth, walk);
}

static bool match_path(const struct uvh_tree *tree, struct walk *walk, uvhttp_slice_t path)
{
    walk->end = path.base + path.length;
    return match_below(tree->root, path.base + 1, 0, walk);
}

/* Matches the path with a trailing slash added or removed, for routes that allow it. False when
 * there is no such path or no route. */
static bool match_other_slash(const struct uvh_tree *tree, struct walk *walk, uvhttp_slice_t path,
                              uvhttp_slash_t least)
{
    walk->least = least;
    walk->more = path.base[path.length - 1] != '/';
    if (!walk->more && --path.length == 0)
        return false;
    return match_path(tree, walk, path);
}

/* No route: looks for one for the other form of the path, or for other methods where both forms are
 * equivalent. */
static UVH_NEVER_INLINE void match_leniently(const struct uvh_tree *tree, struct walk *walk,
                                             uvhttp_slice_t path)
{
    struct uvh_match *match = walk->match;
    if (!match_other_slash(tree, walk, path, UVHTTP_SLASH_REDIRECT))
        return;
    match->other_slash = match->route->slash == UVHTTP_SLASH_REDIRECT;
    if (match->other_slash)
        match->route = NULL;
}

/* No literal path has a route for the method. */
static UVH_NEVER_INLINE void match_by_walk(const struct uvh_tree *tree, uvhttp_method_t method,
                                           uvhttp_slice_t name, uvhttp_slice_t path,
                                           struct uvh_match *match)
{
    struct walk walk;
    walk.method = method;
    walk.name = name;
    walk.match = match;
    walk.allow = NULL;
    walk.more = false;
    walk.least = UVHTTP_SLASH_STRICT;
    if (!match_path(tree, &walk, path) && tree->lenient)
        match_leniently(tree, &walk, path);
}

void uvh_tree_match(const struct uvh_tree *tree, uvhttp_method_t method, uvhttp_slice_t name,
                    uvhttp_slice_t path, struct uvh_match *match)
{
    match->route = NULL;
    match->param_count = 0;
    match->known_path = false;
    match->other_slash = false;
    if (path.length == 0 || path.base[0] != '/')
        return;
    const struct uvh_endpoint *literal = uvh_literal_find(&tree->literals, path);
    if (literal != NULL) {
        match->route = uvh_endpoint_find(literal, method, name, UVHTTP_SLASH_STRICT);
        if (UVH_LIKELY(match->route != NULL))
            return;
    }
    match_by_walk(tree, method, name, path, match);
}

bool uvh_tree_knows_method(const struct uvh_tree *tree, uvhttp_slice_t name)
{
    return uvh_methods_know(&tree->methods, name);
}

int uvh_tree_allow(const struct uvh_tree *tree, uvhttp_slice_t path, struct uvh_bytes *allow)
{
    if (path.length == 0 || path.base[0] != '/')
        return uvh_methods_write(&tree->methods, allow);
    struct uvh_methods methods;
    struct uvh_match match;
    struct walk walk = {.match = &match, .allow = &methods};
    uvh_methods_init(&methods, allow->allocator);
    match_path(tree, &walk, path);
    if (tree->lenient)
        match_other_slash(tree, &walk, path, UVHTTP_SLASH_IGNORE);
    int err = uvh_methods_write(&methods, allow);
    uvh_methods_release(&methods);
    return err;
}
