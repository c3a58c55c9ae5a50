/* permessage-deflate of connections: both ends understand each other's output, with shared and
 * dedicated windows, in chunks and interleaved; windows limited by the budget; decompression bombs;
 * messages to many connections; every allocation failing in turn; and that the budget is fully
 * returned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "support/fault_heap.h"
#include "websocket/deflate.h"

#if UVHTTP_TESTS_COMPRESSION

#include <pthread.h>

enum { MOST = 4 << 20, FREE = 1 << 20, STORED_HEAD = 5 };

static const char text[] =
    "{\"type\":\"tick\",\"symbol\":\"ABC\",\"price\":1234.5678,\"volume\":100,\"bid\":1234.56}";

static uint64_t seed = 88172645463325252;

static size_t random_below(size_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed % limit);
}

static char *make_data(size_t size, size_t noise)
{
    char *data = malloc(size + 1);
    assert_non_null(data);
    for (size_t i = 0; i < size;) {
        size_t length = 1 + random_below(12);
        size_t from = random_below(sizeof(text) - 13);
        bool random = random_below(100) < noise;
        for (; length > 0 && i < size; length--)
            data[i++] = random ? (char)random_below(256) : text[from++];
    }
    return data;
}

/* The endpoint of a server and that of a client, each with one worker. */
struct endpoints {
    struct uvh_budget budget, windows;
    struct uvh_ws_deflate_many many;
    struct uvh_ws_deflate_settings settings;
    struct uvh_ws_deflate_worker worker;
    struct uvh_ws_deflate_worker client_worker;
};

static void endpoints_init(struct endpoints *endpoints, uvhttp_websocket_compression_t compression)
{
    memset(endpoints, 0, sizeof(*endpoints));
    endpoints->budget.limit = endpoints->windows.limit = 64 << 20;
    endpoints->windows.whole = &endpoints->budget;
    endpoints->settings = (struct uvh_ws_deflate_settings){
        .allocator = uvh_alloc_default(),
        .compression = compression,
        .level = 1,
        .shared_level = 6,
        .window_bits = 15,
        .max_ratio = 200,
        .memory_per_connection = 65536,
        .budget = &endpoints->budget,
        .windows = &endpoints->windows,
        .many = &endpoints->many,
    };
}

static void endpoints_release(struct endpoints *endpoints)
{
    uvh_ws_deflate_worker_release(&endpoints->worker);
    uvh_ws_deflate_worker_release(&endpoints->client_worker);
    uvh_ws_deflate_many_release(&endpoints->many);
    assert_int_equal(endpoints->budget.taken, 0);
}

/* The terms that a server agrees to with a client that sends client_max_window_bits. */
static struct uvh_ws_deflate_terms terms_of(const struct uvh_ws_deflate_preferences *preferences)
{
    return (struct uvh_ws_deflate_terms){
        .server_no_context_takeover = preferences->no_context_takeover,
        .client_no_context_takeover = preferences->no_context_takeover,
        .server_max_window_bits = preferences->own_window_bits,
        .client_max_window_bits = preferences->peer_window_bits};
}

/* No context takeover for both ends, or for neither. */
static struct uvh_ws_deflate_terms terms_with(bool forget, int server_bits, int client_bits)
{
    return (struct uvh_ws_deflate_terms){.server_no_context_takeover = forget,
                                         .client_no_context_takeover = forget,
                                         .server_max_window_bits = (uint8_t)server_bits,
                                         .client_max_window_bits = (uint8_t)client_bits};
}

static struct uvh_ws_deflate *new_connection(struct endpoints *endpoints,
                                             struct uvh_ws_deflate_terms *terms)
{
    struct uvh_ws_deflate_preferences preferences;
    size_t reserved;
    size_t before = endpoints->budget.taken;
    assert_true(uvh_ws_deflate_preferences(&endpoints->settings, &preferences, &reserved));
    assert_int_equal(endpoints->budget.taken, before + reserved);
    *terms = terms_of(&preferences);
    struct uvh_ws_deflate *deflate =
        uvh_ws_deflate_new(&endpoints->settings, terms, false, reserved);
    assert_non_null(deflate);
    return deflate;
}

/* The other end, which takes the memory for the terms from the budget. */
static struct uvh_ws_deflate *new_client(struct endpoints *endpoints,
                                         const struct uvh_ws_deflate_terms *terms)
{
    size_t memory = 0;
    if (!terms->client_no_context_takeover)
        memory +=
            uvh_deflater_memory(terms->client_max_window_bits, terms->client_max_window_bits - 7);
    if (!terms->server_no_context_takeover)
        memory += uvh_inflater_memory(terms->server_max_window_bits);
    assert_true(uvh_budget_take(&endpoints->windows, memory));
    struct uvh_ws_deflate *deflate = uvh_ws_deflate_new(&endpoints->settings, terms, true, memory);
    assert_non_null(deflate);
    return deflate;
}

/* Expands one chunk into `out`. Returns the number of bytes, or the error. */
static long expand(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                   const char *data, size_t size, bool last, size_t space, char *out)
{
    size_t produced = 0;
    int err = uvh_ws_deflate_begin(deflate, worker, data, size, last);
    for (bool done = false; err == 0 && !done;) {
        size_t now = space;
        err = uvh_ws_deflate_expand(deflate, worker, out + produced, &now, &done);
        if (err == 0)
            produced += now;
        assert_true(produced <= MOST);
    }
    return err != 0 ? err : (long)produced;
}

static char expanded[MOST + 65536];

static void check_expands(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                          const struct uvh_bytes *in, size_t chunk, size_t space, const char *data,
                          size_t size)
{
    size_t produced = 0;
    for (size_t at = 0; at < in->length;) {
        size_t now = in->length - at < chunk ? in->length - at : chunk;
        long more = expand(deflate, worker, in->data + at, now, at + now == in->length, space,
                           expanded + produced);
        assert_true(more >= 0);
        produced += (size_t)more;
        at += now;
    }
    assert_int_equal(produced, size);
    assert_memory_equal(expanded, data, size);
}

/* Sends messages from one end to the other. Returns the number of bytes sent. */
static size_t exchange_messages(struct uvh_ws_deflate *from,
                                struct uvh_ws_deflate_worker *from_worker,
                                struct uvh_ws_deflate *to, struct uvh_ws_deflate_worker *to_worker,
                                const char *data, size_t size, size_t most)
{
    size_t sent = 0;
    for (size_t at = 0; at < size;) {
        size_t now = 1 + random_below(most);
        if (now > size - at)
            now = size - at;
        struct uvh_bytes out;
        uvh_bytes_init(&out, uvh_alloc_default(), MOST);
        assert_int_equal(uvh_bytes_append_text(&out, "head"), 0);
        if (uvh_ws_deflate_message(from, from_worker, data + at, now, &out)) {
            assert_true(out.length - 4 < now);
            assert_memory_equal(out.data, "head", 4);
            memmove(out.data, out.data + 4, out.length -= 4);
            check_expands(to, to_worker, &out,
                          random_below(2) == 0 ? out.length : 1 + random_below(out.length),
                          1 + random_below(now + 9), data + at, now);
            sent += out.length;
        } else {
            assert_int_equal(out.length, 4);
            assert_false(out.failed);
            sent += now;
        }
        at += now;
        uvh_bytes_release(&out);
    }
    return sent;
}

/* ---- Both directions ---- */

static void messages_round_trip_with_every_window(void **state)
{
    (void)state;
    char *data = make_data(60000, 3);
    for (int compression = 1; compression <= 2; compression++) {
        for (int bits = 9; bits <= 15; bits++) {
            struct endpoints endpoints;
            struct uvh_ws_deflate_terms terms;
            endpoints_init(&endpoints, (uvhttp_websocket_compression_t)compression);
            endpoints.settings.window_bits = bits;
            endpoints.settings.memory_per_connection = 1 << 20;
            struct uvh_ws_deflate *server = new_connection(&endpoints, &terms);
            assert_int_equal(terms.server_max_window_bits, bits);
            assert_int_equal(terms.server_no_context_takeover, compression == 1);
            struct uvh_ws_deflate *client = new_client(&endpoints, &terms);
            assert_int_equal(uvh_ws_deflate_dedicated(server), compression == 2);
            assert_int_equal(uvh_ws_deflate_dedicated(client), compression == 2);
            for (size_t most = 100; most <= 30000; most *= 17) {
                exchange_messages(server, &endpoints.worker, client, &endpoints.client_worker, data,
                                  60000, most);
                exchange_messages(client, &endpoints.client_worker, server, &endpoints.worker, data,
                                  60000, most);
            }
            uvh_ws_deflate_free(server);
            uvh_ws_deflate_free(client);
            endpoints_release(&endpoints);
        }
    }
    free(data);
}

/* Terms with no context takeover for one end, and with different windows. */
static void asymmetric_terms_are_applied(void **state)
{
    (void)state;
    char *data = make_data(20000, 3);
    for (int i = 0; i < 4; i++) {
        for (int bits = 9; bits <= 15; bits++) {
            struct endpoints endpoints;
            endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_DEDICATED);
            endpoints.settings.memory_per_connection = 1 << 20;
            struct uvh_ws_deflate_preferences preferences;
            size_t reserved;
            assert_true(uvh_ws_deflate_preferences(&endpoints.settings, &preferences, &reserved));
            struct uvh_ws_deflate_terms terms = {.server_no_context_takeover = (i & 1) != 0,
                                                 .client_no_context_takeover = (i & 2) != 0,
                                                 .server_max_window_bits = (uint8_t)bits,
                                                 .client_max_window_bits =
                                                     (uint8_t)(9 + 15 - bits)};
            struct uvh_ws_deflate *server =
                uvh_ws_deflate_new(&endpoints.settings, &terms, false, reserved);
            size_t needed = ((i & 1) != 0 ? 0 : uvh_deflater_memory(bits, bits - 7)) +
                            ((i & 2) != 0 ? 0 : uvh_inflater_memory(9 + 15 - bits));
            /* the rest is returned to the budget */
            assert_int_equal(endpoints.budget.taken, needed);
            assert_int_equal(uvh_ws_deflate_dedicated(server), i != 3);
            struct uvh_ws_deflate *client = new_client(&endpoints, &terms);
            exchange_messages(server, &endpoints.worker, client, &endpoints.client_worker, data,
                              20000, 6000);
            exchange_messages(client, &endpoints.client_worker, server, &endpoints.worker, data,
                              20000, 6000);
            uvh_ws_deflate_free(server);
            uvh_ws_deflate_free(client);
            endpoints_release(&endpoints);
        }
    }
    free(data);
}

/* A server may request windows of 8 bits from a client, which zlib does not support: messages
 * shorter than the window are still compressed. */
static void client_window_of_8_bits_works(void **state)
{
    (void)state;
    struct endpoints endpoints;
    endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    struct uvh_ws_deflate_terms terms = terms_with(true, 15, 8);
    struct uvh_ws_deflate *client = uvh_ws_deflate_new(&endpoints.settings, &terms, true, 0);
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 9);
    char *data = make_data(300, 0);
    for (size_t size = 60; size <= 300; size += 15) {
        struct uvh_bytes out;
        uvh_bytes_init(&out, uvh_alloc_default(), MOST);
        assert_int_equal(uvh_ws_deflate_message(client, &endpoints.client_worker, data, size, &out),
                         size < 256);
        uvh_bytes_release(&out);
    }
    free(data);
    uvh_inflater_free(inflater);
    uvh_ws_deflate_free(client);
    endpoints_release(&endpoints);
}

/* The purpose of dedicated windows. */
static void context_takeover_improves_compression(void **state)
{
    (void)state;
    size_t sent[3];
    char *data = make_data(40000, 3);
    for (int compression = 1; compression <= 2; compression++) {
        struct endpoints endpoints;
        struct uvh_ws_deflate_terms terms;
        endpoints_init(&endpoints, (uvhttp_websocket_compression_t)compression);
        struct uvh_ws_deflate *server = new_connection(&endpoints, &terms);
        struct uvh_ws_deflate *client = new_client(&endpoints, &terms);
        sent[compression] = exchange_messages(server, &endpoints.worker, client,
                                              &endpoints.client_worker, data, 40000, 200);
        uvh_ws_deflate_free(server);
        uvh_ws_deflate_free(client);
        endpoints_release(&endpoints);
    }
    assert_true(sent[UVHTTP_WEBSOCKET_COMPRESS_DEDICATED] * 3 <
                sent[UVHTTP_WEBSOCKET_COMPRESS_SHARED] * 2);
    free(data);
}

static void incompressible_messages_are_sent_uncompressed(void **state)
{
    (void)state;
    char *noise = make_data(5000, 100);
    char *data = make_data(5000, 0);
    for (int compression = 1; compression <= 2; compression++) {
        struct endpoints endpoints;
        struct uvh_ws_deflate_terms terms;
        endpoints_init(&endpoints, (uvhttp_websocket_compression_t)compression);
        struct uvh_ws_deflate *server = new_connection(&endpoints, &terms);
        struct uvh_ws_deflate *client = new_client(&endpoints, &terms);
        struct uvh_bytes out;
        uvh_bytes_init(&out, uvh_alloc_default(), 3000);
        assert_int_equal(uvh_bytes_append_text(&out, "x"), 0);
        for (int i = 0; i < 3; i++) {
            assert_false(uvh_ws_deflate_message(server, &endpoints.worker, noise, 5000, &out));
            assert_false(uvh_ws_deflate_message(server, &endpoints.worker, noise, 100, &out));
            assert_false(uvh_ws_deflate_message(server, &endpoints.worker, noise, 1, &out));
            assert_false(uvh_ws_deflate_message(server, &endpoints.worker, noise, 0, &out));
            assert_int_equal(out.length, 1);
            assert_int_equal(out.maximum, 3000);
            assert_false(out.failed);
            /* Data that the peer has not received must not be referred to. */
            exchange_messages(server, &endpoints.worker, client, &endpoints.client_worker, data,
                              5000, 300);
            exchange_messages(server, &endpoints.worker, client, &endpoints.client_worker, noise,
                              3000, 300);
            exchange_messages(server, &endpoints.worker, client, &endpoints.client_worker, data,
                              5000, 300);
        }
        out.maximum = 20; /* too small */
        assert_false(uvh_ws_deflate_message(server, &endpoints.worker, data, 3000, &out));
        assert_int_equal(out.length, 1);
        assert_false(out.failed);
        uvh_bytes_release(&out);
        uvh_ws_deflate_free(server);
        uvh_ws_deflate_free(client);
        endpoints_release(&endpoints);
    }
    free(noise);
    free(data);
}

/* ---- Shared windows ---- */

static struct uvh_bytes compress_message(struct uvh_ws_deflate *deflate,
                                         struct uvh_ws_deflate_worker *worker, const char *data,
                                         size_t size)
{
    struct uvh_bytes out;
    uvh_bytes_init(&out, uvh_alloc_default(), MOST);
    assert_true(uvh_ws_deflate_message(deflate, worker, data, size, &out));
    return out;
}

/* A message in one chunk uses no memory, one in two chunks an inflater, which is kept for the next
 * one. */
static void idle_connection_uses_no_memory(void **state)
{
    (void)state;
    struct endpoints endpoints;
    struct uvh_ws_deflate_terms terms;
    struct fault_heap heap;
    fault_heap_init(&heap);
    endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    endpoints.settings.allocator = &heap.allocator;
    struct uvh_ws_deflate *server = new_connection(&endpoints, &terms);
    assert_int_equal(endpoints.budget.taken, 0);
    assert_int_equal(heap.live, 1);
    struct uvh_bytes in = compress_message(server, &endpoints.client_worker, text, sizeof(text));
    check_expands(server, &endpoints.worker, &in, in.length, MOST, text, sizeof(text));
    fault_heap_arm(&heap, 0, false);
    for (int i = 0; i < 100; i++)
        check_expands(server, &endpoints.worker, &in, in.length, MOST, text, sizeof(text));
    assert_int_equal(heap.calls, 0);
    assert_int_equal(endpoints.budget.taken, 0);

    char out[sizeof(text)];
    long produced =
        expand(server, &endpoints.worker, in.data, in.length - 1, false, sizeof(out), out);
    assert_true(produced >= 0);
    assert_int_equal(heap.calls, 1);
    assert_int_equal(endpoints.budget.taken, uvh_inflater_memory(15));
    assert_int_equal(produced + expand(server, &endpoints.worker, in.data + in.length - 1, 1, true,
                                       sizeof(out) - (size_t)produced, out + produced),
                     sizeof(text));
    assert_memory_equal(out, text, sizeof(text));
    for (int i = 0; i < 100; i++)
        check_expands(server, &endpoints.worker, &in, 5, 100, text, sizeof(text));
    assert_int_equal(heap.calls, 1);
    assert_int_equal(endpoints.budget.taken, uvh_inflater_memory(15));
    uvh_bytes_release(&in);
    uvh_ws_deflate_free(server);
    endpoints_release(&endpoints);
    assert_int_equal(heap.live, 0);
}

/* Many connections, each in the middle of a message, including messages received whole that are
 * expanded in steps. */
static void interleaved_messages_are_expanded(void **state)
{
    enum { COUNT = 9 };
    (void)state;
    struct endpoints endpoints;
    struct uvh_ws_deflate_terms terms;
    struct uvh_ws_deflate *all[COUNT];
    struct uvh_bytes in[COUNT];
    char *data[COUNT];
    static char out[COUNT][4096];
    endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    for (size_t i = 0; i < COUNT; i++) {
        all[i] = new_connection(&endpoints, &terms);
        data[i] = make_data(4000, 10);
        in[i] = compress_message(all[i], &endpoints.worker, data[i], 4000);
    }
    for (int round = 0; round < 3; round++) {
        size_t produced[COUNT] = {0};
        bool done[COUNT] = {false};
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(
                uvh_ws_deflate_begin(all[i], &endpoints.worker, in[i].data, in[i].length, true), 0);
        for (size_t left = COUNT; left > 0;) {
            for (size_t i = 0; i < COUNT; i++) {
                size_t size = 1 + random_below(500);
                if (done[i])
                    continue;
                if (size > sizeof(out[i]) - produced[i])
                    size = sizeof(out[i]) - produced[i];
                assert_int_equal(uvh_ws_deflate_expand(all[i], &endpoints.worker,
                                                       out[i] + produced[i], &size, &done[i]),
                                 0);
                produced[i] += size;
                left -= done[i];
            }
        }
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(produced[i], 4000);
            assert_memory_equal(out[i], data[i], 4000);
        }
        assert_int_equal(endpoints.worker.spare_count, UVH_WS_DEFLATE_SPARES);
        assert_int_equal(endpoints.budget.taken, UVH_WS_DEFLATE_SPARES * uvh_inflater_memory(15));
    }
    /* Connections closed in the middle of a message. */
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = 10;
        bool done;
        assert_int_equal(
            uvh_ws_deflate_begin(all[i], &endpoints.worker, in[i].data, in[i].length, true), 0);
        assert_int_equal(uvh_ws_deflate_expand(all[i], &endpoints.worker, out[i], &size, &done), 0);
    }
    for (size_t i = 0; i < COUNT; i++) {
        uvh_ws_deflate_free(all[i]);
        if (i == 0) {
            struct uvh_ws_deflate *next = new_connection(&endpoints, &terms);
            size_t before = endpoints.budget.taken;
            check_expands(next, &endpoints.worker, &in[0], in[0].length, 4000, data[0], 4000);
            /* with the shared inflater, which is free again */
            assert_int_equal(endpoints.budget.taken, before);
            uvh_ws_deflate_free(next);
        }
        uvh_bytes_release(&in[i]);
        free(data[i]);
    }
    endpoints_release(&endpoints);
}

/* Windows have different sizes: a spare inflater fits smaller ones only. */
static void spare_inflaters_fit_window_size(void **state)
{
    (void)state;
    struct endpoints endpoints;
    endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    struct uvh_ws_deflate_terms small_terms = terms_with(true, 15, 9);
    struct uvh_ws_deflate_terms large_terms = terms_with(true, 15, 15);
    struct uvh_ws_deflate *small = uvh_ws_deflate_new(&endpoints.settings, &small_terms, false, 0);
    struct uvh_ws_deflate *large = uvh_ws_deflate_new(&endpoints.settings, &large_terms, false, 0);
    char *data = make_data(40000, 10);
    struct uvh_bytes in = compress_message(large, &endpoints.worker, data, 40000);
    struct uvh_bytes small_in = compress_message(large, &endpoints.worker, data, 400);
    check_expands(small, &endpoints.worker, &small_in, 10, 400, data, 400);
    assert_int_equal(endpoints.budget.taken, uvh_inflater_memory(9));
    check_expands(large, &endpoints.worker, &in, 1000, 100, data, 40000);
    assert_int_equal(endpoints.budget.taken, uvh_inflater_memory(9) + uvh_inflater_memory(15));
    /* The budget is just large enough for one of them: small spare inflaters are freed. */
    uvh_ws_deflate_worker_release(&endpoints.worker);
    check_expands(small, &endpoints.worker, &small_in, 10, 400, data, 400);
    endpoints.budget.limit = uvh_inflater_memory(15);
    check_expands(large, &endpoints.worker, &in, 1000, 100, data, 40000);
    /* more than half is taken, so none is kept as a spare */
    assert_int_equal(endpoints.budget.taken, 0);
    uvh_bytes_release(&in);
    uvh_bytes_release(&small_in);
    uvh_ws_deflate_free(small);
    uvh_ws_deflate_free(large);
    free(data);
    endpoints_release(&endpoints);
}

/* ---- The budget ---- */

static void windows_shrink_with_budget(void **state)
{
    (void)state;
    struct endpoints endpoints;
    struct uvh_ws_deflate *all[200];
    size_t count = 0;
    int before = 16;
    size_t sizes = 0;
    endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_DEDICATED);
    endpoints.settings.memory_per_connection = 1 << 20;
    endpoints.budget.limit = 3 << 20;
    endpoints.windows.limit = 2 << 20;
    char *data = make_data(3000, 3);
    for (bool shared = false; !shared; count++) {
        struct uvh_ws_deflate_terms terms;
        assert_true(count < UVH_COUNT_OF(all));
        all[count] = new_connection(&endpoints, &terms);
        assert_true(endpoints.budget.taken <= endpoints.windows.limit);
        shared = terms.server_no_context_takeover;
        assert_int_equal(uvh_ws_deflate_dedicated(all[count]), !shared);
        if (!shared)
            assert_true(terms.server_max_window_bits <= before);
        sizes += !shared && terms.server_max_window_bits < before;
        before = shared ? 0 : terms.server_max_window_bits;
    }
    assert_true(sizes >= 3);
    assert_true(endpoints.windows.limit - endpoints.windows.taken <
                uvh_deflater_memory(9, 2) + uvh_inflater_memory(9));
    /* A connection with shared windows can use the part of the budget reserved from windows, for
     * messages in chunks. */
    struct uvh_bytes chunks = compress_message(all[count - 1], &endpoints.client_worker, data, 500);
    check_expands(all[count - 1], &endpoints.worker, &chunks, 10, 100, data, 500);
    uvh_bytes_release(&chunks);
    uvh_ws_deflate_worker_release(&endpoints.worker);
    /* Dedicated windows work without any budget left; messages in chunks with shared windows
     * fail. */
    endpoints.budget.limit = endpoints.budget.taken;
    struct uvh_bytes in = compress_message(all[count - 1], &endpoints.client_worker, data, 500);
    for (size_t i = 0; i + 1 < count; i++) {
        check_expands(all[i], &endpoints.worker, &in, 10, 100, data, 500);
        struct uvh_bytes out = compress_message(all[i], &endpoints.worker, data, 3000);
        uvh_bytes_release(&out);
    }
    check_expands(all[count - 1], &endpoints.worker, &in, in.length, 100, data, 500);
    assert_int_equal(uvh_ws_deflate_begin(all[count - 1], &endpoints.worker, in.data, 5, false),
                     UVHTTP_EFULL);
    for (size_t i = 0; i < count; i++)
        uvh_ws_deflate_free(all[i]);
    uvh_bytes_release(&in);
    free(data);
    endpoints_release(&endpoints);
}

static void windows_fit_memory_per_connection(void **state)
{
    static const struct {
        size_t memory;
        int least, most;
    } cases[] = {{1 << 20, 15, 15}, {65536, 11, 13}, {32768, 9, 11}};
    (void)state;
    struct endpoints endpoints;
    struct uvh_ws_deflate_terms terms;
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_DEDICATED);
        endpoints.settings.memory_per_connection = cases[i].memory;
        struct uvh_ws_deflate *server = new_connection(&endpoints, &terms);
        assert_in_range(terms.server_max_window_bits, cases[i].least, cases[i].most);
        assert_int_equal(terms.client_max_window_bits, terms.server_max_window_bits);
        assert_true(endpoints.budget.taken <= cases[i].memory && endpoints.budget.taken > 0);
        uvh_ws_deflate_free(server);
        endpoints_release(&endpoints);
    }
    endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_DEDICATED);
    endpoints.settings.memory_per_connection = 4096; /* too little for any window */
    struct uvh_ws_deflate *server = new_connection(&endpoints, &terms);
    assert_false(uvh_ws_deflate_dedicated(server));
    assert_true(terms.server_no_context_takeover && terms.client_no_context_takeover);
    assert_int_equal(endpoints.budget.taken, 0);
    uvh_ws_deflate_free(server);
    endpoints_release(&endpoints);
}

static void disabled_compression_has_no_preferences(void **state)
{
    (void)state;
    struct endpoints endpoints;
    struct uvh_ws_deflate_preferences preferences;
    size_t reserved;
    endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_NOT);
    assert_false(uvh_ws_deflate_preferences(&endpoints.settings, &preferences, &reserved));
    assert_int_equal(reserved, 0);
    endpoints_release(&endpoints);
}

/* Terms other than those of the preferences get only memory that the budget has. */
static void terms_beyond_reservation_use_budget(void **state)
{
    (void)state;
    struct endpoints endpoints;
    struct uvh_ws_deflate_terms terms = terms_with(false, 15, 15);
    endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    struct uvh_ws_deflate *server = uvh_ws_deflate_new(&endpoints.settings, &terms, false, 0);
    assert_int_equal(endpoints.budget.taken, uvh_inflater_memory(15));
    uvh_ws_deflate_free(server);
    /* A window of 8 bits is read with 9 bits; and the own window is smaller if the peer's uses the
     * reserved memory. */
    terms = terms_with(false, 9, 8);
    size_t memory = uvh_deflater_memory(9, 2) + uvh_inflater_memory(9);
    assert_true(uvh_budget_take(&endpoints.windows, memory));
    server = uvh_ws_deflate_new(&endpoints.settings, &terms, false, memory);
    assert_int_equal(endpoints.budget.taken, memory);
    uvh_ws_deflate_free(server);
    terms = terms_with(false, 15, 15);
    memory = uvh_deflater_memory(11, 4) + uvh_inflater_memory(15);
    assert_true(uvh_budget_take(&endpoints.windows, memory));
    server = uvh_ws_deflate_new(&endpoints.settings, &terms, false, memory);
    assert_int_equal(endpoints.budget.taken, memory);
    uvh_ws_deflate_free(server);
    endpoints.windows.limit = 1000;
    assert_true(uvh_budget_take(&endpoints.windows, 900));
    assert_null(uvh_ws_deflate_new(&endpoints.settings, &terms, false, 900));
    endpoints_release(&endpoints);
}

/* ---- Bombs ---- */

static void decompression_bomb_is_refused(void **state)
{
    (void)state;
    static char zeros[MOST];
    for (int compression = 1; compression <= 2; compression++) {
        struct endpoints endpoints;
        struct uvh_ws_deflate_terms terms;
        endpoints_init(&endpoints, (uvhttp_websocket_compression_t)compression);
        struct uvh_ws_deflate *server = new_connection(&endpoints, &terms);
        struct uvh_ws_deflate *client = new_client(&endpoints, &terms);
        for (size_t chunk = 100; chunk <= 10000; chunk *= 10) {
            struct uvh_bytes in = compress_message(client, &endpoints.client_worker, zeros, MOST);
            size_t produced = 0;
            long more = 0;
            for (size_t at = 0; at < in.length && more >= 0; at += chunk) {
                size_t now = in.length - at < chunk ? in.length - at : chunk;
                more = expand(server, &endpoints.worker, in.data + at, now, at + now == in.length,
                              1000, expanded);
                if (more > 0)
                    produced += (size_t)more;
            }
            assert_int_equal(more, UVHTTP_ETOOLARGE);
            assert_true(produced <= MOST / 2);
            uvh_bytes_release(&in);
            uvh_ws_deflate_free(server);
            uvh_ws_deflate_free(client);
            server = new_connection(&endpoints, &terms);
            client = new_client(&endpoints, &terms);
        }
        /* Up to 1 MiB, and within the ratio, every message is accepted. */
        struct uvh_bytes in = compress_message(client, &endpoints.client_worker, zeros, FREE);
        assert_true(in.length < FREE / 200);
        check_expands(server, &endpoints.worker, &in, in.length, 1000, zeros, FREE);
        /* each message separately */
        check_expands(server, &endpoints.worker, &in, in.length, 1000, zeros, FREE);
        uvh_bytes_release(&in);
        endpoints.settings.max_ratio = 2000;
        in = compress_message(client, &endpoints.client_worker, zeros, MOST);
        check_expands(server, &endpoints.worker, &in, in.length, 60000, zeros, MOST);
        uvh_bytes_release(&in);
        uvh_ws_deflate_free(server);
        uvh_ws_deflate_free(client);
        endpoints_release(&endpoints);
    }
}

/* The ratio is exact: a message with as many bytes as it allows is accepted, one with one byte more
 * is not. */
static void max_ratio_is_exact(void **state)
{
    (void)state;
    static char zeros[FREE + 200000];
    struct endpoints endpoints;
    struct uvh_ws_deflate_terms terms;
    endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    struct uvh_ws_deflate *server = new_connection(&endpoints, &terms);
    struct uvh_bytes in = compress_message(server, &endpoints.worker, zeros, FREE + 100000);
    size_t size = FREE + 100000;
    /* Prepends a stored block of `more` zeros, so that the ratio is an integer (RFC 1951 section
     * 3.2.4). */
    size_t ratio = size / (in.length + STORED_HEAD);
    while ((size - ratio * (in.length + STORED_HEAD)) % (ratio - 1) != 0)
        ratio--;
    size_t more = (size - ratio * (in.length + STORED_HEAD)) / (ratio - 1);
    assert_true(more <= UINT16_MAX);
    const char head[STORED_HEAD] = {0, (char)more, (char)(more >> 8), (char)~more,
                                    (char)(~more >> 8)};
    struct uvh_bytes whole;
    uvh_bytes_init(&whole, uvh_alloc_default(), MOST);
    assert_int_equal(uvh_bytes_append(&whole, head, sizeof(head)), 0);
    assert_int_equal(uvh_bytes_append(&whole, zeros, more), 0);
    assert_int_equal(uvh_bytes_append(&whole, in.data, in.length), 0);
    uvh_bytes_release(&in);
    in = whole;
    size += more;
    assert_int_equal(size, ratio * in.length);
    endpoints.settings.max_ratio = ratio;
    check_expands(server, &endpoints.worker, &in, in.length, 1 << 21, zeros, size);
    endpoints.settings.max_ratio--;
    assert_int_equal(expand(server, &endpoints.worker, in.data, in.length, true, 1 << 21, expanded),
                     UVHTTP_ETOOLARGE);
    uvh_bytes_release(&in);
    uvh_ws_deflate_free(server);
    endpoints_release(&endpoints);
}

/* Invalid DEFLATE data fails its connection, and no other. */
static void invalid_data_fails_own_connection_only(void **state)
{
    (void)state;
    struct endpoints endpoints;
    struct uvh_ws_deflate_terms terms;
    char out[1000];
    endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    struct uvh_ws_deflate *bad = new_connection(&endpoints, &terms);
    struct uvh_ws_deflate *good = new_connection(&endpoints, &terms);
    struct uvh_bytes in = compress_message(good, &endpoints.worker, text, sizeof(text));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            expand(bad, &endpoints.worker, "\xf2\x48\xcd\x06\xff\xff", 6, i == 0, 1000, out),
            UVHTTP_EINVAL);
        check_expands(good, &endpoints.worker, &in, in.length, 1000, text, sizeof(text));
        uvh_ws_deflate_free(bad);
        check_expands(good, &endpoints.worker, &in, in.length, 1000, text, sizeof(text));
        bad = new_connection(&endpoints, &terms);
    }
    /* Data of other connections cannot be referred to, in one chunk or in two. */
    for (size_t chunk = 2; chunk <= 5; chunk += 3) {
        check_expands(good, &endpoints.worker, &in, chunk == 5 ? in.length : chunk, 1000, text,
                      sizeof(text));
        long produced =
            expand(bad, &endpoints.worker, "\xf2\x00\x11\x00\x00", chunk, chunk == 5, 1000, out);
        if (chunk < 5)
            produced = expand(bad, &endpoints.worker, "\x11\x00\x00", 3, true, 1000, out);
        assert_int_equal(produced, UVHTTP_EINVAL);
        uvh_ws_deflate_free(bad);
        bad = new_connection(&endpoints, &terms);
    }
    uvh_bytes_release(&in);
    uvh_ws_deflate_free(bad);
    uvh_ws_deflate_free(good);
    endpoints_release(&endpoints);
}

/* ---- Messages to many connections ---- */

static void shared_messages_fit_connection_windows(void **state)
{
    static const size_t sizes[] = {70, 500, 511, 512, 700, 3000, 5000, 30000, 40000};
    (void)state;
    char *data = make_data(40000, 3);
    for (int pooled = 0; pooled < 2; pooled++) {
        struct endpoints endpoints;
        endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_DEDICATED);
        endpoints.settings.memory_per_connection = 1 << 20;
        if (!pooled)
            endpoints.settings.many = NULL;
        for (int bits = 9; bits <= 15; bits++) {
            struct uvh_ws_deflate_terms terms = terms_with(false, bits, bits);
            struct uvh_ws_deflate *client = new_client(&endpoints, &terms);
            size_t memory = uvh_deflater_memory(bits, bits - 7) + uvh_inflater_memory(bits);
            assert_true(uvh_budget_take(&endpoints.windows, memory));
            struct uvh_ws_deflate *server =
                uvh_ws_deflate_new(&endpoints.settings, &terms, false, memory);
            for (size_t i = 0; i < UVH_COUNT_OF(sizes); i++) {
                struct uvh_bytes out;
                uvh_bytes_init(&out, uvh_alloc_default(), MOST);
                int needed = uvh_ws_deflate_for_many(&endpoints.settings, data, sizes[i], &out);
                assert_in_range(needed, 9, 15);
                assert_true(sizes[i] < (size_t)1 << needed || needed == 15);
                assert_true(needed == 9 || sizes[i] >= (size_t)1 << (needed - 1));
                /* A message of the connection before and after. */
                exchange_messages(server, &endpoints.worker, client, &endpoints.client_worker, data,
                                  2000, 300);
                assert_int_equal(uvh_ws_deflate_understands(server, needed), needed <= bits);
                if (needed <= bits)
                    uvh_ws_deflate_forget(server);
                if (needed <= bits)
                    check_expands(client, &endpoints.client_worker, &out, out.length, 1000, data,
                                  sizes[i]);
                exchange_messages(server, &endpoints.worker, client, &endpoints.client_worker, data,
                                  2000, 300);
                uvh_bytes_release(&out);
            }
            uvh_ws_deflate_free(server);
            uvh_ws_deflate_free(client);
        }
        endpoints_release(&endpoints);
    }
    free(data);
}

/* A compressed message that is not sent. */
static void dropped_message_resets_context(void **state)
{
    (void)state;
    struct endpoints endpoints;
    struct uvh_ws_deflate_terms terms;
    endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_DEDICATED);
    struct uvh_ws_deflate *server = new_connection(&endpoints, &terms);
    struct uvh_ws_deflate *client = new_client(&endpoints, &terms);
    uvh_ws_deflate_forget(server); /* before any message */
    for (int i = 0; i < 5; i++) {
        struct uvh_bytes lost = compress_message(server, &endpoints.worker, text, sizeof(text));
        uvh_bytes_release(&lost);
        uvh_ws_deflate_forget(server);
        exchange_messages(server, &endpoints.worker, client, &endpoints.client_worker, text,
                          sizeof(text), sizeof(text));
    }
    uvh_ws_deflate_free(server);
    uvh_ws_deflate_free(client);
    endpoints_release(&endpoints);
}

static void incompressible_shared_message_is_refused(void **state)
{
    (void)state;
    struct endpoints endpoints;
    char *noise = make_data(5000, 100);
    endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    struct uvh_bytes out;
    uvh_bytes_init(&out, uvh_alloc_default(), MOST);
    assert_int_equal(uvh_ws_deflate_for_many(&endpoints.settings, noise, 5000, &out), 0);
    assert_int_equal(uvh_ws_deflate_for_many(&endpoints.settings, "", 0, &out), 0);
    assert_int_equal(out.length, 0);
    assert_int_equal(uvh_ws_deflate_for_many(&endpoints.settings, text, sizeof(text), &out), 9);
    uvh_bytes_release(&out);
    free(noise);
    endpoints_release(&endpoints);
}

static void *make_many(void *arg)
{
    struct endpoints *endpoints = arg;
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    for (int i = 0; i < 300; i++) {
        struct uvh_bytes out;
        char back[sizeof(text)];
        uvh_bytes_init(&out, uvh_alloc_default(), MOST);
        int needed = uvh_ws_deflate_for_many(&endpoints->settings, text, sizeof(text), &out);
        size_t in_size = out.length;
        size_t size = sizeof(back);
        bool done = false;
        bool same = needed == 9 &&
                    uvh_inflater_run(inflater, out.data, &in_size, back, &size, true, &done) == 0 &&
                    done && size == sizeof(text) && memcmp(back, text, size) == 0;
        uvh_inflater_reset(inflater);
        uvh_bytes_release(&out);
        if (!same)
            break;
        if (i == 299)
            arg = NULL;
    }
    uvh_inflater_free(inflater);
    return arg; /* NULL: no error */
}

static void shared_messages_are_compressed_concurrently(void **state)
{
    (void)state;
    struct endpoints endpoints;
    pthread_t threads[4];
    endpoints_init(&endpoints, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    for (size_t i = 0; i < UVH_COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_many, &endpoints), 0);
    for (size_t i = 0; i < UVH_COUNT_OF(threads); i++) {
        void *result = &endpoints;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
    endpoints_release(&endpoints);
}

/* ---- Failed allocations ---- */

/* A connection with a message in each direction, in one chunk and in several. True if nothing
 * failed. */
static bool run_scenario(struct endpoints *endpoints, const char *data, const struct uvh_bytes *in)
{
    struct uvh_ws_deflate_preferences preferences;
    size_t reserved;
    bool ok = true;
    assert_true(uvh_ws_deflate_preferences(&endpoints->settings, &preferences, &reserved));
    struct uvh_ws_deflate_terms terms = terms_of(&preferences);
    struct uvh_ws_deflate *server =
        uvh_ws_deflate_new(&endpoints->settings, &terms, false, reserved);
    if (server == NULL)
        return false;
    struct uvh_bytes out;
    uvh_bytes_init(&out, uvh_alloc_default(), MOST);
    ok = uvh_ws_deflate_message(server, &endpoints->worker, data, 3000, &out) && ok;
    ok = uvh_ws_deflate_for_many(&endpoints->settings, data, 3000, &out) > 0 && ok;
    ok = uvh_ws_deflate_message(server, &endpoints->worker, data, 3000, &out) && ok;
    for (size_t chunk = in->length; chunk > 0 && ok; chunk = chunk == 20 ? 0 : 20) {
        for (size_t at = 0; at < in->length && ok; at += chunk) {
            size_t now = in->length - at < chunk ? in->length - at : chunk;
            long produced = expand(server, &endpoints->worker, in->data + at, now,
                                   at + now == in->length, 1000, expanded);
            assert_true(produced >= 0 || produced == UVHTTP_ENOMEM);
            ok = produced >= 0 && ok;
        }
    }
    uvh_bytes_release(&out);
    uvh_ws_deflate_free(server);
    return ok;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    char *data = make_data(3000, 3);
    for (int compression = 1; compression <= 2; compression++) {
        for (int on = 0; on < 2; on++) {
            bool ok = false;
            size_t n = 0;
            while (!ok) {
                struct endpoints endpoints;
                struct fault_heap heap;
                struct uvh_bytes in;
                fault_heap_init(&heap);
                endpoints_init(&endpoints, (uvhttp_websocket_compression_t)compression);
                uvh_bytes_init(&in, uvh_alloc_default(), MOST);
                assert_int_not_equal(uvh_ws_deflate_for_many(&endpoints.settings, data, 3000, &in),
                                     0);
                uvh_ws_deflate_many_release(&endpoints.many);
                endpoints.settings.allocator = &heap.allocator;
                fault_heap_arm(&heap, ++n, on);
                ok = run_scenario(&endpoints, data, &in);
                assert_int_equal(ok, heap.failures == 0);
                uvh_bytes_release(&in);
                endpoints_release(&endpoints);
                assert_int_equal(heap.live, 0);
            }
            assert_in_range(n, 4, 10);
        }
    }
    free(data);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_round_trip_with_every_window),
        cmocka_unit_test(asymmetric_terms_are_applied),
        cmocka_unit_test(client_window_of_8_bits_works),
        cmocka_unit_test(context_takeover_improves_compression),
        cmocka_unit_test(incompressible_messages_are_sent_uncompressed),
        cmocka_unit_test(idle_connection_uses_no_memory),
        cmocka_unit_test(interleaved_messages_are_expanded),
        cmocka_unit_test(spare_inflaters_fit_window_size),
        cmocka_unit_test(windows_shrink_with_budget),
        cmocka_unit_test(windows_fit_memory_per_connection),
        cmocka_unit_test(disabled_compression_has_no_preferences),
        cmocka_unit_test(terms_beyond_reservation_use_budget),
        cmocka_unit_test(decompression_bomb_is_refused),
        cmocka_unit_test(max_ratio_is_exact),
        cmocka_unit_test(invalid_data_fails_own_connection_only),
        cmocka_unit_test(shared_messages_fit_connection_windows),
        cmocka_unit_test(dropped_message_resets_context),
        cmocka_unit_test(incompressible_shared_message_is_refused),
        cmocka_unit_test(shared_messages_are_compressed_concurrently),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void deflate_is_unavailable(void **state)
{
    struct uvh_budget budget = {.limit = 1 << 20};
    struct uvh_ws_deflate_settings settings = {.compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED,
                                               .budget = &budget};
    struct uvh_ws_deflate_preferences preferences;
    size_t reserved;
    (void)state;
    assert_false(uvh_ws_deflate_preferences(&settings, &preferences, &reserved));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(deflate_is_unavailable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
