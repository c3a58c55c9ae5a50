/* Media types by file name extension, and properties of types.
 *
 * Called when a file is opened for sending; the result is the Content-Type. */
#ifndef UVH_CODEC_FIELDS_MIME_H
#define UVH_CODEC_FIELDS_MIME_H

#include <uvhttp/types.h>

/* The media type of a file or path, by the text after the last dot of its name ("x.tar.gz" is a
 * gzip file; no Content-Encoding is derived). Text types have "; charset=utf-8". Case-insensitive.
 * NULL without an extension or for an unknown one; uvh_mime_type returns "application/octet-stream"
 * then. NUL-terminated, never freed. */
const char *uvh_mime_known_type(uvhttp_slice_t file_name);
const char *uvh_mime_type(uvhttp_slice_t file_name);

#endif
