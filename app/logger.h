/* Log lines of the server on standard error. */
#ifndef UVH_APP_LOGGER_H
#define UVH_APP_LOGGER_H

#include <uvhttp.h>

/* A uvhttp_log_cb: "2026-01-31T12:00:00Z warning text". `arg` points to the uvhttp_log_level_t up to which lines are printed. */
void uvh_logger_line(uvhttp_log_level_t level, const char *message, void *arg);

/* A middleware that answers nothing: with --verbose, or the level "debug", every request leaves a line. */
int uvh_logger_request(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);

#endif
