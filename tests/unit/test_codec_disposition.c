/* File names in Content-Disposition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/text.h>

static void filename_is_quoted_and_extended(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
    } rows[] = {
        {"report.pdf", "attachment; filename=\"report.pdf\""},
        {"two words, and; more", "attachment; filename=\"two words, and; more\""},
        {"", "attachment; filename=\"\""},
        {"\xc3\xa4 \xe2\x82\xac.txt",
         "attachment; filename=\"_ _.txt\"; filename*=UTF-8''%C3%A4%20%E2%82%AC.txt"},
        {"\xf0\x9f\x98\x80", "attachment; filename=\"_\"; filename*=UTF-8''%F0%9F%98%80"},
        {"say \"hi\"\\.txt",
         "attachment; filename=\"say _hi__.txt\"; filename*=UTF-8''say%20%22hi%22%5C.txt"},
        {"100%41.txt", "attachment; filename=\"100_41.txt\"; filename*=UTF-8''100%2541.txt"},
        {"a\r\nSet-Cookie: x=1\t", "attachment; filename=\"a__Set-Cookie: x=1_\"; "
                                   "filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x%3D1%09"},
        {"it's * \xc3\xa4",
         "attachment; filename=\"it's * _\"; filename*=UTF-8''it%27s%20%2A%20%C3%A4"},
        /* invalid UTF-8 */
        {"latin\xe4.txt", "attachment; filename=\"latin_.txt\""},
        /* a surrogate */
        {"\xed\xa0\x80", "attachment; filename=\"___\""},
        /* overlong */
        {"\xc0\xaf", "attachment; filename=\"__\""},
        /* U+110000 */
        {"\xf4\x90\x80\x80", "attachment; filename=\"____\""},
        {"cut\xe2\x82", "attachment; filename=\"cut__\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t size = strlen(rows[i].value) + 1;
        char *out = malloc(size); /* of exactly the size */
        size_t length =
            uvhttp_content_disposition(NULL, rows[i].name, strlen(rows[i].name), out, size);
        assert_int_equal(length, size - 1);
        assert_string_equal(out, rows[i].value);
        free(out);
    }
}

/* With every byte value. */
static void value_is_visible_ascii(void **state)
{
    (void)state;
    for (int byte = 1; byte < 256; byte++) {
        char name[40];
        memset(name, byte, sizeof name);
        size_t length = uvhttp_content_disposition("inline", name, sizeof name, NULL, 0);
        char *out = malloc(length + 1);
        assert_int_equal(uvhttp_content_disposition("inline", name, sizeof name, out, length + 1),
                         length);
        for (size_t i = 0; i < length; i++)
            assert_in_range(out[i], ' ', '~');
        free(out);
    }
}

static void kind_must_be_token(void **state)
{
    static const char *const kinds[] = {"a\r\nX: y", "inline; x", "", NULL};
    char out[64];
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uvhttp_content_disposition(kinds[i], "n", 1, out, sizeof out);
        assert_string_equal(out, "attachment; filename=\"n\"");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filename_is_quoted_and_extended),
        cmocka_unit_test(value_is_visible_ascii),
        cmocka_unit_test(kind_must_be_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
