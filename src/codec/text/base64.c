/* base64 and base64url (RFC 4648), see base64.h and uvhttp/text.h. */
#include "codec/text/base64.h"

#include <uvhttp/text.h>

static const char standard_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* The value of a digit, -1 for other bytes. */
static int digit_value(char c, enum uvh_base64_form form)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == (form == UVH_BASE64_URL ? '-' : '+'))
        return 62;
    return c == (form == UVH_BASE64_URL ? '_' : '/') ? 63 : -1;
}

size_t uvh_base64_encoded_size(size_t length, enum uvh_base64_form form)
{
    size_t rest = length % 3;
    size_t last = rest == 0 ? 0 : form == UVH_BASE64_STANDARD ? 4 : rest + 1;
    return length / 3 * 4 + last;
}

void uvh_base64_encode(char *out, const void *data, size_t length, enum uvh_base64_form form)
{
    const char *digits = form == UVH_BASE64_URL ? url_digits : standard_digits;
    const unsigned char *in = data;
    for (; length >= 3; length -= 3, in += 3) {
        uint32_t group = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *out++ = digits[group >> shift & 63];
    }
    if (length == 0)
        return;
    uint32_t group = (uint32_t)in[0] << 16 | (length == 2 ? (uint32_t)in[1] << 8 : 0);
    *out++ = digits[group >> 18];
    *out++ = digits[group >> 12 & 63];
    if (length == 2)
        *out++ = digits[group >> 6 & 63];
    for (size_t i = length; form == UVH_BASE64_STANDARD && i < 3; i++)
        *out++ = '=';
}

ptrdiff_t uvh_base64_decode(uvhttp_slice_t text, enum uvh_base64_form form, void *out)
{
    unsigned char *bytes = out;
    size_t length = text.length;
    if (form == UVH_BASE64_STANDARD) {
        if (length % 4 != 0)
            return -1;
        for (int padding = 0; padding < 2 && length > 0 && text.base[length - 1] == '='; padding++)
            length--;
    }
    if (length % 4 == 1)
        return -1;
    uint32_t bits = 0;
    unsigned pending = 0; /* bits not written yet: 0, 2, 4 or 6 before each digit */
    ptrdiff_t written = 0;
    for (size_t i = 0; i < length; i++) {
        int value = digit_value(text.base[i], form);
        if (value < 0)
            return -1;
        bits = bits << 6 | (uint32_t)value;
        pending += 6;
        if (pending >= 8) {
            pending -= 8;
            bytes[written++] = (unsigned char)(bits >> pending);
        }
    }
    return (bits & ((1u << pending) - 1)) == 0 ? written : -1;
}

static size_t encode(const void *data, size_t length, enum uvh_base64_form form, char *out,
                     size_t size)
{
    size_t needed = uvh_base64_encoded_size(data == NULL ? 0 : length, form);
    if (out == NULL || size <= needed)
        return needed;
    uvh_base64_encode(out, data, data == NULL ? 0 : length, form);
    out[needed] = '\0';
    return needed;
}

size_t uvhttp_base64_encode(const void *data, size_t length, char *out, size_t size)
{
    return encode(data, length, UVH_BASE64_STANDARD, out, size);
}

size_t uvhttp_base64url_encode(const void *data, size_t length, char *out, size_t size)
{
    return encode(data, length, UVH_BASE64_URL, out, size);
}

/* The size of a valid text is known without decoding it. */
static ptrdiff_t decode(const char *text, size_t length, enum uvh_base64_form form, void *out,
                        size_t size)
{
    uvhttp_slice_t whole = {text, text == NULL ? 0 : length};
    size_t digits = whole.length;
    while (form == UVH_BASE64_STANDARD && digits > 0 && text[digits - 1] == '=' &&
           whole.length - digits < 2)
        digits--;
    if (digits / 4 * 3 + digits % 4 * 3 / 4 > size || (out == NULL && digits > 0))
        return -1;
    return uvh_base64_decode(whole, form, out);
}

ptrdiff_t uvhttp_base64_decode(const char *text, size_t length, void *out, size_t size)
{
    return decode(text, length, UVH_BASE64_STANDARD, out, size);
}

ptrdiff_t uvhttp_base64url_decode(const char *text, size_t length, void *out, size_t size)
{
    return decode(text, length, UVH_BASE64_URL, out, size);
}
