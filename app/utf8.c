/* Reads UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. Called for
 * values from the environment, and when a configuration is printed. */
#include "utf8.h"

size_t uvh_utf8_next(const char *text, uint32_t *character)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *bytes = (const unsigned char *)text;
    if (bytes[0] == 0)
        return 0;
    if (bytes[0] < 0x80) {
        *character = bytes[0];
        return 1;
    }
    size_t length = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
    if (bytes[0] < 0xc2 || bytes[0] > 0xf4)
        return 0;
    uint32_t value = bytes[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0u) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3fu);
    }
    if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *character = value;
    return length;
}

bool uvh_utf8_valid(const char *text)
{
    while (*text != '\0') {
        uint32_t character;
        size_t length = uvh_utf8_next(text, &character);
        if (length == 0)
            return false;
        text += length;
    }
    return true;
}
