/* Paths below a root as text: one spelling for each file, and which of them are hidden.
 *
 * Used for paths of requests and of the configuration. Paths are decoded; '/' separates names. Any
 * thread. */
#ifndef UVH_FILES_STATIC_PATH_H
#define UVH_FILES_STATIC_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Copies a path without leading and repeated slashes, so that each file has one key. `out` has
 * space for length + 1 bytes and may be `path`. Returns the length. */
size_t uvh_static_path_normalize(const char *path, size_t length, char *out);

/* A name in a normalized path begins with a dot. A leading ".well-known" (RFC 8615) is not hidden,
 * since it is meant for clients. */
bool uvh_static_path_is_hidden(const char *path);

/* One of the patterns (glob.h) matches the path or a directory on it. `patterns` ends with NULL;
 * NULL: none. */
bool uvh_static_path_matches(const char *path, const char *const *patterns);

/* The path is denied: it is hidden, and hidden files are not served; it matches one of the patterns
 * of `hide`; or it is an unfinished upload. */
bool uvh_static_path_is_denied(const char *path, bool hidden_served, const char *const *hide);

/* The last name of the path has a dot, as that of a file usually has. */
bool uvh_static_path_has_extension(const char *path);

/* A name in the path is "." or "..". */
bool uvh_static_path_has_dots(const char *path);

#endif
