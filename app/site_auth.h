/* The middleware of a site or a route with "basic_auth". */
#ifndef UVH_APP_SITE_AUTH_H
#define UVH_APP_SITE_AUTH_H

#include "setup.h"

/* Creates the middleware, owned by the server. Returns 0, or an error with `error`
 * filled. */
int uvh_site_auth_open(uvhttp_server_t *server, const struct uvh_setup_auth *wanted,
                       uvhttp_auth_t **auth, uvhttp_error_t *error);

/* The same if it is set and not off. Owned by the server; NULL if it is not, or with a problem
 * noted, which begins with `name`, the key. */
uvhttp_auth_t *uvh_site_auth_make(uvhttp_server_t *server, const struct uvh_setup_auth *wanted,
                                  const char *name, struct uvh_problems *problems);

/* Authentication of PUT and POST only, and of all other requests. `auth` is the uvhttp_auth_t. */
int uvh_site_auth_handle_upload(uvhttp_request_t *request, uvhttp_response_t *response, void *auth);
int uvh_site_auth_handle_other(uvhttp_request_t *request, uvhttp_response_t *response, void *auth);

/* The patterns of `hide` of a route, and those of directories within its own that require a
 * password, unless the route requires one or follows links, which could lead there. NULL: out of
 * memory. Free them in either case. */
const char **uvh_site_auth_hidden(const struct uvh_setup_site *site,
                                  const struct uvh_setup_route *route);
void uvh_site_auth_free_hidden(const char **patterns);

/* Notes each directory with authentication that another route serves without it, because it lies in
 * that route's directory: it would be accessible there by another spelling of the path, a link, or
 * an archive of the directory. */
void uvh_site_auth_check_directories(const struct uvh_setup *setup, struct uvh_problems *problems);

#endif
