/* DEFLATE message by message: RFC 7692's examples byte by byte; what is made is undone by zlib and
 * what zlib makes is undone here, with every window, kept or forgotten, cut anywhere, with any
 * room; what is no DEFLATE; every allocation failing in turn. */
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
#include "platform/deflate.h"
#include "support/fault_heap.h"

#if UVHTTP_TESTS_COMPRESSION

#include <zlib.h>

enum { MOST = 3 << 20 };

static uint64_t seed = 88172645463325252;

static size_t below(size_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed % limit);
}

/* Words, and noise of some parts in 100. */
static char *make_data(size_t size, size_t noise)
{
    static const char words[] =
        "{\"type\":\"tick\",\"symbol\":\"ABC\",\"price\":1234.5678,\"volume\":100}";
    char *data = malloc(size + 1);
    assert_non_null(data);
    for (size_t i = 0; i < size;) {
        size_t length = 1 + below(12);
        size_t from = below(sizeof(words) - 13);
        bool random = below(100) < noise;
        for (; length > 0 && i < size; length--)
            data[i++] = random ? (char)below(256) : words[from++];
    }
    return data;
}

static struct uvh_bytes deflated(struct uvh_deflater *deflater, const char *data, size_t size)
{
    struct uvh_bytes out;
    uvh_bytes_init(&out, uvh_alloc_default(), 2 * MOST);
    assert_int_equal(uvh_deflater_message(deflater, data, size, &out), 0);
    return out;
}

/* Expands a message that comes in pieces of `chunk` bytes with room for `room`. Returns its length,
 * or the error. */
static long expand(struct uvh_inflater *inflater, const char *in, size_t in_size, size_t chunk,
                   size_t room, char *out, size_t out_size)
{
    size_t made = 0;
    size_t at = 0;
    do {
        size_t size = in_size - at < chunk ? in_size - at : chunk;
        bool last = at + size == in_size;
        char *copy = malloc(size > 0 ? size : 1); /* of its size, for the sanitizer */
        if (size > 0)
            memcpy(copy, in + at, size);
        bool done = false;
        for (size_t taken = 0; !done;) {
            size_t now = size - taken;
            char *part = malloc(room);
            size_t written = room;
            int err = uvh_inflater_run(inflater, copy + taken, &now, part, &written, last, &done);
            assert_true(now <= size - taken && written <= room);
            assert_true(err != 0 || done || written == room); /* it stops for nothing but room */
            assert_true(!done || taken + now == size);
            assert_true(made + written <= out_size);
            memcpy(out + made, part, written);
            free(part);
            made += written;
            taken += now;
            if (err != 0) {
                free(copy);
                return err;
            }
        }
        free(copy);
        at += size;
    } while (at < in_size);
    return (long)made;
}

static char room_for_all[MOST];

static void check_expands(struct uvh_inflater *inflater, const char *in, size_t in_size,
                          size_t chunk, size_t room, const char *data, size_t size)
{
    assert_int_equal(expand(inflater, in, in_size, chunk, room, room_for_all, sizeof(room_for_all)),
                     size);
    if (size > 0)
        assert_memory_equal(room_for_all, data, size);
}

/* zlib undoes it: with the mark behind it, all is there. */
static void check_zlib_expands(z_stream *stream, const struct uvh_bytes *in, const char *data,
                               size_t size)
{
    char *whole = malloc(in->length + 4);
    memcpy(whole, in->data, in->length);
    memcpy(whole + in->length, "\x00\x00\xff\xff", 4);
    stream->next_in = (Bytef *)whole;
    stream->avail_in = (uInt)in->length + 4;
    stream->next_out = (Bytef *)room_for_all;
    stream->avail_out = sizeof(room_for_all);
    assert_int_equal(inflate(stream, Z_SYNC_FLUSH), Z_OK);
    assert_int_equal(stream->avail_in, 0);
    assert_int_equal(sizeof(room_for_all) - stream->avail_out, size);
    if (size > 0)
        assert_memory_equal(room_for_all, data, size);
    free(whole);
}

/* ---- Examples of RFC 7692 ---- */

/* Section 7.2.3: messages that say "Hello", one block after the other with one window. */
static void the_examples_expand(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *text;
        bool fresh;
    } examples[] = {
        {"\xf2\x48\xcd\xc9\xc9\x07\x00", 7, "Hello", true}, /* 7.2.3.1 */
        /* 7.2.3.2, with the window of the one before */
        {"\xf2\x00\x11\x00\x00", 5, "Hello", false},
        {"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00", 11, "Hello", true},         /* 7.2.3.3 */
        {"\xf3\x48\xcd\xc9\xc9\x07\x00\x00", 8, "Hello", true},                      /* 7.2.3.4 */
        {"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00", 13, "Hello", true}, /* 7.2.3.5 */
        {"\x00", 1, "", true},                                                       /* 7.2.3.6 */
    };
    (void)state;
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    for (size_t chunk = 1; chunk <= 13; chunk++) {
        for (size_t room = 1; room <= 8; room++) {
            for (size_t i = 0; i < UVH_COUNT_OF(examples); i++) {
                if (examples[i].fresh)
                    uvh_inflater_reset(inflater);
                check_expands(inflater, examples[i].bytes, examples[i].size, chunk, room,
                              examples[i].text, strlen(examples[i].text));
            }
        }
    }
    uvh_inflater_free(inflater);
}

static void check_bytes(struct uvh_deflater *deflater, const char *text, const char *bytes,
                        size_t size)
{
    struct uvh_bytes out = deflated(deflater, text, strlen(text));
    assert_int_equal(out.length, size);
    assert_memory_equal(out.data, bytes, size);
    uvh_bytes_release(&out);
}

static void the_examples_are_made(void **state)
{
    (void)state;
    struct uvh_deflater *deflater = uvh_deflater_new(uvh_alloc_default(), 6, 15, 8);
    check_bytes(deflater, "Hello", "\xf2\x48\xcd\xc9\xc9\x07\x00", 7);
    check_bytes(deflater, "Hello", "\xf2\x00\x11\x00\x00", 5);
    check_bytes(deflater, "", "\0", 1);
    check_bytes(deflater, "", "\0", 1);
    /* all of it is a match, 7 bytes before */
    check_bytes(deflater, "Hello", "\x02\x13\x00\x00", 4);
    uvh_deflater_reset(deflater);
    check_bytes(deflater, "", "\0", 1);
    check_bytes(deflater, "Hello", "\xf2\x48\xcd\xc9\xc9\x07\x00", 7);
    uvh_deflater_free(deflater);
}

/* ---- Round trips ---- */

static void every_window_and_level_is_understood_by_zlib(void **state)
{
    (void)state;
    char *data = make_data(100000, 10);
    for (int bits = 9; bits <= 15; bits++) {
        for (int memory = 1; memory <= 9; memory++) {
            int level = 1 + (bits + memory) % 9;
            struct uvh_deflater *deflater =
                uvh_deflater_new(uvh_alloc_default(), level, bits, memory);
            assert_non_null(deflater);
            z_stream stream = {0};
            assert_int_equal(inflateInit2(&stream, -bits), Z_OK);
            for (size_t at = 0; at < 90000;) {
                size_t size = below(3) == 0 ? below(10000) : below(300);
                struct uvh_bytes out = deflated(deflater, data + at, size);
                check_zlib_expands(&stream, &out, data + at, size);
                at += size;
                uvh_bytes_release(&out);
            }
            inflateEnd(&stream);
            uvh_deflater_free(deflater);
        }
    }
    free(data);
}

/* zlib's own, message by message, with the mark cut off. */
static size_t zlib_message(z_stream *stream, const char *data, size_t size, char *out,
                           size_t out_size)
{
    stream->next_in = (Bytef *)(uintptr_t)data;
    stream->avail_in = (uInt)size;
    stream->next_out = (Bytef *)out;
    stream->avail_out = (uInt)out_size;
    assert_int_equal(deflate(stream, Z_SYNC_FLUSH), Z_OK);
    assert_true(stream->avail_out > 6);
    size_t made = out_size - stream->avail_out;
    assert_memory_equal(out + made - 4, "\x00\x00\xff\xff", 4);
    return made - 4;
}

static void what_zlib_makes_is_expanded(void **state)
{
    (void)state;
    static char coded[200000];
    char *data = make_data(100000, 10);
    for (int bits = 9; bits <= 15; bits++) {
        for (int takeover = 0; takeover < 2; takeover++) {
            z_stream stream = {0};
            assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, -bits, 8, Z_DEFAULT_STRATEGY),
                             Z_OK);
            struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), bits);
            assert_non_null(inflater);
            for (size_t at = 0; at < 80000;) {
                size_t size = 1 + (below(3) == 0 ? below(20000) : below(300));
                size_t length = zlib_message(&stream, data + at, size, coded, sizeof(coded));
                check_expands(inflater, coded, length, 1 + below(length), 1 + below(size + 10),
                              data + at, size);
                at += size;
                if (!takeover) {
                    deflateReset(&stream);
                    uvh_inflater_reset(inflater);
                }
            }
            deflateEnd(&stream);
            uvh_inflater_free(inflater);
        }
    }
    free(data);
}

static void any_pieces_and_any_room(void **state)
{
    (void)state;
    char *data = make_data(600, 30);
    struct uvh_deflater *deflater = uvh_deflater_new(uvh_alloc_default(), 6, 10, 3);
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 10);
    for (size_t size = 0; size <= 600; size += 1 + size / 4) {
        uvh_deflater_reset(deflater);
        struct uvh_bytes out = deflated(deflater, data, size);
        for (size_t chunk = 1; chunk <= out.length; chunk++) {
            for (size_t room = 1; room <= size + 2; room += 1 + room / 16) {
                uvh_inflater_reset(inflater);
                check_expands(inflater, out.data, out.length, chunk, room, data, size);
            }
        }
        uvh_bytes_release(&out);
    }
    uvh_deflater_free(deflater);
    uvh_inflater_free(inflater);
    free(data);
}

/* Outputs of each length around that of a chunk, so that the mark meets its end at every place:
 * nothing is there twice. */
static void output_that_just_fills_a_chunk(void **state)
{
    (void)state;
    char *noise = make_data(9000, 100);
    struct uvh_deflater *deflater = uvh_deflater_new(uvh_alloc_default(), 1, 15, 8);
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    static char expected[20000];
    for (size_t chunks = 1; chunks <= 2; chunks++) {
        for (size_t size = chunks * 4096 - 40; size < chunks * 4096 + 10; size++) {
            uvh_deflater_reset(deflater);
            deflateReset(&stream);
            struct uvh_bytes out = deflated(deflater, noise, size);
            size_t length = zlib_message(&stream, noise, size, expected, sizeof(expected));
            assert_int_equal(out.length, length);
            assert_memory_equal(out.data, expected, length);
            uvh_bytes_release(&out);
        }
    }
    deflateEnd(&stream);
    uvh_deflater_free(deflater);
    free(noise);
}

static void very_large_messages(void **state)
{
    (void)state;
    static const size_t noises[] = {0, 20, 100};
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    for (size_t i = 0; i < UVH_COUNT_OF(noises); i++) {
        char *data = make_data(MOST - 1, noises[i]);
        struct uvh_deflater *deflater = uvh_deflater_new(uvh_alloc_default(), 1, 15, 8);
        struct uvh_bytes out = deflated(deflater, data, MOST - 1);
        if (noises[i] == 100)
            assert_true(out.length < MOST + MOST / 1000);
        uvh_inflater_reset(inflater);
        check_expands(inflater, out.data, out.length, out.length, MOST - 1, data, MOST - 1);
        uvh_inflater_reset(inflater);
        check_expands(inflater, out.data, out.length, 60000, 4096, data, MOST - 1);
        uvh_bytes_release(&out);
        uvh_deflater_free(deflater);
        free(data);
    }
    uvh_inflater_free(inflater);
}

static void no_more_than_the_maximum(void **state)
{
    (void)state;
    char *data = make_data(20000, 20);
    struct uvh_deflater *deflater = uvh_deflater_new(uvh_alloc_default(), 1, 15, 8);
    struct uvh_bytes out = deflated(deflater, data, 20000);
    size_t exact = out.length;
    uvh_bytes_release(&out);
    for (size_t maximum = exact - 6; maximum <= exact; maximum++) {
        uvh_deflater_reset(deflater);
        uvh_bytes_init(&out, uvh_alloc_default(), maximum);
        assert_int_equal(uvh_deflater_message(deflater, data, 20000, &out),
                         maximum < exact ? -1 : 0);
        uvh_bytes_release(&out);
    }
    uvh_bytes_init(&out, uvh_alloc_default(), 0);
    assert_int_equal(uvh_deflater_message(deflater, NULL, 0, &out), -1);
    uvh_deflater_free(deflater);
    free(data);
}

/* ---- What others send ---- */

/* Section 7.2.3.4: blocks that say they are the last, and more behind them that refers to what was
 * before. */
static void a_last_block_is_not_the_end(void **state)
{
    (void)state;
    static char coded[4096];
    char *data = make_data(3000, 5);
    /* Three streams that end, the later ones with the window of the earlier. */
    size_t length = 0;
    for (size_t i = 0; i < 3; i++) {
        z_stream stream = {0};
        assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
        if (i > 0)
            assert_int_equal(deflateSetDictionary(&stream, (const Bytef *)data, (uInt)(i * 1000)),
                             Z_OK);
        stream.next_in = (Bytef *)data + i * 1000;
        stream.avail_in = 1000;
        stream.next_out = (Bytef *)coded + length;
        stream.avail_out = (uInt)(sizeof(coded) - length);
        assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
        length = sizeof(coded) - stream.avail_out;
        deflateEnd(&stream);
    }
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    coded[length] = 0; /* the byte that should be there */
    for (size_t extra = 0; extra < 2; extra++) {
        for (size_t chunk = 1; chunk <= length + extra; chunk += 1 + chunk / 8) {
            for (size_t room = 1; room <= 3002; room += 1 + room / 4) {
                uvh_inflater_reset(inflater);
                check_expands(inflater, coded, length + extra, chunk, room, data, 3000);
                /* and the next message is read */
                check_expands(inflater, "\x00", 1, 1, room, "", 0);
            }
        }
    }
    /* Many of them that hold nothing cost no more than their bytes. */
    char *ends = malloc(1 << 20);
    for (size_t i = 0; i < 1 << 20; i += 2)
        memcpy(ends + i, "\x03\x00", 2);
    check_expands(inflater, ends, 1 << 20, 1 << 20, 16, "", 0);
    free(ends);
    uvh_inflater_free(inflater);
    free(data);
}

/* Some send nothing where section 7.2.3.6 has a byte. */
static void a_message_without_bytes_is_empty(void **state)
{
    (void)state;
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    check_expands(inflater, "", 0, 1, 1, "", 0);
    check_expands(inflater, "\xf2\x48\xcd\xc9\xc9\x07\x00", 7, 7, 9, "Hello", 5);
    check_expands(inflater, "", 0, 1, 1, "", 0);
    check_expands(inflater, "\xf2\x00\x11\x00\x00", 5, 5, 9, "Hello", 5);
    uvh_inflater_free(inflater);
}

/* The end of a message in a piece of its own, without a byte. */
static void a_last_piece_without_bytes(void **state)
{
    (void)state;
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    for (size_t i = 0; i < 3; i++) {
        char out[16];
        size_t in_size = 7;
        size_t out_size = 5;
        bool done;
        uvh_inflater_reset(inflater);
        assert_int_equal(uvh_inflater_run(inflater, "\xf2\x48\xcd\xc9\xc9\x07\x00", &in_size, out,
                                          &out_size, false, &done),
                         0);
        assert_int_equal(in_size, 7);
        assert_int_equal(out_size, 5);
        in_size = 0;
        out_size = i == 0 ? 0 : i;
        assert_int_equal(
            uvh_inflater_run(inflater, NULL, &in_size, i == 0 ? NULL : out, &out_size, true, &done),
            0);
        assert_int_equal(out_size, 0);
        assert_true(done);
    }
    uvh_inflater_free(inflater);
}

/* A message that fills the room to its last byte is done, so nobody has to get more room for
 * nothing. */
static void room_for_exactly_the_message_is_enough(void **state)
{
    (void)state;
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    char out[5];
    size_t in_size = 7;
    size_t out_size = 5;
    bool done;
    assert_int_equal(uvh_inflater_run(inflater, "\xf2\x48\xcd\xc9\xc9\x07\x00", &in_size, out,
                                      &out_size, true, &done),
                     0);
    assert_true(done);
    assert_int_equal(out_size, 5);
    uvh_inflater_free(inflater);
}

/* Nothing comes behind a piece that is done, wherever it was cut. */
static void done_means_that_all_was_written(void **state)
{
    (void)state;
    static char zeros[300];
    char out[300];
    struct uvh_deflater *deflater = uvh_deflater_new(uvh_alloc_default(), 6, 15, 8);
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    struct uvh_bytes in = deflated(deflater, zeros, sizeof(zeros));
    for (size_t chunk = 1; chunk < in.length; chunk++) {
        for (size_t room = 1; room < sizeof(zeros); room++) {
            size_t in_size = chunk;
            size_t made = room;
            bool done;
            uvh_inflater_reset(inflater);
            assert_int_equal(
                uvh_inflater_run(inflater, in.data, &in_size, out, &made, false, &done), 0);
            if (!done)
                continue;
            in_size = 0;
            made = sizeof(out);
            assert_int_equal(uvh_inflater_run(inflater, NULL, &in_size, out, &made, false, &done),
                             0);
            assert_int_equal(made, 0);
        }
    }
    uvh_bytes_release(&in);
    uvh_inflater_free(inflater);
    uvh_deflater_free(deflater);
}

static void what_is_no_deflate(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {
        {"\x06\x00", 2}, /* a block of type 3 */
        /* a length that is not what its complement says */
        {"\x00\x05\x00\xff\xff\x48", 6},
        {"\xf2\x00\x11\x00\x00", 5},                          /* refers to what never was */
        {"\xf2\x48\xcd\xc9", 4},                              /* ends within a block */
        {"\x00\x06\x00\xf9\xff\x48", 6},                      /* the same, stored */
        {"\xf2\x48\xcd\xc9\xc9\x07\x00\x00\x00\xff\xff", 11}, /* has the mark that is left out */
        {"\xff\xff\xff\xff", 4},
        {"\x04", 1},
    };
    (void)state;
    char out[70000];
    for (size_t i = 0; i < UVH_COUNT_OF(bad); i++) {
        for (size_t chunk = 1; chunk <= bad[i].size; chunk++) {
            struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
            assert_int_equal(
                expand(inflater, bad[i].bytes, bad[i].size, chunk, 100, out, sizeof(out)),
                UVHTTP_EINVAL);
            /* What was is forgotten. */
            uvh_inflater_reset(inflater);
            check_expands(inflater, "\xf2\x48\xcd\xc9\xc9\x07\x00", 7, chunk, 3, "Hello", 5);
            uvh_inflater_free(inflater);
        }
    }
}

/* ---- Memory ---- */

static size_t largest;

static void *one_only(size_t size, void *context)
{
    largest = size;
    return uvh_alloc(context, size);
}

static void the_memory_is_known(void **state)
{
    (void)state;
    uvhttp_allocator_t allocator = *uvh_alloc_default();
    allocator.context = (void *)(uintptr_t)uvh_alloc_default();
    allocator.allocate = one_only;
    for (int bits = 9; bits <= 15; bits++) {
        struct uvh_inflater *inflater = uvh_inflater_new(&allocator, bits);
        assert_int_equal(largest, uvh_inflater_memory(bits));
        uvh_inflater_free(inflater);
        assert_true(uvh_inflater_memory(bits) >= (size_t)1 << bits);
        for (int memory = 1; memory <= 9; memory++) {
            struct uvh_deflater *deflater = uvh_deflater_new(&allocator, 6, bits, memory);
            assert_int_equal(largest, uvh_deflater_memory(bits, memory));
            uvh_deflater_free(deflater);
            assert_true(uvh_deflater_memory(bits, memory) >=
                        ((size_t)4 << bits) + ((size_t)256 << memory));
        }
    }
}

static void when_memory_runs_out(void **state)
{
    (void)state;
    struct fault_heap heap;
    fault_heap_init(&heap);
    char *data = make_data(5000, 10);
    for (size_t n = 1; n <= 8; n++) {
        fault_heap_arm(&heap, n, true);
        struct uvh_deflater *deflater = uvh_deflater_new(&heap.allocator, 6, 15, 8);
        struct uvh_inflater *inflater =
            deflater != NULL ? uvh_inflater_new(&heap.allocator, 15) : NULL;
        assert_true((deflater == NULL) == (n == 1));
        assert_true((inflater == NULL) == (n <= 2));
        if (inflater != NULL) {
            struct uvh_bytes out;
            uvh_bytes_init(&out, &heap.allocator, 100000);
            if (uvh_deflater_message(deflater, data, 5000, &out) == 0)
                check_expands(inflater, out.data, out.length, 100, 100, data, 5000);
            else
                assert_true(heap.failures > 0);
            uvh_bytes_release(&out);
        }
        uvh_deflater_free(deflater);
        uvh_inflater_free(inflater);
        assert_int_equal(heap.live, 0);
    }
    assert_int_equal(heap.failures, 0); /* the last round had all it needed */
    free(data);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_expand),
        cmocka_unit_test(the_examples_are_made),
        cmocka_unit_test(every_window_and_level_is_understood_by_zlib),
        cmocka_unit_test(what_zlib_makes_is_expanded),
        cmocka_unit_test(any_pieces_and_any_room),
        cmocka_unit_test(output_that_just_fills_a_chunk),
        cmocka_unit_test(very_large_messages),
        cmocka_unit_test(no_more_than_the_maximum),
        cmocka_unit_test(a_last_block_is_not_the_end),
        cmocka_unit_test(a_message_without_bytes_is_empty),
        cmocka_unit_test(a_last_piece_without_bytes),
        cmocka_unit_test(room_for_exactly_the_message_is_enough),
        cmocka_unit_test(done_means_that_all_was_written),
        cmocka_unit_test(what_is_no_deflate),
        cmocka_unit_test(the_memory_is_known),
        cmocka_unit_test(when_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void there_is_none(void **state)
{
    (void)state;
    assert_false(uvh_deflate_available());
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(there_is_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
