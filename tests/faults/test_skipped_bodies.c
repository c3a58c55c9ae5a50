/* Bodies that arrive after the response to their request: they are discarded, the connection stays
 * open, and the end of the connection or of the server may come at any byte of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/stage.h"

enum { STEP = 1 << 20, BODY_SIZE = 1000 };

static struct stage stage;
static struct raw_client client;
static size_t runs;

static int count(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    runs++;
    return uvhttp_response_send_text(response, 200, "counted");
}

/* Responds to the first part of the body. */
static int refuse_part(uvhttp_request_t *request, uvhttp_response_t *response, const char *data,
                       size_t size, void *arg)
{
    (void)request, (void)data, (void)size, (void)arg;
    runs++;
    return uvhttp_response_send_text(response, 422, "no");
}

static int read_body(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)response, (void)arg;
    return uvhttp_request_on_body(request, refuse_part, NULL);
}

static int set_up(void **state)
{
    (void)state;
    static const uvhttp_route_t stream = {
        .method = "POST", .pattern = "/stream", .handler = read_body, .flags = UVHTTP_ROUTE_STREAM};
    stage_begin(&stage);
    stage.config->linger_timeout = 3600; /* only the events of a test end a connection */
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/count", count, NULL), 0);
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server), &stream), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    runs = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    raw_client_close(&client, false);
    stage_end(&stage);
    return 0;
}

static void send_head(const char *path)
{
    char head[128];
    snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", path,
             BODY_SIZE);
    raw_client_send_text(&client, head);
}

static void send_body(size_t size)
{
    static const char body[BODY_SIZE];
    raw_client_send(&client, body, size);
}

static void send_next_request(void)
{
    raw_client_send_text(&client, "GET /count HTTP/1.1\r\nHost: h\r\n\r\n");
}

/* The bytes that belong to the body depend on neither the reads nor the bytes sent with them. */
static void request_after_skipped_body_is_served(void **state)
{
    (void)state;
    for (size_t i = 1; i <= 10; i++) {
        send_head("/none");
        assert_int_equal(stage_drive_responses(&stage, &client, STEP, i * 2 - 1), i * 2 - 1);
        send_body(BODY_SIZE - i);
        stage_iterations(&stage, 20);
        send_body(i);
        send_next_request();
        assert_int_equal(stage_drive_responses(&stage, &client, STEP, i * 2), i * 2);
        assert_int_equal(runs, i);
    }
}

static void response_within_body_keeps_following_request(void **state)
{
    (void)state;
    send_head("/stream");
    send_body(BODY_SIZE); /* one read may have the body and the next request */
    send_next_request();
    assert_int_equal(stage_drive_responses(&stage, &client, STEP, 2), 2);
    assert_int_equal(runs, 2);
    send_head("/stream");
    send_body(1);
    assert_int_equal(stage_drive_responses(&stage, &client, STEP, 3), 3);
    send_body(BODY_SIZE - 1);
    send_next_request();
    assert_int_equal(stage_drive_responses(&stage, &client, STEP, 4), 4);
    assert_int_equal(runs, 4);
}

static void client_may_end_within_skipped_body(void **state)
{
    (void)state;
    send_head("/none");
    assert_int_equal(stage_drive_responses(&stage, &client, STEP, 1), 1);
    send_body(BODY_SIZE / 2);
    raw_client_end_sending(&client);
    stage_drive_to_end(&stage, &client, STEP);
}

/* The client gets the response and the end of the connection, not a reset, and its body is read. */
static void stop_lingers_within_skipped_body(void **state)
{
    (void)state;
    send_head("/none");
    assert_int_equal(stage_drive_responses(&stage, &client, STEP, 1), 1);
    send_body(1);
    stage_iterations(&stage, 20);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 20);
    send_body(BODY_SIZE - 1);
    stage_drive_to_end(&stage, &client, STEP);
    size_t offset = 0;
    struct raw_response response;
    assert_true(raw_client_response(&client, &offset, false, &response));
    assert_int_equal(response.status, 404);
    assert_int_equal(offset, client.received);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(request_after_skipped_body_is_served),
        TEST(response_within_body_keeps_following_request),
        TEST(client_may_end_within_skipped_body),
        TEST(stop_lingers_within_skipped_body),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
