/* Media types by file name extension, and what is known about a type.
 *
 * Called when a file is opened for sending; the result goes out as Content-Type as it is. */
#ifndef UVH_CODEC_MIME_H
#define UVH_CODEC_MIME_H

#include <uvhttp/types.h>

/* The media type of a file or path, with "; charset=utf-8" for text; "application/octet-stream" when the
 * extension is unknown or missing. Case does not matter. NUL-terminated, never freed. */
const char *uvh_mime_type(uvhttp_slice_t file_name);

/* Content of this type usually becomes smaller: text and the formats made of it, and binary formats that hold their data as it is.
 * `type` as in Content-Type; parameters and case do not matter. False for what is packed already, and for what is not known:
 * "application/octet-stream" can be anything. */
bool uvh_mime_is_compressible(const char *type);

#endif
