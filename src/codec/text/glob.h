/* Patterns for paths: "*.css", "/assets/" followed by "**", "report-[0-9][0-9]??.pdf".
 *
 *   *      any characters except '/', or none
 *   **     any characters including '/', or none; between slashes any number of directories, or
 *          none
 *   ?      one character except '/'
 *   [a-z]  one of these characters, never '/'; [!a-z] or [^a-z] one of all others; ']' is literal
 *          as the first one
 *   \x     x itself
 *
 * A pattern without a slash matches the name alone, in any directory; any other matches the whole
 * path, with or without a leading slash. Case-sensitive. A character is a UTF-8 character, or a
 * byte that is not part of one. Always true: no allocation, no recursion, and at most (length of
 * pattern) x (length of path) steps for any input. Called by modules, which check user patterns
 * with uvh_glob_is_valid first. */
#ifndef UVH_CODEC_TEXT_GLOB_H
#define UVH_CODEC_TEXT_GLOB_H

#include <uvhttp/types.h>

enum { UVH_GLOB_MAX_LENGTH = 512 }; /* most bytes of a pattern */

/* True if a pattern is not empty or too long, every '[' has its ']', every range is ascending, and
 * a character follows every '\'. */
bool uvh_glob_is_valid(uvhttp_slice_t pattern);

/* An invalid pattern matches nothing. */
bool uvh_glob_matches(uvhttp_slice_t pattern, uvhttp_slice_t path);

/* The pattern matches the path, without a slash at its end, or a directory on it. As many steps as
 * the path alone. */
bool uvh_glob_matches_part(uvhttp_slice_t pattern, uvhttp_slice_t path);

#endif
