/* Split input: requests with each kind of body are split in two at each byte, sent byte by byte,
 * and sent by two clients alternately. The responses are the same as for unsplit input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/stage.h"

static struct stage stage;
static struct raw_client client;

static int send_small(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "small");
}

static int echo(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    char text[512];
    const char *trailer = uvhttp_request_trailer(request, "x-sum");
    uvhttp_slice_t body = uvhttp_request_body(request);
    snprintf(text, sizeof(text), "%s?%s %s %.*s", uvhttp_request_path(request),
             uvhttp_request_query_string(request).base, trailer == NULL ? "-" : trailer,
             UVHTTP_SLICE_ARGS(body));
    return uvhttp_response_send_text(response, 200, text);
}

static uvhttp_response_t *pending[2];
static size_t pending_count;

static int keep_pending(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    assert_true(pending_count < 2);
    pending[pending_count++] = response;
    return 0;
}

static void begin(void)
{
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/small", send_small, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "POST", "/echo/*", echo, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "POST", "/keep/*", keep_pending, NULL), 0);
    pending_count = 0;
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static const char requests[] =
    "POST /echo/a?b=c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5\r\nhello\r\n6;ext=\"v\"\r\n world\r\n0\r\nX-Sum: 42\r\n\r\n"
    "GET /small HTTP/1.1\r\nHost: h\r\n\r\n"
    "POST /echo/d HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nlength"
    "GET /small HTTP/1.1\r\nHost: h\r\n\r\n";

static void assert_all_responses(void)
{
    static const char *const expected[] = {"/echo/a?b=c 42 hello world", "small",
                                           "/echo/d? - length", "small"};
    assert_int_equal(stage_drive_responses(&stage, &client, 10000, 4), 4);
    size_t offset = 0;
    for (size_t i = 0; i < 4; i++) {
        struct raw_response response;
        assert_true(raw_client_response(&client, &offset, false, &response));
        assert_int_equal(response.status, 200);
        assert_int_equal(response.body_length, strlen(expected[i]));
        assert_memory_equal(response.body, expected[i], response.body_length);
    }
    assert_int_equal(offset, client.received);
}

static void requests_split_in_two_get_same_responses(void **state)
{
    (void)state;
    for (size_t cut = 1; cut < sizeof(requests) - 1; cut++) {
        begin();
        raw_client_send(&client, requests, cut);
        for (int iteration = 0; iteration < 4; iteration++) {
            raw_client_step(&client, 10000);
            stage_iterate(&stage);
        }
        raw_client_send_text(&client, requests + cut);
        assert_all_responses();
        end();
    }
}

static void requests_sent_bytewise_get_same_responses(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < sizeof(requests) - 1; i++) {
        raw_client_send(&client, requests + i, 1);
        raw_client_step(&client, 10000);
        stage_iterations(&stage, 2);
    }
    assert_all_responses();
    assert_true(uvhttp_server_stats(stage.server)->bytes_received == sizeof(requests) - 1);
    end();
}

/* Two clients send alternately, so that the incomplete request of one is in a buffer that the other
 * one continues to fill. */
static void alternating_clients_get_own_responses(void **state)
{
    (void)state;
    struct raw_client other;
    for (size_t step = 1; step < 40; step += 3) {
        begin();
        raw_client_connect(&other, uvhttp_server_port(stage.server), 0);
        for (size_t i = 0; i < sizeof(requests) - 1; i += step) {
            size_t length = sizeof(requests) - 1 - i < step ? sizeof(requests) - 1 - i : step;
            raw_client_send(&client, requests + i, length);
            raw_client_step(&client, 10000);
            stage_iterations(&stage, 2);
            raw_client_send(&other, requests + i, length);
            raw_client_step(&other, 10000);
            stage_iterations(&stage, 2);
        }
        assert_all_responses();
        struct raw_client first = client;
        client = other;
        assert_all_responses();
        other = first;
        raw_client_close(&other, false);
        end();
    }
}

/* The incomplete request of the first client ends at the end of a full buffer, at the address up to
 * which the next buffer is filled. */
static void partial_requests_in_full_buffers_are_kept(void **state)
{
    (void)state;
    static const char first_half[] = "GET /small HTTP/1.1\r\nHost: h\r\nX-Padding: ";
    struct raw_client middle, last;
    char filler[2000];
    memset(filler, 'x', sizeof(filler));
    stage_begin(&stage);
    stage.config->buffer_size = 4096;
    stage.config->max_header_size = stage.config->max_trailer_size = 2048;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/small", send_small, NULL), 0);
    stage_listen(&stage);
    int port = uvhttp_server_port(stage.server);
    raw_client_connect(&client, port, 0);
    raw_client_connect(&middle, port, 0);
    raw_client_connect(&last, port, 0);
    stage_iterations(&stage, 4);
    struct raw_client *const clients[] = {&client, &middle, &last};
    for (size_t i = 0; i < 3; i++) {
        raw_client_send_text(clients[i], first_half);
        if (i == 1)
            raw_client_send(clients[i], filler, 2010 - strlen(first_half));
        raw_client_step(clients[i], 1000);
        stage_iterations(&stage, 4);
    }
    for (size_t i = 0; i < 3; i++) {
        raw_client_send_text(clients[i], "1\r\n\r\n");
        assert_int_equal(stage_drive_responses(&stage, clients[i], 1000, 1), 1);
        assert_memory_equal(clients[i]->data, "HTTP/1.1 200 ", 13);
        raw_client_close(clients[i], false);
    }
    stage_end(&stage);
}

/* Other requests fill all buffers repeatedly meanwhile. */
static void pending_request_keeps_its_data(void **state)
{
    (void)state;
    static const struct {
        const char *request, *rest, *response;
    } cases[] = {
        {"POST /keep/a%20b?c=d HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody", "",
         "/keep/a b?c=d - body"},
        {"POST /keep/x?y HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
         "4\r\nbody\r\n",
         "0\r\nX-Sum: 42\r\n\r\n", "/keep/x?y 42 body"},
    };
    char noise[3000];
    memset(noise, '#', sizeof(noise));
    struct raw_client other, clients[2];
    begin();
    for (size_t i = 0; i < 2; i++) {
        raw_client_connect(&clients[i], uvhttp_server_port(stage.server), 0);
        raw_client_send_text(&clients[i], cases[i].request);
        for (int iteration = 0; iteration < 10; iteration++) {
            if (iteration == 5)
                raw_client_send_text(&clients[i], cases[i].rest);
            raw_client_step(&clients[i], 0);
            stage_iterate(&stage);
        }
        assert_int_equal(pending_count, i + 1);
    }
    raw_client_connect(&other, uvhttp_server_port(stage.server), 0);
    for (int i = 0; i < 100; i++) {
        raw_client_send_text(&other, "GET /small HTTP/1.1\r\nHost: h\r\nX-Noise: ");
        raw_client_send(&other, noise, sizeof(noise));
        raw_client_send_text(&other, "\r\n\r\n");
    }
    assert_int_equal(stage_drive_responses(&stage, &other, 100000, 100), 100);
    for (size_t i = 0; i < 2; i++) {
        struct raw_response response;
        size_t offset = 0;
        assert_int_equal(echo(uvhttp_response_request(pending[i]), pending[i], NULL), 0);
        assert_int_equal(stage_drive_responses(&stage, &clients[i], 1000, 1), 1);
        assert_true(raw_client_response(&clients[i], &offset, false, &response));
        assert_int_equal(response.body_length, strlen(cases[i].response));
        assert_memory_equal(response.body, cases[i].response, response.body_length);
        raw_client_close(&clients[i], false);
    }
    raw_client_close(&other, false);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_split_in_two_get_same_responses),
        cmocka_unit_test(requests_sent_bytewise_get_same_responses),
        cmocka_unit_test(alternating_clients_get_own_responses),
        cmocka_unit_test(partial_requests_in_full_buffers_are_kept),
        cmocka_unit_test(pending_request_keeps_its_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
