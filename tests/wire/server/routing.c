/* Routes for test_routing.py: groups, middleware, slash policies and hosts. All of them belong to
 * the hosts "routing.test", "*.routing.test" and so on, so that no other test uses them. */
#include "wire_server.h"

#include <inttypes.h>
#include <string.h>

static unsigned long rejected_runs; /* of the handler after the middleware that rejects */

/* Adds its name to a field of the response. */
static int add_name(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req;
    int err = uvhttp_response_add_header(res, "X-Seen-By", arg);
    return err != 0 ? err : UVHTTP_DECLINED;
}

static int refuse_without_key(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    return uvhttp_request_header(req, "X-Key") == NULL
               ? uvhttp_response_send_text(res, 403, "refused")
               : UVHTTP_DECLINED;
}

static int after_rejection(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    char text[32];
    (void)snprintf(text, sizeof text, "run %lu", ++rejected_runs);
    return uvhttp_response_send_text(res, 200, text);
}

/* Its own name, and the parameters. */
static int report(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[512];
    const char *value = uvhttp_request_param(req, "value");
    uvhttp_slice_t path = uvhttp_request_param_path(req, "value");
    (void)snprintf(text, sizeof text, "%s value=[%s] path=[%.*s]", (const char *)arg,
                   value == NULL ? "" : value, (int)path.length, path.length == 0 ? "" : path.base);
    return uvhttp_response_send_text(res, 200, text);
}

static int add(uvhttp_router_t *router, const char *method, const char *pattern, char *name)
{
    return uvhttp_router_add(
        router,
        &(uvhttp_route_t){.method = method, .pattern = pattern, .handler = report, .arg = name});
}

static int add_middleware(uvhttp_router_t *host)
{
    static char outer[] = "outer", inner[] = "inner", late[] = "late", own[] = "own",
                own_too[] = "own too";
    static const uvhttp_middleware_t middleware[] = {{add_name, own}, {add_name, own_too}};
    uvhttp_router_t *first = NULL, *second = NULL, *guarded = NULL;
    int err = uvhttp_router_group(host, "/outer", &first);
    err = err ? err : uvhttp_router_group(first, "/:value", &second);
    err = err ? err : add(second, "GET", "/plain", inner);
    err = err ? err : uvhttp_router_use(second, add_name, inner);
    err = err ? err : uvhttp_router_use(first, add_name, outer);
    err = err ? err : uvhttp_router_use(first, add_name, late);
    err = err ? err : add(first, "GET", "", outer);
    err = err ? err
              : uvhttp_router_add(second, &(uvhttp_route_t){.method = "GET",
                                                            .pattern = "/own",
                                                            .handler = report,
                                                            .arg = own,
                                                            .middleware = middleware,
                                                            .middleware_count = 2});
    err = err ? err : uvhttp_router_group(host, "/guarded", &guarded);
    err = err ? err : uvhttp_router_use(guarded, refuse_without_key, NULL);
    return err ? err : uvhttp_router_add_route(guarded, "/run", after_rejection);
}

static int add_slashes(uvhttp_router_t *host)
{
    static char plain[] = "plain", slash[] = "slash", rest[] = "rest";
    static const struct {
        const char *prefix;
        uvhttp_slash_t policy;
    } groups[] = {{"/strict", UVHTTP_SLASH_STRICT},
                  {"/redirect", UVHTTP_SLASH_REDIRECT},
                  {"/ignore", UVHTTP_SLASH_IGNORE},
                  {"", UVHTTP_SLASH_REDIRECT}};
    int err = 0;
    uvhttp_router_t *group = NULL;
    for (size_t i = 0; err == 0 && i < sizeof groups / sizeof *groups; i++) {
        err = uvhttp_router_group(host, groups[i].prefix, &group);
        err = err ? err : uvhttp_router_set_slash(group, groups[i].policy);
        err = err ? err : add(group, "GET", "/plain", plain);
        err = err ? err : add(group, "POST", "/plain", plain);
        err = err ? err : add(group, "GET", "/slash/", slash);
        err = err ? err : add(group, "GET", "/rest/*value", rest);
    }
    /* In the group that redirects: a redirect to "//evil.example" would be an open redirect. */
    return err ? err : add(group, "GET", "//:value/", slash);
}

int add_routing(uvhttp_router_t *router)
{
    static char exact[] = "exact", any[] = "any", deep[] = "deep", value[] = "value";
    uvhttp_router_t *host = NULL, *below = NULL, *deeper = NULL;
    int err = uvhttp_router_host(router, "routing.test", &host);
    err = err ? err : uvhttp_router_use(host, add_name, exact);
    err = err ? err : uvhttp_router_host(router, "*.routing.test", &below);
    err = err ? err : uvhttp_router_host(router, "*.deep.routing.test", &deeper);
    err = err ? err : add(host, "GET", "/", exact);
    err = err ? err : add(host, "GET", "/value/:value", value);
    err = err ? err : add(host, "GET", "/value/:value/end", value);
    err = err ? err : add(below, "GET", "/", any);
    err = err ? err : add(deeper, "GET", "/", deep);
    err = err ? err : add_middleware(host);
    return err ? err : add_slashes(host);
}
