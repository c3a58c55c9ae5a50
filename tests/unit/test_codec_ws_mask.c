/* codec/websocket/mask.h on every back end, against the definition of RFC 6455 section 5.3. */
#include "codec/websocket/mask.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/simd/payload_backend.h"
#include "support/backends.h"
#include "support/guarded.h"

enum { MOST = 700 }; /* several steps of the widest vectors, and what is left over */

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

/* Nothing is read or written behind the end, or in front. */
static void every_size_in_place(void **state)
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

static void every_alignment(void **state)
{
    (void)state;
    char *room = malloc(MOST + 64);
    assert_non_null(room);
    static const size_t sizes[] = {1,  3,  4,   7,   8,   15,  16,  17,  31,  32,  33,  63,  64, 65,
                                   66, 95, 127, 128, 129, 191, 255, 256, 257, 300, 511, 513, 640};
    for (size_t at = 0; backends_next(&at);) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (size_t shift = 0; shift < 64; shift++) {
                memcpy(room + shift, plain, sizes[i]);
                uvh_ws_mask(room + shift, sizes[i], mask, shift % 4);
                assert_masked(room + shift, sizes[i], shift % 4);
            }
        }
    }
    free(room);
}

static void copies(void **state)
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

static void a_payload_in_pieces(void **state)
{
    (void)state;
    char bytes[200];
    for (size_t at = 0; backends_next(&at);) {
        for (size_t cut = 0; cut <= sizeof bytes; cut++) {
            memcpy(bytes, plain, sizeof bytes);
            uvh_ws_mask(bytes, cut, mask, 0);
            uvh_ws_mask(bytes + cut, sizeof bytes - cut, mask, cut);
            assert_masked(bytes, sizeof bytes, 0);
        }
    }
}

/* The back end that is chosen is the one that masks. */
static void the_back_ends_change_with_that_of_heads(void **state)
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
        cmocka_unit_test(every_size_in_place),
        cmocka_unit_test(every_alignment),
        cmocka_unit_test(copies),
        cmocka_unit_test(a_payload_in_pieces),
        cmocka_unit_test(the_back_ends_change_with_that_of_heads),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
