/* Values PATH=TARGET of --rewrite and --redirect, and the paths of routes. */
#ifndef UVH_APP_MAPPING_H
#define UVH_APP_MAPPING_H

#include <stddef.h>

/* Returns NULL for a valid value, else what is allowed. */
const char *uvh_mapping_check(const char *text);

/* Returns NULL, or what is allowed instead of a regular expression or a '*' inside of a path. The
 * router checks the rest. */
const char *uvh_mapping_check_path(const char *path, size_t length);

/* Splits a valid value in place. Returns the target. */
char *uvh_mapping_split(char *text);

#endif
