/* A line for each request: in the server's log with --verbose, and in the access log. */
#ifndef UVH_APP_LOGGER_H
#define UVH_APP_LOGGER_H

#include <uvhttp.h>
#include <uvhttp/access_log.h>

/* Sets the callback of the server for finished requests. `access_log` may be NULL. */
void uvh_logger_install(uvhttp_server_t *server, uvhttp_access_log_t *access_log, bool verbose);

#endif
