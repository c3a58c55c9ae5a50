/* Probes of load balancers and Kubernetes: is the process alive, and is it ready for requests?
 *
 *     uvhttp_server_route(server, "GET", "/healthz", uvhttp_health_handle_live, NULL);
 *     uvhttp_server_route(server, "GET", "/readyz", uvhttp_health_handle_ready, NULL);
 *
 * A server is not ready from the call of uvhttp_server_stop. With config->drain_delay it serves on
 * for that time, in which balancers notice and send no more requests. */
#ifndef UVHTTP_HEALTH_H
#define UVHTTP_HEALTH_H

#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A check of the application: returns NULL if it is ready, else the reason in one line, valid until
 * the next call on that thread. It runs for each probe on a worker's thread, on all of them
 * concurrently, so it reads a flag or a counter and waits for nothing. */
typedef const char *(*uvhttp_ready_cb)(void *arg);

/* Adds a check with a name for the response ("database"). Checks run in the order in which they
 * were added, until one fails. Before the server listens.
 * Returns 0, or
 *   UVHTTP_EINVAL   no name, or no check
 *   UVHTTP_EFROZEN  the server listens already
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_server_add_check(uvhttp_server_t *server, const char *name,
                                          uvhttp_ready_cb check, void *arg);

/* True if the server is not stopping, and all checks succeed. Otherwise writes the reason to
 * `reason`, NUL-terminated and truncated to `size` bytes: "stopping", or "NAME: REASON". `reason`
 * may be NULL; false for a server that is NULL. Any thread. */
UVHTTP_EXPORT bool uvhttp_server_is_ready(uvhttp_server_t *server, char *reason, size_t size);

/* A handler: 200 "alive"; that it responds is the information. `arg` is not used. Its requests are
 * in no access log (uvhttp_access_log_skip). */
UVHTTP_EXPORT int uvhttp_health_handle_live(uvhttp_request_t *request, uvhttp_response_t *response,
                                            void *arg);

/* A handler: 200 "ready", or 503 "not ready: REASON", as uvhttp_server_is_ready has it for the
 * server of the request. `arg` is not used. Only failures are in access logs; that of a check is
 * also a warning in the log. */
UVHTTP_EXPORT int uvhttp_health_handle_ready(uvhttp_request_t *request, uvhttp_response_t *response,
                                             void *arg);

#ifdef __cplusplus
}
#endif

#endif
