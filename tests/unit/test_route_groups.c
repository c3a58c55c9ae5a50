/* Groups, hosts and what routes inherit from them: prefixes, middleware, slash policies, and the
 * list of all routes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/error.h>

#include "codec/http1/method.h"
#include "route/router.h"
#include "support/fault_heap.h"

static struct fault_heap heap;
static uvhttp_router_t *router;
static char last_message[1024];
static struct uvh_match match;

static void record_message(const char *message, void *arg)
{
    assert_ptr_equal(arg, &heap);
    snprintf(last_message, sizeof(last_message), "%s", message);
}

static int set_up(void **state)
{
    (void)state;
    fault_heap_init(&heap);
    last_message[0] = '\0';
    router = uvh_router_new(&heap.allocator, record_message, &heap);
    return router == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    uvh_router_free(router);
    return atomic_load(&heap.live) == 0 ? 0 : -1;
}

/* Handlers and middleware are identified by their arguments. Never called. */
static int handler(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)response;
    (void)arg;
    return 0;
}

static void *as_arg(const char *name)
{
    return (void *)(uintptr_t)name;
}

static int add(uvhttp_router_t *to, const char *method, const char *pattern, const char *name)
{
    return uvhttp_router_add(
        to, &(uvhttp_route_t){
                .method = method, .pattern = pattern, .handler = handler, .arg = as_arg(name)});
}

static void use(uvhttp_router_t *to, const char *name)
{
    assert_int_equal(uvhttp_router_use(to, handler, as_arg(name)), 0);
}

static uvhttp_router_t *group_of(uvhttp_router_t *of, const char *prefix)
{
    uvhttp_router_t *group = NULL;
    assert_int_equal(uvhttp_router_group(of, prefix, &group), 0);
    assert_non_null(group);
    return group;
}

static uvhttp_router_t *host_of(const char *host)
{
    uvhttp_router_t *out = NULL;
    assert_int_equal(uvhttp_router_host(router, host, &out), 0);
    assert_non_null(out);
    return out;
}

static void freeze(void)
{
    assert_int_equal(uvh_router_freeze(router), 0);
}

static uvhttp_slice_t pad_path(const char *path)
{
    static char buffer[1024 + UVH_REQUEST_PATH_SLACK];
    size_t length = strlen(path);
    assert_true(length <= 1024);
    memcpy(buffer, path, length);
    memset(buffer + length, 'x', UVH_REQUEST_PATH_SLACK);
    return (uvhttp_slice_t){buffer, length};
}

/* The name of the matching route, or the result without one. */
static const char *find_at(const char *host, const char *method, const char *path)
{
    uvhttp_slice_t name = {method, strlen(method)};
    uvhttp_slice_t authority = {host, strlen(host)};
    uvh_router_match(uvh_router_site(router, authority), uvh_method_lookup(name), name,
                     pad_path(path), &match);
    if (match.route != NULL)
        return match.route->arg;
    return match.other_slash ? "redirect" : match.known_path ? "405" : "404";
}

static const char *find(const char *method, const char *path)
{
    return find_at("", method, path);
}

/* The middleware of the last request, separated by spaces. */
static const char *chain(void)
{
    static char text[256];
    size_t size = 0;
    text[0] = '\0';
    for (size_t i = 0; i < match.chain_length; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s", i > 0 ? " " : "",
                                 (const char *)match.chain[i].arg);
    return text;
}

static void assert_allow_at(const char *host, const char *path, const char *expected)
{
    struct uvh_bytes allow;
    uvh_bytes_init(&allow, &heap.allocator, 65536);
    const struct uvh_site *site = uvh_router_site(router, (uvhttp_slice_t){host, strlen(host)});
    assert_int_equal(uvh_router_allow(site, pad_path(path), &allow), 0);
    assert_int_equal(uvh_bytes_append(&allow, "", 1), 0);
    assert_string_equal(allow.data, expected);
    uvh_bytes_release(&allow);
}

/* ---- groups ---- */

static void group_prefix_precedes_patterns(void **state)
{
    (void)state;
    uvhttp_router_t *api = group_of(router, "/api/v1");
    uvhttp_router_t *user = group_of(api, "/users/:id");
    uvhttp_router_t *same = group_of(user, "");
    assert_int_equal(add(api, "GET", "/status", "status"), 0);
    assert_int_equal(add(api, "GET", "", "api"), 0);
    assert_int_equal(add(api, "GET", "/", "api slash"), 0);
    assert_int_equal(add(user, "GET", "/posts/:post", "post"), 0);
    assert_int_equal(add(same, "GET", "/files/*path", "file"), 0);
    assert_string_equal(find("GET", "/api/v1/status"), "status");
    assert_string_equal(find("GET", "/api/v1"), "api");
    assert_string_equal(find("GET", "/api/v1/"), "api slash");
    assert_string_equal(find("GET", "/api/v1/users/7/posts/8"), "post");
    assert_int_equal(match.param_count, 2);
    assert_int_equal(match.route->params[0].length, 2);
    assert_memory_equal(match.route->params[0].base, "id", 2);
    assert_memory_equal(match.params[0].value.base, "7", 1);
    assert_memory_equal(match.params[1].value.base, "8", 1);
    assert_string_equal(find("GET", "/api/v1/users/7/files/a/b"), "file");
    assert_string_equal(match.route->pattern, "/api/v1/users/:id/files/*path");
    assert_string_equal(find("GET", "/status"), "404");
    assert_string_equal(find("POST", "/api/v1/status"), "405");
    assert_allow_at("", "/api/v1/status", "GET, HEAD, OPTIONS");
}

static void invalid_prefixes_are_refused_with_reason(void **state)
{
    (void)state;
    static const struct {
        const char *prefix, *why;
    } invalid[] = {
        {"api", "it does not begin with \"/\""},
        {"/", "a prefix must not end with \"/\""},
        {"/api/", "a prefix must not end with \"/\""},
        {"/*rest", "a prefix must not contain \"*\""},
        {"/*", "a prefix must not contain \"*\""},
        {"/a?b", "a pattern must not contain a query or fragment"},
        {"/:a/:a", "two parameters have the same name"},
        {"/:outer", "two parameters have the same name"},
    };
    uvhttp_router_t *outer = group_of(router, "/:outer");
    for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
        char expected[256];
        uvhttp_router_t *group = router;
        snprintf(expected, sizeof(expected), "route \"/:outer%s\" refused: %s", invalid[i].prefix,
                 invalid[i].why);
        assert_int_equal(uvhttp_router_group(outer, invalid[i].prefix, &group), UVHTTP_EROUTE);
        assert_null(group);
        assert_string_equal(last_message, expected);
    }
    assert_int_equal(add(outer, "GET", "/x/:outer", "x"), UVHTTP_EROUTE);
    assert_string_equal(last_message,
                        "route \"/:outer/x/:outer\" refused: two parameters have the same name");
    assert_int_equal(add(router, "GET", "", "x"), UVHTTP_EROUTE);
    assert_int_equal(add(outer, "GET", "x", "x"), UVHTTP_EROUTE);
    assert_string_equal(last_message, "route \"x\" refused: it does not begin with \"/\"");
}

static void pitfall_duplicates_are_refused_with_both_patterns_in_full(void **state)
{
    (void)state;
    uvhttp_router_t *api = group_of(router, "/api");
    uvhttp_router_t *users = group_of(api, "/:kind");
    uvhttp_router_t *shop = host_of("Shop.Example");
    uvhttp_router_t *shop_api = group_of(shop, "/api");
    assert_int_equal(add(router, "GET", "/api/users/:id", "first"), 0);
    assert_int_equal(add(users, "GET", "/:id", "kinds"), 0);
    assert_int_equal(add(api, "GET", "/users/:name", "second"), UVHTTP_ECONFLICT);
    assert_string_equal(
        last_message, "route \"/api/users/:name\" refused: GET \"/api/users/:id\" already exists");
    assert_int_equal(add(router, "GET", "/api/:a/:b", "third"), UVHTTP_ECONFLICT);
    assert_string_equal(last_message,
                        "route \"/api/:a/:b\" refused: GET \"/api/:kind/:id\" already exists");
    /* another host has another tree */
    assert_int_equal(add(shop_api, "GET", "/users/:id", "shop"), 0);
    assert_int_equal(add(shop, "GET", "/api/users/:x", "fourth"), UVHTTP_ECONFLICT);
    assert_string_equal(last_message, "route \"shop.example/api/users/:x\" refused: GET "
                                      "\"shop.example/api/users/:id\" already exists");
    freeze();
    assert_string_equal(find("GET", "/api/users/7"), "first");
    assert_string_equal(find_at("shop.example", "GET", "/api/users/7"), "shop");
}

/* ---- middleware ---- */

static void middleware_runs_outermost_first(void **state)
{
    (void)state;
    static const uvhttp_middleware_t own[] = {{handler, (void *)"r1"}, {handler, (void *)"r2"}};
    uvhttp_router_t *api = group_of(router, "/api");
    uvhttp_router_t *admin = group_of(api, "/admin");
    uvhttp_router_t *plain = group_of(api, "");
    assert_int_equal(add(router, "GET", "/free", "free"), 0);
    assert_int_equal(add(admin, "GET", "/early", "early"), 0);
    use(admin, "admin1");
    use(router, "server1");
    use(api, "api1");
    use(api, "api2");
    use(admin, "admin2");
    use(router, "server2");
    assert_int_equal(add(api, "GET", "/status", "status"), 0);
    assert_int_equal(add(plain, "GET", "/plain", "plain"), 0);
    assert_int_equal(uvhttp_router_add(admin, &(uvhttp_route_t){.method = "GET",
                                                                .pattern = "/own",
                                                                .handler = handler,
                                                                .arg = as_arg("own"),
                                                                .middleware = own,
                                                                .middleware_count = 2}),
                     0);
    freeze();
    assert_string_equal(find("GET", "/free"), "free");
    assert_string_equal(chain(), "server1 server2");
    assert_string_equal(find("GET", "/api/status"), "status");
    assert_string_equal(chain(), "server1 server2 api1 api2");
    assert_string_equal(find("GET", "/api/plain"), "plain");
    assert_string_equal(chain(), "server1 server2 api1 api2");
    assert_string_equal(find("GET", "/api/admin/early"), "early"); /* added before its middleware */
    assert_string_equal(chain(), "server1 server2 api1 api2 admin1 admin2");
    assert_string_equal(find("GET", "/api/admin/own"), "own");
    assert_string_equal(chain(), "server1 server2 api1 api2 admin1 admin2 r1 r2");
    /* A request without a route does not belong to a group. */
    assert_string_equal(find("GET", "/api/admin/none"), "404");
    assert_string_equal(chain(), "server1 server2");
    assert_string_equal(find("POST", "/api/status"), "405");
    assert_string_equal(chain(), "server1 server2");
}

static void server_group_does_not_apply_to_host(void **state)
{
    (void)state;
    uvhttp_router_t *shop = host_of("shop.example");
    uvhttp_router_t *cart = group_of(shop, "/cart");
    uvhttp_router_t *here = group_of(router, "/cart");
    use(router, "server");
    use(shop, "shop");
    use(cart, "cart");
    use(here, "here");
    assert_int_equal(add(cart, "GET", "/list", "shop list"), 0);
    assert_int_equal(add(here, "GET", "/list", "list"), 0);
    freeze();
    assert_string_equal(find_at("shop.example", "GET", "/cart/list"), "shop list");
    assert_string_equal(chain(), "server shop cart");
    assert_string_equal(find_at("shop.example", "GET", "/none"), "404");
    /* a host's middleware also runs for its unrouted requests */
    assert_string_equal(chain(), "server shop");
    assert_string_equal(find_at("else.example", "GET", "/cart/list"), "list");
    assert_string_equal(chain(), "server here");
    assert_string_equal(find_at("else.example", "GET", "/none"), "404");
    assert_string_equal(chain(), "server");
}

static void route_middleware_is_copied(void **state)
{
    (void)state;
    uvhttp_middleware_t own = {handler, as_arg("kept")};
    uvhttp_route_t route = {.pattern = "/a",
                            .handler = handler,
                            .arg = as_arg("a"),
                            .middleware = &own,
                            .middleware_count = 1};
    assert_int_equal(uvhttp_router_add(router, &route), 0);
    own.arg = as_arg("changed");
    freeze();
    assert_string_equal(find("GET", "/a"), "a");
    assert_string_equal(chain(), "kept");
}

/* ---- hosts ---- */

static void host_has_own_routes(void **state)
{
    (void)state;
    uvhttp_router_t *shop = host_of("shop.example");
    assert_int_equal(add(router, "GET", "/a", "a"), 0);
    assert_int_equal(add(router, "GET", "/server", "server"), 0);
    assert_int_equal(add(shop, "PUT", "/a", "shop a"), 0);
    assert_int_equal(add(shop, "PURGE", "/cache", "cache"), 0);
    freeze();
    static const char *const spellings[] = {"shop.example",    "SHOP.example",  "shop.example:8080",
                                            "Shop.Example.:1", "shop.example.", "shop.example:"};
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        assert_string_equal(find_at(spellings[i], "PUT", "/a"), "shop a");
        assert_string_equal(find_at(spellings[i], "GET", "/a"), "405");
        assert_string_equal(find_at(spellings[i], "GET", "/server"), "404");
    }
    static const char *const others[] = {
        "",        "other.example",    "shop.example.org", "xshop.example",
        "example", "www.shop.example", "shop.exampl",      ".",
        "[::1]",   "shop.example..",   "shop-example",     "127.0.0.1:80"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_string_equal(find_at(others[i], "GET", "/a"), "a");
    assert_allow_at("shop.example", "/a", "PUT, OPTIONS");
    assert_allow_at("", "/a", "GET, HEAD, OPTIONS");
    assert_allow_at("shop.example", "*", "PUT, OPTIONS, PURGE");
    assert_allow_at("", "*", "GET, HEAD, OPTIONS");
    /* The server implements the methods of all hosts. */
    assert_true(uvh_router_knows_method(router, (uvhttp_slice_t){"PURGE", 5}));
    assert_false(uvh_router_knows_method(router, (uvhttp_slice_t){"BAN", 3}));
}

static void longest_host_name_matches(void **state)
{
    (void)state;
    assert_int_equal(add(router, "GET", "/", "server"), 0);
    assert_int_equal(add(host_of("*.example.com"), "GET", "/", "any"), 0);
    assert_int_equal(add(host_of("*.deep.example.com"), "GET", "/", "deep"), 0);
    assert_int_equal(add(host_of("www.example.com"), "GET", "/", "www"), 0);
    assert_int_equal(add(host_of("*.org"), "GET", "/", "org"), 0);
    assert_int_equal(add(host_of("[::1]"), "GET", "/", "address"), 0);
    freeze();
    assert_string_equal(find_at("www.example.com", "GET", "/"), "www");
    assert_string_equal(find_at("WWW.EXAMPLE.COM.:80", "GET", "/"), "www");
    assert_string_equal(find_at("a.example.com", "GET", "/"), "any");
    assert_string_equal(find_at("a.www.example.com", "GET", "/"), "any");
    assert_string_equal(find_at("deep.example.com", "GET", "/"), "any");
    assert_string_equal(find_at("a.b.deep.example.com", "GET", "/"), "deep");
    assert_string_equal(find_at("example.com", "GET", "/"), "server");
    assert_string_equal(find_at("xexample.com", "GET", "/"), "server");
    assert_string_equal(find_at("x.org", "GET", "/"), "org");
    assert_string_equal(find_at("org", "GET", "/"), "server");
    assert_string_equal(find_at(".org", "GET", "/"), "server");
    assert_string_equal(find_at("[::1]:8080", "GET", "/"), "address");
    char longest[400];
    memset(longest, 'a', sizeof(longest));
    memcpy(longest + sizeof(longest) - 5, ".org", 5);
    assert_string_equal(find_at(longest, "GET", "/"), "server"); /* longer than any name */
    assert_string_equal(find_at(longest + 300, "GET", "/"), "org");
}

static void many_hosts_are_found(void **state)
{
    (void)state;
    enum { HOSTS = 500 };
    static char names[HOSTS][32];
    for (int i = 0; i < HOSTS; i++) {
        snprintf(names[i], sizeof(names[i]), i % 2 == 0 ? "h%d.example" : "*.h%d.example", i);
        assert_int_equal(add(host_of(names[i]), "GET", "/", names[i]), 0);
    }
    freeze();
    for (int i = 0; i < HOSTS; i++) {
        char authority[40];
        snprintf(authority, sizeof(authority), "%s%s", i % 2 == 0 ? "" : "x", names[i] + i % 2);
        assert_string_equal(find_at(authority, "GET", "/"), names[i]);
    }
}

static void equal_host_names_share_router(void **state)
{
    (void)state;
    uvhttp_router_t *first = host_of("Example.com.");
    assert_ptr_equal(host_of("example.COM"), first);
    assert_ptr_not_equal(host_of("*.example.com"), first);
    assert_ptr_not_equal(host_of("my_host"), first);
    assert_ptr_not_equal(host_of("[::1]"), first);
    static const char neither[] = "it is neither a host name nor \"*.\" followed by one";
    static const char star[] = "\"*\" is allowed only before the first dot, as in *.example.com";
    static const char port[] = "a host has no port; listeners have one";
    static const char others[] = "routes and sites without a host serve all others";
    static const char list[] =
        "it is more than one host; write several as a list: [a.example, b.example]";
    static const char label[] =
        "each label has 1 to 63 characters, and no \"-\" as its first or last one";
    static const char regex[] =
        "a host is no regular expression; *.example.com is every name below example.com";
    static const struct {
        const char *host, *why;
    } invalid[] = {
        {"", neither},
        {"*", others},
        {"_", others},
        {"*.", neither},
        {"*.*.com", star},
        {"a*.com", star},
        {"example.com:80", port},
        {"*.example.com:80", port},
        {"a b", list},
        {"a.test,b.test", list},
        {".a.test",
         "a name does not begin with a dot; *.example.com is every name below example.com"},
        {"a..test", label},
        {"-a.test", label},
        {"*.a-.test", label},
        {"a123456789012345678901234567890123456789012345678901234567890123.test", label},
        {"~^www", regex},
        {"~^.*\\.test$", regex},
        {"a!b", neither},
        {"a/", "a host has no path; routes have one"},
        {"user@host", neither},
        {"http://host/", "a host has no scheme; write the name alone, such as www.example.com"},
        {"::1", "an IPv6 address requires brackets, such as [::1]"},
        {"\xc3\xa4.test",
         "an international name must be in its ASCII form, which begins with xn--"},
        {"[::1", neither},
        {"*.[::1]x", neither},
    };
    for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
        char expected[256];
        uvhttp_router_t *out = router;
        snprintf(expected, sizeof(expected), "host \"%s\" is invalid: %s", invalid[i].host,
                 invalid[i].why);
        assert_int_equal(uvhttp_router_host(router, invalid[i].host, &out), UVHTTP_EROUTE);
        assert_null(out);
        assert_string_equal(last_message, expected);
    }
}

/* ---- trailing slash ---- */

static void trailing_slash_is_strict_by_default(void **state)
{
    (void)state;
    assert_int_equal(add(router, "GET", "/a", "a"), 0);
    assert_int_equal(add(router, "GET", "/b/", "b"), 0);
    freeze();
    assert_string_equal(find("GET", "/a/"), "404");
    assert_string_equal(find("GET", "/b"), "404");
}

static void set_slash(uvhttp_router_t *of, uvhttp_slash_t slash)
{
    assert_int_equal(uvhttp_router_set_slash(of, slash), 0);
}

static void slash_redirect_finds_other_form(void **state)
{
    (void)state;
    set_slash(router, UVHTTP_SLASH_REDIRECT);
    assert_int_equal(add(router, "GET", "/a", "a"), 0);
    assert_int_equal(add(router, "GET", "/b/", "b"), 0);
    assert_int_equal(add(router, "GET", "/users/:id", "user"), 0);
    assert_int_equal(add(router, "GET", "/files/*path", "file"), 0);
    assert_int_equal(add(router, "GET", "/both", "both"), 0);
    assert_int_equal(add(router, "GET", "/both/", "both slash"), 0);
    assert_int_equal(add(router, "POST", "/mixed", "post"), 0);
    assert_int_equal(add(router, "GET", "/mixed/", "get"), 0);
    freeze();
    assert_string_equal(find("GET", "/a"), "a");
    assert_string_equal(find("GET", "/a/"), "redirect");
    assert_string_equal(find("HEAD", "/a/"), "redirect");
    assert_string_equal(find("GET", "/a//"), "404");
    assert_string_equal(find("GET", "/b"), "redirect");
    assert_string_equal(find("GET", "/users/7/"), "redirect");
    assert_string_equal(find("GET", "/users/"), "404");
    assert_string_equal(find("GET", "/files"), "redirect");
    assert_string_equal(find("GET", "/files/"), "file");
    assert_string_equal(find("GET", "/both"), "both");
    assert_string_equal(find("GET", "/both/"), "both slash");
    /* Per method: each path has its own methods. */
    assert_string_equal(find("GET", "/mixed"), "redirect");
    assert_string_equal(find("POST", "/mixed/"), "redirect");
    assert_string_equal(find("PUT", "/mixed/"), "405");
    assert_allow_at("", "/mixed/", "GET, HEAD, OPTIONS");
    /* No route of the other form for this method: no redirect. */
    assert_string_equal(find("POST", "/a/"), "404");
    assert_string_equal(find("GET", "/"), "404");
    assert_string_equal(find("GET", "*"), "404");
}

static void slash_ignore_serves_other_form(void **state)
{
    (void)state;
    set_slash(router, UVHTTP_SLASH_IGNORE);
    assert_int_equal(add(router, "GET", "/a", "a"), 0);
    assert_int_equal(add(router, "PURGE", "/a", "purge"), 0);
    assert_int_equal(add(router, "GET", "/b/", "b"), 0);
    assert_int_equal(add(router, NULL, "/users/:id", "user"), 0);
    assert_int_equal(add(router, "GET", "/files/*path", "file"), 0);
    assert_int_equal(add(router, "BAN", "/x", "x"), 0);
    freeze();
    assert_string_equal(find("GET", "/a/"), "a");
    assert_string_equal(find("HEAD", "/a/"), "a");
    assert_string_equal(find("PURGE", "/a/"), "purge");
    assert_string_equal(find("GET", "/b"), "b");
    assert_string_equal(find("BREW", "/users/7/"), "user");
    assert_int_equal(match.param_count, 1);
    assert_int_equal(match.params[0].value.length, 1);
    assert_memory_equal(match.params[0].value.base, "7", 1);
    assert_string_equal(find("GET", "/files"), "file");
    assert_int_equal(match.param_count, 1);
    assert_int_equal(match.params[0].value.length, 0);
    assert_non_null(match.params[0].value.base);
    assert_string_equal(find("GET", "/files/x/"), "file");
    assert_int_equal(match.params[0].value.length, 2);
    /* The methods allowed are those of the other form. */
    assert_string_equal(find("POST", "/a/"), "405");
    assert_allow_at("", "/a/", "GET, HEAD, OPTIONS, PURGE");
    assert_string_equal(find("POST", "/b"), "405");
    assert_string_equal(find("GET", "/x/"), "405");
    assert_allow_at("", "/x/", "OPTIONS, BAN");
    assert_string_equal(find("GET", "/a//"), "404");
}

static void slash_policy_is_inherited(void **state)
{
    (void)state;
    uvhttp_router_t *api = group_of(router, "/api");
    uvhttp_router_t *inner = group_of(api, "/inner");
    uvhttp_router_t *strict = group_of(router, "/strict");
    uvhttp_router_t *shop = host_of("shop.example");
    assert_int_equal(add(router, "GET", "/top", "top"), 0);
    assert_int_equal(add(api, "GET", "/a", "a"), 0);
    assert_int_equal(add(inner, "GET", "/b", "b"), 0);
    assert_int_equal(add(strict, "GET", "/c", "c"), 0);
    assert_int_equal(add(shop, "GET", "/d", "d"), 0);
    set_slash(router, UVHTTP_SLASH_REDIRECT);
    set_slash(api, UVHTTP_SLASH_IGNORE);
    set_slash(strict, UVHTTP_SLASH_STRICT);
    freeze();
    assert_string_equal(find("GET", "/top/"), "redirect");
    assert_string_equal(find("GET", "/api/a/"), "a");
    assert_string_equal(find("GET", "/api/inner/b/"), "b");
    assert_string_equal(find("GET", "/strict/c/"), "404");
    assert_string_equal(find("POST", "/top/"), "404");
    assert_string_equal(find("POST", "/api/a/"), "405");
    assert_string_equal(find_at("shop.example", "GET", "/d/"), "redirect");
}

/* ---- list of routes ---- */

static char route_list[1024];

static int list_route(const uvhttp_route_info_t *route, void *arg)
{
    size_t size = strlen(route_list);
    snprintf(route_list + size, sizeof(route_list) - size, "%s %s %s %zu %zu\n",
             route->host == NULL ? "-" : route->host, route->method == NULL ? "any" : route->method,
             route->pattern, route->max_body_size, route->middleware_count);
    return arg != NULL && strcmp(route->pattern, arg) == 0 ? 77 : 0;
}

static void routes_are_listed_in_order(void **state)
{
    (void)state;
    uvhttp_router_t *shop = host_of("*.Shop.example");
    uvhttp_router_t *api = group_of(router, "/api");
    uvhttp_router_t *inner = group_of(api, "/:x");
    static char stop[] = "/api/:x/y";
    assert_int_equal(uvhttp_router_each(router, list_route, NULL), 0);
    assert_string_equal(route_list, "");
    use(api, "m");
    assert_int_equal(
        uvhttp_router_add(
            shop, &(uvhttp_route_t){.pattern = "/up", .handler = handler, .max_body_size = 5}),
        0);
    assert_int_equal(add(inner, "GET", "/y", "y"), 0);
    assert_int_equal(add(router, "PURGE", "/z", "z"), 0);
    assert_int_equal(add(api, "GET", "", "api"), 0);
    assert_int_equal(uvhttp_router_each(api, list_route, NULL), 0);
    assert_string_equal(route_list, "- GET /api/:x/y 0 0\n- GET /api 0 0\n");
    freeze();
    route_list[0] = '\0';
    assert_int_equal(uvhttp_router_each(router, list_route, NULL), 0);
    assert_string_equal(
        route_list,
        "*.shop.example any /up 5 0\n- GET /api/:x/y 0 1\n- PURGE /z 0 0\n- GET /api 0 1\n");
    route_list[0] = '\0';
    assert_int_equal(uvhttp_router_each(router, list_route, stop), 77);
    assert_string_equal(route_list, "*.shop.example any /up 5 0\n- GET /api/:x/y 0 1\n");
    route_list[0] = '\0';
    assert_int_equal(uvhttp_router_each(inner, list_route, NULL), 0);
    assert_string_equal(route_list, "- GET /api/:x/y 0 1\n");
    route_list[0] = '\0';
    assert_int_equal(uvhttp_router_each(shop, list_route, NULL), 0);
    assert_string_equal(route_list, "*.shop.example any /up 5 0\n");
}

/* ---- refused calls ---- */

static void frozen_router_refuses_changes(void **state)
{
    (void)state;
    uvhttp_router_t *group = group_of(router, "/g");
    uvhttp_router_t *host = host_of("example.com");
    uvhttp_router_t *out = router;
    uvhttp_router_t *const all[] = {router, group, host};
    for (size_t i = 0; i < 3; i++)
        assert_false(uvhttp_router_is_frozen(all[i]));
    freeze();
    freeze();
    for (size_t i = 0; i < 3; i++) {
        assert_true(uvhttp_router_is_frozen(all[i]));
        assert_int_equal(add(all[i], "GET", "/late", "late"), UVHTTP_EFROZEN);
        assert_int_equal(uvhttp_router_use(all[i], handler, NULL), UVHTTP_EFROZEN);
        assert_int_equal(uvhttp_router_set_slash(all[i], UVHTTP_SLASH_IGNORE), UVHTTP_EFROZEN);
        assert_int_equal(uvhttp_router_group(all[i], "/late", &out), UVHTTP_EFROZEN);
        assert_null(out);
    }
    assert_int_equal(uvhttp_router_host(router, "late.example", &out), UVHTTP_EFROZEN);
    assert_string_equal(find("GET", "/late"), "404");
}

/* A silently ignored authentication would be worse than a refused route. */
static void middleware_without_count_is_refused(void **state)
{
    (void)state;
    static const uvhttp_middleware_t own = {handler, NULL}, none = {NULL, NULL};
    const uvhttp_route_t invalid[] = {
        {.pattern = "/b", .handler = handler, .middleware = &own},
        {.pattern = "/b", .handler = handler, .middleware_count = 2},
        {.pattern = "/b", .handler = handler, .middleware = &none, .middleware_count = 1},
    };
    static const char beginning[] = "route \"example.com/a/b\" refused: ";
    static const char *const reasons[] = {
        "middleware is set and middleware_count is 0: UVHTTP_MIDDLEWARE sets both",
        "middleware_count is 2 and middleware is NULL",
        "middleware[0] has no handler",
    };
    uvhttp_router_t *group = group_of(host_of("example.com"), "/a");
    for (size_t i = 0; i < UVH_COUNT_OF(invalid); i++) {
        assert_int_equal(uvhttp_router_add(group, &invalid[i]), UVHTTP_EINVAL);
        assert_memory_equal(last_message, beginning, sizeof(beginning) - 1);
        assert_string_equal(last_message + sizeof(beginning) - 1, reasons[i]);
    }
    freeze();
}

static void middleware_macro_sets_list_and_count(void **state)
{
    (void)state;
    const uvhttp_middleware_t first = {handler, as_arg("1")};
    const uvhttp_route_t route = {
        .pattern = "/a", .handler = handler, UVHTTP_MIDDLEWARE(first, {handler, as_arg("2")})};
    assert_int_equal(route.middleware_count, 2);
    assert_ptr_equal(route.middleware[1].arg, as_arg("2"));
    assert_int_equal(uvhttp_router_add(router, &route), 0);
    freeze();
    find("GET", "/a");
    assert_int_equal(match.chain_length, 2);
    assert_ptr_equal(match.chain[0].arg, as_arg("1"));
    assert_ptr_equal(match.chain[1].arg, as_arg("2"));
}

static void invalid_arguments_are_refused(void **state)
{
    (void)state;
    static const uvhttp_middleware_t none = {NULL, NULL};
    uvhttp_router_t *group = group_of(router, "/g");
    uvhttp_router_t *out = router;
    uvhttp_route_t route = {.pattern = "/a", .handler = handler, .middleware_count = 1};
    assert_int_equal(uvhttp_router_add(router, &route), UVHTTP_EINVAL);
    route.middleware = &none;
    assert_int_equal(uvhttp_router_add(router, &route), UVHTTP_EINVAL);
    uvhttp_route_t timed = {.pattern = "/timed", .handler = handler, .handler_timeout = 86401};
    assert_int_equal(uvhttp_router_add(router, &timed), UVHTTP_EINVAL);
    timed = (uvhttp_route_t){.pattern = "/timed", .handler = handler, .body_timeout = 86401};
    assert_int_equal(uvhttp_router_add(router, &timed), UVHTTP_EINVAL);
    timed = (uvhttp_route_t){.pattern = "/timed", .handler = handler, .write_timeout = 86401};
    assert_int_equal(uvhttp_router_add(router, &timed), UVHTTP_EINVAL);
    timed = (uvhttp_route_t){.pattern = "/timed", .handler = handler, .timeout_status = 500};
    assert_int_equal(uvhttp_router_add(router, &timed), UVHTTP_EINVAL);
    timed = (uvhttp_route_t){
        .pattern = "/timed", .handler = handler, .handler_timeout = 86400, .timeout_status = 504};
    assert_int_equal(uvhttp_router_add(router, &timed), 0);
    assert_int_equal(uvhttp_router_use(router, NULL, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_router_use(NULL, handler, NULL), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_router_group(router, NULL, &out), UVHTTP_EINVAL);
    assert_null(out);
    assert_int_equal(uvhttp_router_group(router, "/x", NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_router_group(NULL, "/x", &out), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_router_host(group, "example.com", &out), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_router_host(host_of("example.com"), "example.org", &out),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_router_host(router, NULL, &out), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_router_host(router, "a", NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_router_host(NULL, "a", &out), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_router_set_slash(router, (uvhttp_slash_t)3), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_router_set_slash(NULL, UVHTTP_SLASH_IGNORE), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_router_each(NULL, list_route, NULL), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_router_each(router, NULL, NULL), UVHTTP_EINVAL);
    freeze();
    assert_string_equal(find("GET", "/a"), "404");
    assert_int_equal(match.chain_length, 0);
}

/* ---- failed allocations ---- */

static uvhttp_router_t *new_group, *new_host;
static const uvhttp_middleware_t late = {handler, (void *)"late"};

static int make_group(void)
{
    return uvhttp_router_group(router, "/:g/h", &new_group);
}

static int make_host(void)
{
    return uvhttp_router_host(router, "*.example.com", &new_host);
}

static int add_to_group(void)
{
    return uvhttp_router_add(new_group,
                             &(uvhttp_route_t){.method = "PURGE",
                                               .pattern = "/a-segment-of-more-than-two-words",
                                               .handler = handler,
                                               .arg = as_arg("purge"),
                                               .middleware = &late,
                                               .middleware_count = 1});
}

static int add_to_host(void)
{
    return add(new_host, "GET", "/x/*", "host");
}

static int use_in_group(void)
{
    return uvhttp_router_use(new_group, handler, as_arg("group"));
}

static int use_in_server(void)
{
    return uvhttp_router_use(router, handler, as_arg("server"));
}

static int freeze_all(void)
{
    return uvh_router_freeze(router);
}

/* Each allocation of each step fails in turn: the step returns the error, and works when
 * repeated. */
static void failed_allocation_changes_nothing(void **state)
{
    (void)state;
    static int (*const steps[])(void) = {make_group,   make_host,     add_to_group, add_to_host,
                                         use_in_group, use_in_server, freeze_all};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        size_t failures = 0;
        for (size_t n = 1;; n++) {
            fault_heap_arm(&heap, n, false);
            int err = steps[i]();
            fault_heap_arm(&heap, 0, false);
            if (err == 0)
                break;
            failures++;
            assert_int_equal(err, UVHTTP_ENOMEM);
            assert_true(n < 100);
            assert_string_equal(find("PURGE", "/1/h/none"), "404");
            assert_string_equal(find_at("a.example.com", "GET", "/none"), "404");
            assert_int_equal(match.chain_length, 0);
        }
        assert_true(failures > 0);
    }
    assert_string_equal(find("PURGE", "/1/h/a-segment-of-more-than-two-words"), "purge");
    assert_string_equal(chain(), "server group late");
    assert_string_equal(find_at("a.example.com", "GET", "/x/y"), "host");
    assert_string_equal(chain(), "server");
    route_list[0] = '\0';
    assert_int_equal(uvhttp_router_each(router, list_route, NULL), 0);
    assert_string_equal(
        route_list,
        "- PURGE /:g/h/a-segment-of-more-than-two-words 0 3\n*.example.com GET /x/* 0 1\n");
}

static void host_lookup_does_not_allocate(void **state)
{
    (void)state;
    set_slash(router, UVHTTP_SLASH_IGNORE);
    assert_int_equal(add(host_of("*.example.com"), "GET", "/a/", "a"), 0);
    freeze();
    fault_heap_arm(&heap, 1, true);
    assert_string_equal(find_at("x.y.example.com:80", "GET", "/a"), "a");
    assert_string_equal(find_at("x.y.example.com", "PUT", "/a"), "405");
    assert_int_equal(atomic_load(&heap.calls), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(group_prefix_precedes_patterns),
        TEST(invalid_prefixes_are_refused_with_reason),
        TEST(pitfall_duplicates_are_refused_with_both_patterns_in_full),
        TEST(middleware_runs_outermost_first),
        TEST(server_group_does_not_apply_to_host),
        TEST(route_middleware_is_copied),
        TEST(host_has_own_routes),
        TEST(longest_host_name_matches),
        TEST(many_hosts_are_found),
        TEST(equal_host_names_share_router),
        TEST(trailing_slash_is_strict_by_default),
        TEST(slash_redirect_finds_other_form),
        TEST(slash_ignore_serves_other_form),
        TEST(slash_policy_is_inherited),
        TEST(routes_are_listed_in_order),
        TEST(frozen_router_refuses_changes),
        TEST(middleware_without_count_is_refused),
        TEST(middleware_macro_sets_list_and_count),
        TEST(invalid_arguments_are_refused),
        TEST(failed_allocation_changes_nothing),
        TEST(host_lookup_does_not_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
