/* Patterns over paths: "*.css", "/assets/" with "**" behind it, "report-[0-9][0-9]??.pdf".
 *
 *   *      any characters but '/', or none
 *   **     any characters, '/' too, or none; between slashes any number of folders, or none
 *   ?      one character but '/'
 *   [a-z]  one of these characters, never '/'; [!a-z] or [^a-z] one of all others; ']' stands for
 *          itself when it comes first
 *   \x     x itself
 *
 * A pattern without a slash is for the name alone, in whatever folder it lies; any other is for the
 * whole path, with or without a slash at its beginning. Upper and lower case differ. A character is
 * one of UTF-8; a byte that belongs to none is a character of its own. Always true: no allocation,
 * no recursion, and at most (length of pattern) x (length of path) steps, whatever they hold.
 * Called by modules, which ask uvh_glob_is_valid first where a user wrote the pattern. */
#ifndef UVH_CODEC_TEXT_GLOB_H
#define UVH_CODEC_TEXT_GLOB_H

#include <uvhttp/types.h>

enum { UVH_GLOB_MAX_LENGTH = 512 }; /* bytes of a pattern */

/* Neither empty nor too long, every '[' has its ']', every range goes upwards, something stands
 * behind the last '\'. */
bool uvh_glob_is_valid(uvhttp_slice_t pattern);

/* A pattern that is not valid matches nothing. */
bool uvh_glob_matches(uvhttp_slice_t pattern, uvhttp_slice_t path);

#endif
