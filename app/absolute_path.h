/* Absolute paths that keep their links. A directory that is replaced or behind a changed link is
 * found again by such a path, unlike by that of realpath(3). */
#ifndef UVH_APP_ABSOLUTE_PATH_H
#define UVH_APP_ABSOLUTE_PATH_H

/* Without "." and repeated slashes, and with ".." only after what is not a plain directory. The
 * path need not exist. Free it. NULL: with errno set. */
char *uvh_absolute_path(const char *path);

#endif
