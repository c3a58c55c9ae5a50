/* See percent.h. */
#include "codec/text/percent.h"

#include <string.h>

char *uvh_percent_write(char *out, uvhttp_slice_t text, const char *kept)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.base[i], letter = byte | 0x20;
        if ((byte >= '0' && byte <= '9') || (letter >= 'a' && letter <= 'z') ||
            (byte != '\0' && strchr(kept, byte) != NULL)) {
            *out++ = text.base[i];
            continue;
        }
        *out++ = '%';
        *out++ = digits[byte >> 4];
        *out++ = digits[byte & 15];
    }
    return out;
}
