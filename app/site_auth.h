/* The middleware that a site or a route with "basic_auth" has. */
#ifndef UVH_APP_SITE_AUTH_H
#define UVH_APP_SITE_AUTH_H

#include "setup.h"

/* Makes one that is owned by the server. 0, or an error with a NUL-terminated message of at most
 * `size` bytes. */
int uvh_site_auth_open(uvhttp_server_t *server, const struct uvh_setup_auth *wanted,
                       uvhttp_auth_t **auth, char *message, size_t size);

/* The same, where one is wanted. Owned by the server; NULL when none is wanted, or with a problem
 * noted. */
uvhttp_auth_t *uvh_site_auth_make(uvhttp_server_t *server, const struct uvh_setup_auth *wanted,
                                  struct uvh_problems *problems);

/* Notes each folder behind a password that some route serves without one, since it lies in that
 * route's folder: by another spelling of the path, a link, or the folder as a whole it could be had
 * there. */
void uvh_site_auth_check_folders(const struct uvh_setup *setup, struct uvh_problems *problems);

#endif
