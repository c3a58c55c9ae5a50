/* Names of files, and other bytes that may be anything, as text of a page, of JSON, of a plain
 * line, and as a link.
 *
 * Always true of what is appended: it is UTF-8 and cannot end the context that it stands in. Bytes
 * that are no UTF-8 become U+FFFD, except in a link, which stands for exactly the bytes of the
 * name. Called by dir_html.c and dir_plain.c. */
#ifndef UVH_FILES_DIR_NAMES_H
#define UVH_FILES_DIR_NAMES_H

#include "base/bytes.h"

/* Text or an attribute's value in HTML. Control characters show as their pictures (U+2400 and
 * on). */
void uvh_dir_names_html(struct uvh_bytes *page, const char *text, size_t length);

/* The same for text with lines: tabs and line ends stay, and any way to end a line becomes one
 * LF. */
void uvh_dir_names_html_lines(struct uvh_bytes *page, const char *text, size_t length);

/* Within the quotes of a JSON string (RFC 8259 section 7). */
void uvh_dir_names_json(struct uvh_bytes *page, const char *text, size_t length);

/* A part of a line of plain text: control characters show as their pictures, so a name is never two
 * lines. */
void uvh_dir_names_plain(struct uvh_bytes *page, const char *text, size_t length);

/* A segment of a URL's path (RFC 3986 section 3.3): whatever is not plainly safe is
 * percent-encoded. */
void uvh_dir_names_link(struct uvh_bytes *page, const char *text, size_t length);

#endif
