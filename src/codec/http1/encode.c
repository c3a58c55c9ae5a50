/* Heads and chunk lines, see encode.h. Guarantees never to write more than `space` bytes; on
 * overflow nothing is written. */
#include "codec/http1/encode.h"

#include <string.h>

#include "base/compiler.h"
#include "codec/http1/status.h"
#include "codec/text/number.h"

enum { FIRST_STATUS = 100, LAST_STATUS = 999 };

struct status_line {
    uint16_t length;
    char text[62];
};

#define LINE_TEXT(status, phrase)  "HTTP/1.1 " #status " " phrase "\r\n"
#define LINE_INDEX(status, phrase) LINE_##status,
#define LINE(status, phrase) \
    [LINE_##status] = {sizeof(LINE_TEXT(status, phrase)) - 1, LINE_TEXT(status, phrase)},
#define LINE_OF(status, phrase) [status] = LINE_##status,
#define LINE_FITS(status, phrase)                                                              \
    _Static_assert(sizeof(LINE_TEXT(status, phrase)) <= sizeof((struct status_line *)0)->text, \
                   "fits");

/* The prebuilt lines of the codes in status.h, and by status the index of its line. */
enum { LINE_NONE, UVH_STATUS_MAP(LINE_INDEX) LINE_COUNT };
static const struct status_line lines[LINE_COUNT] = {UVH_STATUS_MAP(LINE)};
static const uint8_t line_of[] = {UVH_STATUS_MAP(LINE_OF)};
UVH_STATUS_MAP(LINE_FITS)
_Static_assert(LINE_COUNT <= UINT8_MAX, "an index is one byte");

static char *append(char *out, const char *bytes, size_t length)
{
    memcpy(out, bytes, length);
    return out + length;
}

size_t uvh_h1_encode_request_line(char *out, size_t space, uvhttp_slice_t method,
                                  uvhttp_slice_t target)
{
    size_t fixed = sizeof("  HTTP/1.1\r\n") - 1;
    if (space < fixed || space - fixed < method.length ||
        space - fixed - method.length < target.length)
        return 0;
    char *p = append(out, method.base, method.length);
    *p++ = ' ';
    p = append(p, target.base, target.length);
    p = append(p, " HTTP/1.1\r\n", 11);
    return (size_t)(p - out);
}

size_t uvh_h1_encode_status_phrase(char *out, size_t space, int status, const char *phrase)
{
    if (status < FIRST_STATUS || status > LAST_STATUS)
        return 0;
    size_t phrase_length = strlen(phrase);
    size_t fixed = sizeof("HTTP/1.1 200 \r\n") - 1;
    if (space < fixed || space - fixed < phrase_length)
        return 0;
    char *p = append(out, "HTTP/1.1 ", 9);
    p += uvh_number_write(p, (uint64_t)status);
    *p++ = ' ';
    p = append(p, phrase, phrase_length);
    p = append(p, "\r\n", 2);
    return (size_t)(p - out);
}

size_t uvh_h1_encode_status_line(char *out, size_t space, int status, const char *phrase)
{
    size_t index =
        status >= 0 && (size_t)status < UVH_COUNT_OF(line_of) ? line_of[status] : LINE_NONE;
    if (index == LINE_NONE)
        return uvh_h1_encode_status_phrase(out, space, status, phrase);
    const struct status_line *line = &lines[index];
    if (space < line->length)
        return 0;
    memcpy(out, line->text, line->length);
    return line->length;
}

size_t uvh_h1_encode_field(char *out, size_t space, uvhttp_slice_t name, uvhttp_slice_t value)
{
    if (space < UVH_H1_ENCODE_FIELD_EXTRA || space - UVH_H1_ENCODE_FIELD_EXTRA < name.length ||
        space - UVH_H1_ENCODE_FIELD_EXTRA - name.length < value.length)
        return 0;
    char *p = append(out, name.base, name.length);
    p = append(p, ": ", 2);
    if (value.length > 0)
        p = append(p, value.base, value.length);
    p = append(p, "\r\n", 2);
    return (size_t)(p - out);
}

size_t uvh_h1_encode_end(char *out, size_t space)
{
    if (space < 2)
        return 0;
    append(out, "\r\n", 2);
    return 2;
}

size_t uvh_h1_encode_chunk_line(char *out, size_t space, uint64_t size)
{
    char line[UVH_H1_ENCODE_CHUNK_LINE_SIZE];
    char *p = line + sizeof line - 2;
    append(p, "\r\n", 2);
    do {
        *--p = "0123456789abcdef"[size & 15];
        size >>= 4;
    } while (size > 0);
    size_t length = (size_t)(line + sizeof line - p);
    if (space < length)
        return 0;
    memcpy(out, p, length);
    return length;
}
