/* The style sheet of directory listings.
 *
 * It has its own URL, "?format=css" of any listing. No page contains a style, because a
 * Content-Security-Policy without 'unsafe-inline' (such as the one of uvhttp/security_headers.h)
 * permits only style sheets loaded from the site. Called by dir_html.c and dir_listing.c. */
#ifndef UVH_FILES_DIR_STYLE_H
#define UVH_FILES_DIR_STYLE_H

#include <stddef.h>

/* The static text, and its length in `*length`. */
const char *uvh_dir_style(size_t *length);

/* Changes whenever the text does, so that browsers may cache the sheet forever. Eight digits and
 * letters with a NUL. */
enum { UVH_DIR_STYLE_VERSION_SIZE = 9 };
void uvh_dir_style_version(char version[UVH_DIR_STYLE_VERSION_SIZE]);

#endif
