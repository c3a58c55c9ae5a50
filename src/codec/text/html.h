/* Character references of HTML. */
#ifndef UVH_CODEC_TEXT_HTML_H
#define UVH_CODEC_TEXT_HTML_H

#include <stddef.h>

/* The reference that replaces a character in text and quoted attributes; NULL: none is needed. */
static inline const char *uvh_html_reference(char character)
{
    switch (character) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

#endif
