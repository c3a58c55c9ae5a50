/* Opens a path beneath a directory; a policy says which symbolic links are followed.
 *
 * Paths are relative to the directory, without NUL; "" is the directory itself. A path that leaves
 * the directory by itself (".." or a leading '/') gives -EXDEV with every policy. Where links may
 * lead anywhere, any ".." in the path gives -EXDEV. Any thread. */
#ifndef UVH_PLATFORM_BENEATH_H
#define UVH_PLATFORM_BENEATH_H

#include <stdbool.h>

#include "platform/file.h"

/* `flags` are those of open(2). `walk`: do not use openat2. Returns a descriptor or a negative
 * errno. */
int uvh_beneath_open(int root, const char *path, int flags, enum uvh_file_links links, bool walk);

/* True if openat2 exists and the process may call it. `root`: any open directory. */
bool uvh_beneath_in_kernel(int root);

#endif
