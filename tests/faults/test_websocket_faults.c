/* Out of memory at every single allocation of a WebSocket connection's life: whichever fails,
 * nothing crashes, nothing is left behind, the connection's data is released once, and `close`
 * follows each `open` exactly once. Each scenario runs with its first allocation failing, then its
 * second, and so on until it needs no more; and once more with all later ones failing too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/websocket.h>

#include "support/stage.h"

enum { MOST_CHUNKS = 8, MOST_ALLOCATIONS = 2000, FLOOD = 40, FLOOD_SIZE = 20000, LARGE = 70000 };

#define HANDSHAKE(more)                                               \
    "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: " \
    "websocket\r\nSec-WebSocket-Version: "                            \
    "13\r\n"                                                          \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" more "\r\n"
#define NO_MASK "\0\0\0\0"
#define CLOSE   "\x88\x82" NO_MASK "\x03\xe8"
#define CHUNK(text)              \
    {                            \
        (text), sizeof(text) - 1 \
    }

struct scenario {
    const char *name;
    /* sent one after the other, with turns of the loop between them */
    uvhttp_slice_t chunks[MOST_CHUNKS];
    size_t large; /* a binary message of so many bytes behind them */
    /* stands somewhere in what comes; NULL: only its end counts */
    const char *expected;
    size_t expected_size;
    uvhttp_websocket_slow_t slow;
    int send_buffer;
};

static struct stage stage;
static struct raw_client client;
static uvhttp_websocket_t *paused; /* until the last bytes are sent */
static struct {
    int opened, closed, data, drained;
} seen;

#define OFFER                                               \
    "Sec-WebSocket-Extensions: permessage-deflate; "        \
    "client_max_window_bits\r\nSec-WebSocket-Protocol: a, " \
    "b\r\n"

static const struct scenario scenarios[] = {
    {.name = "a text",
     .chunks = {CHUNK(HANDSHAKE("")), CHUNK("\x81\x85" NO_MASK "hello"), CHUNK(CLOSE)},
     .expected = "\x81\x05hello",
     .expected_size = 7},
    {.name = "fragments with a ping between them, all of them in pieces",
     .chunks = {CHUNK(HANDSHAKE("")), CHUNK("\x01\x83" NO_MASK "on"),
                CHUNK("e\x89\x84" NO_MASK "p"), CHUNK("ing\x80\x83" NO_MASK), CHUNK("two"),
                CHUNK(CLOSE)},
     .expected = "\x81\x06onetwo",
     .expected_size = 8},
    {.name = "a message behind the handshake in one packet",
     .chunks = {CHUNK(HANDSHAKE("") "\x82\x81" NO_MASK "x"), CHUNK(CLOSE)},
     .expected = "\x82\x01x",
     .expected_size = 3},
#if UVHTTP_TESTS_COMPRESSION
    {.name = "a compressed text, and one in fragments",
     .chunks = {CHUNK(HANDSHAKE(OFFER)), CHUNK("\xc1\x87" NO_MASK "\xf2\x48\xcd\xc9\xc9\x07\x00"),
                CHUNK("\x41\x83" NO_MASK "\xf2\x48\xcd"),
                CHUNK("\x80\x84" NO_MASK "\xc9\xc9\x07\x00"), CHUNK(CLOSE)},
     .expected = "\x81\x05Hello",
     .expected_size = 7},
#endif
    {.name = "a large message to a small buffer",
     .chunks = {CHUNK(HANDSHAKE(""))},
     .large = LARGE,
     .send_buffer = 4096},
    {.name = "a flood",
     .chunks = {CHUNK(HANDSHAKE("")), CHUNK("\x81\x85" NO_MASK "flood"), CHUNK(CLOSE)},
     .send_buffer = 4096},
    {.name = "a flood of which the oldest are dropped",
     .chunks = {CHUNK(HANDSHAKE("")), CHUNK("\x81\x85" NO_MASK "flood"), CHUNK(CLOSE)},
     .slow = UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST,
     .send_buffer = 4096},
    {.name = "a flood for many",
     .chunks = {CHUNK(HANDSHAKE(OFFER)), CHUNK("\x81\x84" NO_MASK "many"), CHUNK(CLOSE)},
     .slow = UVHTTP_WEBSOCKET_SLOW_DROP_NEWEST,
     .send_buffer = 4096},
    {.name = "a broken rule", .chunks = {CHUNK(HANDSHAKE("")), CHUNK("\x81\x05hello")}},
    {.name = "messages behind a pause",
     .chunks = {CHUNK(HANDSHAKE("")), CHUNK("\x81\x85" NO_MASK "pause\x81\x81" NO_MASK "x\x81"),
                CHUNK("\x81" NO_MASK "y"), CHUNK(CLOSE)}},
};

static int admit(uvhttp_request_t *request, void **data, void *arg)
{
    (void)request, (void)arg;
    *data = malloc(1);
    seen.data += *data != NULL;
    return 0;
}

static void release(void *data)
{
    free(data);
    seen.data--;
}

static void on_open(uvhttp_websocket_t *ws, void *arg)
{
    (void)ws, (void)arg;
    seen.opened++;
}

static void flood(uvhttp_websocket_t *ws, bool many)
{
    static char bytes[FLOOD_SIZE];
    for (int i = 0; i < FLOOD && seen.opened > seen.closed; i++) {
        if (!many) {
            (void)uvhttp_websocket_send(ws, UVHTTP_WEBSOCKET_BINARY, bytes, sizeof bytes);
            continue;
        }
        uvhttp_websocket_message_t *message = uvhttp_websocket_message_new(
            uvhttp_websocket_endpoint_of(ws), UVHTTP_WEBSOCKET_TEXT, bytes, sizeof bytes);
        if (message != NULL)
            (void)uvhttp_websocket_send_message(ws, message);
        uvhttp_websocket_message_unref(message);
    }
}

static void on_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    (void)arg;
    if (size == 5 && memcmp(data, "flood", 5) == 0) {
        flood(ws, false);
    } else if (size == 4 && memcmp(data, "many", 4) == 0) {
        flood(ws, true);
    } else if (size == 5 && memcmp(data, "pause", 5) == 0) {
        uvhttp_websocket_pause(ws);
        paused = ws;
    } else {
        (void)uvhttp_websocket_send(ws, kind, data, size);
    }
}

static void on_drain(uvhttp_websocket_t *ws, void *arg)
{
    (void)ws, (void)arg;
    seen.drained++;
}

static void on_close(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    (void)arg;
    assert_true(code >= 1000 && reason != NULL);
    assert_int_equal(uvhttp_websocket_send_text(ws, "late"), UVHTTP_EDISCONNECTED);
    seen.closed++;
    paused = NULL;
}

static int build(const struct scenario *scenario)
{
    static const char *const protocols[] = {"b", NULL};
    const uvhttp_websocket_options_t options = {
        .events = {.open = on_open, .message = on_message, .drain = on_drain, .close = on_close},
        .protocols = protocols,
        .admit = admit,
        .release = release,
        .max_queue_size = 200000,
        .slow = scenario->slow,
        .compression = UVHTTP_WEBSOCKET_COMPRESS_DEDICATED,
        .compression_min_size = 1000,
        .allocator = &stage.heap.allocator,
    };
    return uvhttp_websocket_route(stage.server, "/ws", &options, NULL);
}

static void send_large(size_t size)
{
    char head[] = {(char)0x82,         (char)0xff,        0,          0, 0, 0, 0,
                   (char)(size >> 16), (char)(size >> 8), (char)size, 0, 0, 0, 0};
    char *bytes = calloc(1, size);
    assert_non_null(bytes);
    raw_client_send(&client, head, sizeof head);
    raw_client_send(&client, bytes, size);
    free(bytes);
}

static bool is_sent(void *arg)
{
    (void)arg;
    return client.ended || client.out_sent == client.out_length;
}

/* True when an allocation has failed. */
static bool play(const struct scenario *scenario, size_t n, bool fail_on)
{
    memset(&seen, 0, sizeof seen);
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(build(scenario), 0);
    stage_listen(&stage);
    if (scenario->send_buffer > 0)
        stage_shrink_send_buffer(&stage, scenario->send_buffer);
    fault_heap_arm(&stage.heap, n, fail_on);
    raw_client_connect(&client, uvhttp_server_port(stage.server), scenario->send_buffer);
    for (size_t i = 0; i < MOST_CHUNKS && scenario->chunks[i].length > 0; i++) {
        raw_client_send(&client, scenario->chunks[i].base, scenario->chunks[i].length);
        for (int turns = 0; turns < 10; turns++) {
            raw_client_step(&client, 2000);
            stage_turn(&stage);
        }
    }
    if (scenario->large > 0) {
        send_large(scenario->large);
        raw_client_send(&client, CLOSE, sizeof(CLOSE) - 1);
    }
    if (paused != NULL)
        uvhttp_websocket_resume(paused);
    stage_drive(&stage, &client, 4000, is_sent, NULL);
    raw_client_end_sending(&client);
    stage_drive_to_end(&stage, &client, 4000);
    bool failed = atomic_load(&stage.heap.failures) > 0;
    fault_heap_arm(&stage.heap, 0, false);
    if (!failed && scenario->expected != NULL)
        assert_non_null(
            memmem(client.data, client.received, scenario->expected, scenario->expected_size));
    if (!failed && scenario->large > 0)
        assert_true(client.received > scenario->large);
    raw_client_close(&client, false);
    stage_end(&stage);
    assert_int_equal(seen.opened, seen.closed);
    assert_int_equal(seen.data, 0);
    assert_true(failed || seen.opened == 1);
    return failed;
}

static void play_all(void **state)
{
    const struct scenario *scenario = *state;
    for (int fail_on = 0; fail_on < 2; fail_on++) {
        bool failed = true;
        for (size_t n = 1; failed; n++) {
            assert_true(n < MOST_ALLOCATIONS);
            failed = play(scenario, n, fail_on != 0);
        }
    }
}

int main(void)
{
    enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]) };
    struct CMUnitTest tests[SCENARIOS];
    for (size_t i = 0; i < SCENARIOS; i++)
        tests[i] = (struct CMUnitTest){.name = scenarios[i].name,
                                       .test_func = play_all,
                                       .initial_state = (void *)(uintptr_t)&scenarios[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
