/* Size limits of a server: request bodies with a length, chunked, and read in chunks; whole
 * responses, those of known length, and those without; which of several limits applies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/stage.h"

enum { MOST_IN = 8, MOST_OUT = 64 };

static struct stage stage;
static struct raw_client client;
static uvhttp_size_limit_t *limit;
static int handled;
static int last_error;

static int respond_taken(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    handled++;
    /* too late: the body has been received */
    assert_int_equal(uvhttp_request_limit_body(request, 1), UVHTTP_EINVAL);
    return uvhttp_response_send_text(response, 200, "taken");
}

static int count_chunk(uvhttp_request_t *request, uvhttp_response_t *response, const char *data,
                       size_t size, void *arg)
{
    (void)request;
    (void)data;
    (void)arg;
    return size > 0 ? 0 : uvhttp_response_send_text(response, 200, "taken");
}

static int read_in_chunks(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)response;
    handled++;
    return uvhttp_request_on_body(request, count_chunk, arg);
}

/* Sends the number of bytes of the query, in the way named by `how`. */
static int send_bytes(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const char bytes[256];
    const char *how = uvhttp_request_param(request, "how");
    const char *size_text = uvhttp_request_query(request, "size");
    size_t size = size_text == NULL ? 0 : strtoul(size_text, NULL, 10);
    (void)arg;
    assert_true(size <= sizeof(bytes));
    uvhttp_response_set_header(response, "X-Of-The-Handler", "1");
    if (strcmp(how, "whole") == 0)
        return uvhttp_response_send(response, 200, NULL, bytes, size);
    if (strcmp(how, "reset") == 0) /* a 205 has no body, whatever its size */
        return uvhttp_response_send(response, 205, NULL, bytes, size);
    if (strcmp(how, "unchanged") == 0)
        return uvhttp_response_send(response, 304, NULL, bytes, size);
    uint64_t length = strcmp(how, "known") == 0 ? size : UVHTTP_LENGTH_UNKNOWN;
    int err = uvhttp_response_begin(response, 200, NULL, length);
    for (size_t sent = 0; err == 0 && sent < size; sent += 16)
        err = uvhttp_response_write(response, bytes, size - sent < 16 ? size - sent : 16);
    last_error = err;
    if (strcmp(how, "careless") == 0) {
        uvhttp_response_end(response);
        return 0;
    }
    return err != 0 ? err : uvhttp_response_end(response);
}

static int set_up(void **state)
{
    (void)state;
    stage_begin(&stage);
    const uvhttp_size_limit_options_t config = {.max_request_body = MOST_IN,
                                                .max_response_body = MOST_OUT,
                                                .allocator = &stage.heap.allocator};
    assert_int_equal(uvhttp_size_limit_new(&limit, &config, NULL), 0);
    assert_non_null(stage_new_server(&stage));
    uvhttp_router_t *root = uvhttp_server_router(stage.server), *group;
    assert_int_equal(uvhttp_router_group(root, "/limited", &group), 0);
    assert_int_equal(uvhttp_router_use(group, uvhttp_size_limit_handle_request, limit), 0);
    uvhttp_router_t *const routers[] = {root, group};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(uvhttp_router_add(routers[i], &(uvhttp_route_t){.pattern = "/take",
                                                                         .handler = respond_taken}),
                         0);
        assert_int_equal(uvhttp_router_add(routers[i], &(uvhttp_route_t){.pattern = "/less",
                                                                         .handler = respond_taken,
                                                                         .max_body_size = 4}),
                         0);
        assert_int_equal(
            uvhttp_router_add(routers[i], &(uvhttp_route_t){.pattern = "/pieces",
                                                            .handler = read_in_chunks,
                                                            .flags = UVHTTP_ROUTE_STREAM}),
            0);
        assert_int_equal(uvhttp_router_add(routers[i], &(uvhttp_route_t){.pattern = "/give/:how",
                                                                         .handler = send_bytes}),
                         0);
    }
    stage_listen(&stage);
    handled = 0;
    last_error = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    stage_iterations(&stage, 20);
    uvhttp_size_limit_free(limit);
    stage_end(&stage);
    return 0;
}

/* The status of the only response of a new connection; 0: the server closed before one was
 * complete. */
static int send_request(const char *request, struct raw_response *reply)
{
    size_t offset = 0;
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, request);
    for (int iteration = 0; iteration < STAGE_MAX_ITERATIONS; iteration++) {
        raw_client_step(&client, 10000);
        if (client.ended || raw_client_response(&client, &offset, false, reply))
            break;
        stage_iterate(&stage);
    }
    return offset > 0 ? reply->status : 0;
}

static void expect(const char *request, int status, int runs)
{
    struct raw_response reply;
    handled = 0;
    assert_int_equal(send_request(request, &reply), status);
    assert_int_equal(handled, runs);
    raw_client_close(&client, false);
    stage_iterations(&stage, 5);
}

#define HEAD_OF(path) "POST " path " HTTP/1.1\r\nHost: h\r\n"

static void request_body_is_limited(void **state)
{
    (void)state;
    expect(HEAD_OF("/limited/take") "Content-Length: 8\r\n\r\n12345678", 200, 1);
    /* Refused by its head: the client sends no body here. */
    expect(HEAD_OF("/limited/take") "Content-Length: 9\r\n\r\n", 413, 0);
    expect(HEAD_OF("/limited/take") "Content-Length: 9\r\nExpect: 100-continue\r\n\r\n", 413, 0);
    expect(HEAD_OF("/limited/pieces") "Content-Length: 9\r\n\r\n", 413, 0);
    expect(HEAD_OF("/take") "Content-Length: 9\r\n\r\n123456789", 200, 1);
    expect(HEAD_OF("/limited/take") "\r\n", 200, 1);
    expect(HEAD_OF("/limited/take") "Transfer-Encoding: "
                                    "chunked\r\n\r\n4\r\n1234\r\n4\r\n5678\r\n0\r\n\r\n",
           200, 1);
    expect(HEAD_OF("/limited/take") "Transfer-Encoding: chunked\r\n\r\n4\r\n1234\r\n5\r\n", 413, 0);
    expect(
        HEAD_OF("/limited/pieces") "Transfer-Encoding: chunked\r\n\r\n8\r\n12345678\r\n0\r\n\r\n",
        200, 1);
    expect(HEAD_OF("/limited/pieces") "Transfer-Encoding: chunked\r\n\r\n8\r\n12345678\r\n1\r\n",
           413, 1);
    expect(HEAD_OF("/pieces") "Transfer-Encoding: chunked\r\n\r\n9\r\n123456789\r\n0\r\n\r\n", 200,
           1);
}

static void smaller_route_limit_applies(void **state)
{
    (void)state;
    expect(HEAD_OF("/limited/less") "Content-Length: 4\r\n\r\n1234", 200, 1);
    expect(HEAD_OF("/limited/less") "Content-Length: 5\r\n\r\n", 413, 0);
}

static void expect_size(const char *how, int size, int status)
{
    struct raw_response reply;
    char request[128];
    snprintf(request, sizeof(request), "GET %s?size=%d HTTP/1.1\r\nHost: h\r\n\r\n", how, size);
    stage.errors_logged = 0;
    assert_int_equal(send_request(request, &reply), status);
    if (status == 200)
        assert_int_equal(reply.body_length, size);
    char of_handler[8];
    if (status != 0)
        assert_int_equal(
            raw_response_field(&reply, "X-Of-The-Handler", of_handler, sizeof(of_handler)),
            status < 500);
    bool refused = status == 500 || status == 0;
    assert_int_equal(stage.errors_logged, refused);
    if (status == 0) {
        assert_true(client.received > 0); /* the response has begun */
        assert_non_null(strstr(stage.last_error, "the body is too large"));
        assert_int_equal(last_error, UVHTTP_ETOOLARGE);
        /* and has no regular end */
        assert_null(memmem(client.data, client.received, "\r\n0\r\n", 5));
    }
    raw_client_close(&client, false);
    stage_iterations(&stage, 5);
}

static void response_body_is_limited(void **state)
{
    (void)state;
    static const char *const refused_before_head[] = {"whole", "known"};
    static const char *const refused_in_body[] = {"unknown", "careless"};
    char path[64];
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "/limited/give/%s", refused_before_head[i]);
        expect_size(path, MOST_OUT, 200);
        expect_size(path, MOST_OUT + 1, 500);
        expect_size(path + strlen("/limited"), MOST_OUT + 1, 200);
        snprintf(path, sizeof(path), "/limited/give/%s", refused_in_body[i]);
        expect_size(path, MOST_OUT, 200);
        expect_size(path, MOST_OUT + 1, 0);
        expect_size(path + strlen("/limited"), MOST_OUT + 1, 200);
    }
    expect_size("/limited/give/reset", 256, 205);
    expect_size("/limited/give/unchanged", 256, 304);
}

static void options_without_limit_are_refused(void **state)
{
    (void)state;
    uvhttp_error_t error;
    uvhttp_size_limit_t *created = limit;
    const uvhttp_size_limit_options_t none = {0};
    assert_int_equal(uvhttp_size_limit_new(&created, &none, &error), UVHTTP_ECONFIG);
    assert_null(created);
    assert_string_equal(
        error.text,
        "max_request_body and max_response_body are 0; one of them must be 1 byte or more");
    assert_int_equal(uvhttp_size_limit_new(&created, &none, NULL), UVHTTP_ECONFIG);
    const uvhttp_size_limit_options_t one = {.max_response_body = 1,
                                             .allocator = &stage.heap.allocator};
    fault_heap_arm(&stage.heap, 1, false);
    assert_int_equal(uvhttp_size_limit_new(&created, &one, &error), UVHTTP_ENOMEM);
    assert_null(created);
    uvhttp_size_limit_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(request_body_is_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(smaller_route_limit_applies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(response_body_is_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(options_without_limit_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
