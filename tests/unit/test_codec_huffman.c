/* The Huffman code of HPACK against the list of RFC 7541 appendix B. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "codec/http2/huffman.h"
#include "support/guarded.h"

/* Code and bits of each symbol; the last is the end of a string. */
static const struct {
    uint32_t code;
    unsigned bits;
} list[257] = {
    {0x1ff8, 13},     {0x7fffd8, 23},   {0xfffffe2, 28},  {0xfffffe3, 28},  {0xfffffe4, 28},
    {0xfffffe5, 28},  {0xfffffe6, 28},  {0xfffffe7, 28},  {0xfffffe8, 28},  {0xffffea, 24},
    {0x3ffffffc, 30}, {0xfffffe9, 28},  {0xfffffea, 28},  {0x3ffffffd, 30}, {0xfffffeb, 28},
    {0xfffffec, 28},  {0xfffffed, 28},  {0xfffffee, 28},  {0xfffffef, 28},  {0xffffff0, 28},
    {0xffffff1, 28},  {0xffffff2, 28},  {0x3ffffffe, 30}, {0xffffff3, 28},  {0xffffff4, 28},
    {0xffffff5, 28},  {0xffffff6, 28},  {0xffffff7, 28},  {0xffffff8, 28},  {0xffffff9, 28},
    {0xffffffa, 28},  {0xffffffb, 28},  {0x14, 6},        {0x3f8, 10},      {0x3f9, 10},
    {0xffa, 12},      {0x1ff9, 13},     {0x15, 6},        {0xf8, 8},        {0x7fa, 11},
    {0x3fa, 10},      {0x3fb, 10},      {0xf9, 8},        {0x7fb, 11},      {0xfa, 8},
    {0x16, 6},        {0x17, 6},        {0x18, 6},        {0x0, 5},         {0x1, 5},
    {0x2, 5},         {0x19, 6},        {0x1a, 6},        {0x1b, 6},        {0x1c, 6},
    {0x1d, 6},        {0x1e, 6},        {0x1f, 6},        {0x5c, 7},        {0xfb, 8},
    {0x7ffc, 15},     {0x20, 6},        {0xffb, 12},      {0x3fc, 10},      {0x1ffa, 13},
    {0x21, 6},        {0x5d, 7},        {0x5e, 7},        {0x5f, 7},        {0x60, 7},
    {0x61, 7},        {0x62, 7},        {0x63, 7},        {0x64, 7},        {0x65, 7},
    {0x66, 7},        {0x67, 7},        {0x68, 7},        {0x69, 7},        {0x6a, 7},
    {0x6b, 7},        {0x6c, 7},        {0x6d, 7},        {0x6e, 7},        {0x6f, 7},
    {0x70, 7},        {0x71, 7},        {0x72, 7},        {0xfc, 8},        {0x73, 7},
    {0xfd, 8},        {0x1ffb, 13},     {0x7fff0, 19},    {0x1ffc, 13},     {0x3ffc, 14},
    {0x22, 6},        {0x7ffd, 15},     {0x3, 5},         {0x23, 6},        {0x4, 5},
    {0x24, 6},        {0x5, 5},         {0x25, 6},        {0x26, 6},        {0x27, 6},
    {0x6, 5},         {0x74, 7},        {0x75, 7},        {0x28, 6},        {0x29, 6},
    {0x2a, 6},        {0x7, 5},         {0x2b, 6},        {0x76, 7},        {0x2c, 6},
    {0x8, 5},         {0x9, 5},         {0x2d, 6},        {0x77, 7},        {0x78, 7},
    {0x79, 7},        {0x7a, 7},        {0x7b, 7},        {0x7ffe, 15},     {0x7fc, 11},
    {0x3ffd, 14},     {0x1ffd, 13},     {0xffffffc, 28},  {0xfffe6, 20},    {0x3fffd2, 22},
    {0xfffe7, 20},    {0xfffe8, 20},    {0x3fffd3, 22},   {0x3fffd4, 22},   {0x3fffd5, 22},
    {0x7fffd9, 23},   {0x3fffd6, 22},   {0x7fffda, 23},   {0x7fffdb, 23},   {0x7fffdc, 23},
    {0x7fffdd, 23},   {0x7fffde, 23},   {0xffffeb, 24},   {0x7fffdf, 23},   {0xffffec, 24},
    {0xffffed, 24},   {0x3fffd7, 22},   {0x7fffe0, 23},   {0xffffee, 24},   {0x7fffe1, 23},
    {0x7fffe2, 23},   {0x7fffe3, 23},   {0x7fffe4, 23},   {0x1fffdc, 21},   {0x3fffd8, 22},
    {0x7fffe5, 23},   {0x3fffd9, 22},   {0x7fffe6, 23},   {0x7fffe7, 23},   {0xffffef, 24},
    {0x3fffda, 22},   {0x1fffdd, 21},   {0xfffe9, 20},    {0x3fffdb, 22},   {0x3fffdc, 22},
    {0x7fffe8, 23},   {0x7fffe9, 23},   {0x1fffde, 21},   {0x7fffea, 23},   {0x3fffdd, 22},
    {0x3fffde, 22},   {0xfffff0, 24},   {0x1fffdf, 21},   {0x3fffdf, 22},   {0x7fffeb, 23},
    {0x7fffec, 23},   {0x1fffe0, 21},   {0x1fffe1, 21},   {0x3fffe0, 22},   {0x1fffe2, 21},
    {0x7fffed, 23},   {0x3fffe1, 22},   {0x7fffee, 23},   {0x7fffef, 23},   {0xfffea, 20},
    {0x3fffe2, 22},   {0x3fffe3, 22},   {0x3fffe4, 22},   {0x7ffff0, 23},   {0x3fffe5, 22},
    {0x3fffe6, 22},   {0x7ffff1, 23},   {0x3ffffe0, 26},  {0x3ffffe1, 26},  {0xfffeb, 20},
    {0x7fff1, 19},    {0x3fffe7, 22},   {0x7ffff2, 23},   {0x3fffe8, 22},   {0x1ffffec, 25},
    {0x3ffffe2, 26},  {0x3ffffe3, 26},  {0x3ffffe4, 26},  {0x7ffffde, 27},  {0x7ffffdf, 27},
    {0x3ffffe5, 26},  {0xfffff1, 24},   {0x1ffffed, 25},  {0x7fff2, 19},    {0x1fffe3, 21},
    {0x3ffffe6, 26},  {0x7ffffe0, 27},  {0x7ffffe1, 27},  {0x3ffffe7, 26},  {0x7ffffe2, 27},
    {0xfffff2, 24},   {0x1fffe4, 21},   {0x1fffe5, 21},   {0x3ffffe8, 26},  {0x3ffffe9, 26},
    {0xffffffd, 28},  {0x7ffffe3, 27},  {0x7ffffe4, 27},  {0x7ffffe5, 27},  {0xfffec, 20},
    {0xfffff3, 24},   {0xfffed, 20},    {0x1fffe6, 21},   {0x3fffe9, 22},   {0x1fffe7, 21},
    {0x1fffe8, 21},   {0x7ffff3, 23},   {0x3fffea, 22},   {0x3fffeb, 22},   {0x1ffffee, 25},
    {0x1ffffef, 25},  {0xfffff4, 24},   {0xfffff5, 24},   {0x3ffffea, 26},  {0x7ffff4, 23},
    {0x3ffffeb, 26},  {0x7ffffe6, 27},  {0x3ffffec, 26},  {0x3ffffed, 26},  {0x7ffffe7, 27},
    {0x7ffffe8, 27},  {0x7ffffe9, 27},  {0x7ffffea, 27},  {0x7ffffeb, 27},  {0xffffffe, 28},
    {0x7ffffec, 27},  {0x7ffffed, 27},  {0x7ffffee, 27},  {0x7ffffef, 27},  {0x7fffff0, 27},
    {0x3ffffee, 26},  {0x3fffffff, 30},
};

enum { MOST = 64 };

/* Writes the codes of symbols with `padding` more bits, all ones except the highest `zeros`. */
static size_t put_codes(char *out, const unsigned *symbols, size_t count, unsigned padding,
                        unsigned zeros)
{
    size_t bits = 0;
    memset(out, 0, 4 * count + 8);
    for (size_t i = 0; i <= count; i++) {
        unsigned length = i < count ? list[symbols[i]].bits : padding;
        for (unsigned bit = 0; bit < length; bit++, bits++) {
            unsigned one =
                i < count ? list[symbols[i]].code >> (length - 1 - bit) & 1 : bit >= zeros;
            out[bits / 8] = (char)(out[bits / 8] | (int)(one << (7 - bits % 8)));
        }
    }
    assert_int_equal(bits % 8, 0);
    return bits / 8;
}

static unsigned padding_of(const unsigned *symbols, size_t count)
{
    unsigned bits = 0;
    for (size_t i = 0; i < count; i++)
        bits += list[symbols[i]].bits;
    return (8 - bits % 8) % 8;
}

/* The symbols are written as in the list, and read with exact space; with less they do not fit. */
static void check(const struct guarded *memory, const unsigned *symbols, size_t count)
{
    char text[MOST];
    char expected[4 * MOST + 8];
    char out[4 * MOST + 8];
    for (size_t i = 0; i < count; i++)
        text[i] = (char)(uint8_t)symbols[i];
    size_t size = put_codes(expected, symbols, count, padding_of(symbols, count), 0);
    assert_int_equal(uvh_huffman_size(text, count), size);
    assert_ptr_equal(uvh_huffman_encode(out, text, count), out + size);
    assert_memory_equal(out, expected, size);
    const char *in = guarded_copy(memory, expected, size);
    char exact[MOST];
    assert_int_equal(uvh_huffman_decode(in, size, exact, count), (int)count);
    assert_memory_equal(exact, text, count);
    for (size_t space = 0; space < count; space++)
        assert_int_equal(uvh_huffman_decode(in, size, exact, space), UVH_HUFFMAN_SPACE);
}

static void every_symbol_has_the_code_of_the_list(void **state)
{
    (void)state;
    struct guarded memory = guarded_make(4 * MOST);
    for (unsigned symbol = 0; symbol < 256; symbol++)
        check(&memory, &symbol, 1);
}

static void all_pairs_of_symbols_decode(void **state)
{
    (void)state;
    struct guarded memory = guarded_make(4 * MOST);
    for (unsigned pair = 0; pair < 65536; pair++)
        check(&memory, (const unsigned[]){pair / 256, pair % 256}, 2);
}

static void texts_of_all_lengths_decode(void **state)
{
    (void)state;
    struct guarded memory = guarded_make(4 * MOST);
    unsigned symbols[MOST];
    uint32_t random = 1;
    for (size_t count = 0; count <= MOST; count++) {
        for (unsigned run = 0; run < 64; run++) {
            for (size_t i = 0; i < count; i++) {
                random = random * 1664525 + 1013904223;
                /* mostly short codes */
                symbols[i] = run % 8 == 0 ? random >> 24 : 'a' + (random >> 24) % 26;
            }
            check(&memory, symbols, count);
        }
    }
}

static void padding_is_at_most_seven_ones(void **state)
{
    (void)state;
    char in[4 * MOST + 8];
    char out[2 * MOST];
    for (size_t count = 0; count < 32; count++) {
        unsigned symbols[32] = {0};
        for (size_t i = 0; i < count; i++)
            symbols[i] = i % 2 == 0 ? 'a' : 'b'; /* 5 and 6 bits */
        unsigned padding = padding_of(symbols, count);
        size_t size = put_codes(in, symbols, count, padding, 0);
        assert_int_equal(uvh_huffman_decode(in, size, out, sizeof out), (int)count);
        size = put_codes(in, symbols, count, padding + 8, 0);
        assert_int_equal(uvh_huffman_decode(in, size, out, sizeof out), UVH_HUFFMAN_BAD);
        if (padding > 0 && padding < 5) { /* five zeros are a symbol */
            size = put_codes(in, symbols, count, padding, 1);
            assert_int_equal(uvh_huffman_decode(in, size, out, sizeof out), UVH_HUFFMAN_BAD);
        }
    }
}

static void end_of_string_symbol_is_bad(void **state)
{
    (void)state;
    char in[4 * MOST + 8];
    char out[MOST];
    for (size_t count = 1; count < 32; count++) {
        unsigned symbols[32];
        for (size_t i = 0; i < count; i++)
            symbols[i] = 'a';
        symbols[count / 2] = 256;
        size_t size = put_codes(in, symbols, count, padding_of(symbols, count), 0);
        assert_int_equal(uvh_huffman_decode(in, size, out, sizeof out), UVH_HUFFMAN_BAD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_symbol_has_the_code_of_the_list),
        cmocka_unit_test(all_pairs_of_symbols_decode),
        cmocka_unit_test(texts_of_all_lengths_decode),
        cmocka_unit_test(padding_is_at_most_seven_ones),
        cmocka_unit_test(end_of_string_symbol_is_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
