/* WebSocket connections with failures of each allocation: nothing crashes or leaks, the
 * connection's data is released once, and each `open` is followed by exactly one `close`. Each
 * scenario runs with its first allocation failing, then its second, until no call fails; and once
 * more with all following allocations failing, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/websocket.h>

#include "support/stage.h"

enum { MAX_CHUNKS = 8, MAX_ALLOCATIONS = 2000, MESSAGES = 40, MESSAGE_SIZE = 20000, LARGE = 70000 };

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
    /* sent one after the other, with loop iterations between them */
    uvhttp_slice_t chunks[MAX_CHUNKS];
    size_t large; /* size of a binary message after the chunks */
    /* part of the received data; NULL: only the end is checked */
    const char *expected;
    size_t expected_size;
    uvhttp_websocket_slow_t slow;
    int send_buffer;
};

static struct stage stage;
static struct raw_client client;
static uvhttp_websocket_t *paused; /* until all data is sent */
static struct {
    int opened, closed, data, drained;
} counts;

#define EXTENSIONS                                          \
    "Sec-WebSocket-Extensions: permessage-deflate; "        \
    "client_max_window_bits\r\nSec-WebSocket-Protocol: a, " \
    "b\r\n"

static const struct scenario scenarios[] = {
    {.name = "text_message",
     .chunks = {CHUNK(HANDSHAKE("")), CHUNK("\x81\x85" NO_MASK "hello"), CHUNK(CLOSE)},
     .expected = "\x81\x05hello",
     .expected_size = 7},
    {.name = "fragments_and_ping_in_parts",
     .chunks = {CHUNK(HANDSHAKE("")), CHUNK("\x01\x83" NO_MASK "on"),
                CHUNK("e\x89\x84" NO_MASK "p"), CHUNK("ing\x80\x83" NO_MASK), CHUNK("two"),
                CHUNK(CLOSE)},
     .expected = "\x81\x06onetwo",
     .expected_size = 8},
    {.name = "message_with_handshake",
     .chunks = {CHUNK(HANDSHAKE("") "\x82\x81" NO_MASK "x"), CHUNK(CLOSE)},
     .expected = "\x82\x01x",
     .expected_size = 3},
#if UVHTTP_TESTS_COMPRESSION
    {.name = "compressed_text_and_fragments",
     .chunks = {CHUNK(HANDSHAKE(EXTENSIONS)),
                CHUNK("\xc1\x87" NO_MASK "\xf2\x48\xcd\xc9\xc9\x07\x00"),
                CHUNK("\x41\x83" NO_MASK "\xf2\x48\xcd"),
                CHUNK("\x80\x84" NO_MASK "\xc9\xc9\x07\x00"), CHUNK(CLOSE)},
     .expected = "\x81\x05Hello",
     .expected_size = 7},
#endif
    {.name = "large_message_with_small_buffer",
     .chunks = {CHUNK(HANDSHAKE(""))},
     .large = LARGE,
     .send_buffer = 4096},
    {.name = "queue_limit_closes",
     .chunks = {CHUNK(HANDSHAKE("")), CHUNK("\x81\x85" NO_MASK "flood"), CHUNK(CLOSE)},
     .send_buffer = 4096},
    {.name = "queue_limit_drops_oldest",
     .chunks = {CHUNK(HANDSHAKE("")), CHUNK("\x81\x85" NO_MASK "flood"), CHUNK(CLOSE)},
     .slow = UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST,
     .send_buffer = 4096},
    {.name = "queue_limit_drops_newest_shared_messages",
     .chunks = {CHUNK(HANDSHAKE(EXTENSIONS)), CHUNK("\x81\x84" NO_MASK "many"), CHUNK(CLOSE)},
     .slow = UVHTTP_WEBSOCKET_SLOW_DROP_NEWEST,
     .send_buffer = 4096},
    {.name = "unmasked_frame_fails_connection",
     .chunks = {CHUNK(HANDSHAKE("")), CHUNK("\x81\x05hello")}},
    {.name = "messages_after_pause",
     .chunks = {CHUNK(HANDSHAKE("")), CHUNK("\x81\x85" NO_MASK "pause\x81\x81" NO_MASK "x\x81"),
                CHUNK("\x81" NO_MASK "y"), CHUNK(CLOSE)}},
};

static int admit(uvhttp_request_t *request, void **data, void *arg)
{
    (void)request, (void)arg;
    *data = malloc(1);
    counts.data += *data != NULL;
    return 0;
}

static void release(void *data)
{
    free(data);
    counts.data--;
}

static void on_open(uvhttp_websocket_t *ws, void *arg)
{
    (void)ws, (void)arg;
    counts.opened++;
}

static void send_many(uvhttp_websocket_t *ws, bool shared)
{
    static char bytes[MESSAGE_SIZE];
    for (int i = 0; i < MESSAGES && counts.opened > counts.closed; i++) {
        if (!shared) {
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
        send_many(ws, false);
    } else if (size == 4 && memcmp(data, "many", 4) == 0) {
        send_many(ws, true);
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
    counts.drained++;
}

static void on_close(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    (void)arg;
    assert_true(code >= 1000 && reason != NULL);
    assert_int_equal(uvhttp_websocket_send_text(ws, "late"), UVHTTP_EDISCONNECTED);
    counts.closed++;
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

/* Returns true if an allocation has failed. */
static bool run_scenario(const struct scenario *scenario, size_t n, bool keep_failing)
{
    memset(&counts, 0, sizeof counts);
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(build(scenario), 0);
    stage_listen(&stage);
    if (scenario->send_buffer > 0)
        stage_shrink_send_buffer(&stage, scenario->send_buffer);
    fault_heap_arm(&stage.heap, n, keep_failing);
    raw_client_connect(&client, uvhttp_server_port(stage.server), scenario->send_buffer);
    for (size_t i = 0; i < MAX_CHUNKS && scenario->chunks[i].length > 0; i++) {
        raw_client_send(&client, scenario->chunks[i].base, scenario->chunks[i].length);
        for (int iteration = 0; iteration < 10; iteration++) {
            raw_client_step(&client, 2000);
            stage_iterate(&stage);
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
    assert_int_equal(counts.opened, counts.closed);
    assert_int_equal(counts.data, 0);
    assert_true(failed || counts.opened == 1);
    return failed;
}

static void scenario_survives_allocation_failures(void **state)
{
    const struct scenario *scenario = *state;
    for (int keep_failing = 0; keep_failing < 2; keep_failing++) {
        bool failed = true;
        for (size_t n = 1; failed; n++) {
            assert_true(n < MAX_ALLOCATIONS);
            failed = run_scenario(scenario, n, keep_failing != 0);
        }
    }
}

int main(void)
{
    enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]) };
    struct CMUnitTest tests[SCENARIOS];
    for (size_t i = 0; i < SCENARIOS; i++)
        tests[i] = (struct CMUnitTest){.name = scenarios[i].name,
                                       .test_func = scenario_survives_allocation_failures,
                                       .initial_state = (void *)(uintptr_t)&scenarios[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
