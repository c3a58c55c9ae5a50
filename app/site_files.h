/* The directories of routes. */
#ifndef UVH_APP_SITE_FILES_H
#define UVH_APP_SITE_FILES_H

#include "setup.h"

/* The directory of a route of `site`, owned by the server, with its prewarmed files; NULL with a
 * problem noted. */
uvhttp_static_t *uvh_site_files_open(uvhttp_server_t *server, const struct uvh_setup_site *site,
                                     const struct uvh_setup_route *route,
                                     struct uvh_problems *problems);

/* Notes the directories that do not exist or cannot be read, for a setup that cannot be built. */
void uvh_site_files_check(const struct uvh_setup *setup, struct uvh_problems *problems);

#endif
