/* UTF-8 (RFC 3629): where a character ends, and whether it is one.
 *
 * Called by whoever has to put bytes that may be anything (names of files, fields of requests) into
 * a text that is UTF-8. */
#ifndef UVH_CODEC_TEXT_UTF8_SEQUENCE_H
#define UVH_CODEC_TEXT_UTF8_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>

/* The length of a sequence that begins with this byte; 0 when none does. */
size_t uvh_utf8_sequence_announced(char lead);

/* The length of the well-formed sequence at `text`, of which `length` bytes (at least one) are
 * there; 0 when it is none. */
size_t uvh_utf8_sequence_length(const char *text, size_t length);

/* True when `text` is the beginning of a sequence, and `length` (at least one) less than that. */
bool uvh_utf8_sequence_begins(const char *text, size_t length);

/* True when all of it is well-formed. */
bool uvh_utf8_sequence_valid(const char *text, size_t length);

/* True for a sequence of that length that is no character and never will be (U+FDD0 to U+FDEF, and
 * the last two of each plane). */
bool uvh_utf8_sequence_is_noncharacter(const char *text, size_t length);

#endif
