/* The proxies in front of a server: those that a setup trusts, and sources of the PROXY protocol.
 */
#ifndef UVH_APP_PROXIES_H
#define UVH_APP_PROXIES_H

#include "setup.h"

/* Trusted proxies name the client, the scheme and the host of a request by fields, sources of the
 * PROXY protocol name the client of a connection. False with a problem noted. */
bool uvh_proxies_apply(uvhttp_server_t *server, const struct uvh_setup *setup,
                       struct uvh_problems *problems);

#endif
