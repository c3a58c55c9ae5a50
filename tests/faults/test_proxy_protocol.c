/* Connections that begin with a header of the PROXY protocol. The formats are in
 * unit/test_codec_proxy_header, TLS and the program in wire/test_proxy_protocol.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/stage.h"

enum { MEGABYTE = 1 << 20 };

#define LINE        "PROXY TCP4 192.0.2.7 192.0.2.1 4242 80\r\n"
#define SIGNATURE   "\r\n\r\n\0\r\nQUIT\n"
#define GET         "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
#define LAST        "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
#define BYTES(text) (text), sizeof(text) - 1

/* IPv4 with the values 5 ("id") and 0xea ("") */
static const char binary[] = SIGNATURE "\x21\x11\x00\x14\xc0\x00\x02\x09\xc0\x00\x02\x01\x10\x92"
                                       "\x00\x50\x05\x00\x02id\xea\x00\x00";

static struct stage stage;
static struct raw_client client;

static int show(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    uvhttp_slice_t id = {NULL, 0}, empty = {"x", 1}, none = {"x", 1};
    char text[128];
    bool has_id = uvhttp_request_proxy_value(request, 5, &id);
    bool has_empty = uvhttp_request_proxy_value(request, 0xea, &empty);
    assert_false(uvhttp_request_proxy_value(request, 2, &none));
    assert_null(none.base);
    assert_int_equal(has_id, has_empty);
    assert_int_equal(empty.length, 0);
    snprintf(text, sizeof(text), "%s %.*s", uvhttp_request_peer_address(request),
             UVHTTP_SLICE_ARGS(id));
    return uvhttp_response_send_text(response, 200, text);
}

static int show_blocking(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    return show(request, response, arg);
}

static void begin(const char *source, uvhttp_proxy_others_t others)
{
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_accept_proxy_protocol(stage.server, &source, 1, others), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", show, NULL), 0);
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server),
                                       &(uvhttp_route_t){.pattern = "/blocking",
                                                         .handler = show_blocking,
                                                         .flags = UVHTTP_ROUTE_BLOCKING}),
                     0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

/* The body of the response at `*offset`, or "-": the server has closed without one. */
static const char *next_body(size_t *offset)
{
    static char body[256];
    struct raw_response response;
    stage_drive_to_end(&stage, &client, MEGABYTE);
    if (!raw_client_response(&client, offset, false, &response))
        return "-";
    snprintf(body, sizeof(body), "%d %.*s", response.status, (int)response.body_length,
             response.body);
    return body;
}

static void assert_body(const char *expected)
{
    size_t offset = 0;
    assert_string_equal(next_body(&offset), expected);
}

static void header_names_the_client_of_all_requests(void **state)
{
    (void)state;
    size_t offset = 0;
    begin("127.0.0.1", UVHTTP_PROXY_OTHERS_DIRECT);
    raw_client_send(&client, BYTES(LINE GET LAST));
    assert_string_equal(next_body(&offset), "200 192.0.2.7 ");
    assert_string_equal(next_body(&offset), "200 192.0.2.7 ");
    end();
}

static void header_may_arrive_in_single_bytes(void **state)
{
    (void)state;
    begin("127.0.0.0/8", UVHTTP_PROXY_OTHERS_DIRECT);
    for (size_t i = 0; i < sizeof(binary) - 1; i++) {
        raw_client_send(&client, binary + i, 1);
        raw_client_step(&client, MEGABYTE);
        stage_iterations(&stage, 2);
    }
    raw_client_send_text(&client, LAST);
    assert_body("200 192.0.2.9 id");
    end();
}

static void values_are_available_in_blocking_handlers(void **state)
{
    (void)state;
    begin("127.0.0.1", UVHTTP_PROXY_OTHERS_DIRECT);
    raw_client_send(&client, BYTES(binary));
    raw_client_send_text(&client, "GET /blocking HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert_body("200 192.0.2.9 id");
    end();
}

static void connections_of_the_proxy_itself_keep_their_address(void **state)
{
    static const char local[] = SIGNATURE "\x20\x00\x00\x00" LAST;
    static const char unknown[] = "PROXY UNKNOWN\r\n" LAST;
    (void)state;
    begin("127.0.0.1", UVHTTP_PROXY_OTHERS_DIRECT);
    raw_client_send(&client, BYTES(local));
    assert_body("200 127.0.0.1 ");
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send(&client, BYTES(unknown));
    assert_body("200 127.0.0.1 ");
    end();
}

static void source_without_header_is_closed(void **state)
{
    static const char *const invalid[] = {LAST, ("PROXY TCP4 192.0.2.7\r\n" LAST),
                                          "PROXYING\r\n\r\n", "\r\n\r\nGET"};
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(invalid); i++) {
        begin("127.0.0.1", UVHTTP_PROXY_OTHERS_DIRECT);
        raw_client_send_text(&client, invalid[i]);
        assert_body("-");
        end();
    }
}

static void source_that_sends_no_header_in_time_is_closed(void **state)
{
    (void)state;
    stage_begin(&stage);
    stage.config->header_timeout = 1;
    assert_non_null(stage_new_server(&stage));
    const char *source = "127.0.0.1";
    assert_int_equal(
        uvhttp_server_accept_proxy_protocol(stage.server, &source, 1, UVHTTP_PROXY_OTHERS_DIRECT),
        0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, "PROXY TCP4 192.0.2.7");
    for (int i = 0; i < 5000 && !client.ended; i++) {
        stage_wait(&stage);
        raw_client_step(&client, MEGABYTE);
    }
    assert_true(client.ended);
    assert_int_equal(client.received, 0);
    assert_int_equal(uvhttp_server_stats(stage.server)->timeouts, 1);
    end();
}

static void others_are_direct_ignored_or_refused(void **state)
{
    static const struct {
        uvhttp_proxy_others_t others;
        const char *request, *body;
    } cases[] = {
        {UVHTTP_PROXY_OTHERS_DIRECT, LAST, "200 127.0.0.1 "},
        {UVHTTP_PROXY_OTHERS_DIRECT, LINE LAST, "400"},
        {UVHTTP_PROXY_OTHERS_IGNORE, LAST, "200 127.0.0.1 "},
        {UVHTTP_PROXY_OTHERS_IGNORE, LINE LAST, "200 127.0.0.1 "},
        {UVHTTP_PROXY_OTHERS_REFUSE, LAST, "-"},
        {UVHTTP_PROXY_OTHERS_REFUSE, LINE LAST, "-"},
    };
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        size_t offset = 0;
        begin("192.0.2.0/24", cases[i].others);
        raw_client_send_text(&client, cases[i].request);
        const char *body = next_body(&offset);
        assert_memory_equal(body, cases[i].body, strlen(cases[i].body));
        end();
    }
}

static bool is_open(void *arg)
{
    return uvhttp_server_stats(arg)->active_connections == 1;
}

/* It waits for its first request: keep_alive_timeout applies. */
static void silent_connection_whose_header_is_ignored_is_idle(void **state)
{
    (void)state;
    begin("192.0.2.0/24", UVHTTP_PROXY_OTHERS_IGNORE);
    stage_drive(&stage, &client, MEGABYTE, is_open, stage.server);
    stage_iterations(&stage, 3);
    assert_int_equal(uvhttp_server_stats(stage.server)->idle_connections, 1);
    raw_client_send_text(&client, "P");
    raw_client_step(&client, MEGABYTE);
    stage_iterations(&stage, 3);
    assert_int_equal(uvhttp_server_stats(stage.server)->reading_connections, 1);
    raw_client_send_text(&client, "OST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    size_t offset = 0;
    assert_memory_equal(next_body(&offset), "405", 3);
    end();
}

static void silent_connection_does_not_delay_the_stop(void **state)
{
    (void)state;
    stage_begin(&stage);
    stage.config->header_timeout = stage.config->drain_timeout = 3600;
    assert_non_null(stage_new_server(&stage));
    const char *source = "192.0.2.1";
    assert_int_equal(
        uvhttp_server_accept_proxy_protocol(stage.server, &source, 1, UVHTTP_PROXY_OTHERS_IGNORE),
        0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    stage_drive(&stage, &client, MEGABYTE, is_open, stage.server);
    stage_iterations(&stage, 3);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 100);
    raw_client_step(&client, MEGABYTE);
    assert_true(client.ended);
    end();
}

static void connection_without_header_ends_with_the_server(void **state)
{
    (void)state;
    begin("127.0.0.1", UVHTTP_PROXY_OTHERS_DIRECT);
    raw_client_send_text(&client, "PROXY");
    stage_drive(&stage, &client, MEGABYTE, is_open, stage.server);
    stage_iterations(&stage, 3);
    end();
}

static void failing_allocations_close_or_serve(void **state)
{
    (void)state;
    for (size_t n = 1; n < 12; n++) {
        size_t offset = 0;
        begin("127.0.0.1", UVHTTP_PROXY_OTHERS_DIRECT);
        fault_heap_arm(&stage.heap, n, false);
        raw_client_send(&client, BYTES(binary));
        raw_client_send_text(&client, LAST);
        const char *body = next_body(&offset);
        fault_heap_arm(&stage.heap, 0, false);
        assert_true(strcmp(body, "200 192.0.2.9 id") == 0 || strcmp(body, "-") == 0 ||
                    strncmp(body, "503", 3) == 0);
        end();
    }
}

static void invalid_sources_get_einval(void **state)
{
    static const char *const sources[] = {"127.0.0.1", "10.0.0.1/8"};
    (void)state;
    stage_begin(&stage);
    uvhttp_server_t *server = stage_new_server(&stage);
    assert_int_equal(
        uvhttp_server_accept_proxy_protocol(server, sources, 2, UVHTTP_PROXY_OTHERS_DIRECT),
        UVHTTP_EINVAL);
    assert_non_null(strstr(uvhttp_server_error(server)->text, "10.0.0.1/8"));
    assert_int_equal(
        uvhttp_server_accept_proxy_protocol(server, sources, 1, (uvhttp_proxy_others_t)3),
        UVHTTP_EINVAL);
    assert_int_equal(
        uvhttp_server_accept_proxy_protocol(server, NULL, 0, UVHTTP_PROXY_OTHERS_REFUSE), 0);
    stage_listen(&stage);
    assert_int_equal(
        uvhttp_server_accept_proxy_protocol(server, sources, 1, UVHTTP_PROXY_OTHERS_DIRECT),
        UVHTTP_EFROZEN);
    raw_client_connect(&client, uvhttp_server_port(server), 0);
    raw_client_send_text(&client, LAST);
    assert_body("404 404 Not Found\n"); /* without sources all are direct */
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_names_the_client_of_all_requests),
        cmocka_unit_test(header_may_arrive_in_single_bytes),
        cmocka_unit_test(values_are_available_in_blocking_handlers),
        cmocka_unit_test(connections_of_the_proxy_itself_keep_their_address),
        cmocka_unit_test(source_without_header_is_closed),
        cmocka_unit_test(source_that_sends_no_header_in_time_is_closed),
        cmocka_unit_test(others_are_direct_ignored_or_refused),
        cmocka_unit_test(silent_connection_whose_header_is_ignored_is_idle),
        cmocka_unit_test(silent_connection_does_not_delay_the_stop),
        cmocka_unit_test(connection_without_header_ends_with_the_server),
        cmocka_unit_test(failing_allocations_close_or_serve),
        cmocka_unit_test(invalid_sources_get_einval),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
