/* Connections that we make: why one does not open is told in words that name what was asked for,
 * whatever happens on the way; what is refused at once is explained, too, and no secret is. */
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

enum { MOST_TURNS = 5000, TEXT_SIZE = 256 };

static struct stage stage;
static uvhttp_websocket_endpoint_t *endpoint;
static uvhttp_websocket_t *ws; /* NULL once it is over */
static char told[TEXT_SIZE];
static int listener, port, peer;

static void on_open(uvhttp_websocket_t *of, void *arg)
{
    (void)of, (void)arg;
    (void)snprintf(told, sizeof told, "open");
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
    assert_string_equal(told, "");
    assert_true(strlen(reason) <= 123);
    (void)snprintf(told, sizeof told, "%u %s", code, reason);
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
    told[0] = '\0';
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

static void connect_here(void)
{
    char url[64];
    (void)snprintf(url, sizeof url, "ws://127.0.0.1:%d/", port);
    const uvhttp_websocket_target_t target = {.url = url};
    assert_int_equal(uvhttp_websocket_connect(endpoint, &target, NULL, &ws, NULL), 0);
    assert_non_null(ws);
}

/* Until the request has come, which is not answered. */
static void ask_here(void)
{
    begin();
    connect_here();
    for (int turn = 0; turn < 3; turn++)
        stage_wait(&stage);
    peer = raw_peer_accept(listener);
    raw_peer_expect(peer, "GET / HTTP/1.1\r\nHost: 127.0.0.1:");
}

static void assert_told(const char *words)
{
    for (int turn = 0; turn < MOST_TURNS && told[0] == '\0'; turn++)
        stage_wait(&stage);
    assert_string_equal(told, words);
}

static void hang_up(bool reset)
{
    char rest[4096];
    assert_true(recv(peer, rest, sizeof rest, 0) > 0); /* or it would be a reset */
    raw_peer_close(peer, reset);
    peer = -1;
}

/* ---- on the way ---- */

static void nobody_listens(void **state)
{
    char expected[128];
    (void)state;
    begin();
    close(listener);
    listener = -1;
    connect_here();
    (void)snprintf(expected, sizeof expected,
                   "1006 cannot connect to 127.0.0.1:%d: connection refused", port);
    assert_told(expected);
    end();
}

static void the_connection_breaks(void **state)
{
    (void)state;
    ask_here();
    hang_up(true);
    assert_told("1006 the connection failed before the response");
    end();
}

static void the_server_hangs_up(void **state)
{
    (void)state;
    ask_here();
    hang_up(false);
    assert_told("1006 the server closed the connection without a response");
    end();
}

static void the_server_says_no(void **state)
{
    static const char answer[] = "HTTP/1.1 403 Verb\xf6ten \xff\xfe\r\nContent-Length: 0\r\n\r\n";
    (void)state;
    ask_here();
    assert_int_equal(send(peer, answer, sizeof answer - 1, 0), sizeof answer - 1);
    assert_told("1006 the server responded with 403 Verb?ten ??");
    end();
}

static void our_server_stops(void **state)
{
    (void)state;
    ask_here(); /* while the answer is awaited */
    uvhttp_server_stop(stage.server);
    assert_told("1006 the server is stopping");
    end();
    begin(); /* while it connects */
    connect_here();
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    assert_string_equal(told, "1006 the server is stopping");
    end();
}

static void it_is_given_up(void **state)
{
    (void)state;
    ask_here();
    uvhttp_websocket_abort(ws);
    assert_string_equal(told, "1006 aborted before the response");
    end();
    begin();
    connect_here();
    uvhttp_websocket_abort(ws);
    assert_string_equal(told, "1006 aborted before the response");
    end();
}

/* ---- what is refused at once ---- */

static void assert_refused(const char *url, const char *fields, int code, const char *words)
{
    uvhttp_error_t error;
    uvhttp_websocket_t *made = ws;
    stage.last_error[0] = '\0';
    uvhttp_websocket_target_t target = {.url = url, .fields = fields};
    assert_int_equal(uvhttp_websocket_connect(endpoint, &target, NULL, &made, &error), code);
    assert_int_equal(error.code, code);
    assert_null(made);
    if (strstr(error.text, words) != error.text)
        fail_msg("\"%s\" does not begin with \"%s\"", error.text, words);
    assert_null(strstr(error.text, "secret"));
    assert_null(strstr(error.value, "secret"));
    assert_memory_equal(stage.last_error, "websocket: ", 11);
    assert_string_equal(stage.last_error + 11, error.text);
    assert_int_equal(uvhttp_websocket_connect(endpoint, &target, NULL, NULL, NULL), code);
}

#define ALLOWED "; must be ws[s]://host[:port]/path?query, with a port of 1 to 65535"

static void urls_that_cannot_be_meant(void **state)
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
        assert_refused(rows[i][0], NULL, UVHTTP_EINVAL, rows[i][1]);
    assert_refused(NULL, NULL, UVHTTP_EINVAL, rows[2][1]);
    char long_url[200] = "ws://h/ ";
    memset(long_url + 8, 'x', sizeof long_url - 9);
    long_url[sizeof long_url - 1] = '\0';
    assert_refused(long_url, NULL, UVHTTP_EINVAL, "url is \"ws://h/ xxx");
#if !UVHTTP_TESTS_HTTPS
    assert_refused("wss://example.org/", NULL, UVHTTP_ENOTSUP,
                   "url is \"wss://example.org/\"; wss requires TLS, which this build does not "
                   "support: build with "
                   "BUILD_WITH_HTTPS=ON");
#endif
    assert_refused("ws://127.0.0.1/", "Host: secret\r\n", UVHTTP_EINVAL, "fields is invalid");
    end();
}

static void nothing_is_said_of_what_is_well(void **state)
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
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(the_connection_breaks),
        cmocka_unit_test(the_server_hangs_up),
        cmocka_unit_test(the_server_says_no),
        cmocka_unit_test(our_server_stops),
        cmocka_unit_test(it_is_given_up),
        cmocka_unit_test(urls_that_cannot_be_meant),
        cmocka_unit_test(nothing_is_said_of_what_is_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
