/* base64 and base64url (RFC 4648 sections 4 and 5).
 *
 * Strict: padding exactly as the form requires, no white space or other bytes, no nonzero bits
 * after the last byte, so that texts and byte strings correspond one to one. Called for Basic
 * authentication (RFC 7617), signed cookies, digest fields and WebSocket handshakes. */
#ifndef UVH_CODEC_TEXT_BASE64_H
#define UVH_CODEC_TEXT_BASE64_H

#include <uvhttp/types.h>

enum uvh_base64_form {
    UVH_BASE64_STANDARD, /* '+' and '/', padded with '=' */
    UVH_BASE64_URL       /* '-' and '_', without padding */
};

/* The length of the text for `length` bytes. */
size_t uvh_base64_encoded_size(size_t length, enum uvh_base64_form form);

/* Writes the text, uvh_base64_encoded_size bytes without NUL. `data` may be NULL if `length` is
 * 0. */
void uvh_base64_encode(char *out, const void *data, size_t length, enum uvh_base64_form form);

/* Decodes a text to at most text.length / 4 * 3 + 2 bytes. Returns their number, or -1 if it is
 * invalid; then `out` is undefined. `out` may be the memory of the text. */
ptrdiff_t uvh_base64_decode(uvhttp_slice_t text, enum uvh_base64_form form, void *out);

#endif
