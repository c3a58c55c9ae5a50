/* Directory listings as HTML 5 pages: without script, light or dark as the reader prefers, for wide
 * windows and phones, for pointer and keyboard.
 *
 * Invariants: valid HTML whatever the names contain. Links are relative, so the page works below
 * any prefix and behind any proxy. No style in the page (dir_style.h). dir_listing.c specifies the
 * order of calls. */
#ifndef UVH_FILES_DIR_HTML_H
#define UVH_FILES_DIR_HTML_H

#include "files/dir_listing.h"

void uvh_dir_html_begin(const struct uvh_dir_listing *listing, struct uvh_bytes *page);
void uvh_dir_html_entry(const struct uvh_dir_listing *listing, size_t index,
                        struct uvh_bytes *page);
void uvh_dir_html_end(const struct uvh_dir_listing *listing, struct uvh_bytes *page);

#endif
