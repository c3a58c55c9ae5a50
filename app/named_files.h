/* Startup checks of a static route: the files that its options name must exist. Otherwise a
 * misspelt name would only be noticed at the first request.
 *
 * Called after the directory is opened. Files that are removed later are handled by the library. */
#ifndef UVH_APP_NAMED_FILES_H
#define UVH_APP_NAMED_FILES_H

#include <limits.h>

#include "setup.h"

/* True if the files of the options `file`, `fallback`, `spa` and `error_pages`, and the last one
 * of `try_files`, exist. A file that cannot be examined, for example for lack of permissions,
 * counts as existing. False with a message that begins with the name of the option. */
bool uvh_named_files_check(const struct uvh_setup_route *route, char *message, size_t size);

/* The path of a file of the route's directories; false if there is none. */
bool uvh_named_files_path(const struct uvh_setup_route *route, const char *path, size_t length,
                          char whole[PATH_MAX]);

/* Omits these options, except `file`, where their files do not exist: an alias of `serve` need not
 * have those of the directory. */
void uvh_named_files_drop(struct uvh_setup_route *route);

/* True unless the route is for one exact path at which nothing exists, so that each request would
 * get 404. */
bool uvh_named_files_can_match(const struct uvh_setup_route *route);

/* True if all directories of the route (its root and `more_roots`) are different. Notes a problem
 * for each one that is listed before. */
bool uvh_named_files_check_roots(const struct uvh_setup_route *route,
                                 struct uvh_problems *problems);

#endif
