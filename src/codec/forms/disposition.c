/* Writes Content-Disposition (RFC 6266) for a file's name, see uvhttp/text.h. If the name has bytes
 * other than visible ASCII, they become '_' in filename, and the UTF-8 name follows in filename*
 * (RFC 8187) if it is valid UTF-8: clients use the form they support. The same for names with '%',
 * '"' or
 * '\', which clients read differently. */
#include <string.h>

#include <uvhttp/text.h>

#include "codec/fields/field.h"
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

/* Replaces each character that is not plain, of any length in bytes, by one '_'. Returns the
 * length; `out` NULL only counts. */
static size_t write_plain(char *out, uvhttp_slice_t name, bool *changed)
{
    size_t written = 0;
    for (size_t i = 0; i < name.length; written++) {
        size_t length = uvh_utf8_sequence_valid_length(name.base + i, name.length - i);
        bool plain = is_plain(name.base[i]);
        if (out != NULL)
            out[written] = (char)(plain ? name.base[i] : '_');
        *changed = *changed || !plain;
        i += length > 0 ? length : 1;
    }
    return written;
}

static const char plain_field[] = "; filename=\"", extended_field[] = "; filename*=UTF-8''";

size_t uvhttp_content_disposition(const char *kind, const char *text, size_t length, char *out,
                                  size_t size)
{
    uvhttp_slice_t name = {text, text == NULL ? 0 : length};
    bool changed = false;
    if (kind == NULL || !uvh_field_name_valid((uvhttp_slice_t){kind, strlen(kind)}))
        kind = "attachment";
    size_t needed =
        strlen(kind) + strlen(plain_field) + write_plain(NULL, name, &changed) + strlen("\"");
    bool extended = changed && uvh_utf8_sequence_is_valid_text(name.base, name.length);
    if (extended)
        needed += strlen(extended_field) + uvh_percent_size(name, attribute_characters);
    if (out == NULL || size <= needed)
        return needed;
    out = append(append(out, kind), plain_field);
    out = append(out + write_plain(out, name, &changed), "\"");
    if (extended)
        out = uvh_percent_write(append(out, extended_field), name, attribute_characters);
    *out = '\0';
    return needed;
}
