/* codec/websocket/mask.h on every back end, compared with the definition of RFC 6455 section
 * 5.3. */
#include "codec/websocket/mask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/simd/payload_backend.h"
#include "support/backends.h"
#include "support/guarded.h"

enum { MOST = 700 }; /* several steps of the widest vectors, and a remainder */

static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};

static char plain[MOST + 8];

static int prepare(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof plain; i++)
        plain[i] = (char)(uint8_t)(i * 7 + i / 251);
    return 0;
}

static void assert_masked(const char *bytes, size_t size, size_t offset)
{
    for (size_t i = 0; i < size; i++) {
        if ((uint8_t)bytes[i] != ((uint8_t)plain[i] ^ mask[(offset + i) % 4]))
            fail_msg("byte %zu of %zu, offset %zu, back end %s", i, size, offset,
                     uvhttp_parser_backend());
    }
}

/* Nothing is read or written beyond the end or before the start. */
static void every_size_is_masked_in_place(void **state)
{
    (void)state;
    struct guarded memory = guarded_make(MOST);
    for (size_t at = 0; backends_next(&at);) {
        for (size_t size = 0; size <= MOST; size++) {
            size_t offset = size / 3 % 4;
            char *bytes = guarded_copy(&memory, plain, size);
            uvh_ws_mask(bytes, size, mask, offset);
            assert_masked(bytes, size, offset);
            bytes = guarded_copy_front(&memory, plain, size);
            uvh_ws_mask(bytes, size, mask, offset + 1);
            assert_masked(bytes, size, offset + 1);
        }
    }
}

static void every_alignment_is_masked(void **state)
{
    (void)state;
    char *buffer = malloc(MOST + 64);
    assert_non_null(buffer);
    static const size_t sizes[] = {1,  3,  4,   7,   8,   15,  16,  17,  31,  32,  33,  63,  64, 65,
                                   66, 95, 127, 128, 129, 191, 255, 256, 257, 300, 511, 513, 640};
    for (size_t at = 0; backends_next(&at);) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (size_t shift = 0; shift < 64; shift++) {
                memcpy(buffer + shift, plain, sizes[i]);
                uvh_ws_mask(buffer + shift, sizes[i], mask, shift % 4);
                assert_masked(buffer + shift, sizes[i], shift % 4);
            }
        }
    }
    free(buffer);
}

static void mask_copy_matches_definition(void **state)
{
    (void)state;
    struct guarded from = guarded_make(MOST);
    struct guarded to = guarded_make(MOST);
    for (size_t at = 0; backends_next(&at);) {
        for (size_t size = 0; size <= MOST; size++) {
            char *bytes = guarded_copy(&from, plain, size);
            char *out = to.end - size;
            uvh_ws_mask_copy(out, bytes, size, mask, size % 4);
            assert_masked(out, size, size % 4);
            assert_memory_equal(bytes, plain, size);
            uvh_ws_mask_copy(to.front, bytes, size, mask, 2);
            assert_masked(to.front, size, 2);
        }
    }
}

static void split_payload_is_masked(void **state)
{
    (void)state;
    char bytes[200];
    for (size_t at = 0; backends_next(&at);) {
        for (size_t split = 0; split <= sizeof bytes; split++) {
            memcpy(bytes, plain, sizeof bytes);
            uvh_ws_mask(bytes, split, mask, 0);
            uvh_ws_mask(bytes + split, sizeof bytes - split, mask, split);
            assert_masked(bytes, sizeof bytes, 0);
        }
    }
}

/* The selected back end is the one that masks. */
static void payload_backend_follows_parser_backend(void **state)
{
    (void)state;
    assert_true(uvhttp_parser_use_backend("swar"));
    assert_ptr_equal(uvh_payload_backend, &uvh_payload_backend_swar);
    assert_true(uvhttp_parser_use_backend(NULL));
#if defined(__x86_64__)
    if (strcmp(uvhttp_parser_backend(), "avx2") == 0)
        assert_ptr_equal(uvh_payload_backend, &uvh_payload_backend_avx2);
#elif defined(__AARCH64EL__)
    assert_ptr_equal(uvh_payload_backend, &uvh_payload_backend_neon);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_is_masked_in_place),
        cmocka_unit_test(every_alignment_is_masked),
        cmocka_unit_test(mask_copy_matches_definition),
        cmocka_unit_test(split_payload_is_masked),
        cmocka_unit_test(payload_backend_follows_parser_backend),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
