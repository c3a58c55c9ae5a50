/* Access by web pages of other origins (CORS), for `cors` of a site and --cors. */
#ifndef UVH_APP_SITE_CORS_H
#define UVH_APP_SITE_CORS_H

#include <uvhttp/cors.h>

#include "setup.h"

/* Creates a policy for these origins, owned by the server. Returns 0, or an error code with
 * `error`. */
int uvh_site_cors_open(uvhttp_server_t *server, const char *origins, uvhttp_cors_t **cors,
                       uvhttp_error_t *error);

/* The same for a site; NULL without origins, and with a problem noted. */
uvhttp_cors_t *uvh_site_cors_make(uvhttp_server_t *server, const struct uvh_text *origins,
                                  struct uvh_problems *problems);

#endif
