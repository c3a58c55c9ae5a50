/* A client on another system may send a path of that system, so both kinds of slashes are
 * separators. */
#include "uploads/upload_name.h"

#include <string.h>

#include "platform/store.h"

/* The length of a text truncated to at most `most` bytes, not within a UTF-8 sequence. */
static size_t cut(const char *text, size_t length, size_t most)
{
    if (length <= most)
        return length;
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
        most--;
    return most;
}

char *uvh_upload_name_from(uvhttp_request_t *request, uvhttp_slice_t raw)
{
    uvhttp_slice_t name = raw;
    for (size_t i = 0; i < raw.length; i++) {
        if (raw.base[i] == '/' || raw.base[i] == '\\')
            name.base = raw.base + i + 1;
    }
    name.length -= (size_t)(name.base - raw.base);
    name.length = cut(name.base, name.length, UVH_STORE_NAME_MOST);
    char *copy = uvhttp_request_allocate(request, name.length + 1);
    if (copy == NULL)
        return NULL;
    if (name.length > 0)
        memcpy(copy, name.base, name.length);
    copy[name.length] = '\0';
    bool beginning = true;
    for (char *at = copy; *at != '\0'; at++) {
        beginning = beginning && *at == '.';
        if (beginning || (unsigned char)*at < ' ' || *at == 0x7f)
            *at = '_';
    }
    return copy;
}
