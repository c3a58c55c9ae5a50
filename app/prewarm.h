/* Loads files into the cache before the first request, for `prewarm` in a file and --prewarm: by
 * path, or by pattern if it contains '*', '?' or '['. */
#ifndef UVH_APP_PREWARM_H
#define UVH_APP_PREWARM_H

#include <uvhttp/static.h>

/* Returns NULL or an error message, for instance if no file matches. A full cache is no error.
 * Static text. */
const char *uvh_prewarm_load(uvhttp_static_t *files, const char *path_or_pattern);

#endif
