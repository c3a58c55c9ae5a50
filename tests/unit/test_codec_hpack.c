/* The HPACK decoder and encoder: examples of RFC 7541 appendix C, limits, validation of fields. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "codec/fields/field.h"
#include "codec/http2/hpack.h"
#include "codec/http2/static_table.h"
#include "support/guarded.h"

enum { TEXT = 4096 };

static struct guarded input;
static struct guarded table;

/* The block of hexadecimal digits, which may have spaces, at the end of readable memory. */
static uvhttp_slice_t block_of(const char *hex)
{
    char bytes[TEXT];
    size_t length = 0;
    for (; *hex != '\0'; hex++) {
        if (*hex == ' ')
            continue;
        char digits[3] = {hex[0], hex[1], '\0'};
        bytes[length++] = (char)strtol(digits, NULL, 16);
        hex++;
    }
    return (uvhttp_slice_t){guarded_copy(&input, bytes, length), length};
}

static struct uvh_hpack_decoder decoder_of(uint32_t capacity)
{
    struct uvh_hpack_decoder decoder;
    uvh_hpack_decoder_init(&decoder, capacity);
    decoder.memory = table.end - (uvh_hpack_memory_size(capacity) + 7) / 8 * 8;
    return decoder;
}

/* Decodes a block to lines. */
static enum uvh_hpack_result decode(struct uvh_hpack_decoder *decoder, const char *hex,
                                    char text[TEXT])
{
    uvhttp_slice_t block = block_of(hex);
    const char *end = block.base + block.length;
    struct uvh_hpack_field field;
    char *out = text;
    uvh_hpack_begin(decoder);
    for (;;) {
        enum uvh_hpack_result result = uvh_hpack_decode(decoder, &block.base, end, out,
                                                        (size_t)(text + TEXT - 1 - out), &field);
        if (result != UVH_HPACK_FIELD) {
            *out = '\0';
            return result;
        }
        assert_memory_equal(out + field.name_length, ": ", 2);
        out += field.name_length + 2 + field.value_length;
        assert_memory_equal(out, "\r\n", 2);
        out += 2;
    }
}

static void check(struct uvh_hpack_decoder *decoder, const char *hex, const char *expected,
                  uint32_t table_size)
{
    char text[TEXT];
    assert_int_equal(decode(decoder, hex, text), UVH_HPACK_DONE);
    assert_string_equal(text, expected);
    assert_int_equal(decoder->size, table_size);
}

static void check_bad(const char *hex)
{
    char text[TEXT];
    struct uvh_hpack_decoder decoder = decoder_of(4096);
    assert_int_equal(decode(&decoder, hex, text), UVH_HPACK_BAD);
}

static void examples_of_literals_decode(void **state)
{
    (void)state;
    struct uvh_hpack_decoder decoder = decoder_of(4096);
    check(&decoder, "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
          "custom-key: custom-header\r\n", 55);
    check(&decoder, "040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path\r\n", 55);
    check(&decoder, "1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret\r\n", 55);
    check(&decoder, "82", ":method: GET\r\n", 55);
}

static void check_requests(const char *const blocks[3])
{
    struct uvh_hpack_decoder decoder = decoder_of(4096);
    check(&decoder, blocks[0],
          ":method: GET\r\n:scheme: http\r\n:path: /\r\n:authority: www.example.com\r\n", 57);
    check(&decoder, blocks[1],
          ":method: GET\r\n:scheme: http\r\n:path: /\r\n:authority: www.example.com\r\n"
          "cache-control: no-cache\r\n",
          110);
    check(&decoder, blocks[2],
          ":method: GET\r\n:scheme: https\r\n:path: /index.html\r\n"
          ":authority: www.example.com\r\ncustom-key: custom-value\r\n",
          164);
}

static void examples_of_requests_decode(void **state)
{
    (void)state;
    static const char *const plain[] = {
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    };
    static const char *const huffman[] = {
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    };
    check_requests(plain);
    check_requests(huffman);
}

static void check_responses(const char *const blocks[3])
{
    struct uvh_hpack_decoder decoder = decoder_of(4096);
    check(&decoder, "3fe101", "", 0); /* 256 bytes, as in the examples */
    check(&decoder, blocks[0],
          ":status: 302\r\ncache-control: private\r\ndate: Mon, 21 Oct 2013 20:13:21 GMT\r\n"
          "location: https://www.example.com\r\n",
          222);
    check(&decoder, blocks[1],
          ":status: 307\r\ncache-control: private\r\ndate: Mon, 21 Oct 2013 20:13:21 GMT\r\n"
          "location: https://www.example.com\r\n",
          222);
    check(&decoder, blocks[2],
          ":status: 200\r\ncache-control: private\r\ndate: Mon, 21 Oct 2013 20:13:22 GMT\r\n"
          "location: https://www.example.com\r\ncontent-encoding: gzip\r\n"
          "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\r\n",
          215);
    assert_int_equal(decoder.count, 3);
}

static void examples_of_responses_decode_with_eviction(void **state)
{
    (void)state;
    static const char *const plain[] = {
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a"
        "3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04"
        "677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49"
        "553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
    };
    static const char *const huffman[] = {
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e"
        "919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7"
        "821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed"
        "4ee5 b106 3d50 07",
    };
    check_responses(plain);
    check_responses(huffman);
}

#define STATIC_LINE(id, name, value) name ": " value "\r\n",

static void static_table_has_61_entries(void **state)
{
    (void)state;
    static const char *const lines[] = {UVH_HPACK_STATIC_MAP(STATIC_LINE)};
    assert_int_equal(UVH_COUNT_OF(lines), 61);
    struct uvh_hpack_decoder decoder = decoder_of(4096);
    for (unsigned index = 1; index <= 61; index++) {
        char hex[3];
        snprintf(hex, sizeof hex, "%02x", 0x80 | index);
        check(&decoder, hex, lines[index - 1], 0);
        const struct uvh_hpack_field *field = &uvh_hpack_static_table[index].field;
        uvhttp_slice_t name = {lines[index - 1], field->name_length};
        if (*name.base != ':')
            assert_int_equal(field->id, uvh_field_lookup(name));
    }
    check_bad("80");   /* index 0 */
    check_bad("be");   /* the dynamic table is empty */
    check_bad("7e00"); /* so is the name */
}

static void integers_are_bounded(void **state)
{
    (void)state;
    struct uvh_hpack_decoder decoder = decoder_of(4096);
    check(&decoder, "2a", "", 0); /* examples of section C.1, as table sizes */
    assert_int_equal(decoder.maximum, 10);
    check(&decoder, "3f9a0a", "", 0);
    assert_int_equal(decoder.maximum, 1337);
    check(&decoder, "3f8080808000", "", 0); /* zeros at the end are allowed */
    assert_int_equal(decoder.maximum, 31);
    check_bad("3f");
    check_bad("3f80");
    check_bad("3f808080808000");
    check_bad("3fe1ffffff0f");
    check_bad("ffffffffffff");
    check_bad("ffffffffff7f");
    check_bad("00 7fffffffff0f 61"); /* a string longer than the block */
    check_bad("00 01");
    check_bad("00");
    check_bad("0001 61");
    check_bad("0001 61 02 62");
    check_bad("0001 61 82 ffff"); /* padding of 16 bits */
}

static void table_size_updates_are_checked(void **state)
{
    (void)state;
    struct uvh_hpack_decoder decoder = decoder_of(8192);
    assert_int_equal(decoder.maximum, 4096);
    check(&decoder, "4001 6101 62 4001 6301 64", "a: b\r\nc: d\r\n", 68);
    check(&decoder, "3f04 be", "c: d\r\n", 34); /* 35 bytes: the newest remains */
    check(&decoder, "20 3fe13f", "", 0);        /* 0, then 8192 */
    assert_int_equal(decoder.maximum, 8192);
    char text[TEXT];
    assert_int_equal(decode(&decoder, "3fe23f", text), UVH_HPACK_BAD); /* 8193 */
    check_bad("82 20");                                                /* after a field */
}

static void entry_larger_than_the_table_empties_it(void **state)
{
    (void)state;
    struct uvh_hpack_decoder decoder = decoder_of(4096);
    check(&decoder, "3f09 4001 6101 62", "a: b\r\n", 34); /* 40 bytes */
    check(&decoder, "4001 6308 3132 3334 3536 3738", "c: 12345678\r\n", 0);
    assert_int_equal(decoder.count, 0);
    decoder.memory = NULL; /* not needed */
    check(&decoder, "4001 6308 3132 3334 3536 3738", "c: 12345678\r\n", 0);
}

static void memory_is_requested_by_the_first_entry(void **state)
{
    (void)state;
    char out[64];
    struct uvh_hpack_field field;
    struct uvh_hpack_decoder decoder = decoder_of(4096);
    char *memory = decoder.memory;
    decoder.memory = NULL;
    check(&decoder, "82 0001 6101 62", ":method: GET\r\na: b\r\n", 0);
    uvhttp_slice_t block = block_of("4001 6101 62 be");
    const char *start = block.base;
    const char *end = start + block.length;
    uvh_hpack_begin(&decoder);
    assert_int_equal(uvh_hpack_decode(&decoder, &block.base, end, out, sizeof out, &field),
                     UVH_HPACK_MEMORY);
    assert_ptr_equal(block.base, start);
    decoder.memory = memory;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(uvh_hpack_decode(&decoder, &block.base, end, out, sizeof out, &field),
                         UVH_HPACK_FIELD);
        assert_memory_equal(out, "a: b\r\n", 6);
    }
}

/* Each field of each kind fits exactly its size, and with less space nothing changes. */
static void less_space_changes_nothing(void **state)
{
    (void)state;
    static const char *const blocks[] = {
        "40 03616263 06646566676869",
        "be", /* the same from the table */
        "7e 06646566676869",
        "00 03616263 8425a849e9",
        "90",
        "1f20 01ff",
        "10 8425a849e9 00",
    };
    struct uvh_hpack_decoder decoder = decoder_of(4096);
    for (size_t i = 0; i < UVH_COUNT_OF(blocks); i++) {
        uvhttp_slice_t block = block_of(blocks[i]);
        const char *start = block.base;
        const char *end = start + block.length;
        struct uvh_hpack_field field;
        enum uvh_hpack_result result;
        uvh_hpack_begin(&decoder);
        for (size_t space = 0;; space++) {
            uint32_t count = decoder.count;
            char *out = malloc(space > 0 ? space : 1);
            assert_non_null(out);
            result = uvh_hpack_decode(&decoder, &block.base, end, out, space, &field);
            free(out);
            if (result != UVH_HPACK_SPACE) {
                assert_int_equal(space, field.name_length + field.value_length + 4u);
                break;
            }
            assert_ptr_equal(block.base, start);
            assert_int_equal(decoder.count, count);
        }
        assert_int_equal(result, UVH_HPACK_FIELD);
        assert_ptr_equal(block.base, end);
    }
}

static void cut_blocks_are_bad_or_shorter(void **state)
{
    (void)state;
    static const char whole[] =
        "82864184f1e3c2e5400a637573746f6d2d6b65790d637573746f6d2d686561646572"
        "5f0a7f8008746578742f68746d6c";
    char text[TEXT];
    unsigned done = 0;
    for (size_t length = 0; length < sizeof whole; length += 2) {
        char hex[sizeof whole];
        snprintf(hex, sizeof hex, "%.*s", (int)length, whole);
        struct uvh_hpack_decoder decoder = decoder_of(4096);
        enum uvh_hpack_result result = decode(&decoder, hex, text);
        assert_true(result == UVH_HPACK_DONE || result == UVH_HPACK_BAD);
        done += result == UVH_HPACK_DONE;
    }
    assert_int_equal(done, 6); /* after 0 to 5 fields */
}

/* The decoded field of a literal. */
static struct uvh_hpack_field literal(uvhttp_slice_t name, uvhttp_slice_t value)
{
    char block[256];
    char out[256];
    char *p = block;
    struct uvh_hpack_field field = {.id = 0};
    *p++ = 0x40;
    *p++ = (char)name.length;
    memcpy(p, name.base, name.length);
    p += name.length;
    *p++ = (char)value.length;
    memcpy(p, value.base, value.length);
    p += value.length;
    *p++ = (char)0xbe;
    struct uvh_hpack_decoder decoder = decoder_of(4096);
    const char *at = block;
    uvh_hpack_begin(&decoder);
    struct uvh_hpack_field again;
    assert_int_equal(uvh_hpack_decode(&decoder, &at, p, out, sizeof out, &field), UVH_HPACK_FIELD);
    assert_int_equal(uvh_hpack_decode(&decoder, &at, p, out, sizeof out, &again), UVH_HPACK_FIELD);
    assert_memory_equal(&field, &again, sizeof field); /* from the table */
    assert_int_equal(field.name_length, name.length);
    assert_int_equal(field.value_length, value.length);
    return field;
}

static void check_field(const char *name, const char *value, unsigned id, bool malformed)
{
    struct uvh_hpack_field field = literal(uvh_slice(name), uvh_slice(value));
    if (field.id != id || field.malformed != malformed)
        fail_msg("%s: %s has id %u, malformed %d", name, value, field.id, field.malformed);
}

static void valid_fields_have_their_ids(void **state)
{
    (void)state;
    check_field(":method", "GET", UVH_HPACK_METHOD, false);
    check_field(":scheme", "https", UVH_HPACK_SCHEME, false);
    check_field(":authority", "", UVH_HPACK_AUTHORITY, false);
    check_field(":path", "/", UVH_HPACK_PATH, false);
    check_field(":status", "200", UVH_HPACK_STATUS, false);
    check_field(":protocol", "websocket", UVH_HPACK_PROTOCOL, false);
    check_field("host", "a", UVHTTP_FIELD_HOST, false);
    check_field("x-a", "b c\td", UVHTTP_FIELD_OTHER, false);
    check_field("x-a", "", UVHTTP_FIELD_OTHER, false);
    check_field("x-a", "\xff\x80", UVHTTP_FIELD_OTHER, false);
    check_field("te", "trailers", UVHTTP_FIELD_TE, false);
}

static void malformed_fields_are_marked(void **state)
{
    (void)state;
    check_field("", "a", UVHTTP_FIELD_OTHER, true);
    check_field("Host", "a", UVHTTP_FIELD_HOST, true);
    check_field("x-A", "a", UVHTTP_FIELD_OTHER, true);
    check_field("x a", "a", UVHTTP_FIELD_OTHER, true);
    check_field("x:a", "a", UVHTTP_FIELD_OTHER, true);
    check_field("x\x80", "a", UVHTTP_FIELD_OTHER, true);
    check_field(":", "a", UVHTTP_FIELD_OTHER, true);
    check_field(":Path", "/", UVHTTP_FIELD_OTHER, true);
    check_field(":host", "a", UVHTTP_FIELD_OTHER, true);
    check_field(":paths", "a", UVHTTP_FIELD_OTHER, true);
    check_field("x", " a", UVHTTP_FIELD_OTHER, true);
    check_field("x", "a\t", UVHTTP_FIELD_OTHER, true);
    check_field("x", " ", UVHTTP_FIELD_OTHER, true);
    check_field("x", "a\rb", UVHTTP_FIELD_OTHER, true);
    check_field("x", "a\nb", UVHTTP_FIELD_OTHER, true);
    check_field("x", "a\x7f", UVHTTP_FIELD_OTHER, true);
    check_field(":path", "/ ", UVH_HPACK_PATH, true);
    check_field("connection", "close", UVHTTP_FIELD_CONNECTION, true);
    check_field("keep-alive", "1", UVHTTP_FIELD_KEEP_ALIVE, true);
    check_field("proxy-connection", "a", UVHTTP_FIELD_OTHER, true);
    check_field("transfer-encoding", "chunked", UVHTTP_FIELD_TRANSFER_ENCODING, true);
    check_field("upgrade", "h2c", UVHTTP_FIELD_UPGRADE, true);
    check_field("te", "gzip", UVHTTP_FIELD_TE, true);
    check_field("te", "", UVHTTP_FIELD_TE, true);
    assert_true(literal(UVH_SLICE("x"), UVH_SLICE("a\0b")).malformed);
    assert_true(literal(UVH_SLICE("x\0"), UVH_SLICE("a")).malformed);
}

/* The name of an entry with a malformed value is valid, and that of a malformed one is not. */
static void names_by_index_are_checked_again(void **state)
{
    (void)state;
    struct uvh_hpack_field field = {.id = 0};
    char out[64];
    static const bool malformed[] = {true, false, true, true, true};
    struct uvh_hpack_decoder decoder = decoder_of(4096);
    uvhttp_slice_t block = block_of("40 0178 0120"
                                    "7e 0161"
                                    "40 0158 0161"
                                    "7e 0161"
                                    "0f2a 0161");
    const char *end = block.base + block.length;
    uvh_hpack_begin(&decoder);
    for (size_t i = 0; i < UVH_COUNT_OF(malformed); i++) {
        assert_int_equal(uvh_hpack_decode(&decoder, &block.base, end, out, sizeof out, &field),
                         UVH_HPACK_FIELD);
        assert_int_equal(field.malformed, malformed[i]);
    }
    assert_int_equal(field.id, UVHTTP_FIELD_TRANSFER_ENCODING);
}

/* The dynamic table as a list of texts, newest first. */
struct model {
    char lines[512][160];
    uint32_t sizes[512];
    uint32_t count;
    uint32_t total;
};

static void model_evict(struct model *model, uint32_t size)
{
    while (model->total > size)
        model->total -= model->sizes[--model->count];
}

static void model_insert(struct model *model, const char *line, uint32_t size, uint32_t maximum)
{
    model_evict(model, size > maximum ? 0 : maximum - size);
    if (size > maximum)
        return;
    memmove(model->lines[1], model->lines[0], model->count * sizeof model->lines[0]);
    memmove(&model->sizes[1], &model->sizes[0], model->count * sizeof model->sizes[0]);
    snprintf(model->lines[0], sizeof model->lines[0], "%s", line);
    model->sizes[0] = size;
    model->count++;
    model->total += size;
}

/* Lines of many lengths, so that both rings wrap everywhere. */
static void table_is_a_list_of_the_newest_entries(void **state)
{
    (void)state;
    static struct model model;
    char hex[TEXT];
    uint32_t random = 7;
    struct uvh_hpack_decoder decoder = decoder_of(4096 + 40);
    for (unsigned step = 0; step < 20000; step++) {
        random = random * 1664525 + 1013904223;
        if (step % 1000 == 0) { /* 0 to 4096 */
            uint32_t maximum = (random >> 16) % 4097;
            uint32_t rest = maximum - 31;
            snprintf(hex, sizeof hex, maximum < 31 ? "%02x" : "3f%02x%02x",
                     maximum < 31 ? 0x20 | maximum : 0x80 | (rest & 0x7f), rest >> 7);
            model_evict(&model, maximum);
            check(&decoder, hex, "", model.total);
        }
        unsigned length = (random >> 24) % (step % 2000 < 1000 ? 100 : 4);
        int at = snprintf(hex, sizeof hex, "40 0178 %02x", length);
        char line[160] = "x: ";
        for (unsigned i = 0; i < length; i++) {
            snprintf(line + 3 + i, sizeof line - 3 - i, "%c", 'a' + (int)((step + i) % 26));
            at += snprintf(hex + at, sizeof hex - (size_t)at, "%02x", line[3 + i]);
        }
        snprintf(line + 3 + length, 3, "\r\n");
        model_insert(&model, line, length + 33, decoder.maximum);
        check(&decoder, hex, line, model.total);
        assert_int_equal(decoder.count, model.count);
        for (unsigned age = 0; age < model.count; age += 1 + step % 7) {
            if (age < 65)
                snprintf(hex, sizeof hex, "%02x", 0x80 | (62 + age));
            else /* 127 and one byte */
                snprintf(hex, sizeof hex, "ff %02x", 62 + age - 127);
            check(&decoder, hex, model.lines[age], model.total);
        }
    }
}

/* Inserting a field evicts the entry of its name (section 4.4). */
static void name_of_an_evicted_entry_is_kept(void **state)
{
    (void)state;
    struct uvh_hpack_decoder decoder = decoder_of(4096);
    check(&decoder, "3f0e 400161 0162", "a: b\r\n", 34); /* 45 bytes */
    check(&decoder, "7e 0163", "a: c\r\n", 34);
    check(&decoder, "be", "a: c\r\n", 34);
}

static void statuses_are_encoded(void **state)
{
    (void)state;
    for (int status = 100; status <= 999; status++) {
        char out[UVH_HPACK_STATUS_MAX + 1];
        char text[64];
        char expected[32];
        struct uvh_hpack_decoder decoder = decoder_of(4096);
        struct uvh_hpack_field field;
        size_t size = uvh_hpack_encode_status(out, status);
        assert_in_range(size, 1, UVH_HPACK_STATUS_MAX);
        const char *at = out;
        uvh_hpack_begin(&decoder);
        assert_int_equal(uvh_hpack_decode(&decoder, &at, out + size, text, sizeof text, &field),
                         UVH_HPACK_FIELD);
        assert_ptr_equal(at, out + size);
        snprintf(expected, sizeof expected, ":status: %d\r\n", status);
        assert_memory_equal(text, expected, strlen(expected));
        bool indexed = status == 200 || status == 204 || status == 206 || status == 304 ||
                       status == 400 || status == 404 || status == 500;
        assert_int_equal(size == 1, indexed);
    }
}

/* The field is encoded to these bytes, and does not fit less. */
static void check_encoded(const char *name, const char *value, const char *hex)
{
    char out[TEXT];
    uvhttp_slice_t expected = block_of(hex);
    for (size_t space = 0; space < expected.length; space++)
        assert_int_equal(uvh_hpack_encode_field(out, space, uvh_slice(name), uvh_slice(value)), 0);
    assert_int_equal(
        uvh_hpack_encode_field(out, expected.length, uvh_slice(name), uvh_slice(value)),
        expected.length);
    assert_memory_equal(out, expected.base, expected.length);
}

static void fields_are_encoded(void **state)
{
    (void)state;
    check_encoded("Cache-Control", "no-cache", "0f09 86 a8eb10649cbf");
    check_encoded("cache-control", "", "0f09 00");
    check_encoded("Custom-Key", "custom-value", "00 88 25a849e95ba97d7f 89 25a849e95bb8e8b4bf");
    check_encoded("set-cookie", "a", "1f28 01 61");   /* never indexed */
    check_encoded("X", "\x01\x02", "00 0178 020102"); /* the Huffman code is longer */
    check_encoded("date", "Mon, 21 Oct 2013 20:13:21 GMT",
                  "0f12 96 d07abe941054d444a8200595040b8166e082a62d1bff");
}

static void encoded_fields_decode(void **state)
{
    (void)state;
    static char name[300];
    static char value[40000];
    static char block[41000];
    static char out[41000];
    static const size_t lengths[] = {0, 1, 2, 63, 64, 65, 126, 127, 128, 254, 255, 299};
    memset(value, 'v', sizeof value);
    for (size_t i = 0; i < UVH_COUNT_OF(lengths); i++) {
        for (size_t j = 0; j < UVH_COUNT_OF(lengths) + 2; j++) {
            size_t value_length = j < UVH_COUNT_OF(lengths) ? lengths[j] : j * 2800;
            memset(name, i % 2 == 0 ? 'N' : '\x01', sizeof name);
            size_t size =
                uvh_hpack_encode_field(block, sizeof block, (uvhttp_slice_t){name, lengths[i]},
                                       (uvhttp_slice_t){value, value_length});
            assert_in_range(size, 1, lengths[i] + value_length + UVH_HPACK_FIELD_EXTRA);
            struct uvh_hpack_decoder decoder = decoder_of(4096);
            struct uvh_hpack_field field;
            const char *at = block;
            uvh_hpack_begin(&decoder);
            assert_int_equal(uvh_hpack_decode(&decoder, &at, block + size, out, sizeof out, &field),
                             UVH_HPACK_FIELD);
            assert_ptr_equal(at, block + size);
            assert_int_equal(field.name_length, lengths[i]);
            assert_int_equal(field.value_length, value_length);
            memset(name, i % 2 == 0 ? 'n' : '\x01', sizeof name);
            assert_memory_equal(out, name, lengths[i]);
            assert_memory_equal(out + lengths[i] + 2, value, value_length);
        }
    }
}

int main(void)
{
    input = guarded_make(TEXT);
    table = guarded_make(uvh_hpack_memory_size(UVH_HPACK_CAPACITY_MAX));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_literals_decode),
        cmocka_unit_test(examples_of_requests_decode),
        cmocka_unit_test(examples_of_responses_decode_with_eviction),
        cmocka_unit_test(static_table_has_61_entries),
        cmocka_unit_test(integers_are_bounded),
        cmocka_unit_test(table_size_updates_are_checked),
        cmocka_unit_test(entry_larger_than_the_table_empties_it),
        cmocka_unit_test(memory_is_requested_by_the_first_entry),
        cmocka_unit_test(less_space_changes_nothing),
        cmocka_unit_test(cut_blocks_are_bad_or_shorter),
        cmocka_unit_test(valid_fields_have_their_ids),
        cmocka_unit_test(malformed_fields_are_marked),
        cmocka_unit_test(names_by_index_are_checked_again),
        cmocka_unit_test(table_is_a_list_of_the_newest_entries),
        cmocka_unit_test(name_of_an_evicted_entry_is_kept),
        cmocka_unit_test(statuses_are_encoded),
        cmocka_unit_test(fields_are_encoded),
        cmocka_unit_test(encoded_fields_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
