/* Characters of JSON strings (RFC 8259 section 7). */
#ifndef UVH_CODEC_TEXT_JSON_H
#define UVH_CODEC_TEXT_JSON_H

#include <stddef.h>

enum { UVH_JSON_CHARACTER_SIZE = 6 };

/* Writes the first character of a text of `length` bytes, at least one, and sets `*size` to the
 * number of bytes it has there. Quotes, backslashes and control characters are escaped, also DEL
 * and U+0080 to U+009F, which control terminals; a byte that is not UTF-8 becomes U+FFFD. Returns
 * the length of the result. */
size_t uvh_json_character(const char *text, size_t length, char out[UVH_JSON_CHARACTER_SIZE],
                          size_t *size);

#endif
