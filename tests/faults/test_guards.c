/* The built-in middleware with allocation failures. Whichever allocation fails, no unauthorized
 * request reaches the handler, nothing leaks, and a regular response has all of its fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/stage.h"

enum { MAX_ALLOCATIONS = 400, REQUESTS = 6 };

static struct stage stage;
static struct raw_client client;
static size_t runs; /* of the handler */

static struct guards {
    uvhttp_request_ids_t *ids;
    uvhttp_security_headers_t *headers;
    uvhttp_cors_t *cors;
    uvhttp_auth_t *auth;
    uvhttp_address_rules_t *rules;
} guards;

static int handler(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const char *user = uvhttp_auth_user(request);
    (void)arg;
    runs++;
    assert_non_null(user);
    assert_string_equal(user, "good");
    return uvhttp_response_send_text(response, 200, user);
}

static void work(void *arg)
{
    (void)arg;
}

static int decide(uvhttp_response_t *response, void *verdict)
{
    return uvhttp_auth_decide(response, verdict != NULL ? UVHTTP_AUTH_ACCEPT : UVHTTP_AUTH_REFUSE);
}

/* Decides about "good" and "bad" on the pool, and about other users immediately. */
static int check(uvhttp_request_t *request, uvhttp_response_t *response,
                 const uvhttp_credentials_t *given, void *arg)
{
    static char accepted;
    (void)request;
    (void)arg;
    if (strcmp(given->user, "good") != 0 && strcmp(given->user, "bad") != 0)
        return UVHTTP_AUTH_REFUSE;
    int err = uvhttp_response_defer(response, work, decide,
                                    strcmp(given->user, "good") == 0 ? &accepted : NULL);
    return err != 0 ? err : UVHTTP_AUTH_LATER;
}

static int create_guards(void)
{
    static const uvhttp_address_rule_t local = {"127.0.0.1", true};
    const uvhttp_allocator_t *allocator = &stage.heap.allocator;
    guards = (struct guards){0};
    int err = uvhttp_request_ids_new(
        &guards.ids, &(uvhttp_request_ids_options_t){.trusted = true, .allocator = allocator},
        NULL);
    if (err == 0)
        err = uvhttp_security_headers_new(
            &guards.headers, &(uvhttp_security_headers_options_t){.allocator = allocator}, NULL);
    if (err == 0)
        err = uvhttp_cors_new(&guards.cors,
                              &(uvhttp_cors_options_t){
                                  .origins = "https://a.b", .headers = "*", .allocator = allocator},
                              NULL);
    if (err == 0)
        err = uvhttp_auth_new(
            &guards.auth, &(uvhttp_auth_options_t){.check_basic = check, .allocator = allocator},
            NULL);
    if (err == 0)
        err =
            uvhttp_address_rules_new(&guards.rules,
                                     &(uvhttp_address_rules_options_t){
                                         .rules = &local, .rule_count = 1, .allocator = allocator},
                                     NULL);
    return err;
}

static int build(void)
{
    uvhttp_router_t *group = NULL;
    int err = create_guards();
    if (err == 0)
        err = uvhttp_server_use(stage.server, uvhttp_request_ids_handle_request, guards.ids);
    if (err == 0)
        err =
            uvhttp_server_use(stage.server, uvhttp_security_headers_handle_request, guards.headers);
    if (err == 0)
        err = uvhttp_server_use(stage.server, uvhttp_cors_handle_request, guards.cors);
    if (err == 0)
        err = uvhttp_router_group(uvhttp_server_router(stage.server), "", &group);
    if (err == 0)
        err = uvhttp_router_use(group, uvhttp_address_rules_handle_request, guards.rules);
    if (err == 0)
        err = uvhttp_router_use(group, uvhttp_auth_handle_request, guards.auth);
    return err != 0 ? err : uvhttp_router_add_route(group, "/", handler);
}

static void clean(void)
{
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    stage_iterations(&stage, 10);
    uvhttp_request_ids_free(guards.ids);
    uvhttp_security_headers_free(guards.headers);
    uvhttp_cors_free(guards.cors);
    uvhttp_auth_free(guards.auth);
    uvhttp_address_rules_free(guards.rules);
}

#define HEAD(method) \
    method " / HTTP/1.1\r\nHost: h\r\nOrigin: https://a.b\r\nX-Request-Id: the-one\r\n"

static const struct {
    const char *request;
    int status;
    const char *field; /* a field that the response has */
} requests[REQUESTS] = {
    {HEAD("GET") "Authorization: Basic Z29vZDp4\r\n\r\n", 200, "Content-Type"},
    {HEAD("GET") "Authorization: Basic YmFkOng=\r\n\r\n", 401, "WWW-Authenticate"},
    {HEAD("GET") "Authorization: Basic bm9ib2R5Og==\r\n\r\n", 401, "WWW-Authenticate"},
    {HEAD("GET") "\r\n", 401, "WWW-Authenticate"},
    {HEAD("OPTIONS") "Access-Control-Request-Method: GET\r\nAccess-Control-Request-Headers: "
                     "x\r\n\r\n",
     204, "Access-Control-Allow-Headers"},
    {"GET /nowhere HTTP/1.1\r\nHost: h\r\nOrigin: https://a.b\r\nX-Request-Id: the-one\r\n\r\n",
     404, "Content-Type"},
};

static void assert_complete(const struct raw_response *response, const char *own)
{
    static const char *const fields[] = {"X-Request-Id",
                                         "Content-Security-Policy",
                                         "X-Content-Type-Options",
                                         "X-Frame-Options",
                                         "Permissions-Policy",
                                         "Vary",
                                         "Access-Control-Allow-Origin"};
    char value[256];
    assert_true(raw_response_field(response, own, value, sizeof(value)));
    for (size_t i = 0; i < UVH_COUNT_OF(fields); i++) {
        if (!raw_response_field(response, fields[i], value, sizeof(value)))
            fail_msg("%s is missing in %.*s", fields[i], (int)response->head_length,
                     response->head);
    }
    assert_true(raw_response_field(response, "X-Request-Id", value, sizeof(value)));
    assert_string_equal(value, "the-one");
}

/* Sends one request, with the n-th allocation since listening failing. Returns true if an
 * allocation has failed. */
static bool run_request(size_t index, size_t n, bool keep_failing)
{
    stage_begin(&stage);
    runs = 0;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(build(), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    stage_iterations(&stage, 4);
    fault_heap_arm(&stage.heap, n, keep_failing);
    raw_client_send_text(&client, requests[index].request);
    size_t responses = stage_drive_responses(&stage, &client, 10000, 1), offset = 0;
    bool failed = atomic_load(&stage.heap.failures) > 0;
    fault_heap_arm(&stage.heap, 0, false);
    struct raw_response response;
    if (responses == 1 && raw_client_response(&client, &offset, false, &response)) {
        if (response.status == requests[index].status)
            assert_complete(&response, requests[index].field);
        else
            assert_true(failed && (response.status == 503 || response.status == 500));
        assert_int_equal(response.status == 200,
                         requests[index].status == 200 && response.status < 400);
    } else {
        assert_true(failed && client.ended);
    }
    assert_true(runs <= (requests[index].status == 200 ? 1 : 0));
    raw_client_close(&client, false);
    clean();
    stage_end(&stage);
    return failed;
}

static void middleware_denies_access_without_memory(void **state)
{
    (void)state;
    for (size_t index = 0; index < REQUESTS; index++) {
        assert_false(run_request(index, 0, false));
        for (int keep_failing = 0; keep_failing <= 1; keep_failing++) {
            size_t n = 1;
            while (run_request(index, n, keep_failing != 0))
                assert_true(++n < MAX_ALLOCATIONS);
            assert_true(n > 1);
        }
    }
}

static void failed_middleware_setup_leaks_nothing(void **state)
{
    (void)state;
    int err = UVHTTP_ENOMEM;
    for (size_t n = 1; err != 0; n++) {
        stage_begin(&stage);
        assert_non_null(stage_new_server(&stage));
        fault_heap_arm(&stage.heap, n, false);
        err = build();
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        fault_heap_arm(&stage.heap, 0, false);
        clean();
        stage_end(&stage);
        assert_true(n < MAX_ALLOCATIONS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(middleware_denies_access_without_memory),
        cmocka_unit_test(failed_middleware_setup_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
