/* uvhttp/text.h: media types, percent-encoding, HTML, base64. Content-Disposition has a file of its
 * own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/text.h>

#include "base/compiler.h"
#include "base/slice.h"

static void media_types_ignore_parameters_and_case(void **state)
{
    (void)state;
    static const struct {
        const char *value, *types;
        bool is;
    } rows[] = {
        {"application/json", "application/json", true},
        {"Application/JSON", "application/json", true},
        {"application/json; charset=utf-8", "application/json", true},
        {"application/json;charset=utf-8", "text/html, application/json", true},
        {"application/json \t; a=b", "text/html application/json", true},
        {"application/jsonfoo", "application/json", false},
        {"application/jso", "application/json", false},
        {"text/plain; a=application/json", "application/json", false},
        {"application/problem+json", "application/json", false},
        {"application/problem+json", "application/json +json", true},
        {"text/html", "text/*", true},
        {"textual/html", "text/*", false},
        {"image/png", "*/*", true},
        {"", "*/*", false},
        {";a=b", "*/*", false},
        {"text/html", "", false},
        {NULL, "*/*", false},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        if (uvhttp_media_type_is(uvh_slice(rows[i].value), rows[i].types) != rows[i].is)
            fail_msg("%s in %s", rows[i].value, rows[i].types);
    }
}

typedef size_t (*encoder)(const char *text, size_t length, char *out, size_t size);

static size_t base64(const char *text, size_t length, char *out, size_t size)
{
    return uvhttp_base64_encode(text, length, out, size);
}

static size_t base64url(const char *text, size_t length, char *out, size_t size)
{
    return uvhttp_base64url_encode(text, length, out, size);
}

static size_t disposition(const char *text, size_t length, char *out, size_t size)
{
    return uvhttp_content_disposition("inline", text, length, out, size);
}

/* With each size of the buffer: written completely or not at all. */
static void encoders_write_all_or_nothing(void **state)
{
    (void)state;
    static const struct {
        encoder encode;
        const char *text, *result;
    } rows[] = {
        {uvhttp_percent_encode, "", ""},
        {uvhttp_percent_encode, "aZ09-._~", "aZ09-._~"},
        {uvhttp_percent_encode, "a b/c?d=e&f+g%\xc3\xa4", "a%20b%2Fc%3Fd%3De%26f%2Bg%25%C3%A4"},
        {uvhttp_percent_encode, "!$'()*,;:@\x7f\x01", "%21%24%27%28%29%2A%2C%3B%3A%40%7F%01"},
        {uvhttp_html_escape, "", ""},
        {uvhttp_html_escape, "<a href=\"b\">c & 'd'</a>",
         "&lt;a href=&quot;b&quot;&gt;c &amp; &#39;d&#39;&lt;/a&gt;"},
        {uvhttp_html_escape,
         "gr\xc3\xbc\xc3\x9f"
         "e",
         "gr\xc3\xbc\xc3\x9f"
         "e"},
        {base64, "", ""},
        {base64, "f", "Zg=="},
        {base64, "fo", "Zm8="},
        {base64, "foo", "Zm9v"},
        {base64, "\xfb\xff\xfe", "+//+"},
        {base64url, "f", "Zg"},
        {base64url, "fo", "Zm8"},
        {base64url, "\xfb\xff\xfe", "-__-"},
        {disposition, "a.txt", "inline; filename=\"a.txt\""},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        size_t length = strlen(rows[i].result);
        for (size_t size = 0; size <= length + 2; size++) {
            char out[128];
            memset(out, '#', sizeof(out));
            assert_int_equal(rows[i].encode(rows[i].text, strlen(rows[i].text), out, size), length);
            if (size > length)
                assert_string_equal(out, rows[i].result);
            assert_int_equal(out[size > length ? length + 1 : 0], '#');
        }
        assert_int_equal(rows[i].encode(rows[i].text, strlen(rows[i].text), NULL, 0), length);
    }
}

static void percent_encoding_covers_nul(void **state)
{
    (void)state;
    char out[16];
    assert_int_equal(uvhttp_percent_encode("a\0b", 3, out, sizeof(out)), 5);
    assert_string_equal(out, "a%00b");
}

static void base64_decoding_is_strict_and_bounded(void **state)
{
    (void)state;
    char out[16];
    static const struct {
        const char *text, *data;
    } rows[] = {{"", ""}, {"Zg==", "f"}, {"Zm8=", "fo"}, {"Zm9v", "foo"}, {"Zm9vYg==", "foob"}};
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        size_t length = strlen(rows[i].text), wanted = strlen(rows[i].data);
        assert_int_equal(uvhttp_base64_decode(rows[i].text, length, out, wanted), wanted);
        assert_memory_equal(out, rows[i].data, wanted);
        if (wanted > 0)
            assert_int_equal(uvhttp_base64_decode(rows[i].text, length, out, wanted - 1), -1);
        size_t digits = strcspn(rows[i].text, "=");
        assert_int_equal(uvhttp_base64url_decode(rows[i].text, digits, out, wanted), wanted);
        assert_memory_equal(out, rows[i].data, wanted);
        if (wanted > 0)
            assert_int_equal(uvhttp_base64url_decode(rows[i].text, digits, out, wanted - 1), -1);
    }
    static const char *const invalid[] = {
        "Z", "Zg", "Zg=", "Zm9v=", "Zm 9", "Zh==", "====", "-_-_"};
    for (size_t i = 0; i < UVH_COUNT_OF(invalid); i++)
        assert_int_equal(uvhttp_base64_decode(invalid[i], strlen(invalid[i]), out, sizeof(out)),
                         -1);
    assert_int_equal(uvhttp_base64url_decode("Zg==", 4, out, sizeof(out)), -1);
    assert_int_equal(uvhttp_base64url_decode("+/+/", 4, out, sizeof(out)), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(media_types_ignore_parameters_and_case),
        cmocka_unit_test(encoders_write_all_or_nothing),
        cmocka_unit_test(percent_encoding_covers_nul),
        cmocka_unit_test(base64_decoding_is_strict_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
