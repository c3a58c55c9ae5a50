/* The HPACK encoder, see hpack.h: literals without indexing, names from the static table. */
#include <string.h>

#include "base/compiler.h"
#include "codec/fields/field.h"
#include "codec/http2/hpack.h"
#include "codec/http2/huffman.h"
#include "codec/http2/static_table.h"
#include "codec/text/chars.h"

enum {
    FIRST_NAME = 15,   /* index of the first entry that is no pseudo-header field */
    LONGEST_NAME = 27, /* in the static table */
    STATUS = 8,        /* index of ":status: 200" */
    SET_COOKIE = 55,
    NAME_BUFFER = 64,
    INDEXED = 0x80,       /* the bits of an indexed field */
    NEVER_INDEXED = 0x10, /* the bit of a literal that no intermediary may index */
};

/* The names of the static table by length: the first index of a length, and the next of the same
 * length; 0 ends. */
static uint8_t first_of[LONGEST_NAME + 1];
static uint8_t next_of[UVH_HPACK_STATIC_COUNT + 1];

__attribute__((constructor(101))) static void fill_lists(void)
{
    for (uint8_t i = UVH_HPACK_STATIC_COUNT; i >= FIRST_NAME; i--) {
        unsigned length = uvh_hpack_static_table[i].field.name_length;
        next_of[i] = first_of[length];
        first_of[length] = i;
    }
}

/* The index of a name in the static table, 0 without. */
static unsigned static_index(uvhttp_slice_t name)
{
    unsigned i = name.length <= LONGEST_NAME ? first_of[name.length] : 0;
    while (i != 0 &&
           !uvh_field_name_is(name, (uvhttp_slice_t){uvh_hpack_static_table[i].line, name.length}))
        i = next_of[i];
    return i;
}

/* Bytes of an integer whose first byte has a prefix of these bits (section 5.1). */
static size_t integer_size(size_t number, unsigned prefix)
{
    size_t size = 1;
    if (number >= prefix) {
        for (number -= prefix; number >= 0x80; number >>= 7)
            size++;
        size++;
    }
    return size;
}

static char *put_integer(char *out, size_t number, unsigned prefix, unsigned bits)
{
    if (number < prefix) {
        *out++ = (char)(uint8_t)(bits | number);
        return out;
    }
    *out++ = (char)(uint8_t)(bits | prefix);
    for (number -= prefix; number >= 0x80; number >>= 7)
        *out++ = (char)(uint8_t)(0x80 | (number & 0x7f));
    *out++ = (char)(uint8_t)number;
    return out;
}

/* A string to be written: `coded` bytes with the Huffman code, unless that is not shorter. */
struct string {
    uvhttp_slice_t text;
    size_t coded;
    bool huffman;
};

static struct string string_of(uvhttp_slice_t text)
{
    size_t coded = uvh_huffman_size(text.base, text.length);
    bool huffman = coded < text.length;
    return (struct string){text, huffman ? coded : text.length, huffman};
}

static size_t string_size(const struct string *string)
{
    return integer_size(string->coded, 0x7f) + string->coded;
}

static char *put_string(char *out, const struct string *string)
{
    out = put_integer(out, string->coded, 0x7f, string->huffman ? 0x80 : 0);
    if (string->huffman)
        return uvh_huffman_encode(out, string->text.base, string->text.length);
    if (string->text.length > 0)
        memcpy(out, string->text.base, string->text.length);
    return out + string->text.length;
}

size_t uvh_hpack_encode_status(char *out, int status)
{
    static const int indexed[] = {200, 204, 206, 304, 400, 404, 500};
    for (unsigned i = 0; i < UVH_COUNT_OF(indexed); i++) {
        if (indexed[i] == status) {
            *out = (char)(uint8_t)(INDEXED | (STATUS + i));
            return 1;
        }
    }
    char digits[3] = {(char)('0' + status / 100), (char)('0' + status / 10 % 10),
                      (char)('0' + status % 10)};
    struct string string = string_of((uvhttp_slice_t){digits, sizeof digits});
    return (size_t)(put_string(put_integer(out, STATUS, 0x0f, 0), &string) - out);
}

/* The name in lower case, in `lower`; a longer one as it is. */
static struct string string_of_name(uvhttp_slice_t name, char lower[NAME_BUFFER])
{
    if (name.length > NAME_BUFFER)
        return (struct string){name, name.length, false};
    for (size_t i = 0; i < name.length; i++)
        lower[i] = uvh_chars_lower(name.base[i]);
    return string_of((uvhttp_slice_t){lower, name.length});
}

static char *put_name(char *out, const struct string *name)
{
    out = put_string(out, name);
    for (size_t i = name->text.length; i > 0 && !name->huffman; i--)
        out[-(ptrdiff_t)i] = uvh_chars_lower(out[-(ptrdiff_t)i]);
    return out;
}

size_t uvh_hpack_encode_field(char *out, size_t space, uvhttp_slice_t name, uvhttp_slice_t value)
{
    char lower[NAME_BUFFER];
    unsigned index = static_index(name);
    struct string name_string = {.coded = 0};
    if (index == 0)
        name_string = string_of_name(name, lower);
    struct string value_string = string_of(value);
    size_t size = integer_size(index, 0x0f) + string_size(&value_string) +
                  (index == 0 ? string_size(&name_string) : 0);
    if (size > space)
        return 0;
    out = put_integer(out, index, 0x0f, index == SET_COOKIE ? NEVER_INDEXED : 0);
    if (index == 0)
        out = put_name(out, &name_string);
    put_string(out, &value_string);
    return size;
}
