/* See percent.h and uvhttp/text.h. */
#include "codec/text/percent.h"

#include <string.h>

#include <uvhttp/text.h>

static bool is_kept(unsigned char byte, const char *kept)
{
    unsigned char letter = byte | 0x20;
    return (byte >= '0' && byte <= '9') || (letter >= 'a' && letter <= 'z') ||
           (byte != '\0' && strchr(kept, byte) != NULL);
}

size_t uvh_percent_size(uvhttp_slice_t text, const char *kept)
{
    size_t size = text.length;
    for (size_t i = 0; i < text.length; i++)
        size += is_kept((unsigned char)text.base[i], kept) ? 0 : 2;
    return size;
}

char *uvh_percent_write(char *out, uvhttp_slice_t text, const char *kept)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.base[i];
        if (is_kept(byte, kept)) {
            *out++ = text.base[i];
            continue;
        }
        *out++ = '%';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    return out;
}

size_t uvhttp_percent_encode(const char *text, size_t length, char *out, size_t size)
{
    uvhttp_slice_t whole = {text, text == NULL ? 0 : length};
    size_t needed = uvh_percent_size(whole, UVH_PERCENT_UNRESERVED);
    if (out != NULL && size > needed)
        *uvh_percent_write(out, whole, UVH_PERCENT_UNRESERVED) = '\0';
    return needed;
}
