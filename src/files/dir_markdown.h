/* Markdown (CommonMark with tables, task lists and struck-out text) as HTML, for the README of a
 * listing. Only this module uses md4c; a build without BUILD_WITH_MARKDOWN does not have it.
 *
 * Invariants: the output has only elements and attributes that this module writes. Raw HTML is left
 * out. Links lead to http, https, mailto or a relative URL, images are below the same site. */
#ifndef UVH_FILES_DIR_MARKDOWN_H
#define UVH_FILES_DIR_MARKDOWN_H

#include <stdbool.h>

#include "base/bytes.h"

/* Appends the text, followed by a NUL, as HTML. False, with the page as before, in a build without
 * md4c, when out of memory, and for a text with an unusual depth, with far more output than input,
 * or whose elements md4c does not close. */
bool uvh_dir_markdown_append(struct uvh_bytes *page, const char *text, size_t length);

#endif
