/* Compression: the decoders of the libraries decode the output for any chunks of input; the gzip
 * format; deterministic output; and every allocation failing in turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "platform/compress.h"
#include "support/fault_heap.h"

#if UVHTTP_TESTS_COMPRESSION

#include "support/undo_coding.h"

enum { MOST = 4 << 20 };

static const enum uvh_coding all[] = {UVH_CODING_GZIP, UVH_CODING_BROTLI, UVH_CODING_ZSTD};

static uint64_t seed = 88172645463325252;

static size_t random_below(size_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed % limit);
}

/* Words and noise, to have matches and literals. */
static char *make_data(size_t size)
{
    static const char words[] =
        "the quick brown fox jumps over the lazy dog <div class=\"content\">";
    char *data = malloc(size + 1);
    assert_non_null(data);
    for (size_t i = 0; i < size;) {
        size_t length = 1 + random_below(12);
        size_t from = random_below(sizeof(words) - 13);
        bool noise = random_below(8) == 0;
        for (; length > 0 && i < size; length--)
            data[i++] = noise ? (char)random_below(256) : words[from++];
    }
    return data;
}

static void check(enum uvh_coding coding, const char *in, size_t size, const char *data,
                  size_t data_size, bool complete)
{
    static char out[MOST];
    assert_true(data_size < sizeof(out));
    assert_int_equal(undo_coding(coding, in, size, out, sizeof(out), complete), data_size);
    if (data_size > 0)
        assert_memory_equal(out, data, data_size);
}

static void whole_data_round_trips(void **state)
{
    static const size_t sizes[] = {0, 1, 2, 100, 4096, 65535, 65536, 300000, MOST - 1};
    (void)state;
    for (size_t c = 0; c < UVH_COUNT_OF(all); c++) {
        for (size_t s = 0; s < UVH_COUNT_OF(sizes); s++) {
            char *data = make_data(sizes[s]);
            struct uvh_bytes out;
            uvh_bytes_init(&out, uvh_alloc_default(), 2 * MOST);
            assert_int_equal(uvh_bytes_append_text(&out, "before"), 0);
            assert_int_equal(
                uvh_compress_bytes(NULL, all[c], UVH_COMPRESS_DEFAULT, data, sizes[s], &out), 0);
            assert_memory_equal(out.data, "before", 6);
            check(all[c], out.data + 6, out.length - 6, data, sizes[s], true);
            uvh_bytes_release(&out);
            free(data);
        }
    }
}

static void every_level_round_trips(void **state)
{
    (void)state;
    char *data = make_data(50000);
    for (size_t c = 0; c < UVH_COUNT_OF(all); c++) {
        size_t best_size = 0;
        for (int level = UVH_COMPRESS_BEST; level <= uvh_compress_level_most(all[c]); level++) {
            struct uvh_bytes out;
            uvh_bytes_init(&out, uvh_alloc_default(), MOST);
            assert_int_equal(uvh_compress_bytes(NULL, all[c], level, data, 50000, &out), 0);
            check(all[c], out.data, out.length, data, 50000, true);
            if (level == UVH_COMPRESS_BEST)
                best_size = out.length;
            else if (level == UVH_COMPRESS_DEFAULT)
                assert_true(best_size < out.length);
            uvh_bytes_release(&out);
        }
        struct uvh_compressor *compressor;
        assert_int_equal(
            uvh_compressor_new(&compressor, NULL, all[c], uvh_compress_level_most(all[c]) + 1, 1),
            UVHTTP_EINVAL);
        assert_int_equal(uvh_compressor_new(&compressor, NULL, all[c], -2, 1), UVHTTP_EINVAL);
    }
    free(data);
}

static void output_is_gzip_and_deterministic(void **state)
{
    static const unsigned char head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0}; /* no time stamp */
    (void)state;
    char *data = make_data(200000);
    for (size_t c = 0; c < UVH_COUNT_OF(all); c++) {
        struct uvh_bytes out[2];
        for (int i = 0; i < 2; i++) {
            uvh_bytes_init(&out[i], uvh_alloc_default(), MOST);
            assert_int_equal(
                uvh_compress_bytes(NULL, all[c], UVH_COMPRESS_DEFAULT, data, 200000, &out[i]), 0);
        }
        assert_int_equal(out[0].length, out[1].length);
        assert_memory_equal(out[0].data, out[1].data, out[0].length);
        if (all[c] == UVH_CODING_GZIP)
            assert_memory_equal(out[0].data, head, 8);
        uvh_bytes_release(&out[0]);
        uvh_bytes_release(&out[1]);
    }
    free(data);
}

static void output_maximum_is_exact(void **state)
{
    (void)state;
    char *data = make_data(100000);
    for (size_t c = 0; c < UVH_COUNT_OF(all); c++) {
        struct uvh_bytes out;
        uvh_bytes_init(&out, uvh_alloc_default(), MOST);
        assert_int_equal(uvh_compress_bytes(NULL, all[c], 1, data, 100000, &out), 0);
        size_t exact = out.length;
        uvh_bytes_release(&out);
        uvh_bytes_init(&out, uvh_alloc_default(), exact + 2);
        uvh_bytes_append_text(&out, "ab");
        assert_int_equal(uvh_compress_bytes(NULL, all[c], 1, data, 100000, &out), 0);
        uvh_bytes_release(&out);
        uvh_bytes_init(&out, uvh_alloc_default(), exact + 1);
        uvh_bytes_append_text(&out, "ab");
        assert_int_equal(uvh_compress_bytes(NULL, all[c], 1, data, 100000, &out), UVHTTP_ETOOLARGE);
        assert_int_equal(out.length, 2);
        uvh_bytes_release(&out);
    }
    free(data);
}

/* Random data in random slices with random output space, flushed at random: flushed data can be
 * decoded at once. Returns 0 or the error. */
static int compress_in_slices(const uvhttp_allocator_t *allocator, enum uvh_coding coding,
                              const char *data, size_t size, uint64_t hint, size_t most_output)
{
    struct uvh_compressor *compressor;
    int err = uvh_compressor_new(&compressor, allocator, coding, (int)random_below(4), hint);
    if (err != 0)
        return err;
    size_t capacity = 2 * size + 100000, produced = 0, consumed = 0;
    char *out = malloc(capacity);
    assert_non_null(out);
    bool done = false;
    while (err == 0 && !(done && consumed == size)) {
        size_t slice = random_below(3) == 0 ? size - consumed : random_below(1 + (size - consumed));
        enum uvh_compress_mode mode =
            random_below(3) == 0 ? UVH_COMPRESS_FLUSH : UVH_COMPRESS_PROCESS;
        if (slice == size - consumed)
            mode = UVH_COMPRESS_FINISH;
        done = false;
        for (size_t left = slice; err == 0 && !done;) {
            size_t taken = left, written = random_below(most_output);
            assert_true(produced + written <= capacity);
            err = uvh_compressor_run(compressor, data + consumed, &taken, out + produced, &written,
                                     mode, &done);
            consumed += taken;
            left -= taken;
            produced += written;
            assert_true(err != 0 || !done || left == 0);
        }
        if (err == 0 && mode != UVH_COMPRESS_PROCESS)
            check(coding, out, produced, data, consumed, mode == UVH_COMPRESS_FINISH);
    }
    if (err == 0) { /* nothing after the end */
        size_t none = 0, nothing = 0;
        assert_int_equal(
            uvh_compressor_run(compressor, "", &none, out, &nothing, UVH_COMPRESS_FINISH, &done),
            UVHTTP_EINVAL);
    }
    free(out);
    uvh_compressor_free(compressor);
    return err;
}

static void random_slices_round_trip(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        size_t size = random_below(round % 10 == 0 ? 1000000 : 20000);
        char *data = make_data(size);
        uint64_t hint = round % 3 == 0   ? UVH_COMPRESS_SIZE_UNKNOWN
                        : round % 3 == 1 ? size
                                         : random_below(100000);
        for (size_t c = 0; c < UVH_COUNT_OF(all); c++)
            assert_int_equal(
                compress_in_slices(NULL, all[c], data, size, hint, round % 2 == 0 ? 64 : 70000), 0);
        free(data);
    }
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    char *data = make_data(70000);
    struct fault_heap heap;
    fault_heap_init(&heap);
    for (size_t c = 0; c < UVH_COUNT_OF(all); c++) {
        for (int kind = 0; kind < 3; kind++) {
            int err = UVHTTP_ENOMEM;
            size_t n = 1;
            for (; err != 0; n++) {
                assert_true(n < 1000);
                fault_heap_arm(&heap, n, n % 2 == 0);
                if (kind == 0) {
                    struct uvh_bytes out;
                    uvh_bytes_init(&out, &heap.allocator, MOST);
                    err = uvh_compress_bytes(&heap.allocator, all[c], 0, data, 70000, &out);
                    if (err == 0)
                        check(all[c], out.data, out.length, data, 70000, true);
                    uvh_bytes_release(&out);
                } else {
                    err = compress_in_slices(&heap.allocator, all[c], data, 70000,
                                             kind == 1 ? UVH_COMPRESS_SIZE_UNKNOWN : 70000, 4000);
                }
                if (err != 0)
                    assert_int_equal(err, UVHTTP_ENOMEM);
                assert_int_equal(heap.live, 0);
            }
            assert_true(n > 2); /* the library allocates, too */
        }
    }
    free(data);
}

static void invalid_use_is_refused(void **state)
{
    (void)state;
    struct uvh_compressor *compressor;
    assert_int_equal(uvh_compressor_new(&compressor, NULL, UVH_CODING_IDENTITY, 0, 0),
                     UVHTTP_ENOTSUP);
    assert_null(compressor);
    uvh_compressor_free(NULL);
    assert_false(uvh_compress_supported(UVH_CODING_IDENTITY));
    char *data = make_data(100000);
    for (size_t c = 0; c < UVH_COUNT_OF(all); c++) {
        assert_true(uvh_compress_supported(all[c]));
        char out[16];
        size_t in_size = 100000, out_size = sizeof(out);
        bool done;
        assert_int_equal(
            uvh_compressor_new(&compressor, NULL, all[c], 0, UVH_COMPRESS_SIZE_UNKNOWN), 0);
        assert_int_equal(uvh_compressor_run(compressor, data, &in_size, out, &out_size,
                                            UVH_COMPRESS_FLUSH, &done),
                         0);
        assert_false(done);
        in_size = 100000 - in_size, out_size = sizeof(out);
        assert_int_equal(uvh_compressor_run(compressor, data, &in_size, out, &out_size,
                                            UVH_COMPRESS_FINISH, &done),
                         UVHTTP_EINVAL);
        assert_false(done);
        assert_int_equal(out_size, 0);
        uvh_compressor_free(compressor);
    }
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_data_round_trips),
        cmocka_unit_test(every_level_round_trips),
        cmocka_unit_test(output_is_gzip_and_deterministic),
        cmocka_unit_test(output_maximum_is_exact),
        cmocka_unit_test(random_slices_round_trip),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(invalid_use_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void functions_fail_without_compression(void **state)
{
    (void)state;
    struct uvh_compressor *compressor;
    struct uvh_bytes out;
    uvh_bytes_init(&out, uvh_alloc_default(), 100);
    assert_int_equal(uvh_compress_codings(), 0);
    assert_false(uvh_compress_supported(UVH_CODING_GZIP));
    assert_int_equal(uvh_compressor_new(&compressor, NULL, UVH_CODING_GZIP, 0, 0), UVHTTP_ENOTSUP);
    uvh_compressor_free(compressor);
    assert_int_equal(uvh_compress_bytes(NULL, UVH_CODING_GZIP, 0, "a", 1, &out), UVHTTP_ENOTSUP);
    assert_int_equal(out.length, 0);
    uvh_bytes_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_fail_without_compression)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
