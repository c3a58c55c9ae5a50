/* Each name is a sequence of keys: a letter's key is its code point in the table, a run of digits
 * has the key of '0' and is compared by value. Combining marks have no key. Names with equal keys
 * are compared by their bytes. */
#include "codec/text/name_order.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "codec/text/name_order_table.inc"
#include "codec/text/utf8_sequence.h"

enum {
    END = 0,
    NUMBER = '0',
    INVALID = 0x110000, /* added to a byte that is no UTF-8 */
    MARKS_FIRST = 0x300,
    MARKS_LAST = 0x36f,
};

struct reader {
    const char *at;
    const char *digits; /* of the last number, without leading zeros */
    size_t count;
};

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static uint32_t key_of_letter(uint32_t letter)
{
    size_t low = 0, high = UVH_COUNT_OF(letters);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (letters[middle][0] == letter)
            return letters[middle][1];
        if (letters[middle][0] < letter)
            low = middle + 1;
        else
            high = middle;
    }
    return letter;
}

static void skip_number(struct reader *reader)
{
    while (*reader->at == '0')
        reader->at++;
    reader->digits = reader->at;
    while (is_digit(*reader->at))
        reader->at++;
    reader->count = (size_t)(reader->at - reader->digits);
}

/* One character that is not ASCII. */
static uint32_t next_letter(struct reader *reader)
{
    const unsigned char *bytes = (const unsigned char *)reader->at;
    size_t size = uvh_utf8_sequence_valid_length(reader->at, strnlen(reader->at, 4));
    reader->at += size == 0 ? 1 : size;
    if (size == 0)
        return INVALID + (uint32_t)bytes[0];
    uint32_t letter = bytes[0] & (0xffU >> (size + 1));
    for (size_t i = 1; i < size; i++)
        letter = letter << 6 | (bytes[i] & 0x3fU);
    return letter;
}

/* The key of the next character, with digits as they are; END at the end. */
static uint32_t next_character(struct reader *reader)
{
    for (;;) {
        unsigned char byte = (unsigned char)*reader->at;
        if (byte == '\0')
            return END;
        if (byte < 0x80) {
            reader->at++;
            return byte >= 'A' && byte <= 'Z' ? (uint32_t)(byte - 'A' + 'a') : byte;
        }
        uint32_t letter = next_letter(reader);
        if (letter < MARKS_FIRST || letter > MARKS_LAST)
            return key_of_letter(letter);
    }
}

static uint32_t next_key(struct reader *reader)
{
    if (!is_digit(*reader->at)) {
        uint32_t key = next_character(reader);
        if (key > '9' || key < '0')
            return key;
        reader->at--; /* a number after combining marks */
    }
    skip_number(reader);
    return NUMBER;
}

static int compare_numbers(const struct reader *a, const struct reader *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return memcmp(a->digits, b->digits, a->count);
}

int uvh_name_order_compare(const char *a, const char *b)
{
    struct reader left = {.at = a}, right = {.at = b};
    for (;;) {
        uint32_t key = next_key(&left), other = next_key(&right);
        if (key != other)
            return key < other ? -1 : 1;
        int difference = key == NUMBER ? compare_numbers(&left, &right) : 0;
        if (difference != 0)
            return difference;
        if (key == END)
            return strcmp(a, b);
    }
}

static bool begins_with(struct reader name, const char *part)
{
    struct reader wanted = {.at = part};
    for (;;) {
        uint32_t key = next_character(&wanted);
        if (key == END)
            return true;
        if (next_character(&name) != key)
            return false;
    }
}

bool uvh_name_order_contains(const char *name, const char *part)
{
    struct reader reader = {.at = name};
    do {
        if (begins_with(reader, part))
            return true;
    } while (next_character(&reader) != END);
    return false;
}
