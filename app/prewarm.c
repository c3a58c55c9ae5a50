/* One path or pattern for each call. */
#include "prewarm.h"

#include <string.h>

#include <uvhttp/error.h>

const char *uvh_prewarm_load(uvhttp_static_t *files, const char *path_or_pattern)
{
    if (strpbrk(path_or_pattern, "*?[") == NULL) {
        int err = uvhttp_static_prewarm_cache(files, path_or_pattern);
        return err == 0 ? NULL : uvhttp_strerror(err);
    }
    uvhttp_static_prewarmed_t found;
    const uvhttp_static_prewarm_options_t options = {.patterns = &path_or_pattern,
                                                     .pattern_count = 1};
    int err = uvhttp_static_prewarm_directory(files, &options, &found);
    if (err == UVHTTP_EINVAL)
        return "not a pattern: a '[' has no ']', or it is longer than 512 bytes";
    if (err != 0)
        return uvhttp_strerror(err);
    return found.loaded + found.over_budget + found.failed == 0 ? "no file matches it" : NULL;
}
