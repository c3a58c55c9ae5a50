/* Checks at the start that files named by the options of a directory exist; otherwise a misspelt
 * name would only be noticed at the first request.
 *
 * Called by serve.c and site.c after the directory is opened. If a file is removed later, the
 * library's rules apply. */
#ifndef UVH_APP_NAMED_FILES_H
#define UVH_APP_NAMED_FILES_H

#include "setup.h"

/* True if the file of an alias and the error pages exist. False with a message that begins with the
 * name of the option. */
bool uvh_named_files_check(const struct uvh_setup_route *route, char *message, size_t size);

/* True if something may exist at an exact path. False if each request for it would be 404. */
bool uvh_named_files_check_path(const struct uvh_setup_route *route);

/* Checks that no directory is listed twice; notes a problem for each that is. */
bool uvh_named_files_check_roots(const struct uvh_setup_route *route,
                                 struct uvh_problems *problems);

#endif
