/* tools/make_mime_table.py generates the table from a public one and documents the differences. A
 * lookup takes about ten string comparisons. */
#include "codec/fields/mime.h"

#include <string.h>

#include "codec/fields/field.h"
#include "codec/text/chars.h"

enum { EXTENSION_SIZE = 16 };

#include "codec/fields/mime_table.inc"

/* The extension in lower case, NUL-terminated; false if there is none or it cannot be in the
 * table. */
static bool extension_of(uvhttp_slice_t name, char extension[EXTENSION_SIZE])
{
    size_t dot = name.length;
    while (dot > 0 && name.base[dot - 1] != '.') {
        if (name.length - dot >= EXTENSION_SIZE)
            return false;
        dot--;
    }
    size_t length = name.length - dot;
    if (dot == 0 || length == 0 || length >= EXTENSION_SIZE)
        return false;
    for (size_t i = 0; i < length; i++)
        extension[i] = uvh_chars_lower(name.base[dot + i]);
    extension[length] = '\0';
    return true;
}

const char *uvh_mime_known_type(uvhttp_slice_t file_name)
{
    char extension[EXTENSION_SIZE];
    size_t low = 0;
    size_t high = extension_of(file_name, extension) ? sizeof starts / sizeof starts[0] : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const char *row = pairs + starts[middle];
        int order = strcmp(extension, row);
        if (order == 0)
            return row + strlen(row) + 1;
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const char *uvh_mime_type(uvhttp_slice_t file_name)
{
    const char *type = uvh_mime_known_type(file_name);
    return type != NULL ? type : "application/octet-stream";
}
