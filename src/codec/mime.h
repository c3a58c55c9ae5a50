/* Media types by file name extension.
 *
 * Called when a file is opened for sending; the result goes out as Content-Type as it is. */
#ifndef UVH_CODEC_MIME_H
#define UVH_CODEC_MIME_H

#include <uvhttp/types.h>

/* The media type of a file or path, with "; charset=utf-8" for text; "application/octet-stream" when the
 * extension is unknown or missing. Case does not matter. NUL-terminated, never freed. */
const char *uvh_mime_type(uvhttp_slice_t file_name);

#endif
