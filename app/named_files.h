/* What the options of a folder name, looked for on the disk before anybody asks: a name that is
 * misspelt would show with the first request otherwise.
 *
 * Called by serve.c and site.c when the folder is open. A file that goes later is answered as the
 * library says. */
#ifndef UVH_APP_NAMED_FILES_H
#define UVH_APP_NAMED_FILES_H

#include "setup.h"

/* The file of an alias and the pages of errors are there. False with a message that begins with the
 * name of the option. */
bool uvh_named_files_check(const struct uvh_setup_route *route, char *message, size_t size);

/* Something may be at a path that stands for itself alone. False when each request for it would be
 * 404. */
bool uvh_named_files_check_path(const struct uvh_setup_route *route);

/* No folder stands there twice; a problem for each that does. */
bool uvh_named_files_check_roots(const struct uvh_setup_route *route,
                                 struct uvh_problems *problems);

#endif
