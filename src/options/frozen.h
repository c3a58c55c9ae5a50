/* For what is made before the server listens. Called by topics.c and websocket/endpoint.c. */
#ifndef UVH_OPTIONS_FROZEN_H
#define UVH_OPTIONS_FROZEN_H

#include <uvhttp/error.h>
#include <uvhttp/server.h>

/* UVHTTP_EFROZEN when the server listens, or has. Only its router says so, of whatever is added:
 * here that is nothing. */
static inline int uvh_check_not_frozen(uvhttp_server_t *server)
{
    int err = uvhttp_server_use(server, NULL, NULL);
    return err == UVHTTP_EFROZEN ? err : 0;
}

#endif
