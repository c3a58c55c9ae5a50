/* Listings for people: a page of HTML 5 without script, light or dark as the reader prefers, for
 * wide windows and phones, for pointer and keyboard.
 *
 * Always true: valid HTML whatever the names hold; links are relative, so the page works below any
 * prefix and behind any proxy; no style within the page (dir_style.h). Called by dir_listing.c,
 * which says what is called when. */
#ifndef UVH_FILES_DIR_HTML_H
#define UVH_FILES_DIR_HTML_H

#include "files/dir_listing.h"

void uvh_dir_html_begin(const struct uvh_dir_listing *listing, struct uvh_bytes *page);
void uvh_dir_html_entry(const struct uvh_dir_listing *listing, size_t index,
                        struct uvh_bytes *page);
void uvh_dir_html_end(const struct uvh_dir_listing *listing, struct uvh_bytes *page);

#endif
