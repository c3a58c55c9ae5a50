/* SHA-1: the examples of FIPS 180-4 (NIST's "SHA1.pdf" and "SHA_All.pdf"), and every length around
 * the ends of blocks. */
#include "codec/websocket/sha1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/guarded.h"

static struct guarded memory;

static void check(const char *bytes, size_t size, const char *expected)
{
    uint8_t digest[UVH_SHA1_SIZE];
    char text[2 * UVH_SHA1_SIZE + 1];
    uvh_sha1(guarded_copy(&memory, bytes, size), size, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, expected);
}

static void fips180_vectors_match(void **state)
{
    (void)state;
    check("abc", 3, "a9993e364706816aba3e25717850c26c9cd0d89d");
    check("", 0, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
          "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    check("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
          "lmnopqrsmnop"
          "qrstnopqrstu",
          112, "a49b2446a02c645bf419f995b67091253a04a259");
}

static void million_bytes_match_fips180(void **state)
{
    (void)state;
    enum { MILLION = 1000000 };
    uint8_t digest[UVH_SHA1_SIZE];
    static const uint8_t expected[] = {0x34, 0xaa, 0x97, 0x3c, 0xd4, 0xc4, 0xda, 0xa4, 0xf6, 0x1e,
                                       0xeb, 0x2b, 0xdb, 0xad, 0x27, 0x31, 0x65, 0x34, 0x01, 0x6f};
    char *bytes_of_a = malloc(MILLION);
    assert_non_null(bytes_of_a);
    memset(bytes_of_a, 'a', MILLION);
    uvh_sha1(bytes_of_a, MILLION, digest);
    assert_memory_equal(digest, expected, sizeof digest);
    free(bytes_of_a);
}

/* Zero bytes resemble padding: only the one bit and the length distinguish them. */
static void lengths_around_block_ends_differ(void **state)
{
    (void)state;
    enum { MOST = 200 };
    static uint8_t digests[MOST][UVH_SHA1_SIZE];
    static const char zeros[MOST];
    for (size_t size = 0; size < MOST; size++) {
        uvh_sha1(guarded_copy(&memory, zeros, size), size, digests[size]);
        for (size_t other = 0; other < size; other++)
            assert_memory_not_equal(digests[size], digests[other], UVH_SHA1_SIZE);
    }
    check(zeros, 55, "8e8832c642a6a38c74c17fc92ccedc266c108e6c");
    check(zeros, 56, "9438e360f578e12c0e0e8ed28e2c125c1cefee16");
    check(zeros, 63, "0b8bf9fc37ad802cefa6733ec62b09d5f43a1b75");
    check(zeros, 64, "c8d7d0ef0eedfa82d2ea1aa592845b9a6d4b02b7");
    check(zeros, 120, "b110a88a11436b215220486c1081dec2fb0f389a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fips180_vectors_match),
        cmocka_unit_test(million_bytes_match_fips180),
        cmocka_unit_test(lengths_around_block_ends_differ),
    };
    memory = guarded_make(4096);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
