/* Forms: pairs are split and then decoded, to other memory or in place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

enum { MOST_PAIRS = 16, TEXT_SIZE = 512 };

static void append_pair(char *text, size_t *used, int result, uvhttp_slice_t name,
                        uvhttp_slice_t value)
{
    if (result < 0) {
        assert_int_equal(name.length + value.length, 0);
        *used += (size_t)snprintf(text + *used, TEXT_SIZE - *used, "bad;");
    } else {
        *used += (size_t)snprintf(text + *used, TEXT_SIZE - *used, "%.*s=%.*s;",
                                  UVHTTP_SLICE_ARGS(name), UVHTTP_SLICE_ARGS(value));
    }
}

/* The pairs separated by ';', a malformed one as "bad", decoded to memory of exactly the required
 * size. */
static const char *decode_to_scratch(const char *form)
{
    static char text[TEXT_SIZE];
    size_t length = strlen(form);
    uvhttp_slice_t rest = {form, length};
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    size_t used = 0;
    text[0] = '\0';
    for (;;) {
        char *scratch = malloc(rest.length + (rest.length == 0));
        assert_non_null(scratch);
        int result = uvhttp_form_next(&rest, scratch, &name, &value);
        if (result != 0)
            append_pair(text, &used, result, name, value);
        free(scratch);
        if (result == 0)
            break;
    }
    assert_int_equal(rest.length, 0);
    assert_int_equal(name.length + value.length, 0);
    return text;
}

/* The same in place; the pairs are checked after the last one has been decoded. */
static const char *decode_in_place(const char *form)
{
    static char text[TEXT_SIZE];
    uvhttp_slice_t names[MOST_PAIRS];
    uvhttp_slice_t values[MOST_PAIRS];
    int results[MOST_PAIRS];
    size_t count = 0;
    size_t used = 0;
    size_t length = strlen(form);
    char *copy = malloc(length + (length == 0));
    assert_non_null(copy);
    memcpy(copy, form, length);
    uvhttp_slice_t rest = {copy, length};
    for (;;) {
        assert_true(count < MOST_PAIRS);
        char *here = copy + (length - rest.length);
        results[count] = uvhttp_form_next(&rest, here, &names[count], &values[count]);
        if (results[count] == 0)
            break;
        count++;
    }
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        append_pair(text, &used, results[i], names[i], values[i]);
    free(copy);
    return text;
}

static void form_pairs_are_split_and_decoded(void **state)
{
    (void)state;
    static const struct {
        const char *form;
        const char *expected;
    } rows[] = {{"", ""},
                {"&&", ""},
                {"a=1", "a=1;"},
                {"a=1&b=2", "a=1;b=2;"},
                {"&a=1&&b=2&", "a=1;b=2;"},
                {"a", "a=;"},
                {"a=", "a=;"},
                {"=1", "=1;"},
                {"a=b=c", "a=b=c;"},
                {"a%26b=c%3Dd&e+f=%2B+%2b", "a&b=c=d;e f=+ +;"},
                {"name=J%C3%BCrgen", "name=J\xc3\xbcrgen;"},
                {"a%=1&b=2", "bad;b=2;"},
                {"a=%zz&b=2", "bad;b=2;"},
                {"a=1&b=%4", "a=1;bad;"},
                {"a=1&b%41&c%4&d%20=+", "a=1;bA=;bad;d = ;"},
                {"a=%2541", "a=%41;"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(decode_to_scratch(rows[i].form), rows[i].expected);
        assert_string_equal(decode_in_place(rows[i].form), rows[i].expected);
    }
}

/* An encoded NUL is an ordinary byte. */
static void encoded_bytes_are_decoded(void **state)
{
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        char form[16];
        char scratch[16];
        uvhttp_slice_t name;
        uvhttp_slice_t value;
        int length = snprintf(form, sizeof form, "%%%02x=%%%02X", byte, byte);
        uvhttp_slice_t rest = {form, (size_t)length};
        assert_int_equal(uvhttp_form_next(&rest, scratch, &name, &value), 1);
        assert_int_equal(name.length, 1);
        assert_int_equal(value.length, 1);
        assert_int_equal((unsigned char)name.base[0], byte);
        assert_int_equal((unsigned char)value.base[0], byte);
    }
}

static void random_forms_decode_equally_in_place(void **state)
{
    (void)state;
    static const char characters[] = "ab=&&+%%4412f";
    uint32_t seed = 3;
    for (int round = 0; round < 100000; round++) {
        char form[24];
        size_t length = (seed >> 16) % (sizeof form - 1);
        for (size_t i = 0; i < length; i++) {
            seed = seed * 1664525u + 1013904223u;
            form[i] = characters[(seed >> 16) % (sizeof characters - 1)];
        }
        form[length] = '\0';
        seed = seed * 1664525u + 1013904223u;
        char expected[TEXT_SIZE];
        snprintf(expected, sizeof expected, "%s", decode_to_scratch(form));
        assert_string_equal(decode_in_place(form), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(form_pairs_are_split_and_decoded),
        cmocka_unit_test(encoded_bytes_are_decoded),
        cmocka_unit_test(random_forms_decode_equally_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
