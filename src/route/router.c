/* A node is a path segment. Literal children lie in an open-addressing table, the ":" child and the "*" end beside it, and a
 * match tries them in that order, going back when the deeper levels have no route for path and method. */
#include "route/router.h"

#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "codec/field.h"
#include "codec/method.h"
#include "route/pattern.h"

enum { FIRST_CAPACITY = 4 };

struct uvh_endpoint {
    struct uvh_route *by_method[UVHTTP_METHOD_COUNT]; /* [0] unused */
    struct uvh_route *extensions;                     /* methods that are not in the table */
    struct uvh_route *any;
    bool used; /* has a route: memory may have run out between making it and adding one */
};

struct node {
    char *segment;
    size_t length;
    uint64_t hash;
    struct node **children; /* literal ones; NULL where empty */
    size_t child_count;
    size_t child_capacity; /* a power of two, or 0 */
    struct node *param;
    struct uvh_endpoint *here; /* routes that end with this segment */
    struct uvh_endpoint *rest; /* routes that go on with "*" */
};

struct uvhttp_router {
    const uvhttp_allocator_t *allocator;
    uvh_router_complain_cb complain;
    void *complain_arg;
    struct node *root;
    uint32_t methods;                 /* bit per method of the table that has a route */
    struct uvh_bytes extension_names; /* "PURGE, BAN": for 501 and OPTIONS * */
    bool frozen;
};

/* What a walk through the tree looks for: a route of one method, or, with `allow` set, the methods of all that fits the path. */
struct walk {
    uvhttp_method_t method;
    uvhttp_slice_t name;
    struct uvh_match *match;
    struct methods *allow;
};

/* A set of methods: those of the table as bits, the others as a list of names. */
struct methods {
    uint32_t known;
    struct uvh_bytes *others; /* "PURGE, BAN" */
    bool failed;              /* memory ran out: `others` is not complete */
};

static uvhttp_slice_t text_slice(const char *text)
{
    return (uvhttp_slice_t){text, strlen(text)};
}

static struct node *find_child(const struct node *node, uvhttp_slice_t segment)
{
    if (node->child_count == 0)
        return NULL;
    uint64_t hash = uvh_hash(segment.base, segment.length, 0);
    size_t mask = node->child_capacity - 1;
    for (size_t i = (size_t)hash & mask; node->children[i] != NULL; i = (i + 1) & mask) {
        struct node *child = node->children[i];
        if (child->hash == hash && child->length == segment.length &&
            memcmp(child->segment, segment.base, segment.length) == 0)
            return child;
    }
    return NULL;
}

static void place_child(struct node **children, size_t capacity, struct node *child)
{
    size_t i = (size_t)child->hash & (capacity - 1);
    while (children[i] != NULL)
        i = (i + 1) & (capacity - 1);
    children[i] = child;
}

/* Keeps the table at most half full. */
static int grow_children(struct uvhttp_router *router, struct node *node)
{
    if ((node->child_count + 1) * 2 <= node->child_capacity)
        return 0;
    size_t capacity = node->child_capacity == 0 ? FIRST_CAPACITY : node->child_capacity * 2;
    struct node **children = uvh_alloc_zero(router->allocator, capacity * sizeof(struct node *));
    if (children == NULL)
        return UVHTTP_ENOMEM;
    for (size_t i = 0; i < node->child_capacity; i++) {
        if (node->children[i] != NULL)
            place_child(children, capacity, node->children[i]);
    }
    uvh_free(router->allocator, node->children);
    node->children = children;
    node->child_capacity = capacity;
    return 0;
}

static struct node *new_node(struct uvhttp_router *router, uvhttp_slice_t segment)
{
    struct node *node = uvh_alloc_zero(router->allocator, sizeof(*node));
    if (node == NULL)
        return NULL;
    node->segment = uvh_alloc_string(router->allocator, segment.base, segment.length);
    if (node->segment == NULL) {
        uvh_free(router->allocator, node);
        return NULL;
    }
    node->length = segment.length;
    node->hash = uvh_hash(segment.base, segment.length, 0);
    return node;
}

/* The child for a pattern's segment, made if it is not there; NULL when memory ran out. */
static struct node *descend(struct uvhttp_router *router, struct node *node, uvhttp_slice_t segment)
{
    if (segment.length > 0 && segment.base[0] == ':') {
        if (node->param == NULL)
            node->param = new_node(router, segment);
        return node->param;
    }
    struct node *child = find_child(node, segment);
    if (child != NULL)
        return child;
    if (grow_children(router, node) != 0 || (child = new_node(router, segment)) == NULL)
        return NULL;
    place_child(node->children, node->child_capacity, child);
    node->child_count++;
    return child;
}

static void free_endpoint(struct uvhttp_router *router, struct uvh_endpoint *endpoint)
{
    if (endpoint == NULL)
        return;
    for (size_t i = 0; i < UVHTTP_METHOD_COUNT; i++)
        uvh_free(router->allocator, endpoint->by_method[i]);
    while (endpoint->extensions != NULL) {
        struct uvh_route *route = endpoint->extensions;
        endpoint->extensions = route->next;
        uvh_free(router->allocator, route);
    }
    uvh_free(router->allocator, endpoint->any);
    uvh_free(router->allocator, endpoint);
}

/* Depth is that of the longest pattern. */
static void free_node(struct uvhttp_router *router, struct node *node)
{
    if (node == NULL)
        return;
    for (size_t i = 0; i < node->child_capacity; i++)
        free_node(router, node->children[i]);
    free_node(router, node->param);
    free_endpoint(router, node->here);
    free_endpoint(router, node->rest);
    uvh_free(router->allocator, node->children);
    uvh_free(router->allocator, node->segment);
    uvh_free(router->allocator, node);
}

static int refuse(struct uvhttp_router *router, int err, const char *pattern, const char *why)
{
    char message[512];
    snprintf(message, sizeof(message), "route \"%s\" refused: %s", pattern, why);
    router->complain(message, router->complain_arg);
    return err;
}

/* One route in one allocation: the struct, its parameters, method and pattern. */
static struct uvh_route *new_route(struct uvhttp_router *router, const uvhttp_route_t *given)
{
    size_t pattern_size = strlen(given->pattern) + 1;
    size_t method_size = given->method == NULL ? 0 : strlen(given->method) + 1;
    size_t params_size = UVH_REQUEST_MAX_PARAMS * sizeof(struct uvh_param);
    struct uvh_route *route =
        uvh_alloc_zero(router->allocator, sizeof(*route) + params_size + pattern_size + method_size);
    if (route == NULL)
        return NULL;
    route->pattern = (char *)(route + 1) + params_size;
    memcpy(route->pattern, given->pattern, pattern_size);
    if (method_size > 0) {
        route->method = route->pattern + pattern_size;
        memcpy(route->method, given->method, method_size);
    }
    route->handler = given->handler;
    route->arg = given->arg;
    route->max_body_size = given->max_body_size;
    route->flags = given->flags;
    return route;
}

/* The endpoint a pattern leads to, made if it is not there; NULL when memory ran out. */
static struct uvh_endpoint *make_endpoint(struct uvhttp_router *router, const char *pattern)
{
    struct node *node = router->root;
    uvhttp_slice_t rest = {pattern + 1, strlen(pattern) - 1};
    struct uvh_endpoint **endpoint = NULL;
    while (rest.base != NULL) {
        uvhttp_slice_t segment = uvh_pattern_next(&rest);
        if (segment.length > 0 && segment.base[0] == '*') {
            endpoint = &node->rest;
            break;
        }
        node = descend(router, node, segment);
        if (node == NULL)
            return NULL;
    }
    if (endpoint == NULL)
        endpoint = &node->here;
    if (*endpoint == NULL)
        *endpoint = uvh_alloc_zero(router->allocator, sizeof(**endpoint));
    return *endpoint;
}

static struct uvh_route *find_extension(const struct uvh_endpoint *endpoint, uvhttp_slice_t name)
{
    for (struct uvh_route *route = endpoint->extensions; route != NULL; route = route->next) {
        if (strlen(route->method) == name.length && memcmp(route->method, name.base, name.length) == 0)
            return route;
    }
    return NULL;
}

/* Where a route of this method stands, or would be put. */
static struct uvh_route **slot_of(struct uvh_endpoint *endpoint, const char *method)
{
    if (method == NULL)
        return &endpoint->any;
    uvhttp_method_t id = uvh_method_lookup(text_slice(method));
    return id == UVHTTP_METHOD_OTHER ? NULL : &endpoint->by_method[id];
}

static bool list_has(const struct uvh_bytes *list, uvhttp_slice_t name)
{
    uvhttp_slice_t rest = {list->data, list->length};
    uvhttp_slice_t known;
    while (uvh_field_list_next(&rest, &known)) {
        if (known.length == name.length && memcmp(known.base, name.base, name.length) == 0)
            return true;
    }
    return false;
}

/* Adds a name to a list unless it is there. A failure leaves the list as it was. */
static int list_add(struct uvh_bytes *list, const char *name)
{
    if (list_has(list, text_slice(name)))
        return 0;
    if (uvh_bytes_append_format(list, "%s%s", list->length == 0 ? "" : ", ", name) == 0)
        return 0;
    list->failed = false;
    return UVHTTP_ENOMEM;
}

static int insert(struct uvhttp_router *router, struct uvh_route *route)
{
    struct uvh_endpoint *endpoint = make_endpoint(router, route->pattern);
    if (endpoint == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_route **slot = slot_of(endpoint, route->method);
    struct uvh_route *taken = slot != NULL ? *slot : find_extension(endpoint, text_slice(route->method));
    if (taken != NULL) {
        char why[256];
        snprintf(why, sizeof(why), "%s \"%s\" is there already",
                 route->method == NULL ? "any method of" : route->method, taken->pattern);
        return refuse(router, UVHTTP_ECONFLICT, route->pattern, why);
    }
    if (slot == NULL && list_add(&router->extension_names, route->method) != 0)
        return UVHTTP_ENOMEM;
    endpoint->used = true;
    if (slot != NULL) {
        *slot = route;
        if (route->method != NULL)
            router->methods |= 1u << uvh_method_lookup(text_slice(route->method));
        return 0;
    }
    route->next = endpoint->extensions;
    endpoint->extensions = route;
    return 0;
}

struct uvhttp_router *uvh_router_new(const uvhttp_allocator_t *allocator, uvh_router_complain_cb complain,
                                     void *arg)
{
    struct uvhttp_router *router = uvh_alloc_zero(allocator, sizeof(*router));
    if (router == NULL)
        return NULL;
    router->allocator = allocator;
    router->complain = complain;
    router->complain_arg = arg;
    uvh_bytes_init(&router->extension_names, allocator, 1 << 16);
    router->root = new_node(router, (uvhttp_slice_t){"", 0});
    if (router->root == NULL) {
        uvh_free(allocator, router);
        return NULL;
    }
    return router;
}

void uvh_router_free(struct uvhttp_router *router)
{
    if (router == NULL)
        return;
    free_node(router, router->root);
    uvh_bytes_release(&router->extension_names);
    uvh_free(router->allocator, router);
}

void uvh_router_freeze(struct uvhttp_router *router)
{
    router->frozen = true;
}

static const struct uvh_route *route_of(const struct uvh_endpoint *endpoint, const struct walk *walk)
{
    const struct uvh_route *route = walk->method == UVHTTP_METHOD_OTHER ? find_extension(endpoint, walk->name)
                                                                        : endpoint->by_method[walk->method];
    if (route == NULL && walk->method == UVHTTP_METHOD_HEAD)
        route = endpoint->by_method[UVHTTP_METHOD_GET];
    return route != NULL ? route : endpoint->any;
}

static void collect_methods(const struct uvh_endpoint *endpoint, struct methods *methods)
{
    for (unsigned i = 1; i < UVHTTP_METHOD_COUNT; i++) {
        if (endpoint->by_method[i] != NULL)
            methods->known |= 1u << i;
    }
    for (const struct uvh_route *route = endpoint->extensions; route != NULL; route = route->next) {
        if (list_add(methods->others, route->method) != 0)
            methods->failed = true;
    }
}

/* True when the endpoint ends the walk. */
static bool try_endpoint(const struct uvh_endpoint *endpoint, const struct walk *walk)
{
    if (endpoint == NULL || !endpoint->used)
        return false;
    if (walk->allow != NULL) {
        collect_methods(endpoint, walk->allow);
        return false;
    }
    walk->match->known_path = true;
    walk->match->route = route_of(endpoint, walk);
    return walk->match->route != NULL;
}

/* `rest` is what follows the node's segment and its slash; base NULL when the path ended with the segment. */
static bool match_below(const struct node *node, uvhttp_slice_t rest, size_t depth, const struct walk *walk)
{
    struct uvh_match *match = walk->match;
    if (rest.base == NULL) {
        match->param_count = depth;
        return try_endpoint(node->here, walk);
    }
    uvhttp_slice_t whole = rest;
    uvhttp_slice_t segment = uvh_pattern_next(&rest);
    const struct node *child = find_child(node, segment);
    if (child != NULL && match_below(child, rest, depth, walk))
        return true;
    if (node->param != NULL && segment.length > 0) {
        match->params[depth].value = segment;
        if (match_below(node->param, rest, depth + 1, walk))
            return true;
    }
    if (node->rest == NULL)
        return false;
    match->params[depth].value = whole;
    match->param_count = depth + 1;
    return try_endpoint(node->rest, walk);
}

void uvh_router_match(const struct uvhttp_router *router, uvhttp_method_t method, uvhttp_slice_t name,
                      uvhttp_slice_t path, struct uvh_match *match)
{
    match->route = NULL;
    match->param_count = 0;
    match->known_path = false;
    if (path.length == 0 || path.base[0] != '/')
        return;
    struct walk walk = {.method = method, .name = name, .match = match};
    if (!match_below(router->root, (uvhttp_slice_t){path.base + 1, path.length - 1}, 0, &walk))
        return;
    for (size_t i = 0; i < match->param_count; i++) {
        match->params[i].name = match->route->params[i].name;
        match->params[i].name_length = match->route->params[i].name_length;
        match->params[i].wildcard = match->route->params[i].wildcard;
        match->params[i].text = NULL;
    }
}

bool uvh_router_knows_method(const struct uvhttp_router *router, uvhttp_slice_t name)
{
    return list_has(&router->extension_names, name);
}

static void append_methods(struct uvh_bytes *allow, uint32_t known)
{
    if ((known & 1u << UVHTTP_METHOD_GET) != 0)
        known |= 1u << UVHTTP_METHOD_HEAD;
    known |= 1u << UVHTTP_METHOD_OPTIONS;
    for (unsigned i = 1; i < UVHTTP_METHOD_COUNT; i++) {
        if ((known & 1u << i) != 0)
            uvh_bytes_append_format(allow, "%s%s", allow->length == 0 ? "" : ", ",
                                    uvh_method_name((uvhttp_method_t)i));
    }
}

int uvh_router_allow(const struct uvhttp_router *router, uvhttp_slice_t path, struct uvh_bytes *allow)
{
    struct uvh_match match;
    struct uvh_bytes others;
    struct methods methods = {.others = &others};
    uvh_bytes_init(&others, allow->allocator, allow->maximum);
    if (path.length > 0 && path.base[0] == '/') {
        struct walk walk = {.match = &match, .allow = &methods};
        match_below(router->root, (uvhttp_slice_t){path.base + 1, path.length - 1}, 0, &walk);
    } else {
        methods.known = router->methods;
        methods.failed =
            uvh_bytes_append(&others, router->extension_names.data, router->extension_names.length) != 0;
    }
    append_methods(allow, methods.known);
    if (others.length > 0)
        uvh_bytes_append_format(allow, ", %.*s", (int)others.length, others.data);
    uvh_bytes_release(&others);
    return allow->failed || methods.failed ? UVHTTP_ENOMEM : 0;
}

/* A method of the table but for its case, which counts (RFC 9110 section 9.1): such a route would never match. */
static bool is_misspelt(const char *method)
{
    uvhttp_slice_t given = text_slice(method);
    for (unsigned i = 1; i < UVHTTP_METHOD_COUNT; i++) {
        uvhttp_slice_t known = text_slice(uvh_method_name((uvhttp_method_t)i));
        if (uvh_field_name_equal(given, known))
            return memcmp(given.base, known.base, known.length) != 0;
    }
    return false;
}

int uvhttp_router_add(uvhttp_router_t *router, const uvhttp_route_t *given)
{
    if (router == NULL)
        return UVHTTP_ENOMEM;
    if (router->frozen)
        return UVHTTP_EFROZEN;
    if (given == NULL || given->handler == NULL || given->pattern == NULL)
        return UVHTTP_EINVAL;
    if (given->method != NULL && !uvh_field_name_valid(text_slice(given->method)))
        return UVHTTP_EINVAL;
    if (given->method != NULL && is_misspelt(given->method))
        return refuse(router, UVHTTP_EINVAL, given->pattern, "methods are written in capitals");
    if (given->pattern[0] != '/')
        return refuse(router, UVHTTP_EROUTE, given->pattern, "it does not begin with \"/\"");
    struct uvh_route *route = new_route(router, given);
    if (route == NULL)
        return UVHTTP_ENOMEM;
    const char *wrong = uvh_pattern_params(route->pattern, route->params, &route->param_count);
    int err = wrong == NULL ? insert(router, route) : refuse(router, UVHTTP_EROUTE, given->pattern, wrong);
    if (err != 0)
        uvh_free(router->allocator, route);
    return err;
}

int uvhttp_router_add_route(uvhttp_router_t *router, const char *pattern, uvhttp_handler_cb handler)
{
    return uvhttp_router_add(router, &(uvhttp_route_t){.pattern = pattern, .handler = handler});
}
