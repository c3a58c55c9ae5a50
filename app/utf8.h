/* UTF-8, character by character. */
#ifndef UVH_APP_UTF8_H
#define UVH_APP_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of the character that a NUL-terminated text begins with (RFC 3629), which goes to
 * `*character`; 0 when it begins with none. */
size_t uvh_utf8_next(const char *text, uint32_t *character);

/* True when the text consists of characters, each whole. */
bool uvh_utf8_valid(const char *text);

#endif
