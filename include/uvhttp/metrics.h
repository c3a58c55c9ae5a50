/* Metrics for Prometheus: the counters of uvhttp_stats_t in its text format, version 0.0.4.
 *
 *     uvhttp_server_route(server, "GET", "/metrics", uvhttp_metrics_handle_request, server);
 *
 * Names and meanings are stable and documented in docs/watching.md. Units are seconds and bytes.
 * To restrict access, add a middleware to the route, or serve it by a separate server on another
 * port. */
#ifndef UVHTTP_METRICS_H
#define UVHTTP_METRICS_H

#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The Content-Type of the output. */
#define UVHTTP_METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Writes the metrics of `stats` to `out`, NUL-terminated and truncated to `size` bytes. Returns
 * the full length without the NUL, like snprintf: call with (NULL, 0) to get it. Application
 * metrics may be appended. Any thread. */
UVHTTP_EXPORT size_t uvhttp_metrics_write(const uvhttp_stats_t *stats, char *out, size_t size);

/* Writes the metric uvhttp_route_duration_seconds of `server`, with the labels host (if the route
 * was added to one), route, method and class, as uvhttp_server_each_route_stats reports them. Empty
 * without config->route_stats. Result and `size` as above; `server` NULL: 0. Values may grow
 * between two calls. Any thread. */
UVHTTP_EXPORT size_t uvhttp_metrics_write_routes(uvhttp_server_t *server, char *out, size_t size);

/* Writes a label value with backslash, quote and line end escaped, for application metrics.
 * Result and `size` as above; truncation never splits an escape. Any thread. */
UVHTTP_EXPORT size_t uvhttp_metrics_escape(uvhttp_slice_t value, char *out, size_t size);

/* A handler: responds 200 with the metrics of `server`, summed over its workers, those of its
 * routes included; `server` may be another server than that of the request. The current request is
 * not included. */
UVHTTP_EXPORT int uvhttp_metrics_handle_request(uvhttp_request_t *request,
                                                uvhttp_response_t *response, void *server);

#ifdef __cplusplus
}
#endif

#endif
