/* Directories at paths below another directory of the same site: the listing of the outer one shows
 * them, and their paths are found without the final slash. */
#ifndef UVH_APP_ALIAS_H
#define UVH_APP_ALIAS_H

#include <uvhttp/router.h>

#include "setup.h"

/* The names of the site's other routes directly below a route for a directory, such as "m/" and
 * "icon.png", up to a NULL; for `listed` of uvhttp_static_options_t. The caller frees the array.
 * NULL when out of memory. */
const char **uvh_alias_names(const struct uvh_setup_site *site,
                             const struct uvh_setup_route *route);

/* If the site redirects slashes: redirects the path of a directory without its final slash, unless
 * the router has a route there already, so call it after all routes were added. The router's own
 * redirects apply only where no route matches, but here the outer directory's route matches.
 * Returns 0, or as uvhttp_router_add. */
int uvh_alias_redirect(uvhttp_router_t *router, const struct uvh_setup_site *site,
                       const struct uvh_setup_route *route, const uvhttp_middleware_t *middleware,
                       size_t middleware_count);

#endif
