/* The message writer of uvhttp/writer.h: validates its input and writes it with
 * codec/http1/encode.c. Guarantees that the memory contains only whole lines, that nothing follows
 * an error, and that a correct parser reads back the same values. Called by users of the parser
 * library. */
#include <uvhttp/writer.h>

#include <string.h>

#include "base/slice.h"
#include "codec/fields/field.h"
#include "codec/http1/encode.h"
#include "codec/text/chars.h"
#include "codec/text/number.h"

enum { FIRST_STATUS = 100, LAST_STATUS = 999 };

static char *rest_of(const uvhttp_writer_t *writer)
{
    return writer->memory + writer->length;
}

static size_t space_of(const uvhttp_writer_t *writer)
{
    return writer->capacity - writer->length;
}

static bool fail(uvhttp_writer_t *writer, uvhttp_writer_error_t error)
{
    writer->error = error;
    return false;
}

/* Adds the bytes an encoder has written after the others; 0 means that there was no space. */
static bool take(uvhttp_writer_t *writer, size_t written)
{
    if (written == 0)
        return fail(writer, UVHTTP_WRITER_FULL);
    writer->length += written;
    return true;
}

static bool is_usable(const uvhttp_writer_t *writer)
{
    return writer != NULL && writer->error == UVHTTP_WRITER_OK;
}

/* NULL becomes an empty slice, which is neither a name nor a target. */
/* The parser stores the length of names and methods in 16 bits. */
static bool is_name(uvhttp_slice_t name)
{
    return name.length <= UINT16_MAX && uvh_field_name_valid(name);
}

static bool is_target(uvhttp_slice_t target)
{
    for (size_t i = 0; i < target.length; i++) {
        unsigned char c = (unsigned char)target.base[i];
        if (c <= ' ' || c >= 0x7f || c == '#')
            return false;
    }
    return target.length > 0;
}

static uvhttp_slice_t trimmed(uvhttp_slice_t value)
{
    while (value.length > 0 && uvh_chars_is(value.base[0], UVH_CHAR_SPACE)) {
        value.base++;
        value.length--;
    }
    while (value.length > 0 && uvh_chars_is(value.base[value.length - 1], UVH_CHAR_SPACE))
        value.length--;
    return value;
}

void uvhttp_writer_init(uvhttp_writer_t *writer, char *memory, size_t capacity)
{
    if (writer != NULL)
        *writer = (uvhttp_writer_t){.memory = memory, .capacity = memory != NULL ? capacity : 0};
}

bool uvhttp_writer_request_line_slice(uvhttp_writer_t *writer, uvhttp_slice_t method,
                                      uvhttp_slice_t target)
{
    if (!is_usable(writer))
        return false;
    if (!is_name(method) || !is_target(target))
        return fail(writer, UVHTTP_WRITER_INVALID);
    return take(writer,
                uvh_h1_encode_request_line(rest_of(writer), space_of(writer), method, target));
}

bool uvhttp_writer_request_line(uvhttp_writer_t *writer, const char *method, const char *target)
{
    return uvhttp_writer_request_line_slice(writer, uvh_slice(method), uvh_slice(target));
}

bool uvhttp_writer_status_line(uvhttp_writer_t *writer, int status, const char *phrase)
{
    if (!is_usable(writer))
        return false;
    if (status < FIRST_STATUS || status > LAST_STATUS ||
        (phrase != NULL && !uvh_field_value_valid(uvh_slice(phrase))))
        return fail(writer, UVHTTP_WRITER_INVALID);
    char *out = rest_of(writer);
    size_t space = space_of(writer);
    return take(writer, phrase == NULL ? uvh_h1_encode_status_line(out, space, status, "")
                                       : uvh_h1_encode_status_phrase(out, space, status, phrase));
}

bool uvhttp_writer_field_slice(uvhttp_writer_t *writer, uvhttp_slice_t name, uvhttp_slice_t value)
{
    if (!is_usable(writer))
        return false;
    if (!is_name(name) || !uvh_field_value_valid(value))
        return fail(writer, UVHTTP_WRITER_INVALID);
    return take(writer,
                uvh_h1_encode_field(rest_of(writer), space_of(writer), name, trimmed(value)));
}

bool uvhttp_writer_field(uvhttp_writer_t *writer, const char *name, const char *value)
{
    if (is_usable(writer) && value == NULL)
        return fail(writer, UVHTTP_WRITER_INVALID);
    return uvhttp_writer_field_slice(writer, uvh_slice(name), uvh_slice(value));
}

bool uvhttp_writer_field_number(uvhttp_writer_t *writer, const char *name, uint64_t number)
{
    char digits[UVH_NUMBER_SIZE];
    uvhttp_slice_t value = {digits, uvh_number_write(digits, number)};
    return uvhttp_writer_field_slice(writer, uvh_slice(name), value);
}

bool uvhttp_writer_end(uvhttp_writer_t *writer)
{
    if (!is_usable(writer))
        return false;
    return take(writer, uvh_h1_encode_end(rest_of(writer), space_of(writer)));
}

bool uvhttp_writer_bytes(uvhttp_writer_t *writer, const void *data, size_t length)
{
    if (!is_usable(writer))
        return false;
    if (length == 0)
        return true;
    if (data == NULL)
        return fail(writer, UVHTTP_WRITER_INVALID);
    if (space_of(writer) < length)
        return fail(writer, UVHTTP_WRITER_FULL);
    memcpy(rest_of(writer), data, length);
    writer->length += length;
    return true;
}

bool uvhttp_writer_chunk(uvhttp_writer_t *writer, const void *data, size_t length)
{
    if (!is_usable(writer))
        return false;
    if (length == 0)
        return true;
    if (data == NULL)
        return fail(writer, UVHTTP_WRITER_INVALID);
    char line[UVH_H1_ENCODE_CHUNK_LINE_SIZE];
    size_t line_length = uvh_h1_encode_chunk_line(line, sizeof line, length);
    size_t around = line_length + 2;
    if (space_of(writer) < around || space_of(writer) - around < length)
        return fail(writer, UVHTTP_WRITER_FULL);
    return uvhttp_writer_bytes(writer, line, line_length) &&
           uvhttp_writer_bytes(writer, data, length) && uvhttp_writer_end(writer);
}

bool uvhttp_writer_chunk_line(uvhttp_writer_t *writer, uint64_t length)
{
    if (!is_usable(writer))
        return false;
    if (length == 0)
        return fail(writer, UVHTTP_WRITER_INVALID);
    return take(writer, uvh_h1_encode_chunk_line(rest_of(writer), space_of(writer), length));
}

bool uvhttp_writer_last_chunk(uvhttp_writer_t *writer)
{
    if (!is_usable(writer))
        return false;
    return take(writer, uvh_h1_encode_chunk_line(rest_of(writer), space_of(writer), 0));
}
