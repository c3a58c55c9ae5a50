/* Redirects that lead to themselves. */
#ifndef UVH_APP_ROUTE_LOOP_H
#define UVH_APP_ROUTE_LOOP_H

#include "setup.h"

/* Notes a problem for each redirect of a site whose location is, for every client, a path of the
 * same redirect. `tls`: the server has a certificate. */
void uvh_route_loop_check(const struct uvh_setup_site *site, bool tls,
                          struct uvh_problems *problems);

#endif
