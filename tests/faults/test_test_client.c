/* uvhttp_test_request: requests to a server without a port, each kind of response, and its
 * errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/test.h>

#include "base/compiler.h"
#include "support/stage.h"

enum { LARGE = 3000000 };

static struct stage stage;
static char large[LARGE];
static int aborted;

static int echo(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    uvhttp_slice_t body = uvhttp_request_body(request);
    (void)arg;
    const char *accept = uvhttp_request_header(request, "X-Sent");
    const char *host = uvhttp_request_header(request, "Host");
    uvhttp_response_set_header(response, "X-Got", accept != NULL ? accept : "none");
    uvhttp_response_set_header(response, "X-Host", host);
    uvhttp_response_set_header(response, "X-Target", uvhttp_request_target(request).base);
    uvhttp_response_set_header(response, "X-Method", uvhttp_request_method_name(request));
    return uvhttp_response_send(response, 200, "text/plain", body.base, body.length);
}

static int send_large(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_send_static(response, 200, NULL, large, sizeof(large));
}

static int pull(uvhttp_response_t *response, char *buffer, size_t size, size_t *length, void *arg)
{
    size_t *sent = arg;
    (void)response;
    *length = size < LARGE - *sent ? size : LARGE - *sent;
    memcpy(buffer, large + *sent, *length);
    *sent += *length;
    return *sent == LARGE ? UVHTTP_END : 0;
}

/* In chunks, after an interim response, with a trailer. */
static int send_chunks(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    size_t *sent = uvhttp_request_allocate(request, sizeof(*sent));
    (void)arg;
    *sent = 0;
    uvhttp_response_send_early_hints(response);
    uvhttp_response_add_trailer(response, "X-Trailer", "1");
    return uvhttp_response_send_pulled(response, 201, "a/b", UVHTTP_LENGTH_UNKNOWN, pull, NULL,
                                       sent);
}

static void nothing(void *arg)
{
    (void)arg;
}

static int send_later(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    return uvhttp_response_send_text(response, 200, "later");
}

static int defer(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_defer(response, nothing, send_later, NULL);
}

static void on_abort(uvhttp_response_t *response, void *arg)
{
    (void)response, (void)arg;
    aborted++;
}

static int send_events(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    uvhttp_response_on_abort(response, on_abort, NULL);
    int err = uvhttp_response_begin_events(response);
    return err != 0
               ? err
               : uvhttp_response_send_event(response, &(uvhttp_sse_event_t){.data = {"hello", 5}});
}

static int fail_begun(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    int err = uvhttp_response_begin(response, 200, NULL, 10);
    return err != 0 ? err : UVHTTP_EINVAL;
}

static int block(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    return uvhttp_response_send_text(response, 200,
                                     uvhttp_request_is_blocking(request) ? "blocks" : "");
}

static void begin(void)
{
    static const uvhttp_route_t routes[] = {
        {.pattern = "/*", .handler = echo},
        {.pattern = "/large", .handler = send_large},
        {.pattern = "/chunks", .handler = send_chunks},
        {.pattern = "/defer", .handler = defer},
        {.pattern = "/events", .handler = send_events},
        {.pattern = "/fail", .handler = fail_begun},
        {.pattern = "/block", .handler = block, .flags = UVHTTP_ROUTE_BLOCKING},
    };
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    for (size_t i = 0; i < UVH_COUNT_OF(routes); i++)
        assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server), &routes[i]), 0);
    for (size_t i = 0; i < sizeof(large); i++)
        large[i] = (char)('a' + i % 23);
    aborted = 0;
}

static uvhttp_test_response_t *request(const uvhttp_test_request_t *what, int status)
{
    uvhttp_test_response_t *response;
    assert_int_equal(uvhttp_test_request(stage.server, what, &response), 0);
    assert_int_equal(response->status, status);
    assert_int_equal(response->body[response->body_size], '\0');
    return response;
}

static void assert_header(const uvhttp_test_response_t *response, const char *name,
                          const char *value)
{
    assert_string_equal(uvhttp_test_response_header(response, name), value);
}

static void request_has_defaults_and_fields(void **state)
{
    (void)state;
    begin();
    uvhttp_test_response_t *response = request(&(uvhttp_test_request_t){0}, 200);
    assert_header(response, "x-got", "none");
    assert_header(response, "X-Host", "test");
    assert_header(response, "X-Method", "GET");
    assert_string_equal(response->body, "");
    assert_memory_equal(response->head, "HTTP/1.1 200 OK\r\n", 17);
    assert_string_equal(response->head + strlen(response->head) - 4, "\r\n\r\n");
    assert_null(uvhttp_test_response_header(response, "X-Absent"));
    uvhttp_test_response_free(response);
    response = request(&(uvhttp_test_request_t){.target = "/a%20b?c=d",
                                                .body = "hel\0lo",
                                                .body_size = 6,
                                                UVHTTP_TEST_HEADERS("X-Sent: a b", "Host: other")},
                       200);
    assert_header(response, "X-Got", "a b");
    assert_header(response, "X-Host", "other");
    assert_header(response, "X-Method", "POST");
    assert_header(response, "X-Target", "/a%20b?c=d");
    assert_int_equal(response->body_size, 6);
    assert_memory_equal(response->body, "hel\0lo", 6);
    uvhttp_test_response_free(response);
    response = request(&(uvhttp_test_request_t){.method = "HEAD", .target = "/large"}, 200);
    assert_header(response, "Content-Length", "3000000");
    assert_int_equal(response->body_size, 0);
    uvhttp_test_response_free(response);
    stage_end(&stage);
}

/* The request is larger than the buffers of sockets, too. */
static void large_bodies_are_complete(void **state)
{
    (void)state;
    begin();
    stage.config->max_body_size = LARGE;
    uvhttp_server_free(stage.server);
    assert_non_null(stage_new_server(&stage));
    const uvhttp_route_t routes[] = {{.pattern = "/", .handler = echo},
                                     {.pattern = "/large", .handler = send_large},
                                     {.pattern = "/chunks", .handler = send_chunks}};
    for (size_t i = 0; i < UVH_COUNT_OF(routes); i++)
        assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server), &routes[i]), 0);
    static const struct {
        const char *target;
        int status;
    } rows[] = {{"/", 200}, {"/large", 200}, {"/chunks", 201}};
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        uvhttp_test_request_t what = {.target = rows[i].target};
        if (i == 0) {
            what.body = large;
            what.body_size = sizeof(large);
        }
        uvhttp_test_response_t *response = request(&what, rows[i].status);
        assert_int_equal(response->body_size, LARGE);
        assert_memory_equal(response->body, large, LARGE);
        uvhttp_test_response_free(response);
    }
    stage_end(&stage);
}

static void jobs_and_blocking_handlers_respond(void **state)
{
    (void)state;
    begin();
    uvhttp_test_response_t *response = request(&(uvhttp_test_request_t){.target = "/defer"}, 200);
    assert_string_equal(response->body, "later");
    uvhttp_test_response_free(response);
    response = request(&(uvhttp_test_request_t){.target = "/block"}, 200);
    assert_string_equal(response->body, "blocks");
    uvhttp_test_response_free(response);
    stage_end(&stage);
}

static void endless_response_is_stopped(void **state)
{
    (void)state;
    begin();
    uvhttp_test_response_t *response =
        request(&(uvhttp_test_request_t){.target = "/events", .stop_after = 5}, 200);
    assert_non_null(strstr(response->body, "data: hello\n\n"));
    uvhttp_test_response_free(response);
    stage_iterations(&stage, 10);
    assert_int_equal(aborted, 1);
    stage_end(&stage);
}

static void incomplete_and_invalid_requests_fail(void **state)
{
    (void)state;
    begin();
    uvhttp_test_response_t *response = NULL;
    assert_int_equal(
        uvhttp_test_request(stage.server, &(uvhttp_test_request_t){.target = "/fail"}, &response),
        UVHTTP_EDISCONNECTED);
    assert_null(response);
    static const char *const headers[] = {"no colon", "a b: c", "a: b\r\nc: d", NULL};
    for (size_t i = 0; i < UVH_COUNT_OF(headers); i++) {
        uvhttp_test_request_t what = {.headers = &headers[i], .header_count = 1};
        assert_int_equal(uvhttp_test_request(stage.server, &what, &response), UVHTTP_EINVAL);
    }
    static const uvhttp_test_request_t invalid[] = {
        {.target = "/a b"}, {.method = "G ET"}, {.body_size = 1}, {.header_count = 1}};
    for (size_t i = 0; i < UVH_COUNT_OF(invalid); i++)
        assert_int_equal(uvhttp_test_request(stage.server, &invalid[i], &response), UVHTTP_EINVAL);
    response = request(&(uvhttp_test_request_t){.target = "relative"}, 400);
    uvhttp_test_response_free(response);
    stage_end(&stage);
}

/* The loop of the server itself; nothing listens. */
static void server_with_own_loop_responds(void **state)
{
    (void)state;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_test_response_t *response;
    assert_int_equal(uvhttp_server_route(server, "GET", "/", echo, NULL), 0);
    assert_int_equal(uvhttp_test_request(server, &(uvhttp_test_request_t){0}, &response), 0);
    assert_int_equal(response->status, 200);
    uvhttp_test_response_free(response);
    assert_int_equal(
        uvhttp_test_request(server, &(uvhttp_test_request_t){.method = "PUT"}, &response), 0);
    assert_int_equal(response->status, 405);
    assert_header(response, "Allow", "GET, HEAD, OPTIONS");
    uvhttp_test_response_free(response);
    uvhttp_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_has_defaults_and_fields),
        cmocka_unit_test(large_bodies_are_complete),
        cmocka_unit_test(jobs_and_blocking_handlers_respond),
        cmocka_unit_test(endless_response_is_stopped),
        cmocka_unit_test(incomplete_and_invalid_requests_fail),
        cmocka_unit_test(server_with_own_loop_responds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
