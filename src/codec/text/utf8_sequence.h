/* UTF-8 (RFC 3629): length and validity of a single sequence, and of a text.
 *
 * Called where arbitrary bytes become UTF-8 text (directory listings, names of downloads and in
 * archives, the access log), and by codec/simd for the text of WebSocket messages. */
#ifndef UVH_CODEC_TEXT_UTF8_SEQUENCE_H
#define UVH_CODEC_TEXT_UTF8_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>

/* The length that a lead byte gives its sequence, of which nothing else is checked; 0 if the byte
 * is no lead byte. */
size_t uvh_utf8_sequence_lead_length(char lead);

/* The length of the sequence at `text`, of which `length` bytes (at least one) are available; 0 if
 * it is invalid or incomplete. */
size_t uvh_utf8_sequence_valid_length(const char *text, size_t length);

/* True if the `length` bytes (at least one) are the start of a valid sequence that is longer. */
bool uvh_utf8_sequence_is_incomplete(const char *text, size_t length);

/* True if the text consists of valid sequences, or is empty. */
bool uvh_utf8_sequence_is_valid_text(const char *text, size_t length);

/* True for a sequence of that length that encodes a noncharacter (U+FDD0 to U+FDEF, and the last
 * two of each plane). */
bool uvh_utf8_sequence_is_noncharacter(const char *text, size_t length);

#endif
