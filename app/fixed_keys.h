/* The keys of a configuration file that a reload does not apply, because listeners, threads and the
 * identity of the process stay. */
#ifndef UVH_APP_FIXED_KEYS_H
#define UVH_APP_FIXED_KEYS_H

#include <uvhttp/server.h>

#include "setup.h"

/* Their values at the start, to be freed with free(). NULL if out of memory. */
char *uvh_fixed_keys_of(const struct uvh_setup *setup);

/* Names in the log the keys whose values differ from those at the start. NULL: none. */
void uvh_fixed_keys_warn(const char *start, const struct uvh_setup *next, uvhttp_server_t *server);

#endif
