/* The style sheet of folder listings.
 *
 * It has a URL of its own, "?format=css" of any listing, and no page holds a style, because a
 * Content-Security-Policy without 'unsafe-inline' (that of uvhttp/security_headers.h is one) lets a
 * page have only style sheets that are loaded from the site. Called by dir_html.c and
 * dir_listing.c. */
#ifndef UVH_FILES_DIR_STYLE_H
#define UVH_FILES_DIR_STYLE_H

#include <stddef.h>

/* The text, and its length in `*length`. Static. */
const char *uvh_dir_style(size_t *length);

/* Changes whenever the text does, so that a browser may keep the sheet for good. Eight digits and
 * letters with a NUL behind. */
enum { UVH_DIR_STYLE_VERSION_SIZE = 9 };
void uvh_dir_style_version(char version[UVH_DIR_STYLE_VERSION_SIZE]);

#endif
