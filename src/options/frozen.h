/* For what must be set up before the server listens, or during a reload. */
#ifndef UVH_OPTIONS_FROZEN_H
#define UVH_OPTIONS_FROZEN_H

#include <uvhttp/error.h>
#include <uvhttp/server.h>

#include "options/error.h"

/* UVHTTP_EFROZEN when the server listens or has listened, unless a reload has begun; else 0.
 * `what`: as for uvh_error_frozen. */
static inline int uvh_check_not_frozen(uvhttp_server_t *server, uvhttp_error_t *error,
                                       const char *what)
{
    return uvhttp_router_is_frozen(uvhttp_server_router(server)) ? uvh_error_frozen(error, what)
                                                                 : 0;
}

#endif
