/* codec/text/utf8_sequence.c compared with the definition: every code point, and overlong forms. */
#include "codec/text/utf8_sequence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* The shortest encoding of a number, including surrogates and numbers beyond Unicode. */
static size_t encode(uint32_t point, char text[4])
{
    size_t size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = size - 1; i > 0; i--) {
        text[i] = (char)(0x80 | (point & 0x3F));
        point >>= 6;
    }
    text[0] = (char)(leads[size] | point);
    return size;
}

static void code_points_have_lengths(void **state)
{
    (void)state;
    for (uint32_t point = 0; point < 0x120000; point++) {
        char text[4];
        size_t size = encode(point, text);
        bool allowed = point < 0x110000 && (point < 0xD800 || point > 0xDFFF);
        assert_int_equal(uvh_utf8_sequence_valid_length(text, 4), allowed ? size : 0);
        if (!allowed)
            continue;
        assert_int_equal(uvh_utf8_sequence_valid_length(text, size), size);
        if (size > 1)
            assert_int_equal(uvh_utf8_sequence_valid_length(text, size - 1), 0);
        bool noncharacter = (point >= 0xFDD0 && point <= 0xFDEF) || (point & 0xFFFE) == 0xFFFE;
        assert_int_equal(uvh_utf8_sequence_is_noncharacter(text, size), noncharacter);
    }
}

static void overlong_forms_are_invalid(void **state)
{
    (void)state;
    assert_int_equal(uvh_utf8_sequence_valid_length("\xC0\x80", 2), 0);
    assert_int_equal(uvh_utf8_sequence_valid_length("\xC1\xBF", 2), 0);
    assert_int_equal(uvh_utf8_sequence_valid_length("\xE0\x9F\xBF", 3), 0);
    assert_int_equal(uvh_utf8_sequence_valid_length("\xF0\x8F\xBF\xBF", 4), 0);
}

static void texts_are_validated(void **state)
{
    (void)state;
    assert_true(uvh_utf8_sequence_is_valid_text("", 0));
    assert_true(uvh_utf8_sequence_is_valid_text("a\xC3\xBC\xE2\x82\xAC\xF0\x9F\x90\x99", 10));
    assert_false(uvh_utf8_sequence_is_valid_text("a\xC3", 2));
    assert_false(uvh_utf8_sequence_is_valid_text("\x80", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_points_have_lengths),
        cmocka_unit_test(overlong_forms_are_invalid),
        cmocka_unit_test(texts_are_validated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
