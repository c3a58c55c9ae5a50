/* Metrics for Prometheus: the counters of uvhttp_stats_t in its text format, version 0.0.4.
 *
 *     uvhttp_server_route(server, "GET", "/metrics", uvhttp_metrics_handle_request, server);
 *
 * Names and meaning are stable and stand in docs/watching.md. Units are seconds and bytes. Who may
 * see this is for you to decide: put a middleware before the route, or serve it on a server of its
 * own that listens on another port. */
#ifndef UVHTTP_METRICS_H
#define UVHTTP_METRICS_H

#include <uvhttp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The Content-Type of the text. */
#define UVHTTP_METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Writes the text for `stats` to `out`, NUL-terminated and cut if it does not fit into `size`
 * bytes, and returns how long it is without the NUL, like snprintf: first with (NULL, 0) for the
 * size. Metrics of your own may follow it. Any thread. */
UVHTTP_EXPORT size_t uvhttp_metrics_write(const uvhttp_stats_t *stats, char *out, size_t size);

/* Writes a value as it stands between the quotes of a label, with backslash, quote and line end
 * escaped, for metrics of your own. Result and `size` as above; a cut never divides an escape. Any
 * thread. */
UVHTTP_EXPORT size_t uvhttp_metrics_escape(uvhttp_slice_t value, char *out, size_t size);

/* A handler: answers 200 with the metrics of `server` (a uvhttp_server_t, which need not be the one
 * that was asked), all its workers added up. The request that asks is not yet in them. */
UVHTTP_EXPORT int uvhttp_metrics_handle_request(uvhttp_request_t *request,
                                                uvhttp_response_t *response, void *server);

#ifdef __cplusplus
}
#endif

#endif
