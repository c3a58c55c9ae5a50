/* permessage-deflate of connections: what both sides make is understood by the other, shared and
 * with windows of their own, in pieces and interleaved; windows that the budget allows; bombs;
 * messages to many; memory that runs out at each allocation; and nothing taken from the budget at
 * the end. */
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

static size_t below(size_t limit)
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
        size_t length = 1 + below(12);
        size_t from = below(sizeof(text) - 13);
        bool random = below(100) < noise;
        for (; length > 0 && i < size; length--)
            data[i++] = random ? (char)below(256) : text[from++];
    }
    return data;
}

/* A server's endpoint and that of a client, each with one worker. */
struct site {
    struct uvh_budget budget, windows;
    struct uvh_ws_deflate_many many;
    struct uvh_ws_deflate_settings settings;
    struct uvh_ws_deflate_worker worker;
    struct uvh_ws_deflate_worker client_worker;
};

static void site_init(struct site *site, uvhttp_websocket_compression_t compression)
{
    memset(site, 0, sizeof(*site));
    site->budget.limit = site->windows.limit = 64 << 20;
    site->windows.whole = &site->budget;
    site->settings = (struct uvh_ws_deflate_settings){
        .allocator = uvh_alloc_default(),
        .compression = compression,
        .level = 1,
        .shared_level = 6,
        .window_bits = 15,
        .max_ratio = 200,
        .memory_per_connection = 65536,
        .budget = &site->budget,
        .windows = &site->windows,
        .many = &site->many,
    };
}

static void site_end(struct site *site)
{
    uvh_ws_deflate_worker_release(&site->worker);
    uvh_ws_deflate_worker_release(&site->client_worker);
    uvh_ws_deflate_many_release(&site->many);
    assert_int_equal(site->budget.taken, 0);
}

/* What a server agrees to with a client that can be limited, in each way that a client may ask for
 * less. */
static struct uvh_ws_deflate_terms terms_of(const struct uvh_ws_deflate_preferences *wishes)
{
    return (struct uvh_ws_deflate_terms){.server_no_context_takeover = wishes->no_context_takeover,
                                         .client_no_context_takeover = wishes->no_context_takeover,
                                         .server_max_window_bits = wishes->own_window_bits,
                                         .client_max_window_bits = wishes->peer_window_bits};
}

/* Both sides forget, or neither does. */
static struct uvh_ws_deflate_terms terms_with(bool forget, int server_bits, int client_bits)
{
    return (struct uvh_ws_deflate_terms){.server_no_context_takeover = forget,
                                         .client_no_context_takeover = forget,
                                         .server_max_window_bits = (uint8_t)server_bits,
                                         .client_max_window_bits = (uint8_t)client_bits};
}

static struct uvh_ws_deflate *new_connection(struct site *site, struct uvh_ws_deflate_terms *terms)
{
    struct uvh_ws_deflate_preferences wishes;
    size_t reserved;
    size_t before = site->budget.taken;
    assert_true(uvh_ws_deflate_preferences(&site->settings, &wishes, &reserved));
    assert_int_equal(site->budget.taken, before + reserved);
    *terms = terms_of(&wishes);
    struct uvh_ws_deflate *deflate = uvh_ws_deflate_new(&site->settings, terms, false, reserved);
    assert_non_null(deflate);
    return deflate;
}

/* The other side, which takes what it needs for the terms. */
static struct uvh_ws_deflate *new_client(struct site *site,
                                         const struct uvh_ws_deflate_terms *terms)
{
    size_t memory = 0;
    if (!terms->client_no_context_takeover)
        memory +=
            uvh_deflater_memory(terms->client_max_window_bits, terms->client_max_window_bits - 7);
    if (!terms->server_no_context_takeover)
        memory += uvh_inflater_memory(terms->server_max_window_bits);
    assert_true(uvh_budget_take(&site->windows, memory));
    struct uvh_ws_deflate *deflate = uvh_ws_deflate_new(&site->settings, terms, true, memory);
    assert_non_null(deflate);
    return deflate;
}

/* Expands one piece into `out`. Returns how many bytes, or the error. */
static long expand(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                   const char *data, size_t size, bool last, size_t room, char *out)
{
    size_t made = 0;
    int err = uvh_ws_deflate_begin(deflate, worker, data, size, last);
    for (bool done = false; err == 0 && !done;) {
        size_t now = room;
        err = uvh_ws_deflate_expand(deflate, worker, out + made, &now, &done);
        if (err == 0)
            made += now;
        assert_true(made <= MOST);
    }
    return err != 0 ? err : (long)made;
}

static char expanded[MOST + 65536];

static void check_expands(struct uvh_ws_deflate *deflate, struct uvh_ws_deflate_worker *worker,
                          const struct uvh_bytes *in, size_t chunk, size_t room, const char *data,
                          size_t size)
{
    size_t made = 0;
    for (size_t at = 0; at < in->length;) {
        size_t now = in->length - at < chunk ? in->length - at : chunk;
        long more = expand(deflate, worker, in->data + at, now, at + now == in->length, room,
                           expanded + made);
        assert_true(more >= 0);
        made += (size_t)more;
        at += now;
    }
    assert_int_equal(made, size);
    assert_memory_equal(expanded, data, size);
}

/* Messages from one to the other. Returns how many bytes went over. */
static size_t talk(struct uvh_ws_deflate *from, struct uvh_ws_deflate_worker *from_worker,
                   struct uvh_ws_deflate *to, struct uvh_ws_deflate_worker *to_worker,
                   const char *data, size_t size, size_t most)
{
    size_t sent = 0;
    for (size_t at = 0; at < size;) {
        size_t now = 1 + below(most);
        if (now > size - at)
            now = size - at;
        struct uvh_bytes out;
        uvh_bytes_init(&out, uvh_alloc_default(), MOST);
        assert_int_equal(uvh_bytes_append_text(&out, "head"), 0);
        if (uvh_ws_deflate_message(from, from_worker, data + at, now, &out)) {
            assert_true(out.length - 4 < now);
            assert_memory_equal(out.data, "head", 4);
            memmove(out.data, out.data + 4, out.length -= 4);
            check_expands(to, to_worker, &out, below(2) == 0 ? out.length : 1 + below(out.length),
                          1 + below(now + 9), data + at, now);
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

/* ---- Both ways ---- */

static void both_sides_understand_each_other(void **state)
{
    (void)state;
    char *data = make_data(60000, 3);
    for (int compression = 1; compression <= 2; compression++) {
        for (int bits = 9; bits <= 15; bits++) {
            struct site site;
            struct uvh_ws_deflate_terms terms;
            site_init(&site, (uvhttp_websocket_compression_t)compression);
            site.settings.window_bits = bits;
            site.settings.memory_per_connection = 1 << 20;
            struct uvh_ws_deflate *server = new_connection(&site, &terms);
            assert_int_equal(terms.server_max_window_bits, bits);
            assert_int_equal(terms.server_no_context_takeover, compression == 1);
            struct uvh_ws_deflate *client = new_client(&site, &terms);
            assert_int_equal(uvh_ws_deflate_dedicated(server), compression == 2);
            assert_int_equal(uvh_ws_deflate_dedicated(client), compression == 2);
            for (size_t most = 100; most <= 30000; most *= 17) {
                talk(server, &site.worker, client, &site.client_worker, data, 60000, most);
                talk(client, &site.client_worker, server, &site.worker, data, 60000, most);
            }
            uvh_ws_deflate_free(server);
            uvh_ws_deflate_free(client);
            site_end(&site);
        }
    }
    free(data);
}

/* Terms in which one side forgets and the other does not, and the windows differ. */
static void each_side_has_its_own_terms(void **state)
{
    (void)state;
    char *data = make_data(20000, 3);
    for (int i = 0; i < 4; i++) {
        for (int bits = 9; bits <= 15; bits++) {
            struct site site;
            site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_DEDICATED);
            site.settings.memory_per_connection = 1 << 20;
            struct uvh_ws_deflate_preferences wishes;
            size_t reserved;
            assert_true(uvh_ws_deflate_preferences(&site.settings, &wishes, &reserved));
            struct uvh_ws_deflate_terms terms = {.server_no_context_takeover = (i & 1) != 0,
                                                 .client_no_context_takeover = (i & 2) != 0,
                                                 .server_max_window_bits = (uint8_t)bits,
                                                 .client_max_window_bits =
                                                     (uint8_t)(9 + 15 - bits)};
            struct uvh_ws_deflate *server =
                uvh_ws_deflate_new(&site.settings, &terms, false, reserved);
            size_t needed = ((i & 1) != 0 ? 0 : uvh_deflater_memory(bits, bits - 7)) +
                            ((i & 2) != 0 ? 0 : uvh_inflater_memory(9 + 15 - bits));
            assert_int_equal(site.budget.taken, needed); /* the rest was given back */
            assert_int_equal(uvh_ws_deflate_dedicated(server), i != 3);
            struct uvh_ws_deflate *client = new_client(&site, &terms);
            talk(server, &site.worker, client, &site.client_worker, data, 20000, 6000);
            talk(client, &site.client_worker, server, &site.worker, data, 20000, 6000);
            uvh_ws_deflate_free(server);
            uvh_ws_deflate_free(client);
            site_end(&site);
        }
    }
    free(data);
}

/* A server may ask a client for windows of 8 bits, which zlib cannot make: what is short enough is
 * compressed all the same. */
static void a_client_with_the_smallest_window(void **state)
{
    (void)state;
    struct site site;
    site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    struct uvh_ws_deflate_terms terms = terms_with(true, 15, 8);
    struct uvh_ws_deflate *client = uvh_ws_deflate_new(&site.settings, &terms, true, 0);
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 9);
    char *data = make_data(300, 0);
    for (size_t size = 60; size <= 300; size += 15) {
        struct uvh_bytes out;
        uvh_bytes_init(&out, uvh_alloc_default(), MOST);
        assert_int_equal(uvh_ws_deflate_message(client, &site.client_worker, data, size, &out),
                         size < 256);
        uvh_bytes_release(&out);
    }
    free(data);
    uvh_inflater_free(inflater);
    uvh_ws_deflate_free(client);
    site_end(&site);
}

/* What windows of a connection's own are for. */
static void messages_refer_to_those_before(void **state)
{
    (void)state;
    size_t sent[3];
    char *data = make_data(40000, 3);
    for (int compression = 1; compression <= 2; compression++) {
        struct site site;
        struct uvh_ws_deflate_terms terms;
        site_init(&site, (uvhttp_websocket_compression_t)compression);
        struct uvh_ws_deflate *server = new_connection(&site, &terms);
        struct uvh_ws_deflate *client = new_client(&site, &terms);
        sent[compression] =
            talk(server, &site.worker, client, &site.client_worker, data, 40000, 200);
        uvh_ws_deflate_free(server);
        uvh_ws_deflate_free(client);
        site_end(&site);
    }
    assert_true(sent[UVHTTP_WEBSOCKET_COMPRESS_DEDICATED] * 3 <
                sent[UVHTTP_WEBSOCKET_COMPRESS_SHARED] * 2);
    free(data);
}

static void what_does_not_become_smaller_is_sent_as_it_is(void **state)
{
    (void)state;
    char *noise = make_data(5000, 100);
    char *data = make_data(5000, 0);
    for (int compression = 1; compression <= 2; compression++) {
        struct site site;
        struct uvh_ws_deflate_terms terms;
        site_init(&site, (uvhttp_websocket_compression_t)compression);
        struct uvh_ws_deflate *server = new_connection(&site, &terms);
        struct uvh_ws_deflate *client = new_client(&site, &terms);
        struct uvh_bytes out;
        uvh_bytes_init(&out, uvh_alloc_default(), 3000);
        assert_int_equal(uvh_bytes_append_text(&out, "x"), 0);
        for (int i = 0; i < 3; i++) {
            assert_false(uvh_ws_deflate_message(server, &site.worker, noise, 5000, &out));
            assert_false(uvh_ws_deflate_message(server, &site.worker, noise, 100, &out));
            assert_false(uvh_ws_deflate_message(server, &site.worker, noise, 1, &out));
            assert_false(uvh_ws_deflate_message(server, &site.worker, noise, 0, &out));
            assert_int_equal(out.length, 1);
            assert_int_equal(out.maximum, 3000);
            assert_false(out.failed);
            /* What the peer has not got is not referred to. */
            talk(server, &site.worker, client, &site.client_worker, data, 5000, 300);
            talk(server, &site.worker, client, &site.client_worker, noise, 3000, 300);
            talk(server, &site.worker, client, &site.client_worker, data, 5000, 300);
        }
        out.maximum = 20; /* it does not fit */
        assert_false(uvh_ws_deflate_message(server, &site.worker, data, 3000, &out));
        assert_int_equal(out.length, 1);
        assert_false(out.failed);
        uvh_bytes_release(&out);
        uvh_ws_deflate_free(server);
        uvh_ws_deflate_free(client);
        site_end(&site);
    }
    free(noise);
    free(data);
}

/* ---- Who shares ---- */

static struct uvh_bytes compressed(struct uvh_ws_deflate *deflate,
                                   struct uvh_ws_deflate_worker *worker, const char *data,
                                   size_t size)
{
    struct uvh_bytes out;
    uvh_bytes_init(&out, uvh_alloc_default(), MOST);
    assert_true(uvh_ws_deflate_message(deflate, worker, data, size, &out));
    return out;
}

/* A message in one piece takes nothing, one in two pieces an inflater, which is kept for the
 * next. */
static void an_idle_connection_holds_nothing(void **state)
{
    (void)state;
    struct site site;
    struct uvh_ws_deflate_terms terms;
    struct fault_heap heap;
    fault_heap_init(&heap);
    site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    site.settings.allocator = &heap.allocator;
    struct uvh_ws_deflate *server = new_connection(&site, &terms);
    assert_int_equal(site.budget.taken, 0);
    assert_int_equal(heap.live, 1);
    struct uvh_bytes in = compressed(server, &site.client_worker, text, sizeof(text));
    check_expands(server, &site.worker, &in, in.length, MOST, text, sizeof(text));
    fault_heap_arm(&heap, 0, false);
    for (int i = 0; i < 100; i++)
        check_expands(server, &site.worker, &in, in.length, MOST, text, sizeof(text));
    assert_int_equal(heap.calls, 0);
    assert_int_equal(site.budget.taken, 0);

    char out[sizeof(text)];
    long made = expand(server, &site.worker, in.data, in.length - 1, false, sizeof(out), out);
    assert_true(made >= 0);
    assert_int_equal(heap.calls, 1);
    assert_int_equal(site.budget.taken, uvh_inflater_memory(15));
    assert_int_equal(made + expand(server, &site.worker, in.data + in.length - 1, 1, true,
                                   sizeof(out) - (size_t)made, out + made),
                     sizeof(text));
    assert_memory_equal(out, text, sizeof(text));
    for (int i = 0; i < 100; i++)
        check_expands(server, &site.worker, &in, 5, 100, text, sizeof(text));
    assert_int_equal(heap.calls, 1);
    assert_int_equal(site.budget.taken, uvh_inflater_memory(15));
    uvh_bytes_release(&in);
    uvh_ws_deflate_free(server);
    site_end(&site);
    assert_int_equal(heap.live, 0);
}

/* Many connections, each in the middle of a message, also of one that came whole and is expanded in
 * steps. */
static void messages_of_many_connections_interleave(void **state)
{
    enum { COUNT = 9 };
    (void)state;
    struct site site;
    struct uvh_ws_deflate_terms terms;
    struct uvh_ws_deflate *all[COUNT];
    struct uvh_bytes in[COUNT];
    char *data[COUNT];
    static char out[COUNT][4096];
    site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    for (size_t i = 0; i < COUNT; i++) {
        all[i] = new_connection(&site, &terms);
        data[i] = make_data(4000, 10);
        in[i] = compressed(all[i], &site.worker, data[i], 4000);
    }
    for (int round = 0; round < 3; round++) {
        size_t made[COUNT] = {0};
        bool done[COUNT] = {false};
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(
                uvh_ws_deflate_begin(all[i], &site.worker, in[i].data, in[i].length, true), 0);
        for (size_t left = COUNT; left > 0;) {
            for (size_t i = 0; i < COUNT; i++) {
                size_t size = 1 + below(500);
                if (done[i])
                    continue;
                if (size > sizeof(out[i]) - made[i])
                    size = sizeof(out[i]) - made[i];
                assert_int_equal(
                    uvh_ws_deflate_expand(all[i], &site.worker, out[i] + made[i], &size, &done[i]),
                    0);
                made[i] += size;
                left -= done[i];
            }
        }
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(made[i], 4000);
            assert_memory_equal(out[i], data[i], 4000);
        }
        assert_int_equal(site.worker.spare_count, UVH_WS_DEFLATE_SPARES);
        assert_int_equal(site.budget.taken, UVH_WS_DEFLATE_SPARES * uvh_inflater_memory(15));
    }
    /* In the middle of a message. */
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = 10;
        bool done;
        assert_int_equal(uvh_ws_deflate_begin(all[i], &site.worker, in[i].data, in[i].length, true),
                         0);
        assert_int_equal(uvh_ws_deflate_expand(all[i], &site.worker, out[i], &size, &done), 0);
    }
    for (size_t i = 0; i < COUNT; i++) {
        uvh_ws_deflate_free(all[i]);
        if (i == 0) {
            struct uvh_ws_deflate *next = new_connection(&site, &terms);
            size_t before = site.budget.taken;
            check_expands(next, &site.worker, &in[0], in[0].length, 4000, data[0], 4000);
            /* with what is shared, which is free again */
            assert_int_equal(site.budget.taken, before);
            uvh_ws_deflate_free(next);
        }
        uvh_bytes_release(&in[i]);
        free(data[i]);
    }
    site_end(&site);
}

/* Windows are limited differently: a spare inflater is good for smaller ones only. */
static void spare_inflaters_have_to_be_large_enough(void **state)
{
    (void)state;
    struct site site;
    site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    struct uvh_ws_deflate_terms small_terms = terms_with(true, 15, 9);
    struct uvh_ws_deflate_terms large_terms = terms_with(true, 15, 15);
    struct uvh_ws_deflate *small = uvh_ws_deflate_new(&site.settings, &small_terms, false, 0);
    struct uvh_ws_deflate *large = uvh_ws_deflate_new(&site.settings, &large_terms, false, 0);
    char *data = make_data(40000, 10);
    struct uvh_bytes in = compressed(large, &site.worker, data, 40000);
    struct uvh_bytes small_in = compressed(large, &site.worker, data, 400);
    check_expands(small, &site.worker, &small_in, 10, 400, data, 400);
    assert_int_equal(site.budget.taken, uvh_inflater_memory(9));
    check_expands(large, &site.worker, &in, 1000, 100, data, 40000);
    assert_int_equal(site.budget.taken, uvh_inflater_memory(9) + uvh_inflater_memory(15));
    /* The budget just reaches for one of them: small spare ones make room. */
    uvh_ws_deflate_worker_release(&site.worker);
    check_expands(small, &site.worker, &small_in, 10, 400, data, 400);
    site.budget.limit = uvh_inflater_memory(15);
    check_expands(large, &site.worker, &in, 1000, 100, data, 40000);
    /* more than half is taken, so there are no spare ones */
    assert_int_equal(site.budget.taken, 0);
    uvh_bytes_release(&in);
    uvh_bytes_release(&small_in);
    uvh_ws_deflate_free(small);
    uvh_ws_deflate_free(large);
    free(data);
    site_end(&site);
}

/* ---- The budget ---- */

static void windows_become_smaller_as_the_budget_does(void **state)
{
    (void)state;
    struct site site;
    struct uvh_ws_deflate *all[200];
    size_t count = 0;
    int before = 16;
    size_t sizes = 0;
    site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_DEDICATED);
    site.settings.memory_per_connection = 1 << 20;
    site.budget.limit = 3 << 20;
    site.windows.limit = 2 << 20;
    char *data = make_data(3000, 3);
    for (bool shared = false; !shared; count++) {
        struct uvh_ws_deflate_terms terms;
        assert_true(count < UVH_COUNT_OF(all));
        all[count] = new_connection(&site, &terms);
        assert_true(site.budget.taken <= site.windows.limit);
        shared = terms.server_no_context_takeover;
        assert_int_equal(uvh_ws_deflate_dedicated(all[count]), !shared);
        if (!shared)
            assert_true(terms.server_max_window_bits <= before);
        sizes += !shared && terms.server_max_window_bits < before;
        before = shared ? 0 : terms.server_max_window_bits;
    }
    assert_true(sizes >= 3);
    assert_true(site.windows.limit - site.windows.taken <
                uvh_deflater_memory(9, 2) + uvh_inflater_memory(9));
    /* What shares and comes in pieces finds what windows may not have. */
    struct uvh_bytes chunks = compressed(all[count - 1], &site.client_worker, data, 500);
    check_expands(all[count - 1], &site.worker, &chunks, 10, 100, data, 500);
    uvh_bytes_release(&chunks);
    uvh_ws_deflate_worker_release(&site.worker);
    /* Everybody's promise is kept, though nothing is left; and what shares and comes in pieces has
     * to wait. */
    site.budget.limit = site.budget.taken;
    struct uvh_bytes in = compressed(all[count - 1], &site.client_worker, data, 500);
    for (size_t i = 0; i + 1 < count; i++) {
        check_expands(all[i], &site.worker, &in, 10, 100, data, 500);
        struct uvh_bytes out = compressed(all[i], &site.worker, data, 3000);
        uvh_bytes_release(&out);
    }
    check_expands(all[count - 1], &site.worker, &in, in.length, 100, data, 500);
    assert_int_equal(uvh_ws_deflate_begin(all[count - 1], &site.worker, in.data, 5, false),
                     UVHTTP_EFULL);
    for (size_t i = 0; i < count; i++)
        uvh_ws_deflate_free(all[i]);
    uvh_bytes_release(&in);
    free(data);
    site_end(&site);
}

static void windows_fit_a_connections_memory(void **state)
{
    static const struct {
        size_t memory;
        int least, most;
    } cases[] = {{1 << 20, 15, 15}, {65536, 11, 13}, {32768, 9, 11}};
    (void)state;
    struct site site;
    struct uvh_ws_deflate_terms terms;
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_DEDICATED);
        site.settings.memory_per_connection = cases[i].memory;
        struct uvh_ws_deflate *server = new_connection(&site, &terms);
        assert_in_range(terms.server_max_window_bits, cases[i].least, cases[i].most);
        assert_int_equal(terms.client_max_window_bits, terms.server_max_window_bits);
        assert_true(site.budget.taken <= cases[i].memory && site.budget.taken > 0);
        uvh_ws_deflate_free(server);
        site_end(&site);
    }
    site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_DEDICATED);
    site.settings.memory_per_connection = 4096; /* for none */
    struct uvh_ws_deflate *server = new_connection(&site, &terms);
    assert_false(uvh_ws_deflate_dedicated(server));
    assert_true(terms.server_no_context_takeover && terms.client_no_context_takeover);
    assert_int_equal(site.budget.taken, 0);
    uvh_ws_deflate_free(server);
    site_end(&site);
}

static void without_compression_there_is_none(void **state)
{
    (void)state;
    struct site site;
    struct uvh_ws_deflate_preferences wishes;
    size_t reserved;
    site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_NOT);
    assert_false(uvh_ws_deflate_preferences(&site.settings, &wishes, &reserved));
    assert_int_equal(reserved, 0);
    site_end(&site);
}

/* Terms that are not those of the wishes: only what the budget has. */
static void terms_that_need_more_than_was_reserved(void **state)
{
    (void)state;
    struct site site;
    struct uvh_ws_deflate_terms terms = terms_with(false, 15, 15);
    site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    struct uvh_ws_deflate *server = uvh_ws_deflate_new(&site.settings, &terms, false, 0);
    assert_int_equal(site.budget.taken, uvh_inflater_memory(15));
    uvh_ws_deflate_free(server);
    /* A window of 8 bits is read with 9; and our own is smaller when the peer's takes what was
     * reserved. */
    terms = terms_with(false, 9, 8);
    size_t memory = uvh_deflater_memory(9, 2) + uvh_inflater_memory(9);
    assert_true(uvh_budget_take(&site.windows, memory));
    server = uvh_ws_deflate_new(&site.settings, &terms, false, memory);
    assert_int_equal(site.budget.taken, memory);
    uvh_ws_deflate_free(server);
    terms = terms_with(false, 15, 15);
    memory = uvh_deflater_memory(11, 4) + uvh_inflater_memory(15);
    assert_true(uvh_budget_take(&site.windows, memory));
    server = uvh_ws_deflate_new(&site.settings, &terms, false, memory);
    assert_int_equal(site.budget.taken, memory);
    uvh_ws_deflate_free(server);
    site.windows.limit = 1000;
    assert_true(uvh_budget_take(&site.windows, 900));
    assert_null(uvh_ws_deflate_new(&site.settings, &terms, false, 900));
    site_end(&site);
}

/* ---- Bombs ---- */

static void a_bomb_is_stopped(void **state)
{
    (void)state;
    static char zeros[MOST];
    for (int compression = 1; compression <= 2; compression++) {
        struct site site;
        struct uvh_ws_deflate_terms terms;
        site_init(&site, (uvhttp_websocket_compression_t)compression);
        struct uvh_ws_deflate *server = new_connection(&site, &terms);
        struct uvh_ws_deflate *client = new_client(&site, &terms);
        for (size_t chunk = 100; chunk <= 10000; chunk *= 10) {
            struct uvh_bytes in = compressed(client, &site.client_worker, zeros, MOST);
            size_t made = 0;
            long more = 0;
            for (size_t at = 0; at < in.length && more >= 0; at += chunk) {
                size_t now = in.length - at < chunk ? in.length - at : chunk;
                more = expand(server, &site.worker, in.data + at, now, at + now == in.length, 1000,
                              expanded);
                if (more > 0)
                    made += (size_t)more;
            }
            assert_int_equal(more, UVHTTP_ETOOLARGE);
            assert_true(made <= MOST / 2);
            uvh_bytes_release(&in);
            uvh_ws_deflate_free(server);
            uvh_ws_deflate_free(client);
            server = new_connection(&site, &terms);
            client = new_client(&site, &terms);
        }
        /* Up to 1 MiB, and within the ratio, everything goes. */
        struct uvh_bytes in = compressed(client, &site.client_worker, zeros, FREE);
        assert_true(in.length < FREE / 200);
        check_expands(server, &site.worker, &in, in.length, 1000, zeros, FREE);
        /* each message for itself */
        check_expands(server, &site.worker, &in, in.length, 1000, zeros, FREE);
        uvh_bytes_release(&in);
        site.settings.max_ratio = 2000;
        in = compressed(client, &site.client_worker, zeros, MOST);
        check_expands(server, &site.worker, &in, in.length, 60000, zeros, MOST);
        uvh_bytes_release(&in);
        uvh_ws_deflate_free(server);
        uvh_ws_deflate_free(client);
        site_end(&site);
    }
}

/* The ratio is exact: with as many bytes as it allows it goes, with one more it does not. */
static void the_ratio_is_exact(void **state)
{
    (void)state;
    static char zeros[FREE + 200000];
    struct site site;
    struct uvh_ws_deflate_terms terms;
    site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    struct uvh_ws_deflate *server = new_connection(&site, &terms);
    struct uvh_bytes in = compressed(server, &site.worker, zeros, FREE + 100000);
    size_t size = FREE + 100000;
    /* A stored block of `more` zeros in front, so that the ratio is a whole number (RFC 1951
     * section 3.2.4). */
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
    site.settings.max_ratio = ratio;
    check_expands(server, &site.worker, &in, in.length, 1 << 21, zeros, size);
    site.settings.max_ratio--;
    assert_int_equal(expand(server, &site.worker, in.data, in.length, true, 1 << 21, expanded),
                     UVHTTP_ETOOLARGE);
    uvh_bytes_release(&in);
    uvh_ws_deflate_free(server);
    site_end(&site);
}

/* What is no DEFLATE fails its connection, and no other. */
static void nonsense_harms_nobody_else(void **state)
{
    (void)state;
    struct site site;
    struct uvh_ws_deflate_terms terms;
    char out[1000];
    site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    struct uvh_ws_deflate *bad = new_connection(&site, &terms);
    struct uvh_ws_deflate *good = new_connection(&site, &terms);
    struct uvh_bytes in = compressed(good, &site.worker, text, sizeof(text));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            expand(bad, &site.worker, "\xf2\x48\xcd\x06\xff\xff", 6, i == 0, 1000, out),
            UVHTTP_EINVAL);
        check_expands(good, &site.worker, &in, in.length, 1000, text, sizeof(text));
        uvh_ws_deflate_free(bad);
        check_expands(good, &site.worker, &in, in.length, 1000, text, sizeof(text));
        bad = new_connection(&site, &terms);
    }
    /* What others have sent cannot be referred to, neither in one piece nor in two. */
    for (size_t chunk = 2; chunk <= 5; chunk += 3) {
        check_expands(good, &site.worker, &in, chunk == 5 ? in.length : chunk, 1000, text,
                      sizeof(text));
        long made = expand(bad, &site.worker, "\xf2\x00\x11\x00\x00", chunk, chunk == 5, 1000, out);
        if (chunk < 5)
            made = expand(bad, &site.worker, "\x11\x00\x00", 3, true, 1000, out);
        assert_int_equal(made, UVHTTP_EINVAL);
        uvh_ws_deflate_free(bad);
        bad = new_connection(&site, &terms);
    }
    uvh_bytes_release(&in);
    uvh_ws_deflate_free(bad);
    uvh_ws_deflate_free(good);
    site_end(&site);
}

/* ---- Messages to many ---- */

static void messages_to_many(void **state)
{
    static const size_t sizes[] = {70, 500, 511, 512, 700, 3000, 5000, 30000, 40000};
    (void)state;
    char *data = make_data(40000, 3);
    for (int pooled = 0; pooled < 2; pooled++) {
        struct site site;
        site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_DEDICATED);
        site.settings.memory_per_connection = 1 << 20;
        if (!pooled)
            site.settings.many = NULL;
        for (int bits = 9; bits <= 15; bits++) {
            struct uvh_ws_deflate_terms terms = terms_with(false, bits, bits);
            struct uvh_ws_deflate *client = new_client(&site, &terms);
            size_t memory = uvh_deflater_memory(bits, bits - 7) + uvh_inflater_memory(bits);
            assert_true(uvh_budget_take(&site.windows, memory));
            struct uvh_ws_deflate *server =
                uvh_ws_deflate_new(&site.settings, &terms, false, memory);
            for (size_t i = 0; i < UVH_COUNT_OF(sizes); i++) {
                struct uvh_bytes out;
                uvh_bytes_init(&out, uvh_alloc_default(), MOST);
                int needed = uvh_ws_deflate_for_many(&site.settings, data, sizes[i], &out);
                assert_in_range(needed, 9, 15);
                assert_true(sizes[i] < (size_t)1 << needed || needed == 15);
                assert_true(needed == 9 || sizes[i] >= (size_t)1 << (needed - 1));
                /* One of its own before, and behind. */
                talk(server, &site.worker, client, &site.client_worker, data, 2000, 300);
                assert_int_equal(uvh_ws_deflate_understands(server, needed), needed <= bits);
                if (needed <= bits)
                    uvh_ws_deflate_forget(server);
                if (needed <= bits)
                    check_expands(client, &site.client_worker, &out, out.length, 1000, data,
                                  sizes[i]);
                talk(server, &site.worker, client, &site.client_worker, data, 2000, 300);
                uvh_bytes_release(&out);
            }
            uvh_ws_deflate_free(server);
            uvh_ws_deflate_free(client);
        }
        site_end(&site);
    }
    free(data);
}

/* One of its own that is not sent after all. */
static void a_message_that_is_given_up(void **state)
{
    (void)state;
    struct site site;
    struct uvh_ws_deflate_terms terms;
    site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_DEDICATED);
    struct uvh_ws_deflate *server = new_connection(&site, &terms);
    struct uvh_ws_deflate *client = new_client(&site, &terms);
    uvh_ws_deflate_forget(server); /* before there is anything */
    for (int i = 0; i < 5; i++) {
        struct uvh_bytes lost = compressed(server, &site.worker, text, sizeof(text));
        uvh_bytes_release(&lost);
        uvh_ws_deflate_forget(server);
        talk(server, &site.worker, client, &site.client_worker, text, sizeof(text), sizeof(text));
    }
    uvh_ws_deflate_free(server);
    uvh_ws_deflate_free(client);
    site_end(&site);
}

static void what_is_no_message_to_many(void **state)
{
    (void)state;
    struct site site;
    char *noise = make_data(5000, 100);
    site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    struct uvh_bytes out;
    uvh_bytes_init(&out, uvh_alloc_default(), MOST);
    assert_int_equal(uvh_ws_deflate_for_many(&site.settings, noise, 5000, &out), 0);
    assert_int_equal(uvh_ws_deflate_for_many(&site.settings, "", 0, &out), 0);
    assert_int_equal(out.length, 0);
    assert_int_equal(uvh_ws_deflate_for_many(&site.settings, text, sizeof(text), &out), 9);
    uvh_bytes_release(&out);
    free(noise);
    site_end(&site);
}

static void *make_many(void *arg)
{
    struct site *site = arg;
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    for (int i = 0; i < 300; i++) {
        struct uvh_bytes out;
        char back[sizeof(text)];
        uvh_bytes_init(&out, uvh_alloc_default(), MOST);
        int needed = uvh_ws_deflate_for_many(&site->settings, text, sizeof(text), &out);
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
    return arg; /* NULL: all went well */
}

static void many_threads_make_messages(void **state)
{
    (void)state;
    struct site site;
    pthread_t threads[4];
    site_init(&site, UVHTTP_WEBSOCKET_COMPRESS_SHARED);
    for (size_t i = 0; i < UVH_COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_many, &site), 0);
    for (size_t i = 0; i < UVH_COUNT_OF(threads); i++) {
        void *result = &site;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
    site_end(&site);
}

/* ---- Memory that runs out ---- */

/* A connection with a message each way, in one piece and in several. True when nothing failed. */
static bool scenario(struct site *site, const char *data, const struct uvh_bytes *in)
{
    struct uvh_ws_deflate_preferences wishes;
    size_t reserved;
    bool well = true;
    assert_true(uvh_ws_deflate_preferences(&site->settings, &wishes, &reserved));
    struct uvh_ws_deflate_terms terms = terms_of(&wishes);
    struct uvh_ws_deflate *server = uvh_ws_deflate_new(&site->settings, &terms, false, reserved);
    if (server == NULL)
        return false;
    struct uvh_bytes out;
    uvh_bytes_init(&out, uvh_alloc_default(), MOST);
    well = uvh_ws_deflate_message(server, &site->worker, data, 3000, &out) && well;
    well = uvh_ws_deflate_for_many(&site->settings, data, 3000, &out) > 0 && well;
    well = uvh_ws_deflate_message(server, &site->worker, data, 3000, &out) && well;
    for (size_t chunk = in->length; chunk > 0 && well; chunk = chunk == 20 ? 0 : 20) {
        for (size_t at = 0; at < in->length && well; at += chunk) {
            size_t now = in->length - at < chunk ? in->length - at : chunk;
            long made = expand(server, &site->worker, in->data + at, now, at + now == in->length,
                               1000, expanded);
            assert_true(made >= 0 || made == UVHTTP_ENOMEM);
            well = made >= 0 && well;
        }
    }
    uvh_bytes_release(&out);
    uvh_ws_deflate_free(server);
    return well;
}

static void every_allocation_fails_in_turn(void **state)
{
    (void)state;
    char *data = make_data(3000, 3);
    for (int compression = 1; compression <= 2; compression++) {
        for (int on = 0; on < 2; on++) {
            bool well = false;
            size_t n = 0;
            while (!well) {
                struct site site;
                struct fault_heap heap;
                struct uvh_bytes in;
                fault_heap_init(&heap);
                site_init(&site, (uvhttp_websocket_compression_t)compression);
                uvh_bytes_init(&in, uvh_alloc_default(), MOST);
                assert_int_not_equal(uvh_ws_deflate_for_many(&site.settings, data, 3000, &in), 0);
                uvh_ws_deflate_many_release(&site.many);
                site.settings.allocator = &heap.allocator;
                fault_heap_arm(&heap, ++n, on);
                well = scenario(&site, data, &in);
                assert_int_equal(well, heap.failures == 0);
                uvh_bytes_release(&in);
                site_end(&site);
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
        cmocka_unit_test(both_sides_understand_each_other),
        cmocka_unit_test(each_side_has_its_own_terms),
        cmocka_unit_test(a_client_with_the_smallest_window),
        cmocka_unit_test(messages_refer_to_those_before),
        cmocka_unit_test(what_does_not_become_smaller_is_sent_as_it_is),
        cmocka_unit_test(an_idle_connection_holds_nothing),
        cmocka_unit_test(messages_of_many_connections_interleave),
        cmocka_unit_test(spare_inflaters_have_to_be_large_enough),
        cmocka_unit_test(windows_become_smaller_as_the_budget_does),
        cmocka_unit_test(windows_fit_a_connections_memory),
        cmocka_unit_test(without_compression_there_is_none),
        cmocka_unit_test(terms_that_need_more_than_was_reserved),
        cmocka_unit_test(a_bomb_is_stopped),
        cmocka_unit_test(the_ratio_is_exact),
        cmocka_unit_test(nonsense_harms_nobody_else),
        cmocka_unit_test(messages_to_many),
        cmocka_unit_test(a_message_that_is_given_up),
        cmocka_unit_test(what_is_no_message_to_many),
        cmocka_unit_test(many_threads_make_messages),
        cmocka_unit_test(every_allocation_fails_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void there_is_none(void **state)
{
    struct uvh_budget budget = {.limit = 1 << 20};
    struct uvh_ws_deflate_settings settings = {.compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED,
                                               .budget = &budget};
    struct uvh_ws_deflate_preferences wishes;
    size_t reserved;
    (void)state;
    assert_false(uvh_ws_deflate_preferences(&settings, &wishes, &reserved));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(there_is_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
