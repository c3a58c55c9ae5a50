/* Lines of the access log: each format byte by byte, escaping, and the limits of a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/error.h>

#include "base/compiler.h"
#include "observe/access_format.h"

static struct uvh_access_format format;
static char line[UVH_ACCESS_LINE_SIZE + 1];

static uvhttp_slice_t text(const char *value)
{
    return (uvhttp_slice_t){value, strlen(value)};
}

static uvhttp_access_facts_t default_facts(void)
{
    return (uvhttp_access_facts_t){
        .client = text("192.0.2.7"),
        .user = text("ada l\"x"),
        .method = text("GET"),
        .target = text("/a?b=c"),
        .host = text("example.org:8080"),
        .referer = text("http://example.org/"),
        .user_agent = text("curl/8.0"),
        .route = text("/:name"),
        .request_id = text("r-1"),
        .http_minor = 1,
        .outcome = {.status = 200,
                    .bytes_sent = 2326,
                    .duration_us = 1234,
                    .unix_ms = 971211336007},
    };
}

static const char *format_line(const uvhttp_access_facts_t *facts, int zone)
{
    size_t length = uvh_access_format_line(&format, facts, zone, line);
    assert_in_range(length, 1, UVH_ACCESS_LINE_SIZE);
    line[length] = '\0';
    assert_true(strchr(line, '\n') == line + length - 1);
    return line;
}

static void compile(const char *pattern, bool json)
{
    assert_int_equal(uvh_access_format_compile(&format, pattern, json), 0);
}

static void common_and_combined_match_apache(void **state)
{
    (void)state;
    uvhttp_access_facts_t facts = default_facts();
    compile(uvh_access_format_common, false);
    assert_string_equal(format_line(&facts, -420),
                        "192.0.2.7 - ada\\x20l\\\"x [10/Oct/2000:13:55:36 -0700] \"GET /a?b=c "
                        "HTTP/1.1\" 200 2326\n");
    compile(uvh_access_format_combined, false);
    assert_string_equal(
        format_line(&facts, 330),
        "192.0.2.7 - ada\\x20l\\\"x [11/Oct/2000:02:25:36 +0530] \"GET /a?b=c HTTP/1.1\" "
        "200 2326 \"http://example.org/\" \"curl/8.0\"\n");
    facts.referer = facts.user_agent = (uvhttp_slice_t){NULL, 0};
    facts.is_http2 = true;
    assert_non_null(strstr(format_line(&facts, 0), "\"GET /a?b=c HTTP/2.0\" 200"));
    facts.is_http2 = false;
    facts.http_minor = 0;
    assert_string_equal(
        format_line(&facts, 0),
        "192.0.2.7 - ada\\x20l\\\"x [10/Oct/2000:20:55:36 +0000] \"GET /a?b=c HTTP/1.0\" "
        "200 2326 \"-\" \"-\"\n");
}

static void json_absent_values_are_null(void **state)
{
    (void)state;
    uvhttp_access_facts_t facts = default_facts();
    compile(uvh_access_format_json, true);
    assert_string_equal(
        format_line(&facts, 60),
        "{\"time\":\"2000-10-10T20:55:36.007Z\",\"client\":\"192.0.2.7\",\"user\":\"ada "
        "l\\\"x\",\"method\":\"GET\","
        "\"target\":\"/a?b=c\",\"route\":\"/:name\",\"protocol\":\"HTTP/"
        "1.1\",\"host\":\"example.org:8080\",\"status\":200,"
        "\"bytes\":2326,\"duration_ms\":1.234,\"referer\":\"http://example.org/"
        "\",\"user_agent\":\"curl/"
        "8.0\","
        "\"request_id\":\"r-1\",\"aborted\":false}\n");
    facts = (uvhttp_access_facts_t){.outcome = {.status = 400, .aborted = true, .duration_us = 5}};
    assert_string_equal(
        format_line(&facts, 0),
        "{\"time\":\"1970-01-01T00:00:00.000Z\",\"client\":null,\"user\":null,\"method\":null,"
        "\"target\":null,\"route\":null,\"protocol\":null,\"host\":null,\"status\":400,\"bytes\":0,"
        "\"duration_ms\":0.005,\"referer\":null,\"user_agent\":null,\"request_id\":null,"
        "\"aborted\":true}\n");
}

static void missing_request_line_is_dash(void **state)
{
    (void)state;
    uvhttp_access_facts_t facts = {.client = text("::1"), .outcome = {.status = 408}};
    compile(uvh_access_format_common, false);
    assert_string_equal(format_line(&facts, 0),
                        "::1 - - [01/Jan/1970:00:00:00 +0000] \"-\" 408 0\n");
}

static void pattern_variables_are_replaced(void **state)
{
    (void)state;
    uvhttp_access_facts_t facts = default_facts();
    compile("{{{client}} "
            "{user}|{method}|{target}|{route}|{protocol}|{request}|{host}|{referer}|{user_agent}|{"
            "request_id}|"
            "{status}|{bytes}|{duration_ms}|{duration_us}|{aborted}|{time}|{time_iso}|{unix_ms}\t}",
            false);
    assert_string_equal(
        format_line(&facts, 0),
        "{192.0.2.7} ada\\x20l\\\"x|GET|/a?b=c|/:name|HTTP/1.1|GET /a?b=c "
        "HTTP/1.1|example.org:8080|"
        "http://example.org/|curl/8.0|r-1|200|2326|1.234|1234|0|10/Oct/2000:20:55:36 +0000|"
        "2000-10-10T20:55:36.007Z|971211336007\t}\n");
    compile("", false);
    assert_string_equal(format_line(&facts, 0), "\n");
}

static void invalid_patterns_are_refused(void **state)
{
    (void)state;
    static const char *const invalid[] = {"{",        "{client",   "a {unknown}", "{}",
                                          "{Client}", "{client }", "{text}",      "a\nb",
                                          "\x01",     "{client}\r"};
    char large[4096];
    for (size_t i = 0; i < UVH_COUNT_OF(invalid); i++)
        assert_int_equal(uvh_access_format_compile(&format, invalid[i], false), UVHTTP_EINVAL);
    memset(large, 'x', sizeof(large));
    large[UVH_ACCESS_TEXT_SIZE + 1] = '\0';
    assert_int_equal(uvh_access_format_compile(&format, large, false), UVHTTP_EINVAL);
    large[UVH_ACCESS_TEXT_SIZE] = '\0';
    assert_int_equal(uvh_access_format_compile(&format, large, false), 0);
    size_t length = 0;
    for (unsigned i = 0; i < UVH_ACCESS_PARTS; i++)
        length += (size_t)snprintf(large + length, sizeof(large) - length, "{status}");
    assert_int_equal(uvh_access_format_compile(&format, large, false), 0);
    snprintf(large + length, sizeof(large) - length, "{status}");
    assert_int_equal(uvh_access_format_compile(&format, large, false), UVHTTP_EINVAL);
}

static void text_control_characters_are_escaped(void **state)
{
    (void)state;
    uvhttp_access_facts_t facts = default_facts();
    facts.user_agent = (uvhttp_slice_t){"a\r\nb\"c\\d\0e\x7f\x1b[31m\xc3\xa9\t", 19};
    compile("\"{user_agent}\"", false);
    assert_string_equal(format_line(&facts, 0),
                        "\"a\\x0d\\x0ab\\\"c\\\\d\\x00e\\x7f\\x1b[31m\\xc3\\xa9\\x09\"\n");
}

/* Values and their form between the quotes of a JSON string. */
static void json_strings_are_valid_for_any_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        const char *expected;
    } cases[] = {
        {"plain", "plain"},
        {"\"\\/", "\\\"\\\\/"},
        {"\r\n\t\x01\x1f", "\\u000d\\u000a\\u0009\\u0001\\u001f"},
        {"\x7f", "\\u007f"},
        {"\xc3\xa9", "\xc3\xa9"},         /* e with acute */
        {"\xe2\x82\xac", "\xe2\x82\xac"}, /* euro sign */
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        /* the last code point */
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
        /* a control character encoded in two bytes */
        {"\xc2\x85", "\\u0085"},
        {"\xff", "\\ufffd"},
        {"\x80", "\\ufffd"},
        {"\xc3", "\\ufffd"}, /* truncated */
        {"\xe2\x82", "\\ufffd\\ufffd"},
        /* a quote instead of a continuation byte */
        {"\xc3\"", "\\ufffd\\\""},
        {"\xc0\xaf", "\\ufffd\\ufffd"}, /* overlong */
        {"\xe0\x80\xaf", "\\ufffd\\ufffd\\ufffd"},
        {"\xf0\x80\x80\xaf", "\\ufffd\\ufffd\\ufffd\\ufffd"},
        {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},            /* a surrogate */
        {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"}, /* beyond the last code point */
        {"\xf5\x80\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"},
    };
    uvhttp_access_facts_t facts = default_facts();
    compile("{host}", true);
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        char expected[128];
        facts.host = text(cases[i].value);
        snprintf(expected, sizeof(expected), "\"%s\"\n", cases[i].expected);
        assert_string_equal(format_line(&facts, 0), expected);
    }
    facts.host = (uvhttp_slice_t){"\0", 1};
    assert_string_equal(format_line(&facts, 0), "\"\\u0000\"\n");
}

/* An escape sequence is kept or dropped as a whole, and the text following a long value is kept. */
static void long_values_are_truncated_between_characters(void **state)
{
    (void)state;
    static char value[3 * UVH_ACCESS_VALUE_SIZE];
    static const char *const fillings[] = {"a", "\"", "\n", "\xc3\xa9", "\xff", "\xf0\x9f\x98\x80"};
    uvhttp_access_facts_t facts = default_facts();
    for (size_t f = 0; f < UVH_COUNT_OF(fillings); f++) {
        for (size_t skew = 0; skew < 8; skew++) {
            memset(value, 'b', skew);
            size_t size = strlen(fillings[f]), length = skew;
            for (; length + size < sizeof(value); length += size)
                memcpy(value + length, fillings[f], size);
            facts.target = (uvhttp_slice_t){value, length};

            compile("{request} {status}", false);
            const char *found = format_line(&facts, 0);
            size_t found_length = strlen(found);
            assert_in_range(found_length, UVH_ACCESS_VALUE_SIZE - 16, UVH_ACCESS_VALUE_SIZE + 5);
            assert_string_equal(found + found_length - 14, " HTTP/1.1 200\n");

            compile("{target}", true);
            found = format_line(&facts, 0);
            found_length = strlen(found);
            assert_in_range(found_length, UVH_ACCESS_VALUE_SIZE - 16, UVH_ACCESS_VALUE_SIZE + 1);
            assert_string_equal(found + found_length - 2, "\"\n");
            /* No character is truncated: only complete escape sequences begin with a backslash. */
            const char *slash = strrchr(found, '\\');
            if (slash != NULL && fillings[f][0] != '"')
                assert_int_equal(strlen(slash), 6 + 2);
        }
    }
}

/* After an escape sequence that does not fit nothing else is written, however short it is. */
static void truncated_value_is_prefix(void **state)
{
    (void)state;
    static char value[8192], expected[32768];
    uvhttp_access_facts_t facts = default_facts();
    for (int json = 0; json <= 1; json++) {
        compile("{target}", json);
        for (size_t skew = 0; skew < 16; skew++) {
            size_t length = skew, at = (size_t)json + skew;
            memset(value, 'a', skew);
            memset(expected, 'a', at);
            if (json)
                expected[0] = '"';
            for (; length + 3 <= sizeof(value); length += 3) {
                memcpy(value + length, "\nbc", 3);
                at += (size_t)snprintf(expected + at, sizeof(expected) - at, "%sbc",
                                       json ? "\\u000a" : "\\x0a");
            }
            facts.target = (uvhttp_slice_t){value, length};
            size_t found = strlen(format_line(&facts, 0));
            assert_in_range(found, UVH_ACCESS_VALUE_SIZE - 16, UVH_ACCESS_VALUE_SIZE + 1);
            assert_memory_equal(line, expected, found - 1 - (size_t)json);
        }
    }
}

static void line_length_is_limited(void **state)
{
    (void)state;
    static char value[100000];
    char pattern[1024];
    size_t length = 0;
    memset(value, '\n', sizeof(value));
    uvhttp_slice_t huge = {value, sizeof(value)};
    uvhttp_access_facts_t facts = {huge, huge, huge, huge, huge, huge,  huge,
                                   huge, huge, huge, huge, 1,    false, {.status = 200}};
    for (unsigned i = 0; i < UVH_ACCESS_PARTS; i++)
        length += (size_t)snprintf(pattern + length, sizeof(pattern) - length,
                                   i % 2 ? "{request}" : "{host}");
    for (int json = 0; json <= 1; json++) {
        compile(pattern, json);
        assert_in_range(strlen(format_line(&facts, 0)), UVH_ACCESS_LINE_SIZE / 2,
                        UVH_ACCESS_LINE_SIZE);
    }
}

static void extreme_numbers_fit(void **state)
{
    (void)state;
    uvhttp_access_facts_t facts = {.outcome = {.status = 599,
                                               .bytes_sent = UINT64_MAX,
                                               .duration_us = UINT64_MAX,
                                               .unix_ms = INT64_MAX}};
    compile("{bytes} {duration_us} {duration_ms} {unix_ms} {time} {time_iso}", false);
    assert_non_null(strstr(format_line(&facts, 840),
                           "18446744073709551615 18446744073709551615 "
                           "18446744073709551.615 9223372036854775807 31/Dec/9999:"));
    facts.outcome.unix_ms = -1;
    assert_non_null(strstr(format_line(&facts, -720), " 0 31/Dec/1969:12:00:00 -1200 1970-01-01T"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(common_and_combined_match_apache),
        cmocka_unit_test(json_absent_values_are_null),
        cmocka_unit_test(missing_request_line_is_dash),
        cmocka_unit_test(pattern_variables_are_replaced),
        cmocka_unit_test(invalid_patterns_are_refused),
        cmocka_unit_test(text_control_characters_are_escaped),
        cmocka_unit_test(json_strings_are_valid_for_any_bytes),
        cmocka_unit_test(long_values_are_truncated_between_characters),
        cmocka_unit_test(truncated_value_is_prefix),
        cmocka_unit_test(line_length_is_limited),
        cmocka_unit_test(extreme_numbers_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
