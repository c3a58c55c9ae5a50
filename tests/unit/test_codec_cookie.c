/* Cookie pairs: how they are split and trimmed, with input that ends at the end of the memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

/* All pairs as "[name|value]". The text is copied to memory of exactly its size, so that a
 * sanitizer detects reads past the end. */
static const char *pairs(const char *text)
{
    static char result[256];
    size_t length = strlen(text);
    char *copy = malloc(length + (length == 0));
    assert_non_null(copy);
    memcpy(copy, text, length);
    uvhttp_slice_t rest = {copy, length};
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    size_t used = 0;
    result[0] = '\0';
    while (uvhttp_cookie_next(&rest, &name, &value)) {
        assert_true(name.base >= copy && name.base + name.length <= copy + length);
        assert_true(value.base >= copy && value.base + value.length <= copy + length);
        used += (size_t)snprintf(result + used, sizeof result - used, "[%.*s|%.*s]",
                                 UVHTTP_SLICE_ARGS(name), UVHTTP_SLICE_ARGS(value));
    }
    assert_int_equal(rest.length, 0);
    assert_false(uvhttp_cookie_next(&rest, &name, &value));
    free(copy);
    return result;
}

static void cookie_pairs_are_split_and_trimmed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *expected;
    } rows[] = {{"a=b", "[a|b]"},
                {"a=b; c=d", "[a|b][c|d]"},
                {"a=b;c=d;", "[a|b][c|d]"},
                {" \ta \t=\t b c \t;", "[a|b c]"},
                {"a=b=c==", "[a|b=c==]"},
                {"a=\"b c\"", "[a|\"b c\"]"},
                {"a=\"b;c\"; d=e", "[a|\"b][|c\"][d|e]"},
                {"a=%3B%20", "[a|%3B%20]"},
                {"a=", "[a|]"},
                {"=b", "[|b]"},
                {"b", "[|b]"},
                {" b ; a=c", "[|b][a|c]"},
                {"a=b; a=c", "[a|b][a|c]"},
                {"a=b, c=d", "[a|b, c=d]"},
                {"", ""},
                {";", ""},
                {" ; ;;\t;", ""},
                {"=", ""},
                {" = ; =;a=b; = ", "[a|b]"},
                {"a=\xc3\xa9", "[a|\xc3\xa9]"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(pairs(rows[i].text), rows[i].expected);
}

static void null_text_has_no_cookies(void **state)
{
    (void)state;
    uvhttp_slice_t rest = {NULL, 0};
    uvhttp_slice_t name;
    uvhttp_slice_t value;
    assert_false(uvhttp_cookie_next(&rest, &name, &value));
}

/* A slow reference: counts to the n-th pair and trims a copy. */
static bool reference_pair(const char *text, size_t index, char *name, char *value)
{
    const char *start = text;
    for (size_t found = 0; start != NULL;
         start = strchr(start, ';') != NULL ? strchr(start, ';') + 1 : NULL) {
        char part[64];
        int length = (int)strcspn(start, ";");
        snprintf(part, sizeof part, "%.*s", length, start);
        char *equals = strchr(part, '=');
        char *value_part = equals != NULL ? equals + 1 : part;
        if (equals != NULL)
            *equals = '\0';
        char *texts[2] = {equals != NULL ? part : part + strlen(part), value_part};
        for (int i = 0; i < 2; i++) {
            texts[i] += strspn(texts[i], " \t");
            size_t end = strlen(texts[i]);
            while (end > 0 && (texts[i][end - 1] == ' ' || texts[i][end - 1] == '\t'))
                end--;
            texts[i][end] = '\0';
        }
        if (texts[0][0] == '\0' && texts[1][0] == '\0')
            continue;
        if (found++ == index) {
            snprintf(name, 64, "%s", texts[0]);
            snprintf(value, 64, "%s", texts[1]);
            return true;
        }
    }
    return false;
}

static void short_texts_match_reference(void **state)
{
    (void)state;
    static const char characters[] = "a=; \"";
    enum { MOST = 7, CHARACTERS = sizeof characters - 1 };
    for (size_t length = 1; length <= MOST; length++) {
        size_t count = 1;
        for (size_t i = 0; i < length; i++)
            count *= CHARACTERS;
        for (size_t number = 0; number < count; number++) {
            char text[MOST + 1] = {0};
            char expected[256] = {0};
            char name[64];
            char value[64];
            size_t used = 0;
            for (size_t i = 0, n = number; i < length; i++, n /= CHARACTERS)
                text[i] = characters[n % CHARACTERS];
            for (size_t i = 0; reference_pair(text, i, name, value); i++)
                used += (size_t)snprintf(expected + used, sizeof expected - used, "[%s|%s]", name,
                                         value);
            assert_string_equal(pairs(text), expected);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cookie_pairs_are_split_and_trimmed),
        cmocka_unit_test(null_text_has_no_cookies),
        cmocka_unit_test(short_texts_match_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
