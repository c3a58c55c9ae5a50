/* UTF-8 (RFC 3629): length and validity of a single sequence.
 *
 * Called to put arbitrary bytes (file names, request fields) into UTF-8 texts. */
#ifndef UVH_CODEC_TEXT_UTF8_SEQUENCE_H
#define UVH_CODEC_TEXT_UTF8_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>

/* The length of a sequence that begins with this byte; 0 if it is no lead byte. */
size_t uvh_utf8_sequence_announced(char lead);

/* The length of the valid sequence at `text`, of which `length` bytes (at least one) are available;
 * 0 if it is invalid. */
size_t uvh_utf8_sequence_length(const char *text, size_t length);

/* True if `text` is the start of a sequence longer than `length` (at least one) bytes. */
bool uvh_utf8_sequence_begins(const char *text, size_t length);

/* True if the whole text is valid. */
bool uvh_utf8_sequence_valid(const char *text, size_t length);

/* True for a sequence of that length that encodes a noncharacter (U+FDD0 to U+FDEF, and the last
 * two of each plane). */
bool uvh_utf8_sequence_is_noncharacter(const char *text, size_t length);

#endif
