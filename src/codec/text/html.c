/* Escapes text for HTML, see uvhttp/text.h. */
#include "codec/text/html.h"

#include <string.h>

#include <uvhttp/text.h>

static size_t escaped_size(const char *text, size_t length)
{
    size_t size = length;
    for (size_t i = 0; i < length; i++) {
        const char *reference = uvh_html_reference(text[i]);
        size += reference == NULL ? 0 : strlen(reference) - 1;
    }
    return size;
}

size_t uvhttp_html_escape(const char *text, size_t length, char *out, size_t size)
{
    length = text == NULL ? 0 : length;
    size_t needed = escaped_size(text, length);
    if (out == NULL || size <= needed)
        return needed;
    for (size_t i = 0; i < length; i++) {
        const char *reference = uvh_html_reference(text[i]);
        size_t part = reference == NULL ? 1 : strlen(reference);
        memcpy(out, reference == NULL ? &text[i] : reference, part);
        out += part;
    }
    *out = '\0';
    return needed;
}
