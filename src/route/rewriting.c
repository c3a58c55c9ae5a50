/* Rewriting: rules are routes of any method in a tree of their own, whose `arg` is the template of
 * the new path. A request is looked up there once before it is routed, so there are no loops. */
#include <string.h>

#include <uvhttp/template.h>

#include "base/alloc.h"
#include "options/error.h"
#include "route/pattern.h"
#include "route/routing.h"

static void free_rule(struct uvh_route *rule, const uvhttp_allocator_t *allocator)
{
    uvhttp_template_free(rule->arg);
    uvh_free(allocator, rule);
}

void uvh_rewriting_release(struct uvh_site *site, const uvhttp_allocator_t *allocator)
{
    if (site->rewrites.root != NULL)
        uvh_tree_release(&site->rewrites);
    while (site->rewrite_list != NULL) {
        struct uvh_route *rule = site->rewrite_list;
        site->rewrite_list = rule->next_added;
        free_rule(rule, allocator);
    }
}

/* The rule in one block with its parameters and its pattern, and readable bytes after that. */
static struct uvh_route *new_rule(struct uvhttp_router *router, const char *pattern)
{
    size_t prefix = strlen(router->prefix), size = strlen(pattern) + 1;
    size_t params = (uvh_pattern_most_params(router->prefix) + uvh_pattern_most_params(pattern)) *
                    sizeof(struct uvh_param_name);
    struct uvh_route *rule = uvh_alloc_zero(
        router->all->allocator, sizeof(*rule) + params + prefix + size + UVH_REQUEST_PATH_SLACK);
    if (rule == NULL)
        return NULL;
    rule->owner = router;
    rule->pattern = (char *)(rule + 1) + params;
    memcpy(rule->pattern, router->prefix, prefix);
    memcpy(rule->pattern + prefix, pattern, size);
    return rule;
}

/* Parses pattern and template. */
static int parse(struct uvhttp_router *router, struct uvh_route *rule, const char *to)
{
    const uvhttp_template_options_t options = {.text = to,
                                               .kind = UVHTTP_TEMPLATE_TARGET,
                                               .pattern = rule->pattern,
                                               .allocator = router->all->allocator};
    uvhttp_template_t *made;
    size_t count;
    const char *wrong = uvh_pattern_params(rule->pattern, rule->params, &count);
    if (wrong != NULL)
        return uvh_routing_refuse(router, UVHTTP_EROUTE, "", rule->pattern, wrong);
    rule->param_count = (unsigned)count;
    int err = uvhttp_template_new(&made, &options, &router->all->error);
    rule->arg = made;
    return err;
}

static int insert(struct uvhttp_router *router, struct uvh_route *rule)
{
    struct uvh_site *site = router->site;
    const struct uvh_route *taken;
    int err =
        site->rewrites.root != NULL ? 0 : uvh_tree_init(&site->rewrites, router->all->allocator);
    if (err == 0)
        err = uvh_tree_insert(&site->rewrites, rule, &taken);
    if (err == UVHTTP_ECONFLICT)
        return uvh_routing_refuse_duplicate(router, "rewrite of", rule, taken);
    if (err != 0)
        return err;
    rule->next_added = site->rewrite_list;
    site->rewrite_list = rule;
    return 0;
}

static int add(struct uvhttp_router *router, const char *pattern, const char *to)
{
    int err = uvh_routing_may_change(router, "rewrites must be added");
    if (err != 0)
        return err;
    if (pattern == NULL || to == NULL)
        return UVHTTP_EINVAL;
    if (pattern[0] != '/' && (pattern[0] != '\0' || router->prefix[0] == '\0'))
        return uvh_routing_refuse(router, UVHTTP_EROUTE, "", pattern,
                                  "it does not begin with \"/\"");
    struct uvh_route *rule = new_rule(router, pattern);
    if (rule == NULL)
        return UVHTTP_ENOMEM;
    err = parse(router, rule, to);
    if (err == 0)
        err = insert(router, rule);
    if (err != 0)
        free_rule(rule, router->all->allocator);
    return err;
}

int uvhttp_router_rewrite(uvhttp_router_t *router, const char *pattern, const char *to)
{
    uvh_routing_begin(router);
    return uvh_routing_end(router, add(router, pattern, to));
}

int uvh_rewriting_apply(const struct uvh_site *site, struct uvhttp_request *request,
                        struct uvh_match *match)
{
    uvhttp_slice_t target;
    if (site->rewrite_list == NULL)
        return 0;
    uvh_tree_match(&site->rewrites, UVHTTP_METHOD_GET, (uvhttp_slice_t){NULL, 0}, request->path,
                   match);
    if (match->route == NULL)
        return 0;
    request->param_names = match->route->params;
    request->params = match->params;
    request->param_count = match->param_count;
    int err = uvhttp_template_expand(match->route->arg, request, &target);
    request->param_count = 0;
    return err == 0 ? uvh_request_rewrite(request, target) : err;
}
