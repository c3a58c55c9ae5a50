/* Metrics for Prometheus: the counters of uvhttp_stats_t in its text format, version 0.0.4, or in
 * OpenMetrics 1.0.
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

/* Formats of metrics. */
typedef enum uvhttp_metrics_format {
    UVHTTP_METRICS_TEXT = 0,    /* the Prometheus text format, version 0.0.4 */
    UVHTTP_METRICS_OPENMETRICS, /* OpenMetrics 1.0 */
} uvhttp_metrics_format_t;

/* Their Content-Types. */
#define UVHTTP_METRICS_CONTENT_TYPE     "text/plain; version=0.0.4; charset=utf-8"
#define UVHTTP_OPENMETRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Writes the metrics of `stats` to `out`, NUL-terminated and truncated to `size` bytes. Returns
 * the full length without the NUL, like snprintf: call with (NULL, 0) to get it. Application
 * metrics may be appended. Any thread. */
UVHTTP_EXPORT size_t uvhttp_metrics_write(const uvhttp_stats_t *stats, char *out, size_t size);

/* Writes the metric uvhttp_route_duration_seconds of `server`, with the labels host (if the route
 * was added to one), route, method and class, as uvhttp_server_each_route_stats reports them. Empty
 * without config->route_stats. Result and `size` as above; `server` NULL: 0. Values may grow
 * between two calls. Any thread. */
UVHTTP_EXPORT size_t uvhttp_metrics_write_routes(uvhttp_server_t *server, char *out, size_t size);

/* Writes all metrics of `server`, those that uvhttp_metrics_handle_request sends: of
 * uvhttp_stats_t, by worker, by route, and of the process. OpenMetrics ends with the line "# EOF",
 * which the caller adds after application metrics. Values may grow between two calls. Result and
 * `size` as above; `server` NULL: 0. Any thread. */
UVHTTP_EXPORT size_t uvhttp_metrics_write_server(uvhttp_server_t *server,
                                                 uvhttp_metrics_format_t format, char *out,
                                                 size_t size);

/* Writes a label value for application metrics: backslash, quote and line end are escaped, and a
 * byte that is 0 or not UTF-8, for which Prometheus would refuse all metrics, becomes U+FFFD.
 * Result and `size` as above; truncation never splits an escape or a character. Any thread. */
UVHTTP_EXPORT size_t uvhttp_metrics_escape(uvhttp_slice_t value, char *out, size_t size);

/* A handler: responds 200 with all metrics of `server`, which may be another server than that of
 * the request. The format is OpenMetrics if the field Accept prefers it. The current request is not
 * included. */
UVHTTP_EXPORT int uvhttp_metrics_handle_request(uvhttp_request_t *request,
                                                uvhttp_response_t *response, void *server);

#ifdef __cplusplus
}
#endif

#endif
