/* Makes the filename of a form part safe for a directory.
 *
 * Called on the loop's thread. */
#ifndef UVH_UPLOADS_UPLOAD_NAME_H
#define UVH_UPLOADS_UPLOAD_NAME_H

#include <uvhttp/request.h>

/* The part of `raw` after the last slash or backslash, at most 255 bytes, may be empty. '_'
 * replaces control characters and leading dots. In the exchange's memory; NULL when out of
 * memory. */
char *uvh_upload_name_from(uvhttp_request_t *request, uvhttp_slice_t raw);

#endif
