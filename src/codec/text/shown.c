/* See shown.h. */
#include "codec/text/shown.h"

#include <stdbool.h>
#include <string.h>

#define MORE "..."

const char *uvh_shown(uvhttp_slice_t value, char *text, size_t size)
{
    bool fits = value.length < size;
    size_t length = fits ? value.length : size - sizeof(MORE);
    for (size_t i = 0; i < length; i++)
        text[i] = value.base[i] >= ' ' && value.base[i] <= '~' ? value.base[i] : '?';
    memcpy(text + length, fits ? "" : MORE, fits ? 1 : sizeof(MORE));
    return text;
}
