/* The proxies that a setup trusts. */
#ifndef UVH_APP_PROXIES_H
#define UVH_APP_PROXIES_H

#include "setup.h"

/* Lets a server take the client, the scheme and the host of a request from these proxies. False
 * with a problem noted. */
bool uvh_proxies_trust(uvhttp_server_t *server, const struct uvh_setup *setup,
                       struct uvh_problems *problems);

#endif
