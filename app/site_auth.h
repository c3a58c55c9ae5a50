/* The middleware of a site or a route with "basic_auth". */
#ifndef UVH_APP_SITE_AUTH_H
#define UVH_APP_SITE_AUTH_H

#include "setup.h"

/* Creates the middleware, owned by the server. Returns 0, or an error with `error`
 * filled. */
int uvh_site_auth_open(uvhttp_server_t *server, const struct uvh_setup_auth *wanted,
                       uvhttp_auth_t **auth, uvhttp_error_t *error);

/* The same if `basic_auth` is set. Owned by the server; NULL if it is not set, or with a problem
 * noted. */
uvhttp_auth_t *uvh_site_auth_make(uvhttp_server_t *server, const struct uvh_setup_auth *wanted,
                                  struct uvh_problems *problems);

/* Notes each directory with authentication that another route serves without it, because it lies in
 * that route's directory: it would be accessible there by another spelling of the path, a link, or
 * an archive of the directory. */
void uvh_site_auth_check_directories(const struct uvh_setup *setup, struct uvh_problems *problems);

#endif
