/* UTF-8, character by character. */
#ifndef UVH_APP_UTF8_H
#define UVH_APP_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length in bytes of the first character of a NUL-terminated text (RFC 3629), which is stored
 * in `*character`; 0 if it is invalid. */
size_t uvh_utf8_next(const char *text, uint32_t *character);

/* True if the whole text is valid UTF-8. */
bool uvh_utf8_valid(const char *text);

#endif
