/* base64 and base64url (RFC 4648 sections 4 and 5).
 *
 * Strict: padding exactly where the form has it, no white space or other bytes, no bits behind the
 * last byte, so that each text stands for other bytes and all bytes have one text. Called for Basic
 * authentication (RFC 7617) and for signed cookies. */
#ifndef UVH_CODEC_TEXT_BASE64_H
#define UVH_CODEC_TEXT_BASE64_H

#include <uvhttp/types.h>

enum uvh_base64_form {
    UVH_BASE64_STANDARD, /* '+' and '/', padded with '=' */
    UVH_BASE64_URL       /* '-' and '_', without padding */
};

/* The length of the text of `length` bytes. */
size_t uvh_base64_encoded_size(size_t length, enum uvh_base64_form form);

/* Writes the text, uvh_base64_encoded_size bytes without NUL. `data` may be NULL when `length` is
 * 0. */
void uvh_base64_encode(char *out, const void *data, size_t length, enum uvh_base64_form form);

/* Writes what the text stands for: at most text.length / 4 * 3 + 2 bytes. Their number, or -1 for a
 * text that is none; what `out` holds is undefined then. `out` may be where the text lies. */
ptrdiff_t uvh_base64_decode(uvhttp_slice_t text, enum uvh_base64_form form, void *out);

#endif
