/* Memory of queued messages: the limits of a connection's queue count encoded bytes, one message
 * may exceed them while nothing else is queued, dropped messages free space, and slow peers of one
 * endpoint do not affect those of another. Messages may outlive their server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/topics.h>

#include "support/stage.h"

enum {
    MAX_PEERS = 4,
    ITERATIONS = 10,
    MEGABYTE = 1 << 20,
    QUEUE = 200000,
    NOISE = 20000,
    LARGE = 1100000,
    SMALL_BUFFER = 4096,
    SMALL_MEMORY = 100000,
    PUBLISHED = 60,
    LARGE_BUFFER = 200000,
    SEVERAL_SLICES = 90000, /* fits into that buffer, but exceeds the memory limit */
};

struct peer {
    struct raw_client client;
    uvhttp_websocket_t *ws; /* NULL unless open */
    unsigned code;          /* after the close event */
};

static struct stage stage;
static struct peer peers[MAX_PEERS];
static size_t opened;
static char noise[LARGE], text[LARGE];

/* ---- callbacks ---- */

static void on_open(uvhttp_websocket_t *ws, void *arg)
{
    (void)arg;
    peers[opened].ws = ws;
    uvhttp_websocket_set_data(ws, &peers[opened]);
}

static void on_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    (void)ws, (void)kind, (void)data, (void)size, (void)arg;
}

static void on_close(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    struct peer *peer = uvhttp_websocket_data(ws);
    (void)reason, (void)arg;
    peer->ws = NULL;
    peer->code = code;
}

/* ---- actions of a test ---- */

static uvhttp_websocket_options_t options_with(uvhttp_websocket_slow_t slow)
{
    return (uvhttp_websocket_options_t){
        .events = {.open = on_open, .message = on_message, .close = on_close},
        .slow = slow,
        .max_queue_size = QUEUE,
        .max_message_size = SMALL_MEMORY,
        .allocator = &stage.heap.allocator,
    };
}

static void begin(void)
{
    uint64_t seed = 88172645463325252;
    memset(peers, 0, sizeof(peers));
    for (size_t i = 0; i < MAX_PEERS; i++)
        peers[i].client.socket = -1;
    opened = 0;
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < LARGE; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        noise[i] = (char)seed;
    }
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
}

static uvhttp_websocket_endpoint_t *add_endpoint(const char *path,
                                                 const uvhttp_websocket_options_t *options)
{
    uvhttp_websocket_endpoint_t *endpoint;
    assert_int_equal(uvhttp_websocket_endpoint_new(&endpoint, stage.server, options, NULL), 0);
    const uvhttp_route_t route = {.method = "GET",
                                  .pattern = path,
                                  .handler = uvhttp_websocket_handle_request,
                                  .arg = endpoint,
                                  .upgrade = "websocket"};
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server), &route), 0);
    return endpoint;
}

static void listen_with_small_buffers(void)
{
    stage_listen(&stage);
    stage_shrink_send_buffer(&stage, SMALL_BUFFER);
}

static struct peer *connect_peer(const char *path, bool compressed)
{
    struct peer *peer = &peers[opened];
    raw_client_connect(&peer->client, uvhttp_server_port(stage.server), SMALL_BUFFER);
    raw_client_send_text(&peer->client, "GET ");
    raw_client_send_text(&peer->client, path);
    raw_client_send_text(
        &peer->client,
        " HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
    if (compressed)
        raw_client_send_text(&peer->client, "Sec-WebSocket-Extensions: permessage-deflate\r\n");
    raw_client_send_text(&peer->client, "\r\n");
    for (int i = 0; i < STAGE_MAX_ITERATIONS && (peer->ws == NULL || peer->client.received == 0);
         i++) {
        (void)raw_client_step(&peer->client, MEGABYTE);
        stage_iterate(&stage);
    }
    assert_non_null(peer->ws);
    opened++;
    return peer;
}

static void end(void)
{
    for (size_t i = 0; i < opened; i++)
        raw_client_close(&peers[i].client, false);
    stage_end(&stage);
}

static int send_noise(struct peer *peer, size_t size)
{
    return uvhttp_websocket_send(peer->ws, UVHTTP_WEBSOCKET_BINARY, noise, size);
}

/* The peer does not read, so that output becomes pending; less than one message. */
static void fill(struct peer *peer)
{
    while (uvhttp_websocket_pending(peer->ws) == 0)
        assert_int_equal(send_noise(peer, NOISE), 0);
    assert_true(uvhttp_websocket_pending(peer->ws) <= NOISE + 100);
}

static uint64_t dropped(const uvhttp_websocket_endpoint_t *endpoint)
{
    uvhttp_websocket_stats_t stats;
    uvhttp_websocket_read_stats(endpoint, &stats);
    return stats.dropped;
}

static uint64_t memory_of(const uvhttp_websocket_endpoint_t *endpoint)
{
    uvhttp_websocket_stats_t stats;
    uvhttp_websocket_read_stats(endpoint, &stats);
    return stats.memory;
}

/* The peer reads until nothing is pending. */
static void read_all(struct peer *peer)
{
    for (int i = 0; i < STAGE_MAX_ITERATIONS && uvhttp_websocket_pending(peer->ws) > 0; i++) {
        (void)raw_client_step(&peer->client, MEGABYTE);
        stage_iterate(&stage);
    }
    assert_int_equal(uvhttp_websocket_pending(peer->ws), 0);
    for (int i = 0; i < ITERATIONS; i++) {
        (void)raw_client_step(&peer->client, MEGABYTE);
        stage_iterate(&stage);
    }
}

/* ---- messages ---- */

static void message_may_outlive_its_server(void **state)
{
    (void)state;
    begin();
    const uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
    uvhttp_websocket_message_t *message =
        uvhttp_websocket_message_new(endpoint, UVHTTP_WEBSOCKET_TEXT, "news", 4);
    uvhttp_websocket_message_ref(message);
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    uvhttp_websocket_message_unref(message);
    uvhttp_websocket_message_unref(message);
    end(); /* checks that nothing leaks */
}

static void message_kind_is_text_or_binary(void **state)
{
    (void)state;
    begin();
    const uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
    for (int kind = 0; kind < 16; kind++) {
        uvhttp_websocket_message_t *message =
            uvhttp_websocket_message_new(endpoint, (uvhttp_websocket_kind_t)kind, "news", 4);
        assert_int_equal(message != NULL,
                         kind == UVHTTP_WEBSOCKET_TEXT || kind == UVHTTP_WEBSOCKET_BINARY);
        uvhttp_websocket_message_unref(message);
    }
    assert_null(uvhttp_websocket_message_new(endpoint, UVHTTP_WEBSOCKET_TEXT, "\xc3(", 2));
    end();
}

/* ---- queue limits ---- */

#if UVHTTP_TESTS_COMPRESSION

static void queue_limit_counts_compressed_bytes(void **state)
{
    (void)state;
    for (int compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED;
         compression <= UVHTTP_WEBSOCKET_COMPRESS_DEDICATED; compression++) {
        begin();
        uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
        options.compression = (uvhttp_websocket_compression_t)compression;
        options.memory_per_connection = MEGABYTE; /* for windows that span shared messages */
        uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
        listen_with_small_buffers();
        struct peer *peer = connect_peer("/ws", true);
        uvhttp_websocket_message_t *message =
            uvhttp_websocket_message_new(endpoint, UVHTTP_WEBSOCKET_TEXT, text, LARGE);
        fill(peer);
        size_t before = uvhttp_websocket_pending(peer->ws);
        assert_int_equal(uvhttp_websocket_send_message(peer->ws, message), 0);
        assert_int_equal(uvhttp_websocket_send(peer->ws, UVHTTP_WEBSOCKET_TEXT, text, LARGE), 0);
        assert_in_range(uvhttp_websocket_pending(peer->ws), before + 1, before + NOISE);
        /* Noise does not get smaller. */
        assert_int_equal(send_noise(peer, QUEUE), UVHTTP_EDISCONNECTED);
        assert_int_equal(peer->code, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER);
        uvhttp_websocket_message_unref(message);
        end();
    }
}

#endif

static void queue_may_be_filled_to_its_last_byte(void **state)
{
    enum { FRAME_HEAD = 10 }; /* of a message of 64 KiB or more */
    (void)state;
    for (size_t excess = 0; excess < 2; excess++) {
        begin();
        const uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
        add_endpoint("/ws", &options);
        listen_with_small_buffers();
        struct peer *peer = connect_peer("/ws", false);
        fill(peer);
        size_t left = QUEUE - uvhttp_websocket_pending(peer->ws);
        assert_in_range(left, 1 << 16, QUEUE);
        assert_int_equal(send_noise(peer, left - FRAME_HEAD + excess),
                         excess == 0 ? UVHTTP_QUEUED : UVHTTP_EDISCONNECTED);
        end();
    }
}

static void single_message_may_exceed_queue_limit(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        begin();
        const uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
        uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
        listen_with_small_buffers();
        struct peer *peer = connect_peer("/ws", false);
        uvhttp_websocket_message_t *message =
            uvhttp_websocket_message_new(endpoint, UVHTTP_WEBSOCKET_BINARY, noise, LARGE);
        for (int i = 0; i < 2; i++) { /* again, when it has been sent */
            assert_int_equal(shared ? uvhttp_websocket_send_message(peer->ws, message)
                                    : send_noise(peer, LARGE),
                             UVHTTP_QUEUED);
            assert_true(uvhttp_websocket_pending(peer->ws) > 2 * QUEUE);
            if (i == 0)
                read_all(peer);
        }
        assert_true(peer->client.received > LARGE);
        /* Nothing fits after it. */
        assert_int_equal(send_noise(peer, 1), UVHTTP_EDISCONNECTED);
        assert_int_equal(peer->code, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER);
        uvhttp_websocket_message_unref(message);
        end();
    }
}

static void single_message_limited_by_endpoint_memory(void **state)
{
    (void)state;
    begin();
    uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    options.memory = LARGE / 2;
    uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
    listen_with_small_buffers();
    struct peer *peer = connect_peer("/ws", false);
    assert_int_equal(send_noise(peer, LARGE), UVHTTP_EDISCONNECTED);
    assert_int_equal(peer->code, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER);
    stage_iterations(&stage, ITERATIONS);
    assert_int_equal(memory_of(endpoint), 0);
    end();
}

static void shared_memory_limits_both_endpoints(void **state)
{
    (void)state;
    begin();
    uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    options.memory = SMALL_MEMORY;
    uvhttp_websocket_endpoint_t *first = add_endpoint("/first", &options), *none;
    options.shares_memory_with = first;
    uvhttp_error_t error;
    assert_int_equal(uvhttp_websocket_endpoint_new(&none, stage.server, &options, &error),
                     UVHTTP_EINVAL);
    assert_null(none);
    assert_non_null(strstr(error.text, "shares_memory_with"));
    options.memory = 0;
    uvhttp_websocket_endpoint_t *second = add_endpoint("/second", &options);
    listen_with_small_buffers();
    struct peer *slow_peer = connect_peer("/first", false), *other = connect_peer("/second", false);
    fill(slow_peer);
    int err = send_noise(slow_peer, SMALL_MEMORY / 2);
    assert_true(err >= 0);
    assert_true(memory_of(second) > SMALL_MEMORY / 2 && memory_of(first) == memory_of(second));
    fill(other);
    for (err = 0; err == 0; err = send_noise(other, NOISE / 4))
        assert_true(uvhttp_websocket_pending(other->ws) < SMALL_MEMORY / 2);
    assert_int_equal(err, UVHTTP_ENOMEM); /* though it uses less than half of it */
    assert_true(slow_peer->ws != NULL && memory_of(first) <= SMALL_MEMORY);
    uvhttp_websocket_message_t *message =
        uvhttp_websocket_message_new(second, UVHTTP_WEBSOCKET_TEXT, "x", 1);
    assert_non_null(message);
    raw_client_close(&slow_peer->client, false);
    raw_client_close(&other->client, false);
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    uvhttp_websocket_message_unref(message);
    end();
}

static void drop_oldest_keeps_fragments(void **state)
{
    (void)state;
    begin();
    const uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST);
    uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
    listen_with_small_buffers();
    struct peer *peer = connect_peer("/ws", false);
    fill(peer);
    /* A fragment is not dropped. */
    assert_int_equal(
        uvhttp_websocket_send_fragment(peer->ws, UVHTTP_WEBSOCKET_BINARY, noise, 5 * NOISE, true),
        UVHTTP_QUEUED);
    assert_int_equal(send_noise(peer, NOISE), UVHTTP_QUEUED);
    assert_int_equal(send_noise(peer, NOISE), UVHTTP_QUEUED);
    size_t before = uvhttp_websocket_pending(peer->ws);
    assert_int_equal(dropped(endpoint), 0);
    /* dropping both would not suffice */
    assert_int_equal(send_noise(peer, 6 * NOISE), UVHTTP_EFULL);
    assert_int_equal(dropped(endpoint), 1);
    /* a rejected fragment begins no message */
    assert_int_equal(
        uvhttp_websocket_send_fragment(peer->ws, UVHTTP_WEBSOCKET_BINARY, noise, 6 * NOISE, false),
        UVHTTP_EFULL);
    assert_int_equal(dropped(endpoint), 1);
    assert_int_equal(uvhttp_websocket_pending(peer->ws), before);
    assert_int_equal(send_noise(peer, 3 * NOISE), UVHTTP_QUEUED); /* replaces them */
    assert_in_range(dropped(endpoint), 2, 3);
    assert_true(uvhttp_websocket_pending(peer->ws) <= QUEUE);
    read_all(peer);
    end();
}

/* ---- topics ---- */

static void full_endpoint_does_not_affect_other_endpoint(void **state)
{
    (void)state;
    for (int slow = UVHTTP_WEBSOCKET_SLOW_CLOSE; slow <= UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST;
         slow++) {
        uvhttp_topics_t *topics;
        begin();
        uvhttp_websocket_options_t full_options = options_with((uvhttp_websocket_slow_t)slow);
        const uvhttp_websocket_options_t other_options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
        const uvhttp_topics_options_t sizes = {.allocator = &stage.heap.allocator};
        full_options.memory = SMALL_MEMORY; /* less than QUEUE */
        uvhttp_websocket_endpoint_t *full = add_endpoint("/full", &full_options);
        uvhttp_websocket_endpoint_t *other_endpoint = add_endpoint("/free", &other_options);
        assert_int_equal(uvhttp_topics_new(&topics, stage.server, &sizes, NULL), 0);
        listen_with_small_buffers();
        struct peer *slow_peer = connect_peer("/full", false),
                    *reader = connect_peer("/free", false);
        assert_int_equal(uvhttp_websocket_subscribe(slow_peer->ws, topics, "room"), 0);
        assert_int_equal(uvhttp_websocket_subscribe(reader->ws, topics, "room"), 0);
        size_t before = reader->client.received;
        for (int i = 0; i < PUBLISHED; i++) {
            assert_int_equal(
                uvhttp_topics_publish(topics, "room", UVHTTP_WEBSOCKET_BINARY, noise, NOISE), 0);
            stage_iterations(&stage, ITERATIONS);
            assert_true(memory_of(full) <= SMALL_MEMORY);
            read_all(reader);
        }
        assert_true(reader->client.received - before > (size_t)PUBLISHED * NOISE);
        assert_int_equal(memory_of(other_endpoint), 0);
        /* A slow subscriber misses messages that exceed the memory limit. With
         * UVHTTP_WEBSOCKET_SLOW_CLOSE it is closed instead. */
        assert_true(dropped(full) > 0);
        assert_int_equal(slow_peer->ws == NULL, slow == UVHTTP_WEBSOCKET_SLOW_CLOSE);
        assert_int_equal(slow_peer->code,
                         slow_peer->ws == NULL ? UVHTTP_WEBSOCKET_TRY_AGAIN_LATER : 0);
        end();
    }
}

static void fast_reader_needs_no_queue_memory(void **state)
{
    (void)state;
    for (int slow = UVHTTP_WEBSOCKET_SLOW_CLOSE; slow <= UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST;
         slow++) {
        uvhttp_topics_t *topics;
        begin();
        uvhttp_websocket_options_t options = options_with((uvhttp_websocket_slow_t)slow);
        options.memory = SMALL_MEMORY;
        uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
        assert_int_equal(uvhttp_topics_new(&topics, stage.server, NULL, NULL), 0);
        stage_listen(&stage);
        stage_shrink_send_buffer(&stage, LARGE_BUFFER);
        struct peer *slow_peer = connect_peer("/ws", false), *reader = connect_peer("/ws", false);
        assert_int_equal(uvhttp_websocket_subscribe(reader->ws, topics, "room"), 0);
        fill(slow_peer);
        while (memory_of(endpoint) < SMALL_MEMORY / 2)
            (void)send_noise(slow_peer, NOISE);
        size_t before = reader->client.received;
        assert_int_equal(
            uvhttp_topics_publish(topics, "room", UVHTTP_WEBSOCKET_BINARY, noise, SEVERAL_SLICES),
            0);
        for (int i = 0;
             i < STAGE_MAX_ITERATIONS && reader->client.received - before < SEVERAL_SLICES; i++) {
            (void)raw_client_step(&reader->client, MEGABYTE);
            stage_iterate(&stage);
        }
        assert_non_null(reader->ws);
        assert_true(reader->client.received - before > SEVERAL_SLICES);
        assert_int_equal(dropped(endpoint), 0);
        end();
    }
}

static void shared_memory_below_message_size_gets_econfig(void **state)
{
    (void)state;
    begin();
    uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    options.memory = SMALL_MEMORY;
    uvhttp_websocket_endpoint_t *small = add_endpoint("/small", &options), *none;
    options.memory = 0;
    options.shares_memory_with = small;
    options.max_message_size = SMALL_MEMORY + 1;
    uvhttp_error_t error;
    assert_int_equal(uvhttp_websocket_endpoint_new(&none, stage.server, &options, &error),
                     UVHTTP_ECONFIG);
    assert_string_equal(error.text,
                        "memory is 100000; allowed are 100001 bytes (max_message_size) and more");
    end();
}

static void topics_memory_limits_queued_messages(void **state)
{
    uvhttp_topics_t *topics;
    (void)state;
    begin();
    const uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    const uvhttp_topics_options_t sizes = {.memory = SMALL_MEMORY,
                                           .allocator = &stage.heap.allocator};
    uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
    assert_int_equal(uvhttp_topics_new(&topics, stage.server, &sizes, NULL), 0);
    stage_listen(&stage);
    struct peer *peer = connect_peer("/ws", false);
    assert_int_equal(uvhttp_websocket_subscribe(peer->ws, topics, "room"), 0);
    for (int round = 0; round < 2; round++) {
        int count = 0;
        while (uvhttp_topics_publish(topics, "room", UVHTTP_WEBSOCKET_BINARY, noise, NOISE) == 0)
            assert_true(++count < SMALL_MEMORY / NOISE);
        assert_int_equal(count, SMALL_MEMORY / NOISE - 1);
        stage_iterations(&stage, ITERATIONS);
        read_all(peer);
    }
    assert_int_equal(memory_of(endpoint), 0);
    end();
}

#if UVHTTP_TESTS_COMPRESSION

/* The message is compressed if any subscriber uses compression, in any order of subscription. */
static void published_message_compressed_per_subscriber(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        uvhttp_topics_t *topics;
        begin();
        uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
        const uvhttp_topics_options_t sizes = {.allocator = &stage.heap.allocator};
        options.compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED;
        (void)add_endpoint("/plain", &options); /* the client does not offer compression */
        (void)add_endpoint("/packed", &options);
        assert_int_equal(uvhttp_topics_new(&topics, stage.server, &sizes, NULL), 0);
        stage_listen(&stage);
        struct peer *plain = NULL, *packed = NULL;
        for (int i = 0; i < 2; i++) {
            if ((i == 0) == (first == 0))
                plain = connect_peer("/plain", false);
            else
                packed = connect_peer("/packed", true);
            assert_int_equal(uvhttp_websocket_subscribe(
                                 (i == 0) == (first == 0) ? plain->ws : packed->ws, topics, "room"),
                             0);
        }
        size_t plain_before = plain->client.received, packed_before = packed->client.received;
        assert_int_equal(uvhttp_topics_publish(topics, "room", UVHTTP_WEBSOCKET_TEXT, text, NOISE),
                         0);
        stage_iterations(&stage, ITERATIONS);
        read_all(plain);
        read_all(packed);
        assert_int_equal((unsigned char)plain->client.data[plain_before], 0x81);
        assert_int_equal((unsigned char)packed->client.data[packed_before], 0xc1);
        assert_true(plain->client.received - plain_before > NOISE);
        assert_true(packed->client.received - packed_before < NOISE / 10);
        end();
    }
}

#endif

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_may_outlive_its_server),
        cmocka_unit_test(message_kind_is_text_or_binary),
#if UVHTTP_TESTS_COMPRESSION
        cmocka_unit_test(queue_limit_counts_compressed_bytes),
        cmocka_unit_test(published_message_compressed_per_subscriber),
#endif
        cmocka_unit_test(queue_may_be_filled_to_its_last_byte),
        cmocka_unit_test(single_message_may_exceed_queue_limit),
        cmocka_unit_test(single_message_limited_by_endpoint_memory),
        cmocka_unit_test(shared_memory_limits_both_endpoints),
        cmocka_unit_test(drop_oldest_keeps_fragments),
        cmocka_unit_test(full_endpoint_does_not_affect_other_endpoint),
        cmocka_unit_test(fast_reader_needs_no_queue_memory),
        cmocka_unit_test(shared_memory_below_message_size_gets_econfig),
        cmocka_unit_test(topics_memory_limits_queued_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
