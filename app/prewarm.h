/* Loads files before the first request, as `prewarm` in a file and --prewarm say: by their path, or
 * by a pattern when there is a '*', '?' or '[' in it. Called by site.c and serve.c. */
#ifndef UVH_APP_PREWARM_H
#define UVH_APP_PREWARM_H

#include <uvhttp/static.h>

/* NULL, or what went wrong: no file fits, for instance. That not all of them have room is nothing
 * wrong. Static text. */
const char *uvh_prewarm_load(uvhttp_static_t *files, const char *path_or_pattern);

#endif
