/* Media types by file name extension, and what is known about a type.
 *
 * Called when a file is opened for sending; the result goes out as Content-Type as it is. */
#ifndef UVH_CODEC_FIELDS_MIME_H
#define UVH_CODEC_FIELDS_MIME_H

#include <uvhttp/types.h>

/* The media type of a file or path, by what stands behind the last dot of its name ("x.tar.gz" is a
 * file of gzip: a suffix says how a file was made, and no Content-Encoding is taken from it). Text
 * has "; charset=utf-8". Case does not matter. NULL when there is no extension, or an unknown one;
 * uvh_mime_type says "application/octet-stream" then. NUL-terminated, never freed. */
const char *uvh_mime_known_type(uvhttp_slice_t file_name);
const char *uvh_mime_type(uvhttp_slice_t file_name);

#endif
