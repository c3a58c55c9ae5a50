/* codec/fields/digest_field.h: parsing of the fields of RFC 9530, and malformed ones. */
#include "codec/fields/digest_field.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/guarded.h"

/* The digests of {"hello": "world"} with a line end, from RFC 9530 appendix B. */
#define SHA_256 "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
#define SHA_512                                                                           \
    "sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/" \
    "WkppmM44T3qg==:"

static struct guarded memory;

static bool read_field(struct uvh_digest_field *field, const char *text)
{
    size_t length = strlen(text);
    return uvh_digest_field_read(field,
                                 (uvhttp_slice_t){guarded_copy(&memory, text, length), length});
}

static void sha_256_and_sha_512_are_read(void **state)
{
    (void)state;
    static const char *const texts[] = {SHA_256 "," SHA_512, SHA_512 " ,\t" SHA_256,
                                        "," SHA_256 ";a=1, md5=:x:, " SHA_512};
    for (size_t i = 0; i < UVH_COUNT_OF(texts); i++) {
        struct uvh_digest_field field = {0};
        assert_true(read_field(&field, texts[i]));
        assert_true(field.present[UVH_DIGEST_SHA_256] && field.present[UVH_DIGEST_SHA_512]);
        assert_memory_equal(field.value[UVH_DIGEST_SHA_256], "\x44\xaf\xf4\xab\x2d\x7c\x32\x50", 8);
        assert_memory_equal(field.value[UVH_DIGEST_SHA_512], "\x60\xc0\x1a\x9b\x9d\x49\xcf\xf8", 8);
    }
}

static void other_algorithms_are_ignored(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        " ",
                                        ",",
                                        "md5=:AAAA:",
                                        "sha=:AAAA:",
                                        "sha-2567=:x:",
                                        "sha-25=::;a",
                                        "id-sha-256=:AA==:"};
    for (size_t i = 0; i < UVH_COUNT_OF(texts); i++) {
        struct uvh_digest_field field = {0};
        assert_true(read_field(&field, texts[i]));
        assert_false(field.present[UVH_DIGEST_SHA_256] || field.present[UVH_DIGEST_SHA_512]);
    }
}

static void malformed_digest_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"sha-256",
                                        "garbage",
                                        "WJG1",
                                        "SHA-256=:AAAA:",
                                        "md5=x",
                                        "x=\"a\"",
                                        "=:AAAA:",
                                        "sha-256;a",
                                        "sha-256=",
                                        "sha-256=:",
                                        "sha-256=::",
                                        "sha-256=:AAAA:",
                                        "sha-256=RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=",
                                        "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg:",
                                        "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=",
                                        SHA_256 "x",
                                        "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabD!=:",
                                        "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP_lF5HF9bvEF8FabDg=:",
                                        "sha-512=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"};
    for (size_t i = 0; i < UVH_COUNT_OF(texts); i++) {
        struct uvh_digest_field field = {0};
        assert_false(read_field(&field, texts[i]));
    }
}

static void different_digests_are_a_conflict(void **state)
{
    (void)state;
    struct uvh_digest_field field = {0};
    assert_true(read_field(&field, SHA_256));
    assert_true(read_field(&field, SHA_256));
    assert_false(field.conflict);
    assert_true(read_field(&field, "sha-256=:AK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"));
    assert_true(field.conflict);
}

static void digest_sizes_match_algorithms(void **state)
{
    (void)state;
    assert_int_equal(uvh_digest_field_size(UVH_DIGEST_SHA_256), 32);
    assert_int_equal(uvh_digest_field_size(UVH_DIGEST_SHA_512), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha_256_and_sha_512_are_read),
        cmocka_unit_test(other_algorithms_are_ignored),
        cmocka_unit_test(malformed_digest_is_refused),
        cmocka_unit_test(different_digests_are_a_conflict),
        cmocka_unit_test(digest_sizes_match_algorithms),
    };
    memory = guarded_make(4096);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
