/* Which clients may request a site or a route, and how often: as middleware. */
#ifndef UVH_APP_SITE_CLIENTS_H
#define UVH_APP_SITE_CLIENTS_H

#include "setup.h"

/* Makes the middleware, owned by the server. Of a route, members that are not set are those of
 * `site`, whose middleware is in site->made; NULL for a site. Notes problems. */
void uvh_site_clients_make(uvhttp_server_t *server, const struct uvh_setup_clients *own,
                           const struct uvh_setup_site *site, struct uvh_clients *made,
                           struct uvh_problems *problems);

/* Notes each `allow` that no client can match, because no listen address has its family. */
void uvh_site_clients_check_families(const struct uvh_setup *setup,
                                     const struct uvh_options *options,
                                     struct uvh_problems *problems);

/* A middleware for requests of a site without a route; `arg` is the struct uvh_setup_site. Routes
 * have the middleware themselves, because they may override it. */
int uvh_site_clients_handle_unrouted(uvhttp_request_t *request, uvhttp_response_t *response,
                                     void *arg);

#endif
