/* Response heads and chunk lines, see h1_encode.h. Guarantees never to write past `room`; what does not
 * fit is not begun. */
#include "codec/h1_encode.h"

#include <string.h>

#define LINE(status, phrase)                                                                               \
    {                                                                                                      \
        (status), sizeof("HTTP/1.1 " #status " " phrase "\r\n") - 1, "HTTP/1.1 " #status " " phrase "\r\n" \
    }

enum { FIRST_STATUS = 100, LAST_STATUS = 999 };

struct status_line {
    uint16_t status;
    uint16_t length;
    char text[60];
};

/* In the order of the numbers; the phrases of RFC 9110 section 15, RFC 6585 and RFC 8297. */
static const struct status_line lines[] = {
    LINE(100, "Continue"),
    LINE(101, "Switching Protocols"),
    LINE(103, "Early Hints"),
    LINE(200, "OK"),
    LINE(201, "Created"),
    LINE(202, "Accepted"),
    LINE(204, "No Content"),
    LINE(206, "Partial Content"),
    LINE(301, "Moved Permanently"),
    LINE(302, "Found"),
    LINE(303, "See Other"),
    LINE(304, "Not Modified"),
    LINE(307, "Temporary Redirect"),
    LINE(308, "Permanent Redirect"),
    LINE(400, "Bad Request"),
    LINE(401, "Unauthorized"),
    LINE(403, "Forbidden"),
    LINE(404, "Not Found"),
    LINE(405, "Method Not Allowed"),
    LINE(408, "Request Timeout"),
    LINE(409, "Conflict"),
    LINE(410, "Gone"),
    LINE(411, "Length Required"),
    LINE(412, "Precondition Failed"),
    LINE(413, "Content Too Large"),
    LINE(414, "URI Too Long"),
    LINE(416, "Range Not Satisfiable"),
    LINE(417, "Expectation Failed"),
    LINE(429, "Too Many Requests"),
    LINE(431, "Request Header Fields Too Large"),
    LINE(500, "Internal Server Error"),
    LINE(501, "Not Implemented"),
    LINE(502, "Bad Gateway"),
    LINE(503, "Service Unavailable"),
    LINE(505, "HTTP Version Not Supported"),
};

enum { LINE_COUNT = sizeof lines / sizeof lines[0], LINE_200 = 3 };
_Static_assert(sizeof("HTTP/1.1 431 Request Header Fields Too Large\r\n") <= sizeof lines[0].text,
               "the longest line fits");

/* Two digits at a time halves the divisions. */
static const char digit_pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

static const struct status_line *prebuilt(int status)
{
    if (status == lines[LINE_200].status)
        return &lines[LINE_200];
    size_t low = 0;
    size_t high = LINE_COUNT;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (lines[middle].status == status)
            return &lines[middle];
        if (lines[middle].status < status)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static char *append(char *out, const char *bytes, size_t length)
{
    memcpy(out, bytes, length);
    return out + length;
}

size_t uvh_h1_encode_number(char out[UVH_H1_ENCODE_NUMBER_SIZE], uint64_t number)
{
    char digits[UVH_H1_ENCODE_NUMBER_SIZE];
    char *p = digits + sizeof digits;
    while (number >= 100) {
        p -= 2;
        memcpy(p, digit_pairs + 2 * (number % 100), 2);
        number /= 100;
    }
    if (number >= 10) {
        p -= 2;
        memcpy(p, digit_pairs + 2 * number, 2);
    } else {
        *--p = (char)('0' + number);
    }
    size_t length = (size_t)(digits + sizeof digits - p);
    memcpy(out, p, length);
    return length;
}

size_t uvh_h1_encode_status_line(char *out, size_t room, int status, const char *phrase)
{
    if (status < FIRST_STATUS || status > LAST_STATUS)
        return 0;
    const struct status_line *line = prebuilt(status);
    if (line != NULL) {
        if (room < line->length)
            return 0;
        memcpy(out, line->text, line->length);
        return line->length;
    }
    size_t phrase_length = strlen(phrase);
    size_t fixed = sizeof("HTTP/1.1 200 \r\n") - 1;
    if (room < fixed || room - fixed < phrase_length)
        return 0;
    char *p = append(out, "HTTP/1.1 ", 9);
    p += uvh_h1_encode_number(p, (uint64_t)status);
    *p++ = ' ';
    p = append(p, phrase, phrase_length);
    p = append(p, "\r\n", 2);
    return (size_t)(p - out);
}

size_t uvh_h1_encode_field(char *out, size_t room, uvhttp_slice_t name, uvhttp_slice_t value)
{
    if (room < UVH_H1_ENCODE_FIELD_EXTRA || room - UVH_H1_ENCODE_FIELD_EXTRA < name.length ||
        room - UVH_H1_ENCODE_FIELD_EXTRA - name.length < value.length)
        return 0;
    char *p = append(out, name.base, name.length);
    p = append(p, ": ", 2);
    if (value.length > 0)
        p = append(p, value.base, value.length);
    p = append(p, "\r\n", 2);
    return (size_t)(p - out);
}

size_t uvh_h1_encode_field_number(char *out, size_t room, uvhttp_slice_t name, uint64_t number)
{
    char digits[UVH_H1_ENCODE_NUMBER_SIZE];
    size_t length = uvh_h1_encode_number(digits, number);
    return uvh_h1_encode_field(out, room, name, (uvhttp_slice_t){digits, length});
}

size_t uvh_h1_encode_end(char *out, size_t room)
{
    if (room < 2)
        return 0;
    append(out, "\r\n", 2);
    return 2;
}

size_t uvh_h1_encode_chunk_line(char *out, size_t room, uint64_t size)
{
    char line[UVH_H1_ENCODE_CHUNK_LINE_SIZE];
    char *p = line + sizeof line - 2;
    append(p, "\r\n", 2);
    do {
        *--p = "0123456789abcdef"[size & 15];
        size >>= 4;
    } while (size > 0);
    size_t length = (size_t)(line + sizeof line - p);
    if (room < length)
        return 0;
    memcpy(out, p, length);
    return length;
}
