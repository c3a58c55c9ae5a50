/* Rewrites before routing: which rule applies, what of the request changes, invalid rules, and the
 * data of routers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp.h>
#include <uvhttp/test.h>

#include "base/compiler.h"
#include "support/fault_heap.h"

/* Sends "ROUTE PATH RAW QUERY TARGET". */
static int show(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[512];
    (void)arg;
    int length = snprintf(text, sizeof(text), "%s %s %.*s [%.*s] %.*s", uvhttp_request_route(req),
                          uvhttp_request_path(req), UVHTTP_SLICE_ARGS(uvhttp_request_raw_path(req)),
                          UVHTTP_SLICE_ARGS(uvhttp_request_query_string(req)),
                          UVHTTP_SLICE_ARGS(uvhttp_request_target(req)));
    return uvhttp_response_send(res, 200, "text/plain", text, (size_t)length);
}

static void expect(uvhttp_server_t *server, const char *target, const char *host, int status,
                   const char *text)
{
    char field[64];
    uvhttp_test_response_t *response;
    snprintf(field, sizeof(field), "Host: %s", host);
    const uvhttp_test_request_t request = {.target = target, UVHTTP_TEST_HEADERS(field)};
    assert_int_equal(uvhttp_test_request(server, &request, &response), 0);
    assert_int_equal(response->status, status);
    if (text != NULL) {
        assert_int_equal(response->body_size, strlen(text));
        assert_memory_equal(response->body, text, strlen(text));
    }
    uvhttp_test_response_free(response);
}

static void path_is_rewritten_once_before_routing(void **state)
{
    (void)state;
    static const struct {
        const char *target, *text;
    } rows[] = {
        {"/old/a%20b/c?q=1", "/new/* /new/a b/c /new/a%20b/c [q=1] /old/a%20b/c?q=1"},
        {"/old/", "/new/* /new/ /new/ [] /old/"},
        {"/old/a%2Fb", "/new/* /new/a%2Fb /new/a%2Fb [] /old/a%2Fb"},
        {"/new/x", "/new/* /new/x /new/x [] /new/x"},
        {"/loop/a", "/loop/* /loop/a/a /loop/a/a [] /loop/a"},
        {"/user/7", "/new/* /new/u /new/u [id=7] /user/7"},
        {"/user/7?x=y", "/new/* /new/u /new/u [id=7] /user/7?x=y"},
        {"/user/me?x=y", "/new/* /new/u /new/u [n=me&x=y] /user/me?x=y"},
        {"/bare?x=y", "/new/* /new/b /new/b [] /bare?x=y"},
        {"/exact", "/new/* /new/exact /new/exact [] /exact"},
    };
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_router_t *router = uvhttp_server_router(server);
    assert_int_equal(uvhttp_server_route(server, NULL, "/new/*", show, NULL), 0);
    assert_int_equal(uvhttp_server_route(server, NULL, "/loop/*", show, NULL), 0);
    assert_int_equal(uvhttp_router_rewrite(router, "/old/*", "/new/{rest}"), 0);
    assert_int_equal(uvhttp_router_rewrite(router, "/loop/:a", "/loop/{a}/{a}"), 0);
    assert_int_equal(uvhttp_router_rewrite(router, "/user/:id(int)", "/new/u?id={id}"), 0);
    assert_int_equal(uvhttp_router_rewrite(router, "/user/:n", "/new/u?n={n}{query}"), 0);
    assert_int_equal(uvhttp_router_rewrite(router, "/bare", "/new/b?"), 0);
    assert_int_equal(uvhttp_router_rewrite(router, "/:any", "/new/{any}"), 0);
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++)
        expect(server, rows[i].target, "a.test", 200, rows[i].text);
    expect(server, "/other/x", "a.test", 404, NULL);
    uvhttp_server_free(server);
}

static void rules_belong_to_their_host_and_group(void **state)
{
    (void)state;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_router_t *router = uvhttp_server_router(server), *host, *group;
    assert_int_equal(uvhttp_router_host(router, "b.test", &host), 0);
    assert_int_equal(uvhttp_router_group(host, "/api", &group), 0);
    assert_int_equal(uvhttp_router_rewrite(group, "/v1/*", "/{rest}"), 0);
    assert_int_equal(uvhttp_server_route(server, NULL, "/*", show, NULL), 0);
    assert_int_equal(uvhttp_router_add(host, &(uvhttp_route_t){.pattern = "/*", .handler = show}),
                     0);
    expect(server, "/api/v1/x", "b.test", 200, "/* /x /x [] /api/v1/x");
    expect(server, "/v1/x", "b.test", 200, "/* /v1/x /v1/x [] /v1/x");
    expect(server, "/api/v1/x", "a.test", 200, "/* /api/v1/x /api/v1/x [] /api/v1/x");
    uvhttp_server_free(server);
}

static void invalid_new_path_gets_400(void **state)
{
    (void)state;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    assert_int_equal(uvhttp_server_route(server, NULL, "/*", show, NULL), 0);
    assert_int_equal(
        uvhttp_router_rewrite(uvhttp_server_router(server), "/a/:name.json", "/{name}"), 0);
    expect(server, "/a/b.json", "a.test", 200, "/* /b /b [] /a/b.json");
    expect(server, "/a/...json", "a.test", 400, NULL);
    expect(server, "/a/b.json", "a.test", 200, NULL);
    uvhttp_server_free(server);
}

static void invalid_rules_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *to;
        int err;
        const char *message;
    } rows[] = {
        {"/a/*", "/b", UVHTTP_ECONFLICT,
         "route \"/a/*\" refused: rewrite of \"/a/*\" already exists"},
        {"a", "/b", UVHTTP_EROUTE, "route \"a\" refused: it does not begin with \"/\""},
        {"/:", "/b", UVHTTP_EROUTE, "route \"/:\" refused: a parameter has no name"},
        {"/b", "/{rest}", UVHTTP_ECONFIG, "{rest} requires a path that ends with '*'"},
        {"/b", "b", UVHTTP_ECONFIG, "text is \"b\"; a target is a path that begins with '/'"},
    };
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_router_t *router = uvhttp_server_router(server);
    assert_int_equal(uvhttp_router_rewrite(router, "/a/*", "/b/{rest}"), 0);
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        assert_int_equal(uvhttp_router_rewrite(router, rows[i].pattern, rows[i].to), rows[i].err);
        assert_string_equal(uvhttp_server_error(server)->text, rows[i].message);
    }
    expect(server, "/", "a.test", 404, NULL); /* freezes the router */
    assert_int_equal(uvhttp_router_rewrite(router, "/c", "/d"), UVHTTP_EFROZEN);
    uvhttp_server_free(server);
}

static void failed_allocation_changes_nothing(void **state)
{
    (void)state;
    struct fault_heap heap;
    fault_heap_init(&heap);
    uvhttp_config_t *config = uvhttp_config_new();
    config->allocator = &heap.allocator;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    assert_non_null(server);
    int err = UVHTTP_ENOMEM;
    for (size_t n = 1; err != 0; n++) {
        fault_heap_arm(&heap, n, true);
        err = uvhttp_router_rewrite(uvhttp_server_router(server), "/a/:id", "/b/{id}");
        fault_heap_arm(&heap, 0, false);
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
    }
    uvhttp_server_free(server);
    assert_int_equal(atomic_load(&heap.live), 0);
}

static int show_data(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    const char *data = uvhttp_request_router_data(req), *route = uvhttp_request_route(req);
    uvhttp_response_set_header(res, "X-Route", route == NULL ? "none" : route);
    uvhttp_response_set_header(res, "X-Data", data == NULL ? "none" : data);
    return UVHTTP_DECLINED;
}

static void expect_data(uvhttp_server_t *server, const char *target, const char *host,
                        const char *data)
{
    char field[64];
    uvhttp_test_response_t *response;
    snprintf(field, sizeof(field), "Host: %s", host);
    const uvhttp_test_request_t request = {.target = target, UVHTTP_TEST_HEADERS(field)};
    assert_int_equal(uvhttp_test_request(server, &request, &response), 0);
    assert_string_equal(uvhttp_test_response_header(response, "X-Data"), data);
    uvhttp_test_response_free(response);
}

static void data_is_that_of_innermost_router(void **state)
{
    (void)state;
    static char own[] = "own", of_host[] = "host", of_group[] = "group";
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_router_t *router = uvhttp_server_router(server), *host, *group, *plain;
    assert_int_equal(uvhttp_router_host(router, "b.test", &host), 0);
    assert_int_equal(uvhttp_router_host(router, "c.test", &plain), 0);
    assert_int_equal(uvhttp_router_group(host, "/api", &group), 0);
    assert_int_equal(uvhttp_router_use(router, show_data, NULL), 0);
    assert_int_equal(uvhttp_router_add(group, &(uvhttp_route_t){.pattern = "/x", .handler = show}),
                     0);
    uvhttp_router_set_data(host, of_host);
    expect_data(server, "/", "a.test", "none");
    uvhttp_router_set_data(router, own);
    uvhttp_router_set_data(group, of_group);
    expect_data(server, "/", "a.test", "own");
    expect_data(server, "/", "b.test", "host");
    expect_data(server, "/", "c.test", "own");
    expect_data(server, "/api/x", "b.test", "group");
    expect_data(server, "/api/y", "b.test", "host");
    uvhttp_test_response_t *response;
    const uvhttp_test_request_t preflight = {
        .method = "OPTIONS",
        .target = "/api/x",
        UVHTTP_TEST_HEADERS("Host: b.test", "Access-Control-Request-Method: GET")};
    assert_int_equal(uvhttp_test_request(server, &preflight, &response), 0);
    assert_string_equal(uvhttp_test_response_header(response, "X-Data"), "group");
    assert_string_equal(uvhttp_test_response_header(response, "X-Route"), "/api/x");
    uvhttp_test_response_free(response);
    uvhttp_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_is_rewritten_once_before_routing),
        cmocka_unit_test(rules_belong_to_their_host_and_group),
        cmocka_unit_test(invalid_new_path_gets_400),
        cmocka_unit_test(invalid_rules_are_refused),
        cmocka_unit_test(failed_allocation_changes_nothing),
        cmocka_unit_test(data_is_that_of_innermost_router),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
