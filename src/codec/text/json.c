/* JSON strings, see json.h and uvhttp/text.h. */
#include "codec/text/json.h"

#include <string.h>

#include <uvhttp/text.h>

#include "codec/text/utf8_sequence.h"

static size_t put_hex(char *out, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    memcpy(out, "\\u00", 4);
    out[4] = digits[byte >> 4];
    out[5] = digits[byte & 15];
    return 6;
}

size_t uvh_json_character(const char *text, size_t length, char out[UVH_JSON_CHARACTER_SIZE],
                          size_t *size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t valid = uvh_utf8_sequence_valid_length(text, length);
    *size = valid == 0 ? 1 : valid;
    if (valid == 0) {
        memcpy(out, "\\ufffd", 6);
        return 6;
    }
    if (*text == '"' || *text == '\\') {
        out[0] = '\\';
        out[1] = *text;
        return 2;
    }
    if (bytes[0] < ' ' || bytes[0] == 0x7f)
        return put_hex(out, bytes[0]);
    if (valid == 2 && bytes[0] == 0xc2 && bytes[1] < 0xa0)
        return put_hex(out, bytes[1]);
    memcpy(out, text, valid);
    return valid;
}

size_t uvhttp_json_quote(const char *text, size_t length, char *out, size_t size)
{
    char escaped[UVH_JSON_CHARACTER_SIZE];
    size_t needed = 2, step;
    length = text == NULL ? 0 : length;
    for (size_t i = 0; i < length; i += step)
        needed += uvh_json_character(text + i, length - i, escaped, &step);
    if (out == NULL || size <= needed)
        return needed;
    *out++ = '"';
    for (size_t i = 0; i < length; i += step) {
        size_t part = uvh_json_character(text + i, length - i, escaped, &step);
        memcpy(out, escaped, part);
        out += part;
    }
    memcpy(out, "\"", 2);
    return needed;
}
