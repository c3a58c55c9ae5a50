/* The HPACK decoder, see hpack.h.
 *
 * The dynamic table is a ring of entries, which has the newest last, and a ring of their lines.
 * Both fit in what RFC 7541 section 4.1 lets entries have: 32 bytes beside name and value are more
 * than a `struct entry` and the bytes that a line has beside them. */
#include "codec/http2/hpack.h"

#include <string.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "codec/fields/field.h"
#include "codec/http2/huffman.h"
#include "codec/http2/static_table.h"
#include "codec/text/chars.h"

/* A field of the dynamic table. */
struct entry {
    uint16_t text; /* offset of its line */
    uint16_t name_length;
    uint16_t value_length;
    uint8_t id;
    bool malformed;
};

enum {
    COPY = 32,           /* bytes copied at once; also the readable bytes after the ring of lines */
    MAX_CONTINUATION = 5 /* bytes of an integer after its first */
};

static uint32_t slots(const struct uvh_hpack_decoder *decoder)
{
    return decoder->capacity / UVH_HPACK_ENTRY_EXTRA;
}

static struct entry *entries(const struct uvh_hpack_decoder *decoder)
{
    return (struct entry *)(void *)decoder->memory;
}

static char *texts(const struct uvh_hpack_decoder *decoder)
{
    return decoder->memory + slots(decoder) * sizeof(struct entry);
}

size_t uvh_hpack_memory_size(uint32_t capacity)
{
    return capacity / UVH_HPACK_ENTRY_EXTRA * sizeof(struct entry) + capacity + COPY;
}

void uvh_hpack_decoder_init(struct uvh_hpack_decoder *decoder, uint32_t capacity)
{
    *decoder = (struct uvh_hpack_decoder){.capacity = capacity, .maximum = UVH_HPACK_CAPACITY_MIN};
}

/* The entry at `age`, 0 for the newest. */
static const struct entry *entry_at(const struct uvh_hpack_decoder *decoder, uint32_t age)
{
    uint32_t newest = decoder->newest;
    return entries(decoder) + (newest >= age ? newest - age : newest + slots(decoder) - age);
}

static uint32_t entry_size(uint32_t name_length, uint32_t value_length)
{
    return name_length + value_length + UVH_HPACK_ENTRY_EXTRA;
}

/* Removes the oldest entries until the others take at most `size` bytes. */
static void evict(struct uvh_hpack_decoder *decoder, uint32_t size)
{
    while (decoder->size > size) {
        const struct entry *oldest = entry_at(decoder, decoder->count - 1u);
        decoder->size -= entry_size(oldest->name_length, oldest->value_length);
        decoder->count--;
    }
}

/* Copies `length` bytes, with up to COPY more where `space` permits. */
static UVH_ALWAYS_INLINE void copy_fast(char *out, const char *from, size_t length, size_t space)
{
    if (UVH_UNLIKELY(space < length + COPY)) {
        memcpy(out, from, length);
        return;
    }
    for (size_t i = 0; i < length; i += COPY)
        memcpy(out + i, from + i, COPY);
}

/* Copies the front of an entry's line. */
static UVH_ALWAYS_INLINE void copy_line(const struct uvh_hpack_decoder *decoder,
                                        const struct entry *entry, char *out, size_t length,
                                        size_t space)
{
    const char *ring = texts(decoder);
    size_t front = decoder->capacity - entry->text;
    if (UVH_LIKELY(length <= front)) {
        copy_fast(out, ring + entry->text, length, space);
    } else {
        memcpy(out, ring + entry->text, front);
        memcpy(out + front, ring, length - front);
    }
}

/* Adds the field at `line` as the newest entry. */
static void insert(struct uvh_hpack_decoder *decoder, const char *line,
                   const struct uvh_hpack_field *field)
{
    uint32_t size = entry_size(field->name_length, field->value_length);
    if (size > decoder->maximum) { /* no error: the table is emptied (section 4.4) */
        evict(decoder, 0);
        return;
    }
    evict(decoder, decoder->maximum - size);
    uint32_t length = size - UVH_HPACK_ENTRY_EXTRA + UVH_HPACK_LINE_EXTRA;
    uint32_t front = decoder->capacity - decoder->text_end;
    char *ring = texts(decoder);
    if (front > length)
        front = length;
    memcpy(ring + decoder->text_end, line, front);
    memcpy(ring, line + front, length - front);
    decoder->newest = (uint16_t)((decoder->newest + 1u) % slots(decoder));
    entries(decoder)[decoder->newest] =
        (struct entry){.text = (uint16_t)decoder->text_end,
                       .name_length = field->name_length,
                       .value_length = (uint16_t)field->value_length,
                       .id = field->id,
                       .malformed = field->malformed};
    decoder->text_end = (decoder->text_end + length) % decoder->capacity;
    decoder->size += size;
    decoder->count++;
}

/* Reads an integer (section 5.1) whose first byte has a prefix of these bits. False if it is
 * incomplete or too large. */
static UVH_ALWAYS_INLINE bool take_integer(const char **block, const char *end, unsigned prefix,
                                           uint32_t *number)
{
    const char *p = *block;
    uint64_t value = (unsigned char)*p++ & prefix;
    if (UVH_UNLIKELY(value == prefix)) {
        unsigned byte = 0x80;
        for (unsigned i = 0; byte >= 0x80; i++) {
            if (p == end || i == MAX_CONTINUATION)
                return false;
            byte = (unsigned char)*p++;
            value += (uint64_t)(byte & 0x7f) << (7 * i);
        }
        if (value > UINT32_MAX)
            return false;
    }
    *block = p;
    *number = (uint32_t)value;
    return true;
}

/* Reads a string (section 5.2) to `out`. The result is FIELD, SPACE or BAD. */
static enum uvh_hpack_result take_string(const char **block, const char *end, char *out,
                                         size_t space, uint32_t *length)
{
    if (*block == end)
        return UVH_HPACK_BAD;
    bool huffman = (unsigned char)**block >= 0x80;
    uint32_t size;
    if (!take_integer(block, end, 0x7f, &size) || size > (size_t)(end - *block))
        return UVH_HPACK_BAD;
    const char *text = *block;
    *block += size;
    *length = size;
    if (huffman) {
        ptrdiff_t decoded = uvh_huffman_decode(text, size, out, space);
        *length = (uint32_t)decoded;
        return decoded >= 0                   ? UVH_HPACK_FIELD
               : decoded == UVH_HUFFMAN_SPACE ? UVH_HPACK_SPACE
                                              : UVH_HPACK_BAD;
    }
    if (size > space)
        return UVH_HPACK_SPACE;
    if (size > 0)
        memcpy(out, text, size);
    return UVH_HPACK_FIELD;
}

static bool name_valid(uvhttp_slice_t name)
{
    for (size_t i = 0; i < name.length; i++) {
        if (!uvh_chars_is(name.base[i], UVH_CHAR_TOKEN) ||
            (name.base[i] >= 'A' && name.base[i] <= 'Z'))
            return false;
    }
    return name.length > 0;
}

static void check_pseudo(uvhttp_slice_t name, struct uvh_hpack_field *field)
{
    static const struct {
        uvhttp_slice_t name;
        uint8_t id;
    } known[] = {
        {{":authority", 10}, UVH_HPACK_AUTHORITY},
        {{":method", 7}, UVH_HPACK_METHOD},
        {{":path", 5}, UVH_HPACK_PATH},
        {{":scheme", 7}, UVH_HPACK_SCHEME},
        {{":status", 7}, UVH_HPACK_STATUS},
        {{":protocol", 9}, UVH_HPACK_PROTOCOL},
    };
    field->id = UVHTTP_FIELD_OTHER;
    field->malformed = true;
    for (size_t i = 0; i < UVH_COUNT_OF(known); i++) {
        if (name.length == known[i].name.length &&
            memcmp(name.base, known[i].name.base, name.length) == 0) {
            field->id = known[i].id;
            field->malformed = false;
        }
    }
}

/* Sets `id` and `malformed` by the name. */
static void check_name(uvhttp_slice_t name, struct uvh_hpack_field *field)
{
    if (name.length > 0 && name.base[0] == ':') {
        check_pseudo(name, field);
        return;
    }
    field->id = (uint8_t)uvh_field_lookup(name);
    field->malformed =
        !name_valid(name) || field->id == UVHTTP_FIELD_CONNECTION ||
        field->id == UVHTTP_FIELD_KEEP_ALIVE || field->id == UVHTTP_FIELD_TRANSFER_ENCODING ||
        field->id == UVHTTP_FIELD_UPGRADE || uvh_field_name_is(name, UVH_SLICE("proxy-connection"));
}

static bool value_valid(uvhttp_slice_t value, unsigned id)
{
    if (value.length > 0 && (uvh_chars_is(value.base[0], UVH_CHAR_SPACE) ||
                             uvh_chars_is(value.base[value.length - 1], UVH_CHAR_SPACE)))
        return false;
    if (id == UVHTTP_FIELD_TE && !uvh_field_name_is(value, UVH_SLICE("trailers")))
        return false;
    return uvh_field_value_valid(value);
}

/* An indexed field (section 6.1). */
static UVH_ALWAYS_INLINE enum uvh_hpack_result
decode_indexed(const struct uvh_hpack_decoder *decoder, const char **block, const char *end,
               char *out, size_t space, struct uvh_hpack_field *field)
{
    const char *p = *block;
    uint32_t index;
    if (!take_integer(&p, end, 0x7f, &index) || index == 0)
        return UVH_HPACK_BAD;
    if (index <= UVH_HPACK_STATIC_COUNT) {
        const struct uvh_hpack_static *entry = &uvh_hpack_static_table[index];
        *field = entry->field;
        size_t length = field->name_length + field->value_length + UVH_HPACK_LINE_EXTRA;
        if (space < length)
            return UVH_HPACK_SPACE;
        memcpy(out, entry->line, space >= sizeof entry->line ? sizeof entry->line : length);
    } else {
        uint32_t age = index - UVH_HPACK_STATIC_COUNT - 1;
        if (age >= decoder->count)
            return UVH_HPACK_BAD;
        const struct entry *entry = entry_at(decoder, age);
        *field = (struct uvh_hpack_field){.value_length = entry->value_length,
                                          .name_length = entry->name_length,
                                          .id = entry->id,
                                          .malformed = entry->malformed};
        size_t length = (size_t)entry->name_length + entry->value_length + UVH_HPACK_LINE_EXTRA;
        if (space < length)
            return UVH_HPACK_SPACE;
        copy_line(decoder, entry, out, length, space);
    }
    *block = p;
    return UVH_HPACK_FIELD;
}

/* The name of a literal, by index or as a string, to `out`. `field` gets all but the value's
 * length. */
static enum uvh_hpack_result take_name(const struct uvh_hpack_decoder *decoder, const char **block,
                                       const char *end, unsigned prefix, char *out, size_t space,
                                       struct uvh_hpack_field *field)
{
    uint32_t index;
    uint32_t length;
    bool checked = false;
    if (!take_integer(block, end, prefix, &index))
        return UVH_HPACK_BAD;
    if (index == 0) {
        enum uvh_hpack_result result = take_string(block, end, out, space, &length);
        if (result != UVH_HPACK_FIELD)
            return result;
        if (length > UINT16_MAX)
            return UVH_HPACK_SPACE;
        field->name_length = (uint16_t)length;
    } else if (index <= UVH_HPACK_STATIC_COUNT) {
        const struct uvh_hpack_static *entry = &uvh_hpack_static_table[index];
        *field = entry->field;
        checked = true;
        if (space < field->name_length)
            return UVH_HPACK_SPACE;
        memcpy(out, entry->line,
               space >= sizeof entry->line ? sizeof entry->line : field->name_length);
    } else {
        uint32_t age = index - UVH_HPACK_STATIC_COUNT - 1;
        if (age >= decoder->count)
            return UVH_HPACK_BAD;
        const struct entry *entry = entry_at(decoder, age);
        field->name_length = entry->name_length;
        field->id = entry->id;
        field->malformed = false;
        checked = !entry->malformed; /* else because of its name or of its value */
        if (space < entry->name_length)
            return UVH_HPACK_SPACE;
        copy_line(decoder, entry, out, entry->name_length, space);
    }
    if (!checked)
        check_name((uvhttp_slice_t){out, field->name_length}, field);
    return UVH_HPACK_FIELD;
}

/* A literal field with an index in a prefix of these bits; `indexing` adds it to the table
 * (section 6.2). */
static enum uvh_hpack_result decode_literal(struct uvh_hpack_decoder *decoder, const char **block,
                                            const char *end, unsigned prefix, char *out,
                                            size_t space, struct uvh_hpack_field *field)
{
    const char *p = *block;
    if (space < UVH_HPACK_LINE_EXTRA)
        return UVH_HPACK_SPACE;
    space -= UVH_HPACK_LINE_EXTRA;
    enum uvh_hpack_result result = take_name(decoder, &p, end, prefix, out, space, field);
    if (result != UVH_HPACK_FIELD)
        return result;
    char *value = out + field->name_length + 2;
    result = take_string(&p, end, value, space - field->name_length, &field->value_length);
    if (result != UVH_HPACK_FIELD)
        return result;
    memcpy(value - 2, ": ", 2);
    memcpy(value + field->value_length, "\r\n", 2);
    if (!value_valid((uvhttp_slice_t){value, field->value_length}, field->id))
        field->malformed = true;
    if (prefix == 0x3f) {
        uint64_t size = (uint64_t)field->value_length + field->name_length + UVH_HPACK_ENTRY_EXTRA;
        if (decoder->memory == NULL && size <= decoder->maximum)
            return UVH_HPACK_MEMORY;
        insert(decoder, out, field);
    }
    *block = p;
    return UVH_HPACK_FIELD;
}

/* Table size updates, which are at the front of a block (section 6.3). */
static bool take_size_updates(struct uvh_hpack_decoder *decoder, const char **block,
                              const char *end)
{
    while (*block < end && (**block & 0xe0) == 0x20) {
        uint32_t size;
        if (decoder->in_fields || !take_integer(block, end, 0x1f, &size) ||
            size > decoder->capacity)
            return false;
        decoder->maximum = size;
        evict(decoder, size);
    }
    return true;
}

enum uvh_hpack_result uvh_hpack_decode(struct uvh_hpack_decoder *decoder, const char **block,
                                       const char *end, char *out, size_t space,
                                       struct uvh_hpack_field *field)
{
    if (!take_size_updates(decoder, block, end))
        return UVH_HPACK_BAD;
    if (*block == end)
        return UVH_HPACK_DONE;
    decoder->in_fields = true;
    unsigned first = (unsigned char)**block;
    if (first >= 0x80)
        return decode_indexed(decoder, block, end, out, space, field);
    return decode_literal(decoder, block, end, first >= 0x40 ? 0x3f : 0x0f, out, space, field);
}
