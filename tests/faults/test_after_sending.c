/* The state after a send function has returned: the server does not use memory that the handler
 * lent to it, and does not reuse an ended response. ASan detects violations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/event_hub.h>

#include "support/stage.h"

enum { LARGE = 8 << 20 };

static struct stage stage;
static struct raw_client clients[3];
static char large[LARGE];

/* ---- header fields ---- */

static int finished;
static bool within_send; /* the send function has not returned */

static int send_with_temporary_fields(uvhttp_request_t *request, uvhttp_response_t *response,
                                      void *size)
{
    (void)request;
    char *type = strdup("text/x-own");
    uvhttp_prepared_t *fields = uvhttp_prepared_new(NULL);
    assert_non_null(type);
    assert_int_equal(uvhttp_prepared_add(fields, "X-Prepared", "1"), 0);
    assert_int_equal(uvhttp_response_set_header(response, "X-Set", "2"), 0);
    uvhttp_response_use_prepared(response, fields);
    within_send = true;
    assert_int_equal(uvhttp_response_send_static(response, 200, type, large, *(size_t *)size), 0);
    within_send = false;
    uvhttp_prepared_free(fields);
    free(type);
    return 0;
}

static void check_fields(uvhttp_request_t *request, uvhttp_response_t *response,
                         const uvhttp_outcome_t *outcome, void *expect_within)
{
    (void)request;
    assert_int_equal(outcome->status, 200);
    assert_int_equal(within_send, *(bool *)expect_within);
    assert_string_equal(uvhttp_response_header(response, "X-Set"), "2");
    assert_null(uvhttp_response_header_slice(response, "X-Prepared").base);
    assert_null(uvhttp_response_header_slice(response, "Content-Type").base);
    finished++;
}

static void lent_fields_unset_after_send(void **state)
{
    size_t sizes[] = {10000, LARGE};
    (void)state;
    for (int i = 0; i < 2; i++) {
        bool expect_within = i == 0; /* the second body is too large for the socket */
        stage_begin(&stage);
        assert_non_null(stage_new_server(&stage));
        assert_int_equal(
            uvhttp_server_route(stage.server, "GET", "/", send_with_temporary_fields, &sizes[i]),
            0);
        uvhttp_server_on_finished(stage.server, check_fields, &expect_within);
        stage_listen(&stage);
        finished = 0;
        raw_client_connect(&clients[0], uvhttp_server_port(stage.server), 0);
        raw_client_send_text(&clients[0], "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_int_equal(stage_drive_responses(&stage, &clients[0], LARGE, 1), 1);
        size_t offset = 0;
        char value[16];
        struct raw_response got;
        assert_true(raw_client_response(&clients[0], &offset, false, &got));
        assert_int_equal(got.body_length, sizes[i]);
        assert_true(raw_response_field(&got, "X-Prepared", value, sizeof(value)));
        assert_true(raw_response_field(&got, "Content-Type", value, sizeof(value)));
        assert_string_equal(value, "text/x-own");
        assert_int_equal(finished, 1);
        raw_client_close(&clients[0], false);
        stage_end(&stage);
    }
}

/* ---- disconnected clients ---- */

static int never_respond(uvhttp_request_t *request, uvhttp_response_t *response, void *begins)
{
    (void)request;
    return *(bool *)begins ? uvhttp_response_begin(response, 201, NULL, 10) : 0;
}

static void check_status(uvhttp_request_t *request, uvhttp_response_t *response,
                         const uvhttp_outcome_t *outcome, void *begins)
{
    (void)request;
    (void)response;
    assert_true(outcome->aborted);
    assert_int_equal(outcome->status, *(bool *)begins ? 201 : UVHTTP_STATUS_CLIENT_CLOSED_REQUEST);
    assert_int_equal(outcome->bytes_sent > 0, *(bool *)begins);
    finished++;
}

static void disconnect_before_response_has_status_499(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        bool begins = i == 1;
        stage_begin(&stage);
        assert_non_null(stage_new_server(&stage));
        assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", never_respond, &begins), 0);
        uvhttp_server_on_finished(stage.server, check_status, &begins);
        stage_listen(&stage);
        finished = 0;
        raw_client_connect(&clients[0], uvhttp_server_port(stage.server), 0);
        raw_client_send_text(&clients[0], "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        for (int iteration = 0; iteration < 10; iteration++) {
            raw_client_step(&clients[0], 1000);
            stage_iterate(&stage);
        }
        raw_client_close(&clients[0], true);
        stage_iterations(&stage, 5);
        assert_int_equal(finished, 1);
        stage_end(&stage);
    }
}

/* ---- subscribers ---- */

static uvhttp_event_hub_t *hub;

static int subscribe(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    if (arg != NULL)
        uvhttp_response_limit_body(response, *(size_t *)arg);
    return uvhttp_event_hub_subscribe(hub, response);
}

/* The write ends the stream itself, and no code holds a reference to the subscriber. */
static void subscriber_over_body_limit_is_dropped(void **state)
{
    static const char *const targets[] = {"/limited", "/all", "/limited"};
    const uvhttp_sse_event_t event = {.data = {"0123456789012345678901234567890123456789", 40}};
    size_t limit = 60;
    (void)state;
    stage_begin(&stage);
    assert_int_equal(uvhttp_event_hub_new(&hub, NULL, NULL), 0);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/limited", subscribe, &limit), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/all", subscribe, NULL), 0);
    stage_listen(&stage);
    for (int i = 0; i < 3; i++) {
        char request[64];
        snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", targets[i]);
        raw_client_connect(&clients[i], uvhttp_server_port(stage.server), 0);
        raw_client_send_text(&clients[i], request);
        for (int iteration = 0; iteration < 20; iteration++) {
            raw_client_step(&clients[i], 1000);
            stage_iterate(&stage);
        }
    }
    assert_int_equal(uvhttp_event_hub_count(hub), 3);
    assert_int_equal(uvhttp_event_hub_publish(hub, &event), 0);
    stage_iterations(&stage, 2);
    assert_int_equal(uvhttp_event_hub_count(hub), 3);
    assert_int_equal(uvhttp_event_hub_publish(hub, &event), 0);
    stage_iterations(&stage, 2);
    assert_int_equal(uvhttp_event_hub_count(hub), 1);
    assert_int_equal(uvhttp_event_hub_dropped(hub), 2);
    assert_int_equal(stage.errors_logged, 2);
    assert_int_equal(uvhttp_event_hub_publish(hub, &event), 0);
    stage_iterations(&stage, 2);
    assert_int_equal(uvhttp_event_hub_count(hub), 1);
    for (int i = 0; i < 3; i++)
        raw_client_close(&clients[i], false);
    stage_iterations(&stage, 5);
    assert_int_equal(uvhttp_event_hub_count(hub), 0);
    stage_end(&stage);
    uvhttp_event_hub_free(hub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lent_fields_unset_after_send),
        cmocka_unit_test(disconnect_before_response_has_status_499),
        cmocka_unit_test(subscriber_over_body_limit_is_dropped),
    };
    for (int i = 0; i < 3; i++)
        clients[i].socket = -1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
