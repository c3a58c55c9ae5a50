/* The escapes that a normalized path keeps, and their final decoding.
 *
 * uvhttp_path_normalize decodes everything except an encoded slash, which stays encoded ("%2F"),
 * and a '%' that would then be followed by "2F", or by any number of "25" and "2F", which also
 * stays encoded ("%252F"). So "%2F" in a normalized path is always a slash within a segment,
 * "%252F" is always the text "%2F", and every name has exactly one encoding. Used for parameters,
 * and by modules that take names from the path. */
#ifndef UVH_CODEC_HTTP1_TARGET_H
#define UVH_CODEC_HTTP1_TARGET_H

#include <uvhttp/types.h>

/* True if a part of a normalized path contains kept escapes. */
bool uvh_target_has_kept(uvhttp_slice_t path);

/* True if it contains an encoded slash. */
bool uvh_target_has_slash(uvhttp_slice_t path);

/* Decodes the kept escapes; `output` has space for path.length bytes and may be path.base. Returns
 * the length. */
size_t uvh_target_release_kept(uvhttp_slice_t path, char *output);

#endif
