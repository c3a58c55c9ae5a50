/* The hash: every byte, the length and the seed change it; the alignment does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

enum { LONGEST = 300 };

static void hash_is_independent_of_alignment(void **state)
{
    (void)state;
    unsigned char bytes[LONGEST], moved[LONGEST + 8];
    for (size_t i = 0; i < LONGEST; i++)
        bytes[i] = (unsigned char)(i * 37);
    for (size_t length = 0; length <= LONGEST; length++) {
        for (size_t shift = 0; shift < 8; shift++) {
            memcpy(moved + shift, bytes, length);
            assert_true(uvh_hash(moved + shift, length, 5) == uvh_hash(bytes, length, 5));
        }
    }
}

static void hash_depends_on_bytes_length_and_seed(void **state)
{
    (void)state;
    unsigned char bytes[LONGEST] = {0};
    for (size_t length = 1; length <= LONGEST; length++) {
        uint64_t plain = uvh_hash(bytes, length, 0);
        assert_true(plain != uvh_hash(bytes, length - 1, 0));
        assert_true(plain != uvh_hash(bytes, length, 1));
        for (size_t at = 0; at < length; at += 7) {
            bytes[at] = 1;
            assert_true(plain != uvh_hash(bytes, length, 0));
            bytes[at] = 0;
        }
    }
}

/* Values printed by `xxhsum -H2`; the hash must not change, since entity tags are made of it. */
static void wide_hash_matches_xxh3_128(void **state)
{
    (void)state;
    static const unsigned char empty[] = {0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47, 0x98, 0xd8,
                                          0x60, 0x01, 0xc3, 0x24, 0x46, 0x8d, 0x49, 0x7f};
    static const unsigned char hello[] = {0xb5, 0xe9, 0xc1, 0xad, 0x07, 0x1b, 0x3e, 0x7f,
                                          0xc7, 0x79, 0xcf, 0xaa, 0x5e, 0x52, 0x38, 0x18};
    unsigned char hash[UVH_HASH_WIDE_SIZE];
    uvh_hash_wide(NULL, 0, hash);
    assert_memory_equal(hash, empty, sizeof(empty));
    uvh_hash_wide("hello", 5, hash);
    assert_memory_equal(hash, hello, sizeof(hello));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_is_independent_of_alignment),
        cmocka_unit_test(hash_depends_on_bytes_length_and_seed),
        cmocka_unit_test(wide_hash_matches_xxh3_128),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
