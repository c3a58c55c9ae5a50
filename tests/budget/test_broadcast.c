/* Cost of a broadcast: a message is framed and compressed once for all receivers. A replacement of
 * zlib's function counts its calls, and the heap counts allocations. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/topics.h>

#include "support/stage.h"

#if UVHTTP_TESTS_COMPRESSION

enum { MEMBERS = 100, SIZE = 3000, ITERATIONS = 6, READ_SIZE = 1 << 16, MAX_ALLOCATIONS = 8 };

static const char handshake[] =
    "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n";

static size_t deflated; /* calls of zlib's deflate */

/* Replaces zlib's function. */
int deflate(void *stream, int flush);
int deflate(void *stream, int flush)
{
    int (*next)(void *, int);
    void *symbol = dlsym(RTLD_NEXT, "deflate");
    assert_non_null(symbol);
    memcpy(&next, &symbol, sizeof(next));
    deflated++;
    return next(stream, flush);
}

static struct stage stage;
static uvhttp_topics_t *topics;
static uvhttp_websocket_endpoint_t *endpoint;
static struct raw_client clients[MEMBERS];
static uvhttp_websocket_t *members[MEMBERS];
static size_t opened;
static char text[SIZE];

static void on_open(uvhttp_websocket_t *ws, void *arg)
{
    (void)arg;
    assert_true(uvhttp_websocket_compressed(ws));
    members[opened++] = ws;
    endpoint = uvhttp_websocket_endpoint_of(ws);
}

static void on_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    (void)ws, (void)kind, (void)data, (void)size, (void)arg;
}

static void run_iterations(void)
{
    for (int i = 0; i < ITERATIONS; i++) {
        stage_iterate(&stage);
        for (size_t k = 0; k < opened + 1 && k < MEMBERS; k++) {
            if (clients[k].socket >= 0)
                (void)raw_client_step(&clients[k], READ_SIZE);
        }
    }
}

static void begin(uvhttp_websocket_compression_t compression)
{
    for (size_t i = 0; i < MEMBERS; i++)
        clients[i].socket = -1;
    for (size_t i = 0; i < SIZE; i++)
        text[i] = (char)('a' + i * i % 11);
    opened = 0;
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    const uvhttp_topics_options_t sizes = {.allocator = &stage.heap.allocator};
    const uvhttp_websocket_options_t options = {.events = {.open = on_open, .message = on_message},
                                                .compression = compression,
                                                .allocator = &stage.heap.allocator};
    assert_int_equal(uvhttp_topics_new(&topics, stage.server, &sizes, NULL), 0);
    assert_int_equal(uvhttp_websocket_route(stage.server, "/ws", &options, NULL), 0);
    stage_listen(&stage);
}

static void connect_members(size_t count)
{
    while (opened < count) {
        size_t before = opened;
        raw_client_connect(&clients[before], uvhttp_server_port(stage.server), 0);
        raw_client_send_text(&clients[before], handshake);
        for (int i = 0; i < STAGE_MAX_ITERATIONS && opened == before; i++)
            run_iterations();
        assert_int_equal(opened, before + 1);
        assert_int_equal(uvhttp_websocket_subscribe(members[before], topics, "news"), 0);
    }
}

static void end(void)
{
    for (size_t i = 0; i < opened; i++)
        raw_client_close(&clients[i], false);
    stage_end(&stage);
}

struct cost {
    size_t allocations;
    size_t deflated;
};

static void assert_all_received(const size_t before[MEMBERS])
{
    run_iterations();
    for (size_t i = 0; i < opened; i++) {
        assert_true(clients[i].received > before[i] && clients[i].received < before[i] + SIZE);
        assert_int_equal((unsigned char)clients[i].data[before[i]], 0xc1); /* FIN, RSV1, text */
    }
}

/* The cost of the second one of two messages to all members. The first one may allocate buffers. */
static struct cost measure_publish(void)
{
    struct cost cost = {0};
    size_t before[MEMBERS];
    for (int i = 0; i < 2; i++) {
        run_iterations();
        for (size_t k = 0; k < opened; k++)
            before[k] = clients[k].received;
        fault_heap_arm(&stage.heap, 0, false);
        deflated = 0;
        assert_int_equal(uvhttp_topics_publish(topics, "news", UVHTTP_WEBSOCKET_TEXT, text, SIZE),
                         0);
        assert_all_received(before);
        cost = (struct cost){atomic_load(&stage.heap.calls), deflated};
    }
    return cost;
}

static struct cost measure_send(void)
{
    size_t before[MEMBERS];
    run_iterations();
    for (size_t k = 0; k < opened; k++)
        before[k] = clients[k].received;
    fault_heap_arm(&stage.heap, 0, false);
    deflated = 0;
    uvhttp_websocket_message_t *message =
        uvhttp_websocket_message_new(endpoint, UVHTTP_WEBSOCKET_TEXT, text, SIZE);
    for (size_t i = 0; i < opened; i++)
        assert_int_equal(uvhttp_websocket_send_message(members[i], message), 0);
    uvhttp_websocket_message_unref(message);
    assert_all_received(before);
    return (struct cost){atomic_load(&stage.heap.calls), deflated};
}

static void broadcast_cost_independent_of_receivers(void **state)
{
    (void)state;
    for (int compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED;
         compression <= UVHTTP_WEBSOCKET_COMPRESS_DEDICATED; compression++) {
        begin((uvhttp_websocket_compression_t)compression);
        connect_members(1);
        (void)measure_send(); /* may allocate buffers, too */
        struct cost published = measure_publish(), sent = measure_send();
        assert_true(published.deflated > 0 && published.deflated == sent.deflated);
        assert_true(published.allocations <= MAX_ALLOCATIONS &&
                    sent.allocations <= MAX_ALLOCATIONS);
        connect_members(MEMBERS);
        struct cost to_all = measure_publish();
        assert_int_equal(to_all.deflated, published.deflated);
        assert_int_equal(to_all.allocations, published.allocations);
        to_all = measure_send();
        assert_int_equal(to_all.deflated, sent.deflated);
        assert_int_equal(to_all.allocations, sent.allocations);
        end();
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcast_cost_independent_of_receivers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void build_without_compression_passes(void **state)
{
    (void)state;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(build_without_compression_passes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
