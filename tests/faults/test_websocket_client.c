/* Outgoing WebSocket connections: the reason for which one does not open names the target, at each
 * step of the connection. Immediate errors have a text, too, and it contains no secret. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <uvhttp/websocket.h>

#include "base/compiler.h"
#include "support/raw_peer.h"
#include "support/stage.h"

enum { MAX_ITERATIONS = 5000, TEXT_SIZE = 256 };

static struct stage stage;
static uvhttp_websocket_endpoint_t *endpoint;
static uvhttp_websocket_t *ws; /* NULL after the close event */
static char outcome[TEXT_SIZE];
static int listener, port, peer;

static void on_open(uvhttp_websocket_t *of, void *arg)
{
    (void)of, (void)arg;
    (void)snprintf(outcome, sizeof outcome, "open");
}

static void on_message(uvhttp_websocket_t *of, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    (void)of, (void)kind, (void)data, (void)size, (void)arg;
}

static void on_close(uvhttp_websocket_t *of, unsigned code, const char *reason, void *arg)
{
    (void)arg;
    assert_ptr_equal(of, ws);
    assert_string_equal(outcome, "");
    assert_true(strlen(reason) <= 123);
    (void)snprintf(outcome, sizeof outcome, "%u %s", code, reason);
    ws = NULL;
}

static void begin(void)
{
    const uvhttp_websocket_options_t options = {
        .events = {.open = on_open, .message = on_message, .close = on_close},
        .allocator = &stage.heap.allocator,
    };
    stage_begin(&stage);
    port = 0;
    listener = raw_peer_listen(INADDR_LOOPBACK, &port, 16);
    peer = -1;
    outcome[0] = '\0';
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_websocket_endpoint_new(&endpoint, stage.server, &options, NULL), 0);
}

static void end(void)
{
    if (peer >= 0)
        close(peer);
    if (listener >= 0)
        close(listener);
    stage_end(&stage);
    assert_null(ws);
}

static void connect_to_listener(void)
{
    char url[64];
    (void)snprintf(url, sizeof url, "ws://127.0.0.1:%d/", port);
    const uvhttp_websocket_target_t target = {.url = url};
    assert_int_equal(uvhttp_websocket_connect(endpoint, &target, NULL, &ws, NULL), 0);
    assert_non_null(ws);
}

/* Runs until the peer has received the request. The peer does not respond. */
static void connect_and_read_request(void)
{
    begin();
    connect_to_listener();
    for (int iteration = 0; iteration < 3; iteration++)
        stage_wait(&stage);
    peer = raw_peer_accept(listener);
    raw_peer_expect(peer, "GET / HTTP/1.1\r\nHost: 127.0.0.1:");
}

static void assert_outcome(const char *expected)
{
    for (int iteration = 0; iteration < MAX_ITERATIONS && outcome[0] == '\0'; iteration++)
        stage_wait(&stage);
    assert_string_equal(outcome, expected);
}

static void close_peer(bool reset)
{
    char rest[4096];
    assert_true(recv(peer, rest, sizeof rest, 0) > 0); /* unread data would cause a reset */
    raw_peer_close(peer, reset);
    peer = -1;
}

/* ---- errors while connecting ---- */

static void connection_refused_closes_with_1006(void **state)
{
    char expected[128];
    (void)state;
    begin();
    close(listener);
    listener = -1;
    connect_to_listener();
    (void)snprintf(expected, sizeof expected,
                   "1006 cannot connect to 127.0.0.1:%d: connection refused", port);
    assert_outcome(expected);
    end();
}

static void reset_before_response_closes_with_1006(void **state)
{
    (void)state;
    connect_and_read_request();
    close_peer(true);
    assert_outcome("1006 the connection failed before the response");
    end();
}

static void close_before_response_closes_with_1006(void **state)
{
    (void)state;
    connect_and_read_request();
    close_peer(false);
    assert_outcome("1006 the server closed the connection without a response");
    end();
}

static void response_403_closes_with_1006(void **state)
{
    static const char response[] = "HTTP/1.1 403 Verb\xf6ten \xff\xfe\r\nContent-Length: 0\r\n\r\n";
    (void)state;
    connect_and_read_request();
    assert_int_equal(send(peer, response, sizeof response - 1, 0), sizeof response - 1);
    assert_outcome("1006 the server responded with 403 Verb?ten ??");
    end();
}

static void server_stop_aborts_connecting(void **state)
{
    (void)state;
    connect_and_read_request(); /* while waiting for the response */
    uvhttp_server_stop(stage.server);
    assert_outcome("1006 the server is stopping");
    end();
    begin(); /* while connecting */
    connect_to_listener();
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    assert_string_equal(outcome, "1006 the server is stopping");
    end();
}

static void abort_before_response_closes_with_1006(void **state)
{
    (void)state;
    connect_and_read_request();
    uvhttp_websocket_abort(ws);
    assert_string_equal(outcome, "1006 aborted before the response");
    end();
    begin();
    connect_to_listener();
    uvhttp_websocket_abort(ws);
    assert_string_equal(outcome, "1006 aborted before the response");
    end();
}

/* ---- immediate errors ---- */

static void assert_connect_fails(const char *url, const char *fields, int code,
                                 const char *expected)
{
    uvhttp_error_t error;
    uvhttp_websocket_t *created = ws;
    stage.last_error[0] = '\0';
    uvhttp_websocket_target_t target = {.url = url, .fields = fields};
    assert_int_equal(uvhttp_websocket_connect(endpoint, &target, NULL, &created, &error), code);
    assert_int_equal(error.code, code);
    assert_null(created);
    if (strstr(error.text, expected) != error.text)
        fail_msg("\"%s\" does not begin with \"%s\"", error.text, expected);
    assert_null(strstr(error.text, "secret"));
    assert_null(strstr(error.value, "secret"));
    assert_memory_equal(stage.last_error, "websocket: ", 11);
    assert_string_equal(stage.last_error + 11, error.text);
    assert_int_equal(uvhttp_websocket_connect(endpoint, &target, NULL, NULL, NULL), code);
}

#define ALLOWED "; must be ws[s]://host[:port]/path?query, with a port of 1 to 65535"

static void invalid_url_gets_einval(void **state)
{
    static const char *const rows[][2] = {
        {"http://h/", "url is \"http://h/\"" ALLOWED},
        {"nonsense", "url is \"nonsense\"" ALLOWED},
        {"", "url is \"\"" ALLOWED},
        {"ws://h:0/", "url is \"ws://h:0/\"" ALLOWED},
        {"ws://h:99999/", "url is \"ws://h:99999/\"" ALLOWED},
        {"ws://ann:secret@h/a", "url is \"ws://...@h/a\"" ALLOWED},
        {"ann:secret@h://", "url is \"...@h://\"" ALLOWED},
        {"ws://h/a#secret", "url is \"ws://h/a#...\"" ALLOWED},
        {"ws://h/a b?token=secret", "url is \"ws://h/a b?...\"" ALLOWED},
        {"ws://h/\n\x7f\xff", "url is \"ws://h/???\"" ALLOWED},
    };
    (void)state;
    begin();
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++)
        assert_connect_fails(rows[i][0], NULL, UVHTTP_EINVAL, rows[i][1]);
    assert_connect_fails(NULL, NULL, UVHTTP_EINVAL, rows[2][1]);
    char long_url[200] = "ws://h/ ";
    memset(long_url + 8, 'x', sizeof long_url - 9);
    long_url[sizeof long_url - 1] = '\0';
    assert_connect_fails(long_url, NULL, UVHTTP_EINVAL, "url is \"ws://h/ xxx");
#if !UVHTTP_TESTS_HTTPS
    assert_connect_fails(
        "wss://example.org/", NULL, UVHTTP_ENOTSUP,
        "url is \"wss://example.org/\"; wss requires TLS, which this build does not "
        "support: build with "
        "BUILD_WITH_HTTPS=ON");
#endif
    assert_connect_fails("ws://127.0.0.1/", "Host: secret\r\n", UVHTTP_EINVAL, "fields is invalid");
    end();
}

static void successful_connect_clears_error(void **state)
{
    uvhttp_error_t error;
    char url[64];
    (void)state;
    begin();
    (void)snprintf(url, sizeof url, "ws://127.0.0.1:%d/", port);
    const uvhttp_websocket_target_t target = {.url = url};
    assert_int_equal(uvhttp_websocket_connect(endpoint, &target, NULL, &ws, &error), 0);
    assert_int_equal(error.code, 0);
    assert_string_equal(error.text, "");
    uvhttp_websocket_abort(ws);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connection_refused_closes_with_1006),
        cmocka_unit_test(reset_before_response_closes_with_1006),
        cmocka_unit_test(close_before_response_closes_with_1006),
        cmocka_unit_test(response_403_closes_with_1006),
        cmocka_unit_test(server_stop_aborts_connecting),
        cmocka_unit_test(abort_before_response_closes_with_1006),
        cmocka_unit_test(invalid_url_gets_einval),
        cmocka_unit_test(successful_connect_clears_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
