/* Who pays for what waits: the limits of a connection's queue count bytes as they are sent, one
 * message may go beyond them while nothing else waits, what is dropped makes room, and what
 * slow peers of one endpoint hold is no matter for those of another. Messages may outlive their
 * server. */
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
    MOST_PEERS = 4,
    TURNS = 10,
    ROOM = 1 << 20,
    QUEUE = 200000,
    NOISE = 20000,
    LARGE = 1100000,
    SMALL_BUFFER = 4096,
    TIGHT = 100000,
    PUBLISHED = 60,
    ROOMY_BUFFER = 200000,
    SEVERAL_SLICES = 90000, /* less than that takes, and more than there is memory for */
};

struct peer {
    struct raw_client client;
    uvhttp_websocket_t *ws; /* NULL unless open */
    unsigned code;          /* behind its end */
};

static struct stage stage;
static struct peer peers[MOST_PEERS];
static size_t opened;
static char noise[LARGE], letters[LARGE];

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

/* ---- what a test does ---- */

static uvhttp_websocket_options_t options_with(uvhttp_websocket_slow_t slow)
{
    return (uvhttp_websocket_options_t){
        .events = {.open = on_open, .message = on_message, .close = on_close},
        .slow = slow,
        .max_queue_size = QUEUE,
        .max_message_size = TIGHT,
        .allocator = &stage.heap.allocator,
    };
}

static void begin(void)
{
    uint64_t seed = 88172645463325252;
    memset(peers, 0, sizeof(peers));
    for (size_t i = 0; i < MOST_PEERS; i++)
        peers[i].client.socket = -1;
    opened = 0;
    memset(letters, 'x', sizeof(letters));
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

static struct peer *join(const char *path, bool compressing)
{
    struct peer *peer = &peers[opened];
    raw_client_connect(&peer->client, uvhttp_server_port(stage.server), SMALL_BUFFER);
    raw_client_send_text(&peer->client, "GET ");
    raw_client_send_text(&peer->client, path);
    raw_client_send_text(
        &peer->client,
        " HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
    if (compressing)
        raw_client_send_text(&peer->client, "Sec-WebSocket-Extensions: permessage-deflate\r\n");
    raw_client_send_text(&peer->client, "\r\n");
    for (int i = 0; i < STAGE_MAX_ITERATIONS && (peer->ws == NULL || peer->client.received == 0);
         i++) {
        (void)raw_client_step(&peer->client, ROOM);
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

/* Nobody reads, so at last something waits; less than a message. */
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

/* The peer reads until nothing waits for it. */
static void read_all(struct peer *peer)
{
    for (int i = 0; i < STAGE_MAX_ITERATIONS && uvhttp_websocket_pending(peer->ws) > 0; i++) {
        (void)raw_client_step(&peer->client, ROOM);
        stage_iterate(&stage);
    }
    assert_int_equal(uvhttp_websocket_pending(peer->ws), 0);
    for (int i = 0; i < TURNS; i++) {
        (void)raw_client_step(&peer->client, ROOM);
        stage_iterate(&stage);
    }
}

/* ---- messages ---- */

static void a_message_may_outlive_its_server(void **state)
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
    end(); /* nothing is left */
}

static void a_message_is_text_or_binary(void **state)
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

/* ---- the limits of a queue ---- */

#if UVHTTP_TESTS_COMPRESSION

static void the_queue_counts_what_is_sent(void **state)
{
    (void)state;
    for (int compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED;
         compression <= UVHTTP_WEBSOCKET_COMPRESS_DEDICATED; compression++) {
        begin();
        uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
        options.compression = (uvhttp_websocket_compression_t)compression;
        options.memory_per_connection = ROOM; /* for windows that reach over messages to many */
        uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
        listen_with_small_buffers();
        struct peer *peer = join("/ws", true);
        uvhttp_websocket_message_t *message =
            uvhttp_websocket_message_new(endpoint, UVHTTP_WEBSOCKET_TEXT, letters, LARGE);
        fill(peer);
        size_t before = uvhttp_websocket_pending(peer->ws);
        assert_int_equal(uvhttp_websocket_send_message(peer->ws, message), 0);
        assert_int_equal(uvhttp_websocket_send(peer->ws, UVHTTP_WEBSOCKET_TEXT, letters, LARGE), 0);
        assert_in_range(uvhttp_websocket_pending(peer->ws), before + 1, before + NOISE);
        assert_int_equal(send_noise(peer, QUEUE),
                         UVHTTP_EDISCONNECTED); /* which does not become smaller */
        assert_int_equal(peer->code, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER);
        uvhttp_websocket_message_unref(message);
        end();
    }
}

#endif

static void one_message_may_be_larger_than_the_queue(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        begin();
        const uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
        uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
        listen_with_small_buffers();
        struct peer *peer = join("/ws", false);
        uvhttp_websocket_message_t *message =
            uvhttp_websocket_message_new(endpoint, UVHTTP_WEBSOCKET_BINARY, noise, LARGE);
        for (int i = 0; i < 2; i++) { /* again, when it has left */
            assert_int_equal(shared ? uvhttp_websocket_send_message(peer->ws, message)
                                    : send_noise(peer, LARGE),
                             UVHTTP_QUEUED);
            assert_true(uvhttp_websocket_pending(peer->ws) > 2 * QUEUE);
            if (i == 0)
                read_all(peer);
        }
        assert_true(peer->client.received > LARGE);
        /* Behind it there is no room. */
        assert_int_equal(send_noise(peer, 1), UVHTTP_EDISCONNECTED);
        assert_int_equal(peer->code, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER);
        uvhttp_websocket_message_unref(message);
        end();
    }
}

static void the_budget_bounds_that_one(void **state)
{
    (void)state;
    begin();
    uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    options.memory = LARGE / 2;
    uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
    listen_with_small_buffers();
    struct peer *peer = join("/ws", false);
    assert_int_equal(send_noise(peer, LARGE), UVHTTP_EDISCONNECTED);
    assert_int_equal(peer->code, UVHTTP_WEBSOCKET_TRY_AGAIN_LATER);
    stage_iterations(&stage, TURNS);
    assert_int_equal(memory_of(endpoint), 0);
    end();
}

static void endpoints_may_share_their_memory(void **state)
{
    (void)state;
    begin();
    uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    options.memory = TIGHT;
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
    struct peer *hog = join("/first", false), *other = join("/second", false);
    fill(hog);
    int err = send_noise(hog, TIGHT / 2);
    assert_true(err >= 0);
    assert_true(memory_of(second) > TIGHT / 2 && memory_of(first) == memory_of(second));
    fill(other);
    for (err = 0; err == 0; err = send_noise(other, NOISE / 4))
        assert_true(uvhttp_websocket_pending(other->ws) < TIGHT / 2);
    assert_int_equal(err, UVHTTP_ENOMEM); /* though it has less than half of it */
    assert_true(hog->ws != NULL && memory_of(first) <= TIGHT);
    uvhttp_websocket_message_t *kept =
        uvhttp_websocket_message_new(second, UVHTTP_WEBSOCKET_TEXT, "x", 1);
    assert_non_null(kept);
    raw_client_close(&hog->client, false);
    raw_client_close(&other->client, false);
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    uvhttp_websocket_message_unref(kept);
    end();
}

static void only_what_helps_is_dropped(void **state)
{
    (void)state;
    begin();
    const uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST);
    uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
    listen_with_small_buffers();
    struct peer *peer = join("/ws", false);
    fill(peer);
    /* A piece stays whatever comes. */
    assert_int_equal(
        uvhttp_websocket_send_fragment(peer->ws, UVHTTP_WEBSOCKET_BINARY, noise, 5 * NOISE, true),
        UVHTTP_QUEUED);
    assert_int_equal(send_noise(peer, NOISE), UVHTTP_QUEUED);
    assert_int_equal(send_noise(peer, NOISE), UVHTTP_QUEUED);
    size_t before = uvhttp_websocket_pending(peer->ws);
    assert_int_equal(dropped(endpoint), 0);
    /* for which both would not be enough */
    assert_int_equal(send_noise(peer, 6 * NOISE), UVHTTP_EFULL);
    assert_int_equal(dropped(endpoint), 1);
    /* a refused fragment begins no message */
    assert_int_equal(
        uvhttp_websocket_send_fragment(peer->ws, UVHTTP_WEBSOCKET_BINARY, noise, 6 * NOISE, false),
        UVHTTP_EFULL);
    assert_int_equal(dropped(endpoint), 1);
    assert_int_equal(uvhttp_websocket_pending(peer->ws), before);
    assert_int_equal(send_noise(peer, 3 * NOISE), UVHTTP_QUEUED); /* takes their place */
    assert_in_range(dropped(endpoint), 2, 3);
    assert_true(uvhttp_websocket_pending(peer->ws) <= QUEUE);
    read_all(peer);
    end();
}

/* ---- topics ---- */

static void a_full_endpoint_is_no_matter_for_others(void **state)
{
    (void)state;
    for (int slow = UVHTTP_WEBSOCKET_SLOW_CLOSE; slow <= UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST;
         slow++) {
        uvhttp_topics_t *topics;
        begin();
        uvhttp_websocket_options_t open_to_all = options_with((uvhttp_websocket_slow_t)slow);
        const uvhttp_websocket_options_t others = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
        const uvhttp_topics_options_t sizes = {.allocator = &stage.heap.allocator};
        open_to_all.memory = TIGHT; /* less than QUEUE */
        uvhttp_websocket_endpoint_t *full = add_endpoint("/full", &open_to_all);
        uvhttp_websocket_endpoint_t *free_one = add_endpoint("/free", &others);
        assert_int_equal(uvhttp_topics_new(&topics, stage.server, &sizes, NULL), 0);
        listen_with_small_buffers();
        struct peer *lazy = join("/full", false), *reader = join("/free", false);
        assert_int_equal(uvhttp_websocket_subscribe(lazy->ws, topics, "room"), 0);
        assert_int_equal(uvhttp_websocket_subscribe(reader->ws, topics, "room"), 0);
        size_t before = reader->client.received;
        for (int i = 0; i < PUBLISHED; i++) {
            assert_int_equal(
                uvhttp_topics_publish(topics, "room", UVHTTP_WEBSOCKET_BINARY, noise, NOISE), 0);
            stage_iterations(&stage, TURNS);
            assert_true(memory_of(full) <= TIGHT);
            read_all(reader);
        }
        assert_true(reader->client.received - before > (size_t)PUBLISHED * NOISE);
        assert_int_equal(memory_of(free_one), 0);
        /* Who waits misses what there is no memory for, and is told where it must not miss
         * anything. */
        assert_true(dropped(full) > 0);
        assert_int_equal(lazy->ws == NULL, slow == UVHTTP_WEBSOCKET_SLOW_CLOSE);
        assert_int_equal(lazy->code, lazy->ws == NULL ? UVHTTP_WEBSOCKET_TRY_AGAIN_LATER : 0);
        end();
    }
}

static void who_keeps_up_needs_no_memory(void **state)
{
    (void)state;
    for (int slow = UVHTTP_WEBSOCKET_SLOW_CLOSE; slow <= UVHTTP_WEBSOCKET_SLOW_DROP_OLDEST;
         slow++) {
        uvhttp_topics_t *topics;
        begin();
        uvhttp_websocket_options_t options = options_with((uvhttp_websocket_slow_t)slow);
        options.memory = TIGHT;
        uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
        assert_int_equal(uvhttp_topics_new(&topics, stage.server, NULL, NULL), 0);
        stage_listen(&stage);
        stage_shrink_send_buffer(&stage, ROOMY_BUFFER);
        struct peer *hog = join("/ws", false), *reader = join("/ws", false);
        assert_int_equal(uvhttp_websocket_subscribe(reader->ws, topics, "room"), 0);
        fill(hog);
        while (memory_of(endpoint) < TIGHT / 2)
            (void)send_noise(hog, NOISE);
        size_t before = reader->client.received;
        assert_int_equal(
            uvhttp_topics_publish(topics, "room", UVHTTP_WEBSOCKET_BINARY, noise, SEVERAL_SLICES),
            0);
        for (int i = 0;
             i < STAGE_MAX_ITERATIONS && reader->client.received - before < SEVERAL_SLICES; i++) {
            (void)raw_client_step(&reader->client, ROOM);
            stage_iterate(&stage);
        }
        assert_non_null(reader->ws);
        assert_true(reader->client.received - before > SEVERAL_SLICES);
        assert_int_equal(dropped(endpoint), 0);
        end();
    }
}

static void an_allowance_is_that_of_the_one_who_has_it(void **state)
{
    (void)state;
    begin();
    uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    options.memory = TIGHT;
    uvhttp_websocket_endpoint_t *small = add_endpoint("/small", &options), *none;
    options.memory = 0;
    options.shares_memory_with = small;
    options.max_message_size = TIGHT + 1;
    uvhttp_error_t error;
    assert_int_equal(uvhttp_websocket_endpoint_new(&none, stage.server, &options, &error),
                     UVHTTP_ECONFIG);
    assert_string_equal(error.text,
                        "memory is 100000; allowed are 100001 bytes (max_message_size) and more");
    end();
}

static void messages_on_their_way_have_a_limit(void **state)
{
    uvhttp_topics_t *topics;
    (void)state;
    begin();
    const uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    const uvhttp_topics_options_t sizes = {.memory = TIGHT, .allocator = &stage.heap.allocator};
    uvhttp_websocket_endpoint_t *endpoint = add_endpoint("/ws", &options);
    assert_int_equal(uvhttp_topics_new(&topics, stage.server, &sizes, NULL), 0);
    stage_listen(&stage);
    struct peer *peer = join("/ws", false);
    assert_int_equal(uvhttp_websocket_subscribe(peer->ws, topics, "room"), 0);
    for (int round = 0; round < 2; round++) {
        int count = 0;
        while (uvhttp_topics_publish(topics, "room", UVHTTP_WEBSOCKET_BINARY, noise, NOISE) == 0)
            assert_true(++count < TIGHT / NOISE);
        assert_int_equal(count, TIGHT / NOISE - 1);
        stage_iterations(&stage, TURNS);
        read_all(peer);
    }
    assert_int_equal(memory_of(endpoint), 0);
    end();
}

#if UVHTTP_TESTS_COMPRESSION

/* It is compressed when any subscriber compresses, whoever was the first. */
static void a_subscriber_decides_what_is_compressed(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        uvhttp_topics_t *topics;
        begin();
        uvhttp_websocket_options_t options = options_with(UVHTTP_WEBSOCKET_SLOW_CLOSE);
        const uvhttp_topics_options_t sizes = {.allocator = &stage.heap.allocator};
        options.compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED;
        (void)add_endpoint("/plain", &options); /* whose client does not want it */
        (void)add_endpoint("/packed", &options);
        assert_int_equal(uvhttp_topics_new(&topics, stage.server, &sizes, NULL), 0);
        stage_listen(&stage);
        struct peer *plain = NULL, *packed = NULL;
        for (int i = 0; i < 2; i++) {
            if ((i == 0) == (first == 0))
                plain = join("/plain", false);
            else
                packed = join("/packed", true);
            assert_int_equal(uvhttp_websocket_subscribe(
                                 (i == 0) == (first == 0) ? plain->ws : packed->ws, topics, "room"),
                             0);
        }
        size_t plain_before = plain->client.received, packed_before = packed->client.received;
        assert_int_equal(
            uvhttp_topics_publish(topics, "room", UVHTTP_WEBSOCKET_TEXT, letters, NOISE), 0);
        stage_iterations(&stage, TURNS);
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
        cmocka_unit_test(a_message_may_outlive_its_server),
        cmocka_unit_test(a_message_is_text_or_binary),
#if UVHTTP_TESTS_COMPRESSION
        cmocka_unit_test(the_queue_counts_what_is_sent),
        cmocka_unit_test(a_subscriber_decides_what_is_compressed),
#endif
        cmocka_unit_test(one_message_may_be_larger_than_the_queue),
        cmocka_unit_test(the_budget_bounds_that_one),
        cmocka_unit_test(endpoints_may_share_their_memory),
        cmocka_unit_test(only_what_helps_is_dropped),
        cmocka_unit_test(a_full_endpoint_is_no_matter_for_others),
        cmocka_unit_test(who_keeps_up_needs_no_memory),
        cmocka_unit_test(an_allowance_is_that_of_the_one_who_has_it),
        cmocka_unit_test(messages_on_their_way_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
