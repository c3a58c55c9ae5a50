/* DEFLATE message by message: RFC 7692's examples byte by byte; zlib expands the output and zlib's
 * output is expanded, with every window, with and without context takeover, split anywhere, with
 * any output space; invalid data; every allocation failing in turn. */
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

/* Words, with `noise` percent of random parts. */
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

static struct uvh_bytes deflate_message(struct uvh_deflater *deflater, const char *data,
                                        size_t size)
{
    struct uvh_bytes out;
    uvh_bytes_init(&out, uvh_alloc_default(), 2 * MOST);
    assert_int_equal(uvh_deflater_message(deflater, data, size, &out), 0);
    return out;
}

/* Expands a message received in chunks of `chunk` bytes with output space of `space` bytes. Returns
 * its length, or the error. */
static long expand(struct uvh_inflater *inflater, const char *in, size_t in_size, size_t chunk,
                   size_t space, char *out, size_t out_size)
{
    size_t produced = 0;
    size_t at = 0;
    do {
        size_t size = in_size - at < chunk ? in_size - at : chunk;
        bool last = at + size == in_size;
        char *copy = malloc(size > 0 ? size : 1); /* of exact size, for the sanitizer */
        if (size > 0)
            memcpy(copy, in + at, size);
        bool done = false;
        for (size_t taken = 0; !done;) {
            size_t now = size - taken;
            char *part = malloc(space);
            size_t written = space;
            int err = uvh_inflater_run(inflater, copy + taken, &now, part, &written, last, &done);
            assert_true(now <= size - taken && written <= space);
            assert_true(err != 0 || done || written == space); /* it only stops for lack of space */
            assert_true(!done || taken + now == size);
            assert_true(produced + written <= out_size);
            memcpy(out + produced, part, written);
            free(part);
            produced += written;
            taken += now;
            if (err != 0) {
                free(copy);
                return err;
            }
        }
        free(copy);
        at += size;
    } while (at < in_size);
    return (long)produced;
}

static char output[MOST];

static void check_expands(struct uvh_inflater *inflater, const char *in, size_t in_size,
                          size_t chunk, size_t space, const char *data, size_t size)
{
    assert_int_equal(expand(inflater, in, in_size, chunk, space, output, sizeof(output)), size);
    if (size > 0)
        assert_memory_equal(output, data, size);
}

/* zlib expands it: with the removed tail (00 00 ff ff) appended, the message is complete. */
static void check_zlib_expands(z_stream *stream, const struct uvh_bytes *in, const char *data,
                               size_t size)
{
    char *whole = malloc(in->length + 4);
    memcpy(whole, in->data, in->length);
    memcpy(whole + in->length, "\x00\x00\xff\xff", 4);
    stream->next_in = (Bytef *)whole;
    stream->avail_in = (uInt)in->length + 4;
    stream->next_out = (Bytef *)output;
    stream->avail_out = sizeof(output);
    assert_int_equal(inflate(stream, Z_SYNC_FLUSH), Z_OK);
    assert_int_equal(stream->avail_in, 0);
    assert_int_equal(sizeof(output) - stream->avail_out, size);
    if (size > 0)
        assert_memory_equal(output, data, size);
    free(whole);
}

/* ---- Examples of RFC 7692 ---- */

/* Section 7.2.3: messages of "Hello", one block after the other with one window. */
static void rfc7692_examples_are_expanded(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *text;
        bool fresh;
    } examples[] = {
        {"\xf2\x48\xcd\xc9\xc9\x07\x00", 7, "Hello", true}, /* 7.2.3.1 */
        /* 7.2.3.2, with the window of the previous message */
        {"\xf2\x00\x11\x00\x00", 5, "Hello", false},
        {"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00", 11, "Hello", true},         /* 7.2.3.3 */
        {"\xf3\x48\xcd\xc9\xc9\x07\x00\x00", 8, "Hello", true},                      /* 7.2.3.4 */
        {"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00", 13, "Hello", true}, /* 7.2.3.5 */
        {"\x00", 1, "", true},                                                       /* 7.2.3.6 */
    };
    (void)state;
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    for (size_t chunk = 1; chunk <= 13; chunk++) {
        for (size_t space = 1; space <= 8; space++) {
            for (size_t i = 0; i < UVH_COUNT_OF(examples); i++) {
                if (examples[i].fresh)
                    uvh_inflater_reset(inflater);
                check_expands(inflater, examples[i].bytes, examples[i].size, chunk, space,
                              examples[i].text, strlen(examples[i].text));
            }
        }
    }
    uvh_inflater_free(inflater);
}

static void check_bytes(struct uvh_deflater *deflater, const char *text, const char *bytes,
                        size_t size)
{
    struct uvh_bytes out = deflate_message(deflater, text, strlen(text));
    assert_int_equal(out.length, size);
    assert_memory_equal(out.data, bytes, size);
    uvh_bytes_release(&out);
}

static void rfc7692_examples_are_produced(void **state)
{
    (void)state;
    struct uvh_deflater *deflater = uvh_deflater_new(uvh_alloc_default(), 6, 15, 8);
    check_bytes(deflater, "Hello", "\xf2\x48\xcd\xc9\xc9\x07\x00", 7);
    check_bytes(deflater, "Hello", "\xf2\x00\x11\x00\x00", 5);
    check_bytes(deflater, "", "\0", 1);
    check_bytes(deflater, "", "\0", 1);
    /* one match, at a distance of 7 bytes */
    check_bytes(deflater, "Hello", "\x02\x13\x00\x00", 4);
    uvh_deflater_reset(deflater);
    check_bytes(deflater, "", "\0", 1);
    check_bytes(deflater, "Hello", "\xf2\x48\xcd\xc9\xc9\x07\x00", 7);
    uvh_deflater_free(deflater);
}

/* ---- Round trips ---- */

static void zlib_expands_every_window_and_level(void **state)
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
                struct uvh_bytes out = deflate_message(deflater, data + at, size);
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

/* Output of zlib, message by message, with the tail (00 00 ff ff) removed. */
static size_t zlib_message(z_stream *stream, const char *data, size_t size, char *out,
                           size_t out_size)
{
    stream->next_in = (Bytef *)(uintptr_t)data;
    stream->avail_in = (uInt)size;
    stream->next_out = (Bytef *)out;
    stream->avail_out = (uInt)out_size;
    assert_int_equal(deflate(stream, Z_SYNC_FLUSH), Z_OK);
    assert_true(stream->avail_out > 6);
    size_t produced = out_size - stream->avail_out;
    assert_memory_equal(out + produced - 4, "\x00\x00\xff\xff", 4);
    return produced - 4;
}

static void zlib_output_is_expanded(void **state)
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

static void any_chunk_and_output_size_works(void **state)
{
    (void)state;
    char *data = make_data(600, 30);
    struct uvh_deflater *deflater = uvh_deflater_new(uvh_alloc_default(), 6, 10, 3);
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 10);
    for (size_t size = 0; size <= 600; size += 1 + size / 4) {
        uvh_deflater_reset(deflater);
        struct uvh_bytes out = deflate_message(deflater, data, size);
        for (size_t chunk = 1; chunk <= out.length; chunk++) {
            for (size_t space = 1; space <= size + 2; space += 1 + space / 16) {
                uvh_inflater_reset(inflater);
                check_expands(inflater, out.data, out.length, chunk, space, data, size);
            }
        }
        uvh_bytes_release(&out);
    }
    uvh_deflater_free(deflater);
    uvh_inflater_free(inflater);
    free(data);
}

/* Outputs of all lengths around the size of a chunk, so that the tail is at every offset of its
 * end: no byte is duplicated. */
static void output_at_chunk_size_is_complete(void **state)
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
            struct uvh_bytes out = deflate_message(deflater, noise, size);
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

static void very_large_messages_round_trip(void **state)
{
    (void)state;
    static const size_t noises[] = {0, 20, 100};
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    for (size_t i = 0; i < UVH_COUNT_OF(noises); i++) {
        char *data = make_data(MOST - 1, noises[i]);
        struct uvh_deflater *deflater = uvh_deflater_new(uvh_alloc_default(), 1, 15, 8);
        struct uvh_bytes out = deflate_message(deflater, data, MOST - 1);
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

static void output_maximum_is_exact(void **state)
{
    (void)state;
    char *data = make_data(20000, 20);
    struct uvh_deflater *deflater = uvh_deflater_new(uvh_alloc_default(), 1, 15, 8);
    struct uvh_bytes out = deflate_message(deflater, data, 20000);
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

/* ---- Messages of other implementations ---- */

/* Section 7.2.3.4: blocks with BFINAL set, followed by blocks that refer to earlier data. */
static void final_block_does_not_end_message(void **state)
{
    (void)state;
    static char coded[4096];
    char *data = make_data(3000, 5);
    /* Three streams with an end, the later ones with the window of the earlier ones. */
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
    coded[length] = 0; /* the required last byte */
    for (size_t extra = 0; extra < 2; extra++) {
        for (size_t chunk = 1; chunk <= length + extra; chunk += 1 + chunk / 8) {
            for (size_t space = 1; space <= 3002; space += 1 + space / 4) {
                uvh_inflater_reset(inflater);
                check_expands(inflater, coded, length + extra, chunk, space, data, 3000);
                /* and the next message is read */
                check_expands(inflater, "\x00", 1, 1, space, "", 0);
            }
        }
    }
    /* Many empty final blocks cost no more than their bytes. */
    char *ends = malloc(1 << 20);
    for (size_t i = 0; i < 1 << 20; i += 2)
        memcpy(ends + i, "\x03\x00", 2);
    check_expands(inflater, ends, 1 << 20, 1 << 20, 16, "", 0);
    free(ends);
    uvh_inflater_free(inflater);
    free(data);
}

/* Some implementations send nothing where section 7.2.3.6 has one byte. */
static void message_without_bytes_is_empty(void **state)
{
    (void)state;
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    check_expands(inflater, "", 0, 1, 1, "", 0);
    check_expands(inflater, "\xf2\x48\xcd\xc9\xc9\x07\x00", 7, 7, 9, "Hello", 5);
    check_expands(inflater, "", 0, 1, 1, "", 0);
    check_expands(inflater, "\xf2\x00\x11\x00\x00", 5, 5, 9, "Hello", 5);
    uvh_inflater_free(inflater);
}

/* The end of a message as a chunk of its own, without bytes. */
static void empty_last_chunk_ends_message(void **state)
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

/* A message that exactly fills the output space is done, so that the caller need not provide more
 * space. */
static void output_of_exact_size_is_done(void **state)
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

/* No output follows a chunk that is done, at any split. */
static void done_means_all_output_written(void **state)
{
    (void)state;
    static char zeros[300];
    char out[300];
    struct uvh_deflater *deflater = uvh_deflater_new(uvh_alloc_default(), 6, 15, 8);
    struct uvh_inflater *inflater = uvh_inflater_new(uvh_alloc_default(), 15);
    struct uvh_bytes in = deflate_message(deflater, zeros, sizeof(zeros));
    for (size_t chunk = 1; chunk < in.length; chunk++) {
        for (size_t space = 1; space < sizeof(zeros); space++) {
            size_t in_size = chunk;
            size_t produced = space;
            bool done;
            uvh_inflater_reset(inflater);
            assert_int_equal(
                uvh_inflater_run(inflater, in.data, &in_size, out, &produced, false, &done), 0);
            if (!done)
                continue;
            in_size = 0;
            produced = sizeof(out);
            assert_int_equal(
                uvh_inflater_run(inflater, NULL, &in_size, out, &produced, false, &done), 0);
            assert_int_equal(produced, 0);
        }
    }
    uvh_bytes_release(&in);
    uvh_inflater_free(inflater);
    uvh_deflater_free(deflater);
}

static void invalid_deflate_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {
        {"\x06\x00", 2}, /* a block of type 3 */
        /* a length that does not match its complement */
        {"\x00\x05\x00\xff\xff\x48", 6},
        {"\xf2\x00\x11\x00\x00", 5},     /* a distance beyond the start */
        {"\xf2\x48\xcd\xc9", 4},         /* ends within a block */
        {"\x00\x06\x00\xf9\xff\x48", 6}, /* the same, stored */
        /* with the tail that must be removed */
        {"\xf2\x48\xcd\xc9\xc9\x07\x00\x00\x00\xff\xff", 11},
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
            /* A reset discards the error. */
            uvh_inflater_reset(inflater);
            check_expands(inflater, "\xf2\x48\xcd\xc9\xc9\x07\x00", 7, chunk, 3, "Hello", 5);
            uvh_inflater_free(inflater);
        }
    }
}

/* ---- Memory ---- */

static size_t last_size;

static void *record_size(size_t size, void *context)
{
    last_size = size;
    return uvh_alloc(context, size);
}

static void memory_functions_match_allocations(void **state)
{
    (void)state;
    uvhttp_allocator_t allocator = *uvh_alloc_default();
    allocator.context = (void *)(uintptr_t)uvh_alloc_default();
    allocator.allocate = record_size;
    for (int bits = 9; bits <= 15; bits++) {
        struct uvh_inflater *inflater = uvh_inflater_new(&allocator, bits);
        assert_int_equal(last_size, uvh_inflater_memory(bits));
        uvh_inflater_free(inflater);
        assert_true(uvh_inflater_memory(bits) >= (size_t)1 << bits);
        for (int memory = 1; memory <= 9; memory++) {
            struct uvh_deflater *deflater = uvh_deflater_new(&allocator, 6, bits, memory);
            assert_int_equal(last_size, uvh_deflater_memory(bits, memory));
            uvh_deflater_free(deflater);
            assert_true(uvh_deflater_memory(bits, memory) >=
                        ((size_t)4 << bits) + ((size_t)256 << memory));
        }
    }
}

static void failed_allocations_are_reported(void **state)
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
    assert_int_equal(heap.failures, 0); /* the last round had all the memory it needed */
    free(data);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc7692_examples_are_expanded),
        cmocka_unit_test(rfc7692_examples_are_produced),
        cmocka_unit_test(zlib_expands_every_window_and_level),
        cmocka_unit_test(zlib_output_is_expanded),
        cmocka_unit_test(any_chunk_and_output_size_works),
        cmocka_unit_test(output_at_chunk_size_is_complete),
        cmocka_unit_test(very_large_messages_round_trip),
        cmocka_unit_test(output_maximum_is_exact),
        cmocka_unit_test(final_block_does_not_end_message),
        cmocka_unit_test(message_without_bytes_is_empty),
        cmocka_unit_test(empty_last_chunk_ends_message),
        cmocka_unit_test(output_of_exact_size_is_done),
        cmocka_unit_test(done_means_all_output_written),
        cmocka_unit_test(invalid_deflate_is_refused),
        cmocka_unit_test(memory_functions_match_allocations),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void deflate_is_unavailable(void **state)
{
    (void)state;
    assert_false(uvh_deflate_available());
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(deflate_is_unavailable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
