/* codec/simd/utf8.c on every back end, compared with the grammar of RFC 3629 section 4 byte by
 * byte. */
#include "codec/simd/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "support/backends.h"
#include "support/guarded.h"

/* Expected continuation bytes; all zeros is the initial state. */
struct reference {
    unsigned missing;
    uint8_t least; /* of the next continuation byte */
    uint8_t most;
    bool invalid;
};

static void reference_lead(struct reference *text, uint8_t byte)
{
    text->least = 0x80;
    text->most = 0xBF;
    if (byte <= 0x7F)
        return;
    if (byte >= 0xC2 && byte <= 0xDF) {
        text->missing = 1;
    } else if (byte >= 0xE0 && byte <= 0xEF) {
        text->missing = 2;
        text->least = byte == 0xE0 ? 0xA0 : 0x80;
        text->most = byte == 0xED ? 0x9F : 0xBF;
    } else if (byte >= 0xF0 && byte <= 0xF4) {
        text->missing = 3;
        text->least = byte == 0xF0 ? 0x90 : 0x80;
        text->most = byte == 0xF4 ? 0x8F : 0xBF;
    } else {
        text->invalid = true;
    }
}

static void reference_take(struct reference *text, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size && !text->invalid; i++) {
        uint8_t byte = (uint8_t)bytes[i];
        if (text->missing == 0) {
            reference_lead(text, byte);
            continue;
        }
        if (byte < text->least || byte > text->most)
            text->invalid = true;
        text->missing--;
        text->least = 0x80;
        text->most = 0xBF;
    }
}

static void report(const char *what, const char *bytes, size_t size)
{
    char hex[3 * 24 + 1] = "";
    for (size_t i = 0; i < size && i < 24; i++)
        snprintf(hex + 3 * i, 4, "%02X ", (uint8_t)bytes[i]);
    fail_msg("%s: %zu bytes, %s, back end %s", what, size, hex, uvhttp_parser_backend());
}

/* Checks the text in two parts; a split at `size` is the whole text. */
static void check_split(const char *bytes, size_t size, size_t split)
{
    struct reference expected = {0};
    struct uvh_utf8 state = {0};
    reference_take(&expected, bytes, split);
    bool valid = uvh_utf8_check(&state, bytes, split);
    if (valid == expected.invalid)
        report("before the split", bytes, size);
    if (!valid)
        return;
    if (uvh_utf8_complete(&state) != (expected.missing == 0))
        report("at the split", bytes, size);
    reference_take(&expected, bytes + split, size - split);
    valid = uvh_utf8_check(&state, bytes + split, size - split);
    if (valid == expected.invalid ||
        (valid && uvh_utf8_complete(&state) != (expected.missing == 0)))
        report("after the split", bytes, size);
}

static void check(const char *bytes, size_t size)
{
    struct reference expected = {0};
    reference_take(&expected, bytes, size);
    if (uvh_utf8_valid(bytes, size) != (!expected.invalid && expected.missing == 0))
        report("whole", bytes, size);
    check_split(bytes, size, size);
}

/* Both sides of every limit of the grammar. */
static const uint8_t limits[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
                                 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFF};
enum { LIMITS = sizeof limits };

static void all_texts_of_three_bytes_match(void **state)
{
    (void)state;
    for (size_t at = 0; backends_next(&at);) {
        for (unsigned number = 0; number < 0x10000; number++) {
            char text[2] = {(char)(uint8_t)(number >> 8), (char)(uint8_t)number};
            check(text, 1);
            check(text, 2);
        }
        for (unsigned number = 0; number < 0x1000000; number++) {
            char text[3] = {(char)(uint8_t)(number >> 16), (char)(uint8_t)(number >> 8),
                            (char)(uint8_t)number};
            struct uvh_utf8 checked = {0};
            struct reference expected = {0};
            reference_take(&expected, text, 3);
            bool valid = uvh_utf8_check(&checked, text, 3);
            if (valid == expected.invalid ||
                (valid && uvh_utf8_complete(&checked) != (expected.missing == 0)))
                report("three", text, 3);
        }
    }
}

static void four_bytes_at_grammar_limits_match(void **state)
{
    (void)state;
    for (size_t at = 0; backends_next(&at);) {
        for (unsigned number = 0; number < LIMITS * LIMITS * LIMITS * LIMITS; number++) {
            char text[4];
            unsigned rest = number;
            for (size_t i = 0; i < 4; i++, rest /= LIMITS)
                text[i] = (char)limits[rest % LIMITS];
            check(text, 4);
        }
    }
}

static void split_four_bytes_match(void **state)
{
    (void)state;
    for (size_t at = 0; backends_next(&at);) {
        for (unsigned number = 0; number < LIMITS * LIMITS * LIMITS; number++) {
            char text[4] = {(char)limits[number % LIMITS], (char)limits[number / LIMITS % LIMITS],
                            (char)limits[number / LIMITS / LIMITS], (char)(0x80 | number % 0x40)};
            for (size_t split = 0; split <= 4; split++)
                check_split(text, 4, split);
        }
    }
}

/* Valid sequences of all lengths at the limits, and invalid ones for each reason. */
static const char *const sequences[] = {
    "\x7F",
    "\xC2\x80",
    "\xDF\xBF",
    "\xE0\xA0\x80",
    "\xED\x9F\xBF",
    "\xEE\x80\x80",
    "\xEF\xBF\xBF",
    "\xF0\x90\x80\x80",
    "\xF4\x8F\xBF\xBF",
    "\xF1\x80\x80\x80",
    "\x80",
    "\xBF",
    "\xC0\x80",
    "\xC1\xBF",
    "\xC2",
    "\xC2\xC2\x80",
    "\xDF\x7F",
    "\xE0\x80\x80",
    "\xE0\x9F\xBF",
    "\xED\xA0\x80",
    "\xED\xBF\xBF",
    "\xE1\x80",
    "\xE1",
    "\xE1\x80\x80\x80",
    "\xF0\x80\x80\x80",
    "\xF0\x8F\xBF\xBF",
    "\xF4\x90\x80\x80",
    "\xF5\x80\x80\x80",
    "\xF5\x90\x80\x80",
    "\xF7\xBF\xBF\xBF",
    "\xF8\x88\x80\x80\x80",
    "\xFC\x84\x80\x80\x80\x80",
    "\xFE",
    "\xFF",
    "\xF1\x80\x80",
    "\xF1\x80",
    "\xF1",
    "\xF1\x80\x80\x80\x80",
    "\xC3\xA4\xA4",
    "\xF1\x80\x80\xC2\x80",
    "\xE1\x80\xE1\x80\x80",
    "\xF1\xF1\x80\x80\x80",
};

/* A text of `size` bytes of ASCII, or of characters of two or three bytes, preceded by some ASCII
 * to fill the size exactly. */
static void fill(char *text, size_t size, size_t width)
{
    static const char *const characters[] = {"x", "\xD0\xAF", "\xE2\x82\xAC"};
    size_t rest = size % width;
    memset(text, 'x', rest);
    for (size_t i = rest; i < size; i += width)
        memcpy(text + i, characters[width - 1], width);
}

/* At every offset in vectors, with any neighbours. Nothing beyond the end of the text is read. */
static void sequences_at_any_offset_match(void **state)
{
    (void)state;
    enum { FRONT = 290 };
    struct guarded memory = guarded_make(1024);
    static const size_t tails[] = {0, 1, 2, 3, 13, 70, 260};
    for (size_t at = 0; backends_next(&at);) {
        for (size_t front = 0; front < FRONT; front++) {
            for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
                char text[1024];
                size_t tail = tails[(front + i) % (sizeof tails / sizeof *tails)];
                size_t length = strlen(sequences[i]);
                fill(text, front, (front + i) % 3 + 1);
                memcpy(text + front, sequences[i], length);
                fill(text + front + length, tail, front / 3 % 3 + 1);
                size_t size = front + length + tail;
                check(guarded_copy(&memory, text, size), size);
                check_split(guarded_copy_front(&memory, text, size), size,
                            front + i % (length + 1));
            }
        }
    }
}

/* One byte is invalid, in texts of every size at every offset: none is missed where vectors
 * meet. */
static void invalid_byte_is_found_at_any_offset(void **state)
{
    (void)state;
    static const char invalid[] = {'\x80', '\xFF', '\xE1'};
    for (size_t at = 0; backends_next(&at);) {
        for (size_t size = 1; size < 300; size++) {
            char text[300];
            fill(text, size, size % 3 + 1);
            assert_true(uvh_utf8_valid(text, size));
            for (size_t offset = 0; offset < size; offset++) {
                char valid = text[offset];
                text[offset] = invalid[(size + offset) % 3];
                check(text, size);
                text[offset] = valid;
            }
        }
    }
}

static void split_text_matches(void **state)
{
    (void)state;
    static const char sample[] =
        "plain ascii, \xD0\xAF\xD0\xAF \xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC "
        "\xF0\x9F\x90\x99\xF0\x9F\x90\x99, and more of it, so that it is longer than "
        "vectors are: \xC3\xA4\xC3\xB6\xC3\xBC\xE1\x88\xB4\xF0\x90\x8D\x88";
    size_t size = sizeof sample - 1;
    for (size_t at = 0; backends_next(&at);) {
        for (size_t split = 0; split <= size; split++)
            check_split(sample, size, split);
        struct uvh_utf8 checked = {0};
        for (size_t i = 0; i < size; i++)
            assert_true(uvh_utf8_check(&checked, sample + i, 1));
        assert_true(uvh_utf8_complete(&checked));
    }
}

static uint32_t seed = 7;

static uint32_t random_below(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed % below;
}

/* Mostly valid: characters of which sometimes one byte is changed. */
static size_t make_text(char *text, size_t size)
{
    size_t length = 0;
    bool ascii = false;
    while (length + 4 <= size) {
        if (random_below(16) == 0)
            ascii = !ascii;
        const char *sequence = ascii ? "t" : sequences[random_below(10)];
        memcpy(text + length, sequence, strlen(sequence));
        length += strlen(sequence);
    }
    if (random_below(3) == 0 && length > 0)
        text[random_below((uint32_t)length)] = (char)limits[random_below(LIMITS)];
    return length - random_below(length < 4 ? 1 : 4);
}

static void random_texts_match_whole_and_split(void **state)
{
    (void)state;
    struct guarded memory = guarded_make(1024);
    for (size_t round = 0; round < 20000; round++) {
        char text[1024];
        size_t size = make_text(text, 4 + random_below(round % 16 == 0 ? 1000 : 150));
        size_t split = random_below((uint32_t)size + 1);
        for (size_t at = 0; backends_next(&at);) {
            check(guarded_copy(&memory, text, size), size);
            check_split(guarded_copy_front(&memory, text, size), size, split);
        }
    }
}

static void empty_text_is_valid(void **state)
{
    (void)state;
    struct uvh_utf8 checked = {0};
    assert_true(uvh_utf8_valid(NULL, 0));
    assert_true(uvh_utf8_check(&checked, "\xC3", 1));
    assert_true(uvh_utf8_check(&checked, NULL, 0));
    assert_false(uvh_utf8_complete(&checked));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_texts_of_three_bytes_match),
        cmocka_unit_test(four_bytes_at_grammar_limits_match),
        cmocka_unit_test(split_four_bytes_match),
        cmocka_unit_test(sequences_at_any_offset_match),
        cmocka_unit_test(invalid_byte_is_found_at_any_offset),
        cmocka_unit_test(split_text_matches),
        cmocka_unit_test(random_texts_match_whole_and_split),
        cmocka_unit_test(empty_text_is_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
