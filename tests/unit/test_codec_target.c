/* Percent-decoding, paths and queries. Paths are compared with a slow and simple reference that
 * first decodes the whole path and then runs the loop of RFC 3986 section 5.2.4 literally. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

#include "codec/http1/target.h"

#define SLICE(literal) ((uvhttp_slice_t){(literal), sizeof(literal) - 1})

static uvhttp_slice_t slice_of(const char *text)
{
    return (uvhttp_slice_t){text, strlen(text)};
}

/* The decoded text, or "bad". */
static const char *decode(const char *text, bool plus)
{
    static char output[256];
    memset(output, '#', sizeof output);
    ptrdiff_t length = uvhttp_percent_decode(slice_of(text), output, plus);
    if (length < 0)
        return "bad";
    assert_int_equal(output[length], '#');
    output[length] = '\0';
    return output;
}

static void percent_encoding_is_decoded(void **state)
{
    (void)state;
    assert_string_equal(decode("", false), "");
    assert_string_equal(decode("abc", false), "abc");
    assert_string_equal(decode("%41%62%7A", false), "Abz");
    assert_string_equal(decode("%2541", false), "%41");
    assert_string_equal(decode("a+b%2Bc", false), "a+b+c");
    assert_string_equal(decode("a+b%2Bc", true), "a b+c");
    assert_string_equal(decode("%ff%C3%a9", false), "\xff\xc3\xa9");
    static const char *const bad[] = {"%",   "a%",  "%4",  "a%4",   "%4g",    "%g4", "%%41",
                                      "%+1", "% 1", "%-1", "%0x41", "%u0041", "a%4", "%4%41"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_string_equal(decode(bad[i], false), "bad");
}

static void every_escape_is_decoded(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        for (int upper = 0; upper < 2; upper++) {
            char text[8];
            char output[8];
            snprintf(text, sizeof text, upper ? "%%%02X" : "%%%02x", byte);
            assert_int_equal(uvhttp_percent_decode(slice_of(text), output, true), 1);
            assert_int_equal((unsigned char)output[0], byte);
        }
    }
}

static void percent_decoding_works_in_place(void **state)
{
    (void)state;
    char text[] = "/a%20b%2fc+%41";
    ptrdiff_t length = uvhttp_percent_decode(slice_of(text), text, false);
    assert_int_equal(length, 8);
    assert_memory_equal(text, "/a b/c+A", 8);
}

/* Decodes chunk by chunk, from memory of the text's size; returns the result and the number of
 * remaining bytes. */
static void decode_in_chunks(const char *text, bool plus, char *decoded, size_t *length,
                             int *result, size_t *left)
{
    size_t size = strlen(text);
    char *copy = malloc(size + (size == 0));
    assert_non_null(copy);
    memcpy(copy, text, size);
    uvhttp_slice_t rest = {copy, size};
    uvhttp_slice_t chunk;
    *length = 0;
    while ((*result = uvhttp_percent_next(&rest, plus, &chunk)) == 1) {
        assert_true(chunk.length > 0);
        memcpy(decoded + *length, chunk.base, chunk.length);
        *length += chunk.length;
    }
    assert_int_equal(chunk.length, 0);
    assert_ptr_equal(rest.base + rest.length, copy + size);
    *left = rest.length;
    free(copy);
}

/* The same bytes as whole decoding, or an error at the same position. */
static void chunks_match_whole_decoding(void **state)
{
    (void)state;
    static const char characters[] = "ab+%%%44f2";
    uint32_t seed = 5;
    for (int round = 0; round < 200000; round++) {
        char text[16] = {0};
        char whole[16];
        char decoded[16];
        size_t length;
        size_t left;
        int result;
        bool plus = round & 1;
        for (size_t i = 0, size = (seed >> 16) % sizeof text; i < size; i++) {
            seed = seed * 1664525u + 1013904223u;
            text[i] = characters[(seed >> 16) % (sizeof characters - 1)];
        }
        seed = seed * 1664525u + 1013904223u;
        ptrdiff_t expected = uvhttp_percent_decode(slice_of(text), whole, plus);
        decode_in_chunks(text, plus, decoded, &length, &result, &left);
        assert_int_equal(result, expected < 0 ? -1 : 0);
        if (expected < 0) {
            assert_int_equal(text[strlen(text) - left], '%');
            expected =
                uvhttp_percent_decode((uvhttp_slice_t){text, strlen(text) - left}, whole, plus);
        }
        assert_int_equal(length, expected);
        assert_memory_equal(decoded, whole, length);
    }
}

static void chunks_end_at_escapes(void **state)
{
    (void)state;
    static const char text[] = "ab+c%2B%00d";
    static const uvhttp_slice_t expected[] = {SLICE("ab"), SLICE(" "),  SLICE("c"),
                                              SLICE("+"),  SLICE("\0"), SLICE("d")};
    uvhttp_slice_t rest = SLICE(text);
    uvhttp_slice_t chunk;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(uvhttp_percent_next(&rest, true, &chunk), 1);
        assert_int_equal(chunk.length, expected[i].length);
        assert_memory_equal(chunk.base, expected[i].base, chunk.length);
    }
    assert_int_equal(uvhttp_percent_next(&rest, true, &chunk), 0);
    rest = (uvhttp_slice_t){NULL, 0};
    assert_int_equal(uvhttp_percent_next(&rest, true, &chunk), 0);
    for (unsigned byte = 0; byte < 256; byte++) {
        char escape[8];
        snprintf(escape, sizeof escape, "%%%02x", byte);
        rest = slice_of(escape);
        assert_int_equal(uvhttp_percent_next(&rest, false, &chunk), 1);
        assert_int_equal((unsigned char)chunk.base[0], byte);
    }
}

static void dot_segments_above_root_are_refused(void **state)
{
    (void)state;
    static const char *const dots[] = {"..",     ".%2e", "%2e.", "%2e%2e",
                                       "%2E%2E", ".%2E", "%2E.", "%2e%2E"};
    static const char *const prefixes[] = {"/",     "/./",         "/a/../",
                                           "/%2e/", "/a/b/../../", "/a/%2e%2E/"};
    static const char *const suffixes[] = {"", "/", "/etc/passwd", "/../..", "/.", "//"};
    for (size_t d = 0; d < sizeof dots / sizeof dots[0]; d++) {
        for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++) {
            for (size_t s = 0; s < sizeof suffixes / sizeof suffixes[0]; s++) {
                char raw[128];
                char output[128];
                size_t length;
                snprintf(raw, sizeof raw, "%s%s%s", prefixes[p], dots[d], suffixes[s]);
                assert_int_equal(uvhttp_path_normalize(slice_of(raw), output, &length),
                                 UVHTTP_REASON_TARGET_ABOVE_ROOT);
                assert_false(uvhttp_path_is_normal(slice_of(raw)));
            }
        }
    }
}

/* The reference. An encoded slash is stored as one of two bytes that the tests do not use
 * otherwise. */
enum { MOST = 64, SLASH_UPPER = 1, SLASH_LOWER = 2 };

static int hex(char c)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)((at - digits) % 16);
}

/* False for an escape that is malformed or encodes NUL. */
static bool reference_decode(const char *raw, char *decoded)
{
    size_t used = 0;
    for (; *raw != '\0'; raw++) {
        char c = *raw;
        if (c == '%') {
            int high = hex(raw[1]);
            int low = high < 0 ? -1 : hex(raw[2]);
            if (low < 0 || high + low == 0)
                return false;
            c = (char)(high * 16 + low);
            if (c == '/')
                c = raw[2] == 'F' ? SLASH_UPPER : SLASH_LOWER;
            raw += 2;
        }
        decoded[used++] = c;
    }
    decoded[used] = '\0';
    return true;
}

/* The loop of RFC 3986 section 5.2.4, its steps B, C and E literally (A and D are for relative
 * paths). False if step C has no segment to remove. */
static bool reference_remove_dots(char *input, char *output)
{
    output[0] = '\0';
    while (input[0] != '\0') {
        if (strncmp(input, "/./", 3) == 0) {
            input += 2;
        } else if (strcmp(input, "/.") == 0) {
            input[1] = '\0';
        } else if (strncmp(input, "/../", 4) == 0 || strcmp(input, "/..") == 0) {
            if (input[3] == '/')
                input += 3;
            else
                input[1] = '\0';
            char *slash = strrchr(output, '/');
            if (slash == NULL)
                return false;
            *slash = '\0';
        } else {
            size_t segment = 1 + strcspn(input + 1, "/");
            strncat(output, input, segment);
            input += segment;
        }
    }
    return true;
}

/* Whether the text begins with a '%' and reads as an encoded slash, encoded once or more often. */
static bool reference_reads_as_slash(const char *text)
{
    if (*text++ != '%')
        return false;
    while (strncmp(text, "25", 2) == 0)
        text += 2;
    return strncmp(text, "2F", 2) == 0 || strncmp(text, "2f", 2) == 0;
}

static void reference_restore_slashes(const char *text, char *output)
{
    for (; *text != '\0'; text++) {
        const char *unit = *text == SLASH_UPPER ? "%2F" : *text == SLASH_LOWER ? "%2f" : NULL;
        if (reference_reads_as_slash(text))
            unit = "%25";
        if (unit == NULL)
            *output++ = *text;
        else
            output = (char *)memcpy(output, unit, 3) + 3;
    }
    *output = '\0';
}

static void compare_with_reference(const char *raw)
{
    char decoded[MOST];
    char without_dots[MOST];
    char expected[MOST];
    char output[MOST];
    size_t length = 0;
    uvhttp_reason_t reason = uvhttp_path_normalize(slice_of(raw), output, &length);
    if (!reference_decode(raw, decoded)) {
        /* With more than one error either may be reported. */
        assert_true(reason == UVHTTP_REASON_TARGET_ENCODING ||
                    reason == UVHTTP_REASON_TARGET_ABOVE_ROOT);
        return;
    }
    if (!reference_remove_dots(decoded, without_dots)) {
        assert_int_equal(reason, UVHTTP_REASON_TARGET_ABOVE_ROOT);
        return;
    }
    reference_restore_slashes(without_dots, expected);
    output[length] = '\0';
    if (reason != UVHTTP_REASON_NONE || strcmp(output, expected) != 0)
        fail_msg("%s: %s instead of %s", raw, reason == UVHTTP_REASON_NONE ? output : "refused",
                 expected);
    bool unchanged = strcmp(raw, expected) == 0 && strchr(raw, '%') == NULL;
    if (uvhttp_path_is_normal(slice_of(raw)) != unchanged)
        fail_msg("%s: unexpected result of is_normal", raw);
    /* In place. A normal path stays the same unless it contains escapes. */
    char again[MOST];
    memcpy(again, raw, strlen(raw) + 1);
    assert_int_equal(uvhttp_path_normalize(slice_of(again), again, &length), UVHTTP_REASON_NONE);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(again, expected, length);
}

static void short_paths_match_reference(void **state)
{
    (void)state;
    static const char *const units[] = {"/", ".", "a", "%2e", "%2F", "..", "%"};
    enum { UNITS = 7, LENGTH = 6 };
    for (unsigned number = 0; number < 7 * 7 * 7 * 7 * 7 * 7; number++) {
        char raw[MOST] = "/";
        unsigned rest = number;
        for (int i = 0; i < LENGTH; i++, rest /= UNITS)
            strncat(raw, units[rest % UNITS], 3);
        compare_with_reference(raw);
    }
}

/* Everything that might read as an encoded slash. */
static void encoded_percent_paths_match_reference(void **state)
{
    (void)state;
    static const char *const units[] = {"%25", "2", "%32", "5", "%35", "F", "%66", "%2f"};
    enum { UNITS = 8, LENGTH = 6 };
    for (unsigned number = 0; number < 8 * 8 * 8 * 8 * 8 * 8; number++) {
        char raw[MOST] = "/%25";
        unsigned rest = number;
        for (int i = 0; i < LENGTH; i++, rest /= UNITS)
            strncat(raw, units[rest % UNITS], 4);
        compare_with_reference(raw);
    }
}

static void kept_escapes_are_decoded_last(void **state)
{
    (void)state;
    static const struct {
        const char *raw, *path, *text;
        bool slash;
    } cases[] = {
        {"a", "a", "a", false},
        {"", "", "", false},
        {"a%2Fb", "a%2Fb", "a/b", true},
        {"%2f%2F", "%2f%2F", "//", true},
        {"%252F", "%252F", "%2F", false},
        {"%25%32F", "%252F", "%2F", false},
        {"%25252f", "%25252f", "%252f", false},
        {"%2525", "%25", "%25", false},
        {"%25", "%", "%", false},
        {"%2541", "%41", "%41", false},
        {"%252541", "%2541", "%2541", false},
        {"%252F%2F%252541", "%252F%2F%2541", "%2F/%2541", true},
        {"100%25", "100%", "100%", false},
        {"%252Fx%252", "%252Fx%2", "%2Fx%2", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[MOST];
        char text[MOST];
        size_t length = 0;
        assert_int_equal(uvhttp_path_normalize(slice_of(cases[i].raw), path, &length),
                         UVHTTP_REASON_NONE);
        assert_int_equal(length, strlen(cases[i].path));
        assert_memory_equal(path, cases[i].path, length);
        uvhttp_slice_t slice = {path, length};
        assert_int_equal(uvh_target_has_slash(slice), cases[i].slash);
        assert_int_equal(uvh_target_has_kept(slice), strcmp(cases[i].path, cases[i].text) != 0);
        assert_int_equal(uvh_target_release_kept(slice, text), strlen(cases[i].text));
        assert_memory_equal(text, cases[i].text, strlen(cases[i].text));
        assert_int_equal(uvh_target_release_kept(slice, path), strlen(cases[i].text));
        assert_memory_equal(path, cases[i].text, strlen(cases[i].text));
    }
}

static void random_paths_match_reference(void **state)
{
    (void)state;
    static const char *const units[] = {"/",   "/",   ".",   "..", "/../", "/./", "abc", "x", "%2e",
                                        "%2E", "%2f", "%41", "//", "...",  "%25", "2F",  "25"};
    uint32_t seed = 12345;
    for (int round = 0; round < 200000; round++) {
        char raw[MOST] = "/";
        while (strlen(raw) < MOST - 8) {
            seed = seed * 1664525u + 1013904223u;
            unsigned choice = (seed >> 16) % (sizeof units / sizeof units[0] + 1);
            if (choice == sizeof units / sizeof units[0])
                break;
            strncat(raw, units[choice], 4);
        }
        compare_with_reference(raw);
    }
}

/* name=value pairs separated by ';', "-" for a missing value. */
static const char *pairs(const char *query)
{
    static char text[256];
    text[0] = '\0';
    uvhttp_slice_t rest = slice_of(query);
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    while (uvhttp_query_next(&rest, &name, &value)) {
        size_t used = strlen(text);
        if (value.base == NULL)
            value = SLICE("-");
        snprintf(text + used, sizeof text - used, "%.*s=%.*s;", UVHTTP_SLICE_ARGS(name),
                 UVHTTP_SLICE_ARGS(value));
    }
    assert_int_equal(rest.length, 0);
    return text;
}

static void query_pairs_are_split(void **state)
{
    (void)state;
    assert_string_equal(pairs(""), "");
    assert_string_equal(pairs("&&&"), "");
    assert_string_equal(pairs("a=1"), "a=1;");
    assert_string_equal(pairs("a=1&b=2"), "a=1;b=2;");
    assert_string_equal(pairs("&a=1&&b=2&"), "a=1;b=2;");
    assert_string_equal(pairs("a"), "a=-;");
    assert_string_equal(pairs("a&b="), "a=-;b=;");
    assert_string_equal(pairs("=1"), "=1;");
    assert_string_equal(pairs("="), "=;");
    assert_string_equal(pairs("a=b=c"), "a=b=c;");
    assert_string_equal(pairs("a=1&a=2"), "a=1;a=2;");
    assert_string_equal(pairs("a%26b=c%3Dd&e+f=%2B"), "a%26b=c%3Dd;e+f=%2B;");
    assert_string_equal(pairs("a;b=c"), "a;b=c;");
    uvhttp_slice_t rest = {NULL, 0};
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    assert_false(uvhttp_query_next(&rest, &name, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percent_encoding_is_decoded),
        cmocka_unit_test(every_escape_is_decoded),
        cmocka_unit_test(percent_decoding_works_in_place),
        cmocka_unit_test(chunks_match_whole_decoding),
        cmocka_unit_test(chunks_end_at_escapes),
        cmocka_unit_test(dot_segments_above_root_are_refused),
        cmocka_unit_test(short_paths_match_reference),
        cmocka_unit_test(random_paths_match_reference),
        cmocka_unit_test(encoded_percent_paths_match_reference),
        cmocka_unit_test(kept_escapes_are_decoded_last),
        cmocka_unit_test(query_pairs_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
