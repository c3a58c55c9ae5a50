/* See disposition.h. */
#include "codec/forms/disposition.h"

#include <string.h>

#include "codec/text/percent.h"
#include "codec/text/utf8_sequence.h"

static char *append(char *out, const char *text)
{
    size_t length = strlen(text);
    memcpy(out, text, length);
    return out + length;
}

/* attr-char of RFC 8187 section 3.2.1, besides letters and digits. */
static const char attribute_characters[] = "!#$&+-.^_`|~";

/* Characters that every client reads the same way inside quotes. */
static bool is_plain(char c)
{
    return c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '%';
}

/* Replaces each character that is not plain, of any length in bytes, by one '_'. */
static char *append_plain(char *out, uvhttp_slice_t name, bool *changed)
{
    for (size_t i = 0; i < name.length;) {
        size_t length = uvh_utf8_sequence_valid_length(name.base + i, name.length - i);
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
    if (changed && uvh_utf8_sequence_is_valid_text(name.base, name.length))
        end = uvh_percent_write(append(end, "; filename*=UTF-8''"), name, attribute_characters);
    *end = '\0';
    return (size_t)(end - out);
}
