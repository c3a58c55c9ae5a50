/* What a normalized path keeps encoded, and how it is decoded in the end.
 *
 * uvhttp_path_normalize decodes everything but an encoded slash, which stays as it was sent
 * ("%2F"), and a '%' behind which there would then stand "2F", or any number of "25" and "2F": that
 * one stays encoded too ("%252F"). So "%2F" in a normalized path is always a slash that divides
 * nothing, "%252F" is always the text "%2F", and what a name may hold has one spelling. Called by
 * http/request.c for parameters, and by modules that take names from the path. */
#ifndef UVH_CODEC_HTTP1_TARGET_H
#define UVH_CODEC_HTTP1_TARGET_H

#include <uvhttp/types.h>

/* A piece of a normalized path holds something that is still encoded. */
bool uvh_target_has_kept(uvhttp_slice_t path);

/* It holds an encoded slash. */
bool uvh_target_has_slash(uvhttp_slice_t path);

/* Decodes what was kept; `output` has room for path.length bytes and may be path.base. The
 * length. */
size_t uvh_target_release_kept(uvhttp_slice_t path, char *output);

#endif
