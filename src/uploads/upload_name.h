/* The name of a file that comes in a form, made fit for a folder.
 *
 * Called by form_data.c and static_upload.c on the loop's thread. */
#ifndef UVH_UPLOADS_UPLOAD_NAME_H
#define UVH_UPLOADS_UPLOAD_NAME_H

#include <uvhttp/request.h>

/* What stands behind the last slash or backslash, control characters and dots at its beginning
 * replaced by '_', at most 255 bytes; may be empty. In the exchange's memory; NULL when that ran
 * out. */
char *uvh_upload_name_from(uvhttp_request_t *request, uvhttp_slice_t raw);

#endif
