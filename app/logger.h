/* Request lines in the server's log. */
#ifndef UVH_APP_LOGGER_H
#define UVH_APP_LOGGER_H

#include <uvhttp.h>

/* A middleware that sends no response: logs every request with --verbose or the level "debug". */
int uvh_logger_request(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);

#endif
