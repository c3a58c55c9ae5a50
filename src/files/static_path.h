/* Paths below a root as text: one spelling for each file, and which of them are hidden.
 *
 * Used for what a request asks for and for what the settings name. Paths are decoded; names are
 * separated by '/'. Any thread. */
#ifndef UVH_FILES_STATIC_PATH_H
#define UVH_FILES_STATIC_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Copies a path without the slashes at its beginning and without repeated ones, so that each file
 * has one key. `out` has room for length + 1 bytes and may be `path`. Returns the length. */
size_t uvh_static_path_normalize(const char *path, size_t length, char *out);

/* Some name of a normalized path begins with a dot. ".well-known" (RFC 8615) at its beginning does
 * not count: it is there to be found. */
bool uvh_static_path_is_hidden(const char *path);

/* Nobody gets it: it is hidden, and hidden files are not served, or it is that of a file that is
 * being uploaded. */
bool uvh_static_path_is_kept_back(const char *path, bool hidden_served);

/* Some name of a path is "." or "..". */
bool uvh_static_path_has_dots(const char *path);

#endif
