/* The router: which pattern matches a path, with which parameters, and the result without a
 * match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/error.h>
#include <uvhttp/static.h>

#include "codec/http1/method.h"
#include "route/router.h"
#include "support/fault_heap.h"

static struct fault_heap heap;
static struct uvhttp_router *router;
static char last_message[1024];
static struct uvh_match match;
static uvhttp_slice_t host; /* the authority of requests: none */

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

/* Handlers are identified by their argument, here the pattern. Never called. */
static int handler(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)response;
    (void)arg;
    return 0;
}

static int add(const char *method, const char *pattern)
{
    uvhttp_route_t route = {.method = method,
                            .pattern = pattern,
                            .handler = handler,
                            .arg = (void *)(uintptr_t)pattern};
    return uvhttp_router_add(router, &route);
}

static void must_add(const char *method, const char *pattern)
{
    assert_int_equal(add(method, pattern), 0);
}

/* The path as in a request, followed by the readable padding; all slashes, which must not
 * matter. */
static uvhttp_slice_t pad_path(const char *path)
{
    static char buffer[4096 + UVH_REQUEST_PATH_SLACK];
    size_t length = strlen(path);
    assert_true(length <= 4096);
    memcpy(buffer, path, length);
    memset(buffer + length, '/', UVH_REQUEST_PATH_SLACK);
    return (uvhttp_slice_t){buffer, length};
}

/* The matching pattern, NULL without a match. */
static const char *find(const char *method, const char *path)
{
    uvhttp_slice_t name = {method, strlen(method)};
    uvh_router_match(uvh_router_site(router, host), uvh_method_lookup(name), name, pad_path(path),
                     &match);
    return match.route == NULL ? NULL : match.route->arg;
}

#define ASSERT_FINDS(method, path, pattern) assert_string_equal(find(method, path), pattern)
#define ASSERT_MISSES(method, path)         assert_null(find(method, path))

static void assert_param(size_t index, const char *name, const char *value)
{
    const struct uvh_param *param = &match.params[index];
    assert_true(index < match.param_count);
    assert_int_equal(match.route->params[index].length, strlen(name));
    assert_memory_equal(match.route->params[index].base, name, strlen(name));
    assert_int_equal(param->value.length, strlen(value));
    assert_memory_equal(param->value.base, value, strlen(value));
}

static void assert_allow(const char *path, const char *expected)
{
    struct uvh_bytes allow;
    uvh_bytes_init(&allow, &heap.allocator, 65536);
    assert_int_equal(uvh_router_allow(uvh_router_site(router, host), pad_path(path), &allow), 0);
    assert_int_equal(uvh_bytes_append(&allow, "", 1), 0);
    assert_string_equal(allow.data, expected);
    uvh_bytes_release(&allow);
}

static void empty_router_finds_nothing(void **state)
{
    (void)state;
    ASSERT_MISSES("GET", "/");
    ASSERT_MISSES("GET", "/a/b");
    ASSERT_MISSES("GET", "*");
    ASSERT_MISSES("GET", "");
    assert_false(match.known_path);
}

static void literals_match_whole_segments(void **state)
{
    (void)state;
    must_add("GET", "/");
    must_add("GET", "/users");
    must_add("GET", "/users/list");
    ASSERT_FINDS("GET", "/", "/");
    ASSERT_FINDS("GET", "/users", "/users");
    ASSERT_FINDS("GET", "/users/list", "/users/list");
    ASSERT_MISSES("GET", "/user");
    ASSERT_MISSES("GET", "/userss");
    ASSERT_MISSES("GET", "/Users");
    ASSERT_MISSES("GET", "/users/lis");
    ASSERT_MISSES("GET", "/users/list/more");
    assert_false(match.known_path);
}

static void trailing_slash_and_empty_segments_differ(void **state)
{
    (void)state;
    must_add("GET", "/a");
    ASSERT_MISSES("GET", "/a/");
    ASSERT_MISSES("GET", "//a");
    must_add("GET", "/a/");
    must_add("GET", "/a//b");
    must_add("GET", "//");
    ASSERT_FINDS("GET", "/a", "/a");
    ASSERT_FINDS("GET", "/a/", "/a/");
    ASSERT_FINDS("GET", "/a//b", "/a//b");
    ASSERT_FINDS("GET", "//", "//");
    ASSERT_MISSES("GET", "/");
    ASSERT_MISSES("GET", "/a/b");
    ASSERT_MISSES("GET", "///");
}

static void parameter_matches_one_nonempty_segment(void **state)
{
    (void)state;
    must_add("GET", "/users/:id");
    must_add("GET", "/users/:id/posts/:post");
    ASSERT_FINDS("GET", "/users/42", "/users/:id");
    assert_int_equal(match.param_count, 1);
    assert_param(0, "id", "42");
    ASSERT_FINDS("GET", "/users/a b/posts/%2F", "/users/:id/posts/:post");
    assert_int_equal(match.param_count, 2);
    assert_param(0, "id", "a b");
    assert_param(1, "post", "%2F");
    ASSERT_MISSES("GET", "/users/");
    ASSERT_MISSES("GET", "/users");
    ASSERT_MISSES("GET", "/users//posts/1");
    ASSERT_MISSES("GET", "/users/1/posts/");
    ASSERT_MISSES("GET", "/users/1/2");
}

static void wildcard_matches_rest_of_path(void **state)
{
    (void)state;
    must_add("GET", "/files/*path");
    must_add("GET", "/raw/*");
    ASSERT_FINDS("GET", "/files/", "/files/*path");
    assert_param(0, "path", "");
    ASSERT_FINDS("GET", "/files/a", "/files/*path");
    assert_param(0, "path", "a");
    ASSERT_FINDS("GET", "/files/a//b/", "/files/*path");
    assert_param(0, "path", "a//b/");
    ASSERT_FINDS("GET", "/raw/x/y", "/raw/*");
    assert_int_equal(match.param_count, 1);
    assert_param(0, "*", "x/y");
    ASSERT_MISSES("GET", "/files");
}

static void literal_precedes_parameter_precedes_wildcard(void **state)
{
    (void)state;
    must_add("GET", "/*all");
    must_add("GET", "/:one");
    must_add("GET", "/exact");
    must_add("GET", "/exact/*below");
    must_add("GET", "/:one/:two");
    must_add("GET", "/exact/deep");
    ASSERT_FINDS("GET", "/exact", "/exact");
    ASSERT_FINDS("GET", "/other", "/:one");
    ASSERT_FINDS("GET", "/exact/deep", "/exact/deep");
    ASSERT_FINDS("GET", "/exact/else", "/exact/*below");
    ASSERT_FINDS("GET", "/other/else", "/:one/:two");
    ASSERT_FINDS("GET", "/other/else/more", "/*all");
    assert_int_equal(match.param_count, 1);
    assert_param(0, "all", "other/else/more");
    ASSERT_FINDS("GET", "/", "/*all");
    assert_param(0, "all", "");
}

static void parameter_has_suffix(void **state)
{
    (void)state;
    must_add("GET", "/f/:name.json");
    ASSERT_FINDS("GET", "/f/a.json", "/f/:name.json");
    assert_param(0, "name", "a");
    ASSERT_FINDS("GET", "/f/a.b.json", "/f/:name.json");
    assert_param(0, "name", "a.b");
    ASSERT_FINDS("GET", "/f/a-name-of-more-than-sixteen-bytes.json", "/f/:name.json");
    assert_param(0, "name", "a-name-of-more-than-sixteen-bytes");
    ASSERT_MISSES("GET", "/f/.json");
    ASSERT_MISSES("GET", "/f/a.jso");
    ASSERT_MISSES("GET", "/f/a.json/b");
    ASSERT_MISSES("GET", "/f/a");
    assert_false(match.known_path);
    must_add("GET", "/f/:name.json/:user-id");
    ASSERT_FINDS("GET", "/f/a.json/7", "/f/:name.json/:user-id");
    assert_param(0, "name", "a");
    assert_param(1, "user-id", "7");
    assert_int_equal(add("GET", "/f/:other.json"), UVHTTP_ECONFLICT);
}

static void parameter_has_type_int(void **state)
{
    (void)state;
    must_add("GET", "/a/:id(int)");
    must_add("POST", "/a/:id(int)");
    ASSERT_FINDS("GET", "/a/0", "/a/:id(int)");
    assert_param(0, "id", "0");
    ASSERT_FINDS("GET", "/a/999999999999999999", "/a/:id(int)");
    static const char *const others[] = {
        "/a/1000000000000000000", "/a/-1", "/a/+1", "/a/1a", "/a/a1", "/a/1.0", "/a/ 1", "/a/"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ASSERT_MISSES("GET", others[i]);
        assert_false(match.known_path);
    }
    ASSERT_MISSES("PUT", "/a/1");
    assert_true(match.known_path);
    assert_allow("/a/1", "GET, HEAD, POST, OPTIONS");
    assert_int_equal(add("GET", "/a/:other(int)"), UVHTTP_ECONFLICT);
}

static void narrower_parameter_precedes(void **state)
{
    (void)state;
    must_add("GET", "/:a");
    must_add("GET", "/:a(int)");
    must_add("GET", "/:a.gz");
    must_add("GET", "/:a(int).gz");
    must_add("GET", "/:a.tar.gz");
    must_add("GET", "/x.gz");
    must_add("GET", "/:a(int)/b");
    must_add("GET", "/:a/c");
    ASSERT_FINDS("GET", "/x", "/:a");
    ASSERT_FINDS("GET", "/1", "/:a(int)");
    ASSERT_FINDS("GET", "/y.gz", "/:a.gz");
    ASSERT_FINDS("GET", "/1.gz", "/:a(int).gz");
    ASSERT_FINDS("GET", "/1.tar.gz", "/:a.tar.gz");
    assert_param(0, "a", "1");
    ASSERT_FINDS("GET", "/x.gz", "/x.gz");
    ASSERT_FINDS("GET", "/1/b", "/:a(int)/b");
    ASSERT_MISSES("GET", "/x/b");
    ASSERT_FINDS("GET", "/1/c", "/:a/c"); /* backtracks */
    assert_param(0, "a", "1");
}

static void matching_backtracks_from_dead_end(void **state)
{
    (void)state;
    must_add("GET", "/a/b/c");
    must_add("GET", "/a/:x/d");
    must_add("GET", "/:y/b/:z/e");
    must_add("GET", "/*rest");
    ASSERT_FINDS("GET", "/a/b/c", "/a/b/c");
    ASSERT_FINDS("GET", "/a/b/d", "/a/:x/d");
    assert_int_equal(match.param_count, 1);
    assert_param(0, "x", "b");
    ASSERT_FINDS("GET", "/a/b/c/e", "/:y/b/:z/e");
    assert_int_equal(match.param_count, 2);
    assert_param(0, "y", "a");
    assert_param(1, "z", "c");
    ASSERT_FINDS("GET", "/a/b/c/f", "/*rest");
    assert_int_equal(match.param_count, 1);
    assert_param(0, "rest", "a/b/c/f");
}

static void matching_backtracks_for_method(void **state)
{
    (void)state;
    must_add("POST", "/a/b");
    must_add("GET", "/a/:x");
    must_add("DELETE", "/*");
    ASSERT_FINDS("POST", "/a/b", "/a/b");
    ASSERT_FINDS("GET", "/a/b", "/a/:x");
    assert_param(0, "x", "b");
    ASSERT_FINDS("DELETE", "/a/b", "/*");
    ASSERT_MISSES("PUT", "/a/b");
    assert_true(match.known_path);
    assert_allow("/a/b", "GET, HEAD, POST, DELETE, OPTIONS");
}

static void allow_lists_methods_of_path(void **state)
{
    (void)state;
    must_add("GET", "/page");
    must_add("PUT", "/page");
    must_add("PURGE", "/page");
    must_add("POST", "/other");
    ASSERT_MISSES("POST", "/page");
    assert_true(match.known_path);
    assert_allow("/page", "GET, HEAD, PUT, OPTIONS, PURGE");
    ASSERT_MISSES("GET", "/other");
    assert_allow("/other", "POST, OPTIONS");
    ASSERT_MISSES("GET", "/nowhere");
    assert_false(match.known_path);
}

static void asterisk_allows_methods_of_all_routes(void **state)
{
    (void)state;
    ASSERT_MISSES("OPTIONS", "*");
    assert_allow("*", "OPTIONS");
    must_add("GET", "/a");
    must_add("PATCH", "/b");
    must_add("PURGE", "/b");
    must_add("BAN", "/c");
    must_add("PURGE", "/d");
    ASSERT_MISSES("OPTIONS", "*");
    assert_allow("*", "GET, HEAD, OPTIONS, PATCH, PURGE, BAN");
}

static void allow_includes_all_matching_patterns(void **state)
{
    (void)state;
    static const char *const methods[] = {"POST", "PUT",  "DELETE", "PATCH",
                                          "COPY", "MOVE", "LOCK",   "UNLOCK"};
    static const char *const patterns[] = {"/a/a/a",  "/a/a/:z",  "/a/:y/a",  "/a/:y/:z",
                                           "/:x/a/a", "/:x/a/:z", "/:x/:y/a", "/:x/:y/:z"};
    for (size_t i = 0; i < 8; i++)
        must_add(methods[i], patterns[i]);
    must_add("PURGE", "/a/*");
    must_add("BAN", "/*");
    ASSERT_MISSES("GET", "/a/a/a");
    assert_true(match.known_path);
    assert_allow("/a/a/a",
                 "POST, PUT, DELETE, OPTIONS, PATCH, COPY, MOVE, LOCK, UNLOCK, PURGE, BAN");
    assert_allow("/b/a/a", "OPTIONS, COPY, MOVE, LOCK, UNLOCK, BAN");
}

static void allow_lists_each_method_once(void **state)
{
    (void)state;
    must_add("PURGE", "/a/:x");
    must_add("PURGE", "/:y/b");
    must_add("PUT", "/a/:x");
    must_add("PUT", "/:y/b");
    ASSERT_MISSES("GET", "/a/b");
    assert_true(match.known_path);
    assert_allow("/a/b", "PUT, OPTIONS, PURGE");
}

static void head_falls_back_to_get(void **state)
{
    (void)state;
    must_add("GET", "/a");
    must_add("GET", "/b");
    must_add(NULL, "/b");
    must_add("POST", "/c");
    ASSERT_FINDS("HEAD", "/a", "/a");
    assert_string_equal(match.route->method, "GET");
    ASSERT_FINDS("HEAD", "/b", "/b");
    assert_string_equal(match.route->method, "GET");
    ASSERT_MISSES("HEAD", "/c");
    assert_allow("/c", "POST, OPTIONS");
    must_add("HEAD", "/a");
    ASSERT_FINDS("HEAD", "/a", "/a");
    assert_string_equal(match.route->method, "HEAD");
}

static void method_route_precedes_any_method_route(void **state)
{
    (void)state;
    must_add(NULL, "/a");
    must_add("GET", "/a");
    ASSERT_FINDS("GET", "/a", "/a");
    assert_string_equal(match.route->method, "GET");
    ASSERT_FINDS("POST", "/a", "/a");
    assert_null(match.route->method);
    ASSERT_FINDS("PURGE", "/a", "/a");
    assert_null(match.route->method);
}

static void extension_methods_are_case_sensitive(void **state)
{
    (void)state;
    must_add("PURGE", "/a");
    must_add("BAN", "/a");
    ASSERT_FINDS("PURGE", "/a", "/a");
    assert_string_equal(match.route->method, "PURGE");
    ASSERT_FINDS("BAN", "/a", "/a");
    assert_string_equal(match.route->method, "BAN");
    ASSERT_MISSES("GET", "/a");
    ASSERT_MISSES("PURG", "/a");
    ASSERT_MISSES("purge", "/a");
    /* It would never match, since clients send upper case. */
    assert_int_equal(add("get", "/a"), UVHTTP_EINVAL);
    assert_string_equal(last_message,
                        "route \"/a\" refused: methods are case-sensitive: use upper case");
    assert_true(uvh_router_knows_method(router, (uvhttp_slice_t){"BAN", 3}));
    assert_true(uvh_router_knows_method(router, (uvhttp_slice_t){"PURGE", 5}));
    assert_false(uvh_router_knows_method(router, (uvhttp_slice_t){"PURG", 4}));
    assert_false(uvh_router_knows_method(router, (uvhttp_slice_t){"ban", 3}));
}

static void every_known_method_has_own_route(void **state)
{
    (void)state;
    static const char *const names[] = {
#define NAME(id, name) name,
        UVHTTP_METHOD_MAP(NAME)
#undef NAME
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        must_add(names[i], "/a");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ASSERT_FINDS(names[i], "/a", "/a");
        assert_string_equal(match.route->method, names[i]);
    }
}

#define NAME_RULE                                                                                \
    "the name of a parameter has letters, digits, \"_\" and \"-\"; a suffix begins with \".\", " \
    "such as :name.json"

static void invalid_patterns_are_refused_with_reason(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *why;
    } invalid[] = {
        {"", "it does not begin with \"/\""},
        {"a/b", "it does not begin with \"/\""},
        {"*", "it does not begin with \"/\""},
        {"/a?b", "a pattern must not contain a query or fragment"},
        {"/a#b", "a pattern must not contain a query or fragment"},
        {"/a%20b", "paths are matched decoded: write the character itself"},
        {"/a/*rest/b", "a wildcard must be the last segment"},
        {"/*/", "a wildcard must be the last segment"},
        {"/:", "a parameter has no name"},
        {"/a/:/b", "a parameter has no name"},
        {"/:a/:b/:a", "two parameters have the same name"},
        {"/:a/*a", "two parameters have the same name"},
        {"/:1/:2/:3/:4/:5/:6/:7/:8/:9/:10/:11/:12/:13/:14/:15/:16/*",
         "it has more than 16 parameters"},
        {"/a/{id}", "a parameter is written :id, not {id} or <id>"},
        {"/a/<id>", "a parameter is written :id, not {id} or <id>"},
        {"/a/{id}.json", "a parameter is written :id, not {id} or <id>"},
        {"/:id(uuid)", "the only type of a parameter is (int), such as :id(int)"},
        {"/:id(int", "the only type of a parameter is (int), such as :id(int)"},
        {"/:id([0-9]+)", "the only type of a parameter is (int), such as :id(int)"},
        {"/:id(int)x", NAME_RULE},
        {"/:id+", NAME_RULE},
        {"/:a.b/:a", "two parameters have the same name"},
        {"/:.json", "a parameter has no name"},
        {"/:(int)", "a parameter has no name"},
        {"/:a.:b", "a segment has one parameter at most"},
        {"/*rest.txt", "the name of a wildcard has letters, digits, \"_\" and \"-\""},
    };
    for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
        char expected[256];
        snprintf(expected, sizeof(expected), "route \"%s\" refused: %s", invalid[i].pattern,
                 invalid[i].why);
        assert_int_equal(add("GET", invalid[i].pattern), UVHTTP_EROUTE);
        assert_string_equal(last_message, expected);
    }
    must_add("GET", "/v1/items:batch"); /* a literal */
    ASSERT_FINDS("GET", "/v1/items:batch", "/v1/items:batch");
    ASSERT_MISSES("GET", "/");
    ASSERT_MISSES("GET", "/a/x/b");
    assert_false(match.known_path);
}

static void conflict_error_names_both_patterns(void **state)
{
    (void)state;
    must_add("GET", "/a/:id");
    must_add("GET", "/files/*path");
    must_add("PURGE", "/a/:id");
    must_add(NULL, "/any");
    static const struct {
        const char *method, *pattern, *message;
    } conflicts[] = {
        {"GET", "/a/:id", "route \"/a/:id\" refused: GET \"/a/:id\" already exists"},
        {"GET", "/a/:name", "route \"/a/:name\" refused: GET \"/a/:id\" already exists"},
        {"GET", "/files/*", "route \"/files/*\" refused: GET \"/files/*path\" already exists"},
        {"PURGE", "/a/:x", "route \"/a/:x\" refused: PURGE \"/a/:id\" already exists"},
        {NULL, "/any", "route \"/any\" refused: any method of \"/any\" already exists"},
    };
    for (size_t i = 0; i < sizeof(conflicts) / sizeof(conflicts[0]); i++) {
        assert_int_equal(add(conflicts[i].method, conflicts[i].pattern), UVHTTP_ECONFLICT);
        assert_string_equal(last_message, conflicts[i].message);
    }
    must_add("POST", "/a/:name"); /* another method may use another name */
    ASSERT_FINDS("POST", "/a/1", "/a/:name");
    assert_param(0, "name", "1");
    ASSERT_FINDS("GET", "/a/1", "/a/:id");
    assert_param(0, "id", "1");
}

static void long_pattern_is_truncated_in_error(void **state)
{
    (void)state;
    char pattern[3000];
    memset(pattern, 'x', sizeof(pattern));
    pattern[0] = '/';
    pattern[sizeof(pattern) - 1] = '\0';
    must_add("GET", pattern);
    assert_int_equal(add("GET", pattern), UVHTTP_ECONFLICT);
    assert_memory_equal(last_message, "route \"/xxxx", 12);
    assert_true(strlen(last_message) > 100);
    assert_non_null(find("GET", pattern));
}

static void invalid_arguments_are_refused(void **state)
{
    (void)state;
    uvhttp_route_t route = {.method = "GET", .pattern = "/a", .handler = NULL};
    assert_int_equal(uvhttp_router_add(router, &route), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_router_add(router, NULL), UVHTTP_EINVAL);
    assert_int_equal(
        uvhttp_router_add(router,
                          &(uvhttp_route_t){.pattern = "/a", .handler = handler, .flags = 8}),
        UVHTTP_EINVAL);
    assert_int_equal(uvhttp_router_add_route(router, NULL, handler), UVHTTP_EINVAL);
    assert_int_equal(add("", "/a"), UVHTTP_EINVAL);
    assert_int_equal(add("G ET", "/a"), UVHTTP_EINVAL);
    assert_int_equal(add("GET,POST", "/a"), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_router_add(NULL, &route), UVHTTP_ENOMEM);
    ASSERT_MISSES("GET", "/a");
    assert_false(match.known_path);
}

/* Static files use the cache of the loop's thread. */
static void static_handler_on_blocking_route_is_refused(void **state)
{
    static const uvhttp_handler_cb handlers[] = {uvhttp_static_handle_request,
                                                 uvhttp_static_handle_upload};
    uvhttp_router_t *group, *host_router, *routers[3] = {router};
    (void)state;
    assert_int_equal(uvhttp_router_group(router, "/group", &group), 0);
    assert_int_equal(uvhttp_router_host(router, "files.example", &host_router), 0);
    routers[1] = group;
    routers[2] = host_router;
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 2; k++) {
            uvhttp_route_t route = {
                .pattern = "/files/*", .handler = handlers[k], .flags = UVHTTP_ROUTE_BLOCKING};
            last_message[0] = '\0';
            assert_int_equal(uvhttp_router_add(routers[i], &route), UVHTTP_EINVAL);
            assert_non_null(strstr(last_message, "/files/*"));
            assert_non_null(strstr(last_message, "UVHTTP_ROUTE_BLOCKING"));
        }
        /* The handler and the flag are each allowed alone. */
        uvhttp_route_t route = {.pattern = "/files/*", .handler = uvhttp_static_handle_request};
        assert_int_equal(uvhttp_router_add(routers[i], &route), 0);
        route =
            (uvhttp_route_t){.pattern = "/*", .handler = handler, .flags = UVHTTP_ROUTE_BLOCKING};
        assert_int_equal(uvhttp_router_add(routers[i], &route), 0);
    }
}

static void frozen_router_refuses_routes(void **state)
{
    (void)state;
    must_add("GET", "/a");
    uvh_router_freeze(router);
    assert_int_equal(add("GET", "/b"), UVHTTP_EFROZEN);
    ASSERT_FINDS("GET", "/a", "/a");
    ASSERT_MISSES("GET", "/b");
}

static void route_method_and_pattern_are_copied(void **state)
{
    (void)state;
    char method[] = "PURGE", pattern[] = "/a/:name";
    uvhttp_route_t route = {.method = method,
                            .pattern = pattern,
                            .handler = handler,
                            .arg = &route,
                            .max_body_size = 77};
    assert_int_equal(uvhttp_router_add(router, &route), 0);
    memset(method, 'x', sizeof(method) - 1);
    memset(pattern, 'x', sizeof(pattern) - 1);
    find("PURGE", "/a/b");
    assert_non_null(match.route);
    assert_string_equal(match.route->method, "PURGE");
    assert_string_equal(match.route->pattern, "/a/:name");
    assert_param(0, "name", "b");
    assert_ptr_equal(match.route->handler, handler);
    assert_ptr_equal(match.route->arg, &route);
    assert_int_equal(match.route->max_body_size, 77);
}

static void sixteen_parameters_are_supported(void **state)
{
    (void)state;
    static const char pattern[] = "/:1/:2/:3/:4/:5/:6/:7/:8/:9/:10/:11/:12/:13/:14/:15/*16";
    must_add("GET", pattern);
    ASSERT_FINDS("GET", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q", pattern);
    assert_int_equal(match.param_count, 16);
    assert_param(0, "1", "a");
    assert_param(14, "15", "o");
    assert_param(15, "16", "p/q");
}

/* ---- comparison with a matcher that only compares texts ---- */

enum { RANDOM_PATTERNS = 60, RANDOM_SIZE = 256 };

static uint32_t seed = 1;

static unsigned next_random(unsigned limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 16) % limit;
}

static const char *const suffixes[] = {"", ".b", ".bb"};

/* Segments that differ in one letter, at either end or in the middle, or in length. */
static size_t random_segment(char *out)
{
    static const unsigned char lengths[] = {0, 1, 1, 2, 3, 7, 8, 9, 15, 16, 17, 18, 24, 33, 40, 70};
    size_t length = lengths[next_random(sizeof(lengths))];
    memset(out, 'a', length);
    if (length > 0 && next_random(2) == 0)
        out[next_random(3) * (length - 1) / 2] = 'b';
    if (length > 0 && next_random(6) == 0)
        memset(out, '1', length);
    if (next_random(4) == 0)
        length += (size_t)snprintf(out + length, 8, "%s", suffixes[next_random(3)]);
    return length;
}

static void random_path(char *out, bool pattern)
{
    unsigned segments = 1 + next_random(4);
    for (unsigned i = 0; i < segments; i++) {
        *out++ = '/';
        unsigned kind = pattern ? next_random(8) : 7;
        if (kind == 0 && i + 1 == segments)
            *out++ = '*';
        else if (kind < 3)
            out += snprintf(out, 16, ":p%u%s%s", i, next_random(3) == 0 ? "(int)" : "",
                            next_random(3) == 0 ? suffixes[next_random(3)] : "");
        else
            out += random_segment(out);
    }
    *out = '\0';
}

/* The rank of a parameter, '1' to '6'; 0 if it does not match the segment. */
static char reference_param(const char *pattern, size_t length, const char *path, size_t segment)
{
    char text[32] = "";
    memcpy(text, pattern, length);
    const char *dot = strchr(text, '.');
    size_t suffix = dot == NULL ? 0 : strlen(dot);
    bool integer = strstr(text, "(int)") != NULL;
    if (segment <= suffix || memcmp(path + segment - suffix, text + length - suffix, suffix) != 0 ||
        (integer && (strspn(path, "0123456789") < segment - suffix || segment - suffix > 18)))
        return 0;
    return (char)('1' + (suffix == 3 ? 0 : suffix == 2 ? 2 : 4) + (integer ? 0 : 1));
}

/* '0' for a literal, then parameters, '7' for a wildcard, segment by segment; false if the pattern
 * does not match the path. */
static bool reference_rank(const char *pattern, const char *path, char *rank)
{
    for (;; pattern += strcspn(pattern, "/"), path += strcspn(path, "/")) {
        if (*pattern == '\0' || *path == '\0') {
            *rank = '\0';
            return *pattern == *path;
        }
        pattern++;
        path++;
        size_t length = strcspn(pattern, "/");
        size_t segment = strcspn(path, "/");
        if (*pattern == '*') {
            memcpy(rank, "7", 2);
            return true;
        }
        bool same = length == segment && memcmp(pattern, path, length) == 0;
        *rank = *pattern == ':' ? reference_param(pattern, length, path, segment)
                                : (char)(same ? '0' : 0);
        if (*rank++ == 0)
            return false;
    }
}

static void random_routes_match_reference(void **state)
{
    (void)state;
    static char patterns[RANDOM_PATTERNS][4 * RANDOM_SIZE];
    size_t matches = 0;
    for (int round = 0; round < 60; round++) {
        size_t count = 0;
        for (int i = 0; i < RANDOM_PATTERNS; i++) {
            random_path(patterns[count], true);
            if (add("GET", patterns[count]) == 0)
                count++;
        }
        for (int i = 0; i < 300; i++) {
            char path[4 * RANDOM_SIZE], rank[16], best[16] = "9";
            const char *expected = NULL;
            random_path(path, false);
            for (size_t k = 0; k < count; k++) {
                if (reference_rank(patterns[k], path, rank) && strcmp(rank, best) < 0) {
                    expected = patterns[k];
                    memcpy(best, rank, sizeof(best));
                }
            }
            const char *found = find("GET", path);
            if (found != expected)
                fail_msg("%s: %s instead of %s", path, found == NULL ? "none" : found,
                         expected == NULL ? "none" : expected);
            matches += expected != NULL;
        }
        tear_down(NULL);
        assert_int_equal(set_up(NULL), 0);
    }
    assert_true(matches > 1000);
}

/* A fixed-size route table would lose routes. */
static void pitfall_ten_thousand_routes_are_all_found(void **state)
{
    (void)state;
    enum { ROUTES = 10000 };
    char pattern[64];
    for (int i = 0; i < ROUTES; i++) {
        snprintf(pattern, sizeof(pattern), "/section%d/item%d/:id", i % 100, i);
        assert_int_equal(
            uvhttp_router_add(router, &(uvhttp_route_t){.method = "GET",
                                                        .pattern = pattern,
                                                        .handler = handler,
                                                        .arg = (void *)(uintptr_t)(i + 1)}),
            0);
    }
    for (int i = 0; i < ROUTES; i++) {
        snprintf(pattern, sizeof(pattern), "/section%d/item%d/%d", i % 100, i, i * 3);
        find("GET", pattern);
        assert_non_null(match.route);
        assert_int_equal((uintptr_t)match.route->arg, i + 1);
        snprintf(pattern, sizeof(pattern), "%d", i * 3);
        assert_param(0, "id", pattern);
    }
    snprintf(pattern, sizeof(pattern), "/section1/item2/3");
    ASSERT_MISSES("GET", pattern);
}

static void matching_does_not_allocate(void **state)
{
    (void)state;
    must_add("GET", "/a/:b/*c");
    must_add("PURGE", "/a/:b/*c");
    fault_heap_arm(&heap, 1, true);
    ASSERT_FINDS("GET", "/a/1/2/3", "/a/:b/*c");
    ASSERT_FINDS("PURGE", "/a/1/2/3", "/a/:b/*c");
    ASSERT_MISSES("PUT", "/a/1/2/3");
    assert_int_equal(atomic_load(&heap.calls), 0);
}

/* Each allocation fails in turn: add returns the error, changes nothing visible, and works when
 * repeated. */
static void failed_add_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *method, *pattern, *path;
    } routes[] = {
        {"GET", "/a/:b/c/d", "/a/1/c/d"},
        {"PURGE", "/p/*rest", "/p/x"},
        {"BAN", "/q", "/q"},
        {NULL, "/r/s/t", "/r/s/t"},
    };
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        const char *method = routes[i].method == NULL ? "GET" : routes[i].method;
        for (size_t n = 1;; n++) {
            fault_heap_arm(&heap, n, false);
            int err = add(routes[i].method, routes[i].pattern);
            fault_heap_arm(&heap, 0, false);
            if (err == 0)
                break;
            assert_int_equal(err, UVHTTP_ENOMEM);
            ASSERT_MISSES(method, routes[i].path);
            assert_false(match.known_path);
            assert_true(n < 100);
        }
        ASSERT_FINDS(method, routes[i].path, routes[i].pattern);
    }
}

static void allow_without_memory_fails(void **state)
{
    (void)state;
    must_add("GET", "/a");
    must_add("PURGE", "/a");
    for (size_t n = 1;; n++) {
        struct uvh_bytes allow;
        uvh_bytes_init(&allow, &heap.allocator, 65536);
        fault_heap_arm(&heap, n, false);
        int err = uvh_router_allow(uvh_router_site(router, host), pad_path("/a"), &allow);
        bool failed = atomic_load(&heap.failures) > 0;
        fault_heap_arm(&heap, 0, false);
        assert_int_equal(err, failed ? UVHTTP_ENOMEM : 0);
        uvh_bytes_release(&allow);
        if (!failed)
            break;
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(empty_router_finds_nothing),
        TEST(literals_match_whole_segments),
        TEST(trailing_slash_and_empty_segments_differ),
        TEST(parameter_matches_one_nonempty_segment),
        TEST(wildcard_matches_rest_of_path),
        TEST(literal_precedes_parameter_precedes_wildcard),
        TEST(parameter_has_suffix),
        TEST(parameter_has_type_int),
        TEST(narrower_parameter_precedes),
        TEST(matching_backtracks_from_dead_end),
        TEST(matching_backtracks_for_method),
        TEST(allow_lists_methods_of_path),
        TEST(asterisk_allows_methods_of_all_routes),
        TEST(allow_includes_all_matching_patterns),
        TEST(allow_lists_each_method_once),
        TEST(allow_without_memory_fails),
        TEST(head_falls_back_to_get),
        TEST(method_route_precedes_any_method_route),
        TEST(extension_methods_are_case_sensitive),
        TEST(every_known_method_has_own_route),
        TEST(invalid_patterns_are_refused_with_reason),
        TEST(conflict_error_names_both_patterns),
        TEST(long_pattern_is_truncated_in_error),
        TEST(invalid_arguments_are_refused),
        TEST(static_handler_on_blocking_route_is_refused),
        TEST(frozen_router_refuses_routes),
        TEST(route_method_and_pattern_are_copied),
        TEST(sixteen_parameters_are_supported),
        TEST(random_routes_match_reference),
        TEST(pitfall_ten_thousand_routes_are_all_found),
        TEST(matching_does_not_allocate),
        TEST(failed_add_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
