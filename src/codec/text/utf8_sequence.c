/* The table of RFC 3629 section 4 as conditions: no overlong forms, no surrogates, nothing above
 * U+10FFFF. */
#include "codec/text/utf8_sequence.h"

#include <string.h>

#include <uvhttp/text.h>

size_t uvh_utf8_sequence_lead_length(char lead)
{
    unsigned char byte = (unsigned char)lead;
    return byte < 0x80   ? 1
           : byte < 0xc2 ? 0
           : byte < 0xe0 ? 2
           : byte < 0xf0 ? 3
           : byte < 0xf5 ? 4
                         : 0;
}

size_t uvh_utf8_sequence_valid_length(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned char lead = bytes[0];
    size_t size = uvh_utf8_sequence_lead_length(text[0]);
    if (size > length)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    }
    bool overlong = (lead == 0xe0 && bytes[1] < 0xa0) || (lead == 0xf0 && bytes[1] < 0x90);
    bool surrogate = lead == 0xed && bytes[1] >= 0xa0;
    bool beyond = lead == 0xf4 && bytes[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : size;
}

/* Missing bytes are replaced by 0x80. Of the bytes after the lead byte, only the range of the
 * second one depends on it: 0x80 is allowed for all others. So if the second byte is missing
 * (`length` 1), nothing remains to be checked. */
bool uvh_utf8_sequence_is_incomplete(const char *text, size_t length)
{
    if (length >= uvh_utf8_sequence_lead_length(text[0]))
        return false;
    char whole[4] = {(char)0x80, (char)0x80, (char)0x80, (char)0x80};
    memcpy(whole, text, length);
    return length == 1 || uvh_utf8_sequence_valid_length(whole, sizeof whole) > 0;
}

ptrdiff_t uvhttp_utf8_count(const char *text, size_t length)
{
    ptrdiff_t count = 0;
    for (size_t i = 0; text != NULL && i < length; count++) {
        size_t size = uvh_utf8_sequence_valid_length(text + i, length - i);
        if (size == 0)
            return -1;
        i += size;
    }
    return count;
}

bool uvh_utf8_sequence_is_valid_text(const char *text, size_t length)
{
    return uvhttp_utf8_count(text, length) >= 0;
}

bool uvh_utf8_sequence_is_noncharacter(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (length == 3 && bytes[0] == 0xef && bytes[1] == 0xb7)
        return bytes[2] >= 0x90 && bytes[2] <= 0xaf;
    if (length < 3 || bytes[length - 1] < 0xbe || bytes[length - 2] != 0xbf)
        return false;
    return length == 3 ? bytes[0] == 0xef : (bytes[1] & 0x0f) == 0x0f;
}
