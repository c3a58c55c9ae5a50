/* Receiving that is cut anywhere: requests with bodies of every kind, split in two at every place,
 * byte by byte, and from two clients in turns, are answered as if they had come in one piece. */
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

static uvhttp_response_t *kept[2];
static size_t kept_count;

static int keep(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    assert_true(kept_count < 2);
    kept[kept_count++] = response;
    return 0;
}

static void begin(void)
{
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/small", send_small, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "POST", "/echo/*", echo, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "POST", "/keep/*", keep, NULL), 0);
    kept_count = 0;
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static const char chunks[] =
    "POST /echo/a?b=c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    "5\r\nhello\r\n6;ext=\"v\"\r\n world\r\n0\r\nX-Sum: 42\r\n\r\n"
    "GET /small HTTP/1.1\r\nHost: h\r\n\r\n"
    "POST /echo/d HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nlength"
    "GET /small HTTP/1.1\r\nHost: h\r\n\r\n";

static void assert_pieces_answered(void)
{
    static const char *const expected[] = {"/echo/a?b=c 42 hello world", "small",
                                           "/echo/d? - length", "small"};
    assert_int_equal(stage_drive_responses(&stage, &client, 10000, 4), 4);
    size_t offset = 0;
    for (size_t i = 0; i < 4; i++) {
        struct raw_response answer;
        assert_true(raw_client_response(&client, &offset, false, &answer));
        assert_int_equal(answer.status, 200);
        assert_int_equal(answer.body_length, strlen(expected[i]));
        assert_memory_equal(answer.body, expected[i], answer.body_length);
    }
    assert_int_equal(offset, client.received);
}

static void requests_cut_in_two_anywhere_are_answered_alike(void **state)
{
    (void)state;
    for (size_t cut = 1; cut < sizeof(chunks) - 1; cut++) {
        begin();
        raw_client_send(&client, chunks, cut);
        for (int turn = 0; turn < 4; turn++) {
            raw_client_step(&client, 10000);
            stage_iterate(&stage);
        }
        raw_client_send_text(&client, chunks + cut);
        assert_pieces_answered();
        end();
    }
}

static void requests_byte_by_byte_are_answered_alike(void **state)
{
    (void)state;
    begin();
    for (size_t i = 0; i < sizeof(chunks) - 1; i++) {
        raw_client_send(&client, chunks + i, 1);
        raw_client_step(&client, 10000);
        stage_iterations(&stage, 2);
    }
    assert_pieces_answered();
    assert_true(uvhttp_server_stats(stage.server)->bytes_received == sizeof(chunks) - 1);
    end();
}

/* Two clients take turns, so that what one has left over lies in a buffer that the other one goes
 * on filling. */
static void two_clients_in_turns_do_not_mix(void **state)
{
    (void)state;
    struct raw_client other;
    for (size_t step = 1; step < 40; step += 3) {
        begin();
        raw_client_connect(&other, uvhttp_server_port(stage.server), 0);
        for (size_t i = 0; i < sizeof(chunks) - 1; i += step) {
            size_t length = sizeof(chunks) - 1 - i < step ? sizeof(chunks) - 1 - i : step;
            raw_client_send(&client, chunks + i, length);
            raw_client_step(&client, 10000);
            stage_iterations(&stage, 2);
            raw_client_send(&other, chunks + i, length);
            raw_client_step(&other, 10000);
            stage_iterations(&stage, 2);
        }
        assert_pieces_answered();
        struct raw_client first = client;
        client = other;
        assert_pieces_answered();
        other = first;
        raw_client_close(&other, false);
        end();
    }
}

/* What the first client has left over lies in a buffer that is full by now, at the very place up to
 * which the next buffer is filled. */
static void leftovers_in_different_buffers_do_not_mix(void **state)
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

/* Other requests fill every buffer over and over meanwhile. */
static void a_request_stays_as_it_is_until_it_is_answered(void **state)
{
    (void)state;
    static const struct {
        const char *request, *rest, *answer;
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
        for (int turn = 0; turn < 10; turn++) {
            if (turn == 5)
                raw_client_send_text(&clients[i], cases[i].rest);
            raw_client_step(&clients[i], 0);
            stage_iterate(&stage);
        }
        assert_int_equal(kept_count, i + 1);
    }
    raw_client_connect(&other, uvhttp_server_port(stage.server), 0);
    for (int i = 0; i < 100; i++) {
        raw_client_send_text(&other, "GET /small HTTP/1.1\r\nHost: h\r\nX-Noise: ");
        raw_client_send(&other, noise, sizeof(noise));
        raw_client_send_text(&other, "\r\n\r\n");
    }
    assert_int_equal(stage_drive_responses(&stage, &other, 100000, 100), 100);
    for (size_t i = 0; i < 2; i++) {
        struct raw_response answer;
        size_t offset = 0;
        assert_int_equal(echo(uvhttp_response_request(kept[i]), kept[i], NULL), 0);
        assert_int_equal(stage_drive_responses(&stage, &clients[i], 1000, 1), 1);
        assert_true(raw_client_response(&clients[i], &offset, false, &answer));
        assert_int_equal(answer.body_length, strlen(cases[i].answer));
        assert_memory_equal(answer.body, cases[i].answer, answer.body_length);
        raw_client_close(&clients[i], false);
    }
    raw_client_close(&other, false);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_cut_in_two_anywhere_are_answered_alike),
        cmocka_unit_test(requests_byte_by_byte_are_answered_alike),
        cmocka_unit_test(two_clients_in_turns_do_not_mix),
        cmocka_unit_test(leftovers_in_different_buffers_do_not_mix),
        cmocka_unit_test(a_request_stays_as_it_is_until_it_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
