/* Escapes file names, and other arbitrary bytes, for HTML, JSON, a plain line, and a link.
 *
 * Invariants: the output is UTF-8 and cannot end its context. Bytes that are no valid UTF-8 become
 * U+FFFD, except in a link, which encodes exactly the bytes of the name. */
#ifndef UVH_FILES_DIR_NAMES_H
#define UVH_FILES_DIR_NAMES_H

#include "base/bytes.h"

/* Text or an attribute's value in HTML. Control characters become their pictures (U+2400 and
 * on), and controls of the writing direction become "[U+202E]". */
void uvh_dir_names_html(struct uvh_bytes *page, const char *text, size_t length);

/* The same for text with lines: tabs, line ends and controls of the direction remain, and every
 * kind of line end becomes LF. */
void uvh_dir_names_html_lines(struct uvh_bytes *page, const char *text, size_t length);

/* Inside the quotes of a JSON string (RFC 8259 section 7). */
void uvh_dir_names_json(struct uvh_bytes *page, const char *text, size_t length);

/* A part of a line of plain text: control characters are replaced as in HTML, so a name never spans
 * two lines. */
void uvh_dir_names_plain(struct uvh_bytes *page, const char *text, size_t length);

/* A segment of a URL's path (RFC 3986 section 3.3): percent-encodes all but the safe characters. */
void uvh_dir_names_link(struct uvh_bytes *page, const char *text, size_t length);

#endif
