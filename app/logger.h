/* A line for each request: in the server's log with --verbose, and in the access logs. */
#ifndef UVH_APP_LOGGER_H
#define UVH_APP_LOGGER_H

#include "access_logs.h"

/* Sets the callback of the server for finished requests. `logs` may be NULL. */
void uvh_logger_install(uvhttp_server_t *server, struct uvh_access_logs *logs, bool verbose);

#endif
