/* See disposition.h. */
#include "codec/disposition.h"

#include <string.h>

#include "codec/chars.h"

static char *append(char *out, const char *text)
{
    size_t length = strlen(text);
    memcpy(out, text, length);
    return out + length;
}

/* What every client reads in the same way inside quotes. */
static bool is_plain(char c)
{
    return c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '%';
}

/* The bytes of the character of UTF-8 (RFC 3629) that begins here, or 0. */
static size_t character(const unsigned char *at, size_t rest)
{
    size_t length = at[0] < 0x80   ? 1
                    : at[0] < 0xc2 ? 0
                    : at[0] < 0xe0 ? 2
                    : at[0] < 0xf0 ? 3
                    : at[0] < 0xf5 ? 4
                                   : 0;
    if (length == 0 || length > rest)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    /* Longer than needed, a surrogate, or beyond U+10FFFF. */
    bool wrong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
                 (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f);
    return wrong ? 0 : length;
}

static bool is_utf8(uvhttp_slice_t text)
{
    size_t length;
    for (size_t i = 0; i < text.length; i += length) {
        length = character((const unsigned char *)text.base + i, text.length - i);
        if (length == 0)
            return false;
    }
    return true;
}

/* attr-char of RFC 8187 section 3.2.1: a token's characters but '*', the apostrophe and '%'. */
static bool is_attribute_character(char c)
{
    return uvh_chars_is(c, UVH_CHAR_TOKEN) && c != '*' && c != '\'' && c != '%';
}

static char *append_encoded(char *out, uvhttp_slice_t name)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < name.length; i++) {
        unsigned char byte = (unsigned char)name.base[i];
        if (is_attribute_character(name.base[i])) {
            *out++ = name.base[i];
            continue;
        }
        *out++ = '%';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    return out;
}

/* Each character that is not plain becomes one '_', whatever it is made of. */
static char *append_plain(char *out, uvhttp_slice_t name, bool *changed)
{
    for (size_t i = 0; i < name.length;) {
        size_t length = character((const unsigned char *)name.base + i, name.length - i);
        bool plain = is_plain(name.base[i]);
        *out++ = (char)(plain ? name.base[i] : '_');
        *changed = *changed || !plain;
        i += length > 0 ? length : 1;
    }
    return out;
}

size_t uvh_disposition_write(char *out, const char *kind, uvhttp_slice_t name)
{
    bool changed = false;
    char *end = append(append(out, kind), "; filename=\"");
    end = append_plain(end, name, &changed);
    *end++ = '"';
    if (changed && is_utf8(name))
        end = append_encoded(append(end, "; filename*=UTF-8''"), name);
    *end = '\0';
    return (size_t)(end - out);
}
