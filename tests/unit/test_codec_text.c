/* uvhttp/text.h: media types, percent-encoding, HTML, JSON strings, times, numbers, UTF-8, base64.
 * Content-Disposition has a file of its
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

/* The text is the number of seconds. */
static size_t rfc3339(const char *text, size_t length, char *out, size_t size)
{
    int64_t seconds = 0;
    (void)length;
    assert_true(uvhttp_number_parse(text, INT64_MIN, INT64_MAX, &seconds));
    return uvhttp_rfc3339_encode(seconds, out, size);
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
        {uvhttp_json_quote, "", "\"\""},
        {uvhttp_json_quote, "a/b \xc3\xa4 \xf0\x9f\x98\x80", "\"a/b \xc3\xa4 \xf0\x9f\x98\x80\""},
        {uvhttp_json_quote, "\"\\\n\x1f\x7f\xc2\x85", "\"\\\"\\\\\\u000a\\u001f\\u007f\\u0085\""},
        {uvhttp_json_quote, "a\xff\xc3", "\"a\\ufffd\\ufffd\""},
        {rfc3339, "0", "1970-01-01T00:00:00Z"},
        {rfc3339, "1795313045", "2026-11-22T02:04:05Z"},
        {rfc3339, "-62167219200", "0000-01-01T00:00:00Z"},
        {rfc3339, "-9223372036854775808", "0000-01-01T00:00:00Z"},
        {rfc3339, "9223372036854775807", "9999-12-31T23:59:59Z"},
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

static void numbers_are_decimal_and_in_range(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t min, max, number;
        bool valid;
    } rows[] = {
        {"0", 0, 0, 0, true},
        {"-0", 0, 0, 0, true},
        {"007", 1, 9, 7, true},
        {"-12", -12, 12, -12, true},
        {"9223372036854775807", 0, INT64_MAX, INT64_MAX, true},
        {"-9223372036854775808", INT64_MIN, 0, INT64_MIN, true},
        {"9223372036854775808", INT64_MIN, INT64_MAX, 0, false},
        {"-9223372036854775809", INT64_MIN, INT64_MAX, 0, false},
        {"99999999999999999999999", INT64_MIN, INT64_MAX, 0, false},
        {"10", 0, 9, 0, false},
        {"-1", 0, 9, 0, false},
        {"", 0, 9, 0, false},
        {"-", -9, 9, 0, false},
        {"+1", 0, 9, 0, false},
        {" 1", 0, 9, 0, false},
        {"1 ", 0, 9, 0, false},
        {"1.0", 0, 9, 0, false},
        {"0x1", 0, 9, 0, false},
        {"--1", -9, 9, 0, false},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        int64_t number = 42;
        if (uvhttp_number_parse(rows[i].text, rows[i].min, rows[i].max, &number) != rows[i].valid)
            fail_msg("%s", rows[i].text);
        assert_int_equal(number, rows[i].valid ? rows[i].number : 42);
    }
}

static void utf8_characters_are_counted(void **state)
{
    (void)state;
    assert_int_equal(uvhttp_utf8_count("", 0), 0);
    assert_int_equal(uvhttp_utf8_count("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 10), 4);
    assert_int_equal(uvhttp_utf8_count("a\0b", 3), 3);
    assert_int_equal(uvhttp_utf8_count("a\xff", 2), -1);
    assert_int_equal(uvhttp_utf8_count("\xc3", 1), -1);
    assert_int_equal(uvhttp_utf8_count("\xed\xa0\x80", 3), -1); /* a surrogate */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(media_types_ignore_parameters_and_case),
        cmocka_unit_test(encoders_write_all_or_nothing),
        cmocka_unit_test(percent_encoding_covers_nul),
        cmocka_unit_test(numbers_are_decimal_and_in_range),
        cmocka_unit_test(utf8_characters_are_counted),
        cmocka_unit_test(base64_decoding_is_strict_and_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
