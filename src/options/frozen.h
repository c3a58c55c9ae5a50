/* For objects that must be created before the server listens. Called by topics.c and
 * websocket/endpoint.c. */
#ifndef UVH_OPTIONS_FROZEN_H
#define UVH_OPTIONS_FROZEN_H

#include <uvhttp/error.h>
#include <uvhttp/server.h>

/* UVHTTP_EFROZEN when the server listens or has listened. Only the router reports this, for any
 * addition; this call adds nothing. */
static inline int uvh_check_not_frozen(uvhttp_server_t *server)
{
    int err = uvhttp_server_use(server, NULL, NULL);
    return err == UVHTTP_EFROZEN ? err : 0;
}

#endif
