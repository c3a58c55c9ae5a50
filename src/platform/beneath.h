/* From a path to a descriptor beneath a folder, with links followed as far as a policy lets them.
 *
 * Called by file.c. Paths are relative to the folder, without NUL; "" is the folder itself. A path
 * that leaves the folder by itself (".." or '/' at its beginning) gives -EXDEV whatever the policy;
 * where links may lead anywhere, so does one that has ".." at all. Results are a descriptor or a
 * negative errno. Any thread. */
#ifndef UVH_PLATFORM_BENEATH_H
#define UVH_PLATFORM_BENEATH_H

#include <stdbool.h>

#include "platform/file.h"

/* `flags` are those of open(2). With `walk` openat2 is not used. */
int uvh_beneath_open(int root, const char *path, int flags, enum uvh_file_links links, bool walk);

/* The kernel has openat2, and nothing keeps this process from it. */
bool uvh_beneath_in_kernel(int root);

#endif
