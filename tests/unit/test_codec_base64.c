/* base64 and base64url: the vectors of RFC 4648, refused texts, round trips. */
#include "codec/text/base64.h"

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

static uvhttp_slice_t slice_of(const char *text)
{
    return (uvhttp_slice_t){guarded_copy(&memory, text, strlen(text)), strlen(text)};
}

static void check_both_ways(const char *bytes, const char *text, enum uvh_base64_form form)
{
    char out[64];
    size_t size = uvh_base64_encoded_size(strlen(bytes), form);
    assert_int_equal(size, strlen(text));
    uvh_base64_encode(memory.end - size, bytes, strlen(bytes), form);
    assert_memory_equal(memory.end - size, text, size);
    ptrdiff_t length = uvh_base64_decode(slice_of(text), form, out);
    assert_int_equal(length, strlen(bytes));
    assert_memory_equal(out, bytes, (size_t)length);
}

/* RFC 4648 section 10. */
static void rfc4648_vectors_convert_both_ways(void **state)
{
    (void)state;
    static const char *const rows[][2] = {{"", ""},
                                          {"f", "Zg=="},
                                          {"fo", "Zm8="},
                                          {"foo", "Zm9v"},
                                          {"foob", "Zm9vYg=="},
                                          {"fooba", "Zm9vYmE="},
                                          {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char unpadded[16];
        snprintf(unpadded, sizeof unpadded, "%.*s", (int)strcspn(rows[i][1], "="), rows[i][1]);
        check_both_ways(rows[i][0], rows[i][1], UVH_BASE64_STANDARD);
        check_both_ways(rows[i][0], unpadded, UVH_BASE64_URL);
    }
    check_both_ways("\xfb\xff\xfe", "+//+", UVH_BASE64_STANDARD);
    check_both_ways("\xfb\xff\xfe", "-__-", UVH_BASE64_URL);
    check_both_ways("Aladdin:open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ==", UVH_BASE64_STANDARD);
}

static void invalid_texts_are_refused(void **state)
{
    (void)state;
    static const char *const standard[] = {"A===",         "AAAAA===", "Z",        "Zg",
                                           "Zg=",          "Zg===",    "Zm9",      "=",
                                           "==",           "====",     "Z===",     "Zg==Zg==",
                                           "Zg=a",         "=Zg=",     "Zm9v\n",   " Zm9",
                                           "Zm 9",         "Zm9-",     "Zm9_",     "Zm9\xff",
                                           "Zh==",         "Zm9=",     "Zm9v=",    "Zm9vZg==\n",
                                           "Zg==\n\n\n\n", "Zm9vY===", "Zm9v====", "Zm9v*m9v"};
    static const char *const url[] = {"A",   "AAAAA", "Z",    "Zg==",  "Zm8=", "Zh",
                                      "Zm9", "Zm9+",  "Zm9/", "Zm9vY", "Zm 9", "Zm9v="};
    char out[64];
    for (size_t i = 0; i < sizeof standard / sizeof standard[0]; i++)
        assert_int_equal(uvh_base64_decode(slice_of(standard[i]), UVH_BASE64_STANDARD, out), -1);
    for (size_t i = 0; i < sizeof url / sizeof url[0]; i++)
        assert_int_equal(uvh_base64_decode(slice_of(url[i]), UVH_BASE64_URL, out), -1);
    /* A NUL does not end the text. */
    assert_int_equal(uvh_base64_decode((uvhttp_slice_t){"Zm9\0", 4}, UVH_BASE64_STANDARD, out), -1);
}

/* Every text of four digits is refused, or is the encoding of the bytes that it decodes to. */
static void decodable_texts_are_canonical(void **state)
{
    (void)state;
    static const char characters[] = "AQgwZ/+-_9=";
    enum { CHARACTERS = sizeof characters - 1 };
    for (int form = UVH_BASE64_STANDARD; form <= UVH_BASE64_URL; form++) {
        unsigned taken = 0;
        for (size_t number = 0; number < (size_t)CHARACTERS * CHARACTERS * CHARACTERS * CHARACTERS;
             number++) {
            char text[4];
            char out[5];
            for (size_t i = 0, n = number; i < sizeof text; i++, n /= CHARACTERS)
                text[i] = characters[n % CHARACTERS];
            ptrdiff_t length = uvh_base64_decode((uvhttp_slice_t){text, sizeof text},
                                                 (enum uvh_base64_form)form, out);
            if (length < 0)
                continue;
            char again[4];
            assert_int_equal(uvh_base64_encoded_size((size_t)length, (enum uvh_base64_form)form),
                             sizeof text);
            uvh_base64_encode(again, out, (size_t)length, (enum uvh_base64_form)form);
            assert_memory_equal(again, text, sizeof text);
            taken++;
        }
        assert_true(taken > 8u * 8 * 8 * 8 - 1);
    }
}

static void bytes_round_trip_in_place(void **state)
{
    (void)state;
    unsigned char bytes[256];
    char text[512];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 167 + 13);
    for (int form = UVH_BASE64_STANDARD; form <= UVH_BASE64_URL; form++) {
        for (size_t length = 0; length <= sizeof bytes; length++) {
            size_t size = uvh_base64_encoded_size(length, (enum uvh_base64_form)form);
            uvh_base64_encode(text, bytes, length, (enum uvh_base64_form)form);
            ptrdiff_t decoded =
                uvh_base64_decode((uvhttp_slice_t){text, size}, (enum uvh_base64_form)form, text);
            assert_int_equal(decoded, length);
            assert_memory_equal(text, bytes, length);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc4648_vectors_convert_both_ways),
        cmocka_unit_test(invalid_texts_are_refused),
        cmocka_unit_test(decodable_texts_are_canonical),
        cmocka_unit_test(bytes_round_trip_in_place),
    };
    memory = guarded_make(4096);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
