/* The Prometheus text format (version 0.0.4), on public functions only: uvhttp/metrics.h. */
#include <uvhttp/metrics.h>

#include <stdarg.h>
#include <stdio.h>

#include <uvhttp/error.h>

#include "base/compiler.h"
#include "base/slice.h"

enum { ROUTES_GROWTH = 4096 }; /* bytes */

/* The output buffer: counts the whole text, writes as much as fits. */
struct text {
    char *out;
    size_t size;
    size_t length;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
add(struct text *text, const char *format, ...)
{
    bool full = text->length >= text->size;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(full ? NULL : text->out + text->length,
                           full ? 0 : text->size - text->length, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

/* Writes the lines before the samples of a metric. */
static void begin(struct text *text, const char *name, const char *type, const char *help)
{
    add(text, "# HELP uvhttp_%s %s\n# TYPE uvhttp_%s %s\n", name, help, name, type);
}

/* `name` includes the labels. */
static void sample(struct text *text, const char *name, uint64_t value)
{
    add(text, "uvhttp_%s %llu\n", name, (unsigned long long)value);
}

static void counter(struct text *text, const char *name, const char *help, uint64_t value)
{
    begin(text, name, "counter", help);
    sample(text, name, value);
}

/* Ends a line with a time as its value. */
static void add_seconds(struct text *text, uint64_t microseconds)
{
    add(text, " %llu.%06llu\n", (unsigned long long)(microseconds / 1000000),
        (unsigned long long)(microseconds % 1000000));
}

static void seconds_counter(struct text *text, const char *name, const char *help,
                            uint64_t microseconds)
{
    begin(text, name, "counter", help);
    add(text, "uvhttp_%s", name);
    add_seconds(text, microseconds);
}

static void connections(struct text *text, const uvhttp_stats_t *stats)
{
    begin(text, "connections", "gauge", "Open connections by state.");
    sample(text, "connections{state=\"active\"}",
           stats->active_connections - stats->idle_connections);
    sample(text, "connections{state=\"idle\"}", stats->idle_connections);
    counter(text, "accepted_connections_total", "Accepted connections, including rejected ones.",
            stats->total_connections);
    counter(text, "rejected_connections_total", "Connections rejected because of max_connections.",
            stats->rejected_connections);
}

static void tls(struct text *text, const uvhttp_stats_t *stats)
{
    begin(text, "tls_handshakes_total", "counter", "TLS handshakes by result.");
    sample(text, "tls_handshakes_total{result=\"full\"}",
           stats->tls_handshakes - stats->tls_resumed);
    sample(text, "tls_handshakes_total{result=\"resumed\"}", stats->tls_resumed);
    sample(text, "tls_handshakes_total{result=\"failed\"}", stats->tls_failures);
    counter(text, "tls_queued_handshakes_total", "TLS handshakes queued because of max_handshakes.",
            stats->tls_waited);
    counter(text, "tls_early_requests_total", "Requests received as early data.",
            stats->early_requests);
    counter(text, "tls_offloaded_connections_total",
            "TLS connections encrypted by the kernel (kTLS).", stats->tls_offloaded);
    if (stats->tls_expires == 0)
        return;
    begin(text, "tls_certificate_expiry_seconds", "gauge",
          "Time at which the first certificate expires, in seconds since 1970.");
    add(text, "uvhttp_tls_certificate_expiry_seconds %lld\n", (long long)stats->tls_expires);
}

static void requests(struct text *text, const uvhttp_stats_t *stats)
{
    const uint64_t responses[] = {stats->responses_1xx, stats->responses_2xx, stats->responses_3xx,
                                  stats->responses_4xx, stats->responses_5xx};
    counter(text, "requests_total", "Requests received with a valid head.", stats->total_requests);
    counter(text, "shed_requests_total",
            "Requests that got 503 because of overload_guard or blocking_wait_ms.",
            stats->shed_requests);
    counter(text, "http2_requests_total", "Of these, over HTTP/2.", stats->http2_requests);
    counter(text, "http2_connections_total", "Connections that chose HTTP/2.",
            stats->http2_connections);
    counter(text, "http2_refused_requests_total",
            "HTTP/2 requests that were refused, above http2_max_streams.", stats->http2_refused);
    counter(text, "http2_errors_total", "HTTP/2 connections that ended with an error.",
            stats->http2_errors);
    begin(text, "responses_total", "counter", "Responses by status class.");
    for (unsigned i = 0; i < UVH_COUNT_OF(responses); i++)
        add(text, "uvhttp_responses_total{class=\"%uxx\"} %llu\n", i + 1,
            (unsigned long long)responses[i]);
    counter(text, "parse_errors_total", "Requests rejected by the parser.", stats->parse_errors);
    counter(text, "timeouts_total", "Connections ended by a timeout, at once or after a response.",
            stats->timeouts);
    counter(text, "aborted_exchanges_total",
            "Exchanges whose client disconnected before the response was complete.",
            stats->aborted_exchanges);
    counter(text, "received_bytes_total", "Bytes received from clients.", stats->bytes_received);
    counter(text, "sent_bytes_total", "Bytes sent to clients.", stats->bytes_sent);
    begin(text, "cache_lookups_total", "counter",
          "Cache lookups by result, such as those of static files.");
    sample(text, "cache_lookups_total{result=\"hit\"}", stats->cache_hits);
    sample(text, "cache_lookups_total{result=\"miss\"}", stats->cache_misses);
    begin(text, "jobs", "gauge", "Jobs by lane and state.");
    sample(text, "jobs{lane=\"quick\",state=\"pending\"}", stats->quick_jobs.pending);
    sample(text, "jobs{lane=\"quick\",state=\"running\"}", stats->quick_jobs.running);
    sample(text, "jobs{lane=\"heavy\",state=\"pending\"}", stats->heavy_jobs.pending);
    sample(text, "jobs{lane=\"heavy\",state=\"running\"}", stats->heavy_jobs.running);
    begin(text, "rejected_jobs_total", "counter",
          "Jobs rejected because the queue of the lane was full.");
    sample(text, "rejected_jobs_total{lane=\"quick\"}", stats->quick_jobs.rejected);
    sample(text, "rejected_jobs_total{lane=\"heavy\"}", stats->heavy_jobs.rejected);
    begin(text, "blocking_handlers", "gauge", "Handlers of blocking routes by state.");
    sample(text, "blocking_handlers{state=\"pending\"}", stats->blocking_handlers.pending);
    sample(text, "blocking_handlers{state=\"running\"}", stats->blocking_handlers.running);
    counter(text, "rejected_blocking_handlers_total",
            "Requests of blocking routes rejected because the queue was full.",
            stats->blocking_handlers.rejected);
    begin(text, "memory_bytes", "gauge", "Memory used for connections, exchanges and buffers.");
    sample(text, "memory_bytes", stats->memory);
}

static void add_sum_and_count(struct text *text, const char *name, const uvhttp_latency_t *latency)
{
    add(text, "uvhttp_%s_sum", name);
    add_seconds(text, latency->sum_us);
    add(text, "uvhttp_%s_count %llu\n", name, (unsigned long long)latency->count);
}

/* Buckets can be summed over processes, percentiles cannot. */
static void histogram(struct text *text, const char *name, const char *help,
                      const uvhttp_latency_t *latency)
{
    begin(text, name, "histogram", help);
    for (unsigned i = 0; i < UVHTTP_LATENCY_BOUNDS; i++) {
        unsigned long long bound = 64ULL << i; /* microseconds */
        add(text, "uvhttp_%s_bucket{le=\"%llu.%06llu\"} %llu\n", name, bound / 1000000,
            bound % 1000000, (unsigned long long)latency->below[i]);
    }
    add(text, "uvhttp_%s_bucket{le=\"+Inf\"} %llu\n", name, (unsigned long long)latency->count);
    add_sum_and_count(text, name, latency);
}

static void summary(struct text *text, const char *name, const char *help,
                    const uvhttp_latency_t *latency)
{
    static const char *const quantiles[] = {"0.5", "0.9", "0.99", "0.999", "1"};
    const uint64_t values[] = {latency->p50_us, latency->p90_us, latency->p99_us, latency->p999_us,
                               latency->max_us};
    begin(text, name, "summary", help);
    for (unsigned i = 0; i < UVH_COUNT_OF(values); i++) {
        add(text, "uvhttp_%s{quantile=\"%s\"}", name, quantiles[i]);
        add_seconds(text, values[i]);
    }
    add_sum_and_count(text, name, latency);
}

static void add_label(struct text *text, const char *name, const char *value, const char *after)
{
    add(text, "%s=\"", name);
    bool full = text->length >= text->size;
    text->length += uvhttp_metrics_escape(uvh_slice(value), full ? NULL : text->out + text->length,
                                          full ? 0 : text->size - text->length);
    add(text, "\"%s", after);
}

size_t uvhttp_metrics_write(const uvhttp_stats_t *stats, char *out, size_t size)
{
    struct text text = {out, out != NULL ? size : 0, 0};
    if (stats == NULL) {
        if (text.size > 0)
            out[0] = '\0';
        return 0;
    }
    begin(&text, "build_info", "gauge", "Version and build options; the value is always 1.");
    add(&text, "uvhttp_build_info{");
    add_label(&text, "version", uvhttp_version(), ",");
    add_label(&text, "build", uvhttp_build_info(), "} 1\n");
    connections(&text, stats);
    tls(&text, stats);
    requests(&text, stats);
    histogram(&text, "request_duration_seconds",
              "Time from the request head to the end of the response.", &stats->latency);
    summary(&text, "request_latency_seconds",
            "Percentiles of the request duration since the start; quantile 1 is the maximum.",
            &stats->latency);
    summary(&text, "loop_delay_seconds",
            "Duration of event loop iterations, the maximum delay of an event.",
            &stats->loop_delay);
    seconds_counter(&text, "loop_busy_seconds_total",
                    "Time that event loops spent running callbacks.", stats->loop_busy_us);
    counter(&text, "stuck_loops_total", "Times that an event loop did not run for stuck_loop_ms.",
            stats->stuck_loops);
    seconds_counter(&text, "loop_seconds_total",
                    "Time that event loops spent running callbacks or waiting.",
                    stats->loop_time_us);
    return text.length;
}

static void add_route_labels(struct text *text, const char *name, const uvhttp_route_stats_t *stats)
{
    add(text, "uvhttp_route_duration_seconds_%s{", name);
    if (stats->host != NULL)
        add_label(text, "host", stats->host, ",");
    add_label(text, "route", stats->route, ",");
    add_label(text, "method", stats->method, ",");
    add(text, "class=\"%dxx\"}", stats->status_class);
}

static int add_route(const uvhttp_route_stats_t *stats, void *arg)
{
    struct text *text = arg;
    if (text->length == 0)
        begin(text, "route_duration_seconds", "summary",
              "Time from the request head to the end of the response, by route.");
    add_route_labels(text, "sum", stats);
    add_seconds(text, stats->duration_us);
    add_route_labels(text, "count", stats);
    add(text, " %llu\n", (unsigned long long)stats->count);
    return 0;
}

size_t uvhttp_metrics_write_routes(uvhttp_server_t *server, char *out, size_t size)
{
    struct text text = {out, out != NULL ? size : 0, 0};
    if (text.size > 0)
        out[0] = '\0';
    uvhttp_server_each_route_stats(server, add_route, &text);
    return text.length;
}

size_t uvhttp_metrics_escape(uvhttp_slice_t value, char *out, size_t size)
{
    size_t length = 0, written = 0;
    if (out == NULL)
        size = 0;
    for (size_t i = 0; i < value.length; i++) {
        char byte = value.base[i];
        bool escaped = byte == '\\' || byte == '"' || byte == '\n';
        size_t width = escaped ? 2 : 1;
        if (written == length && length + width < size) {
            if (escaped)
                out[written++] = '\\';
            out[written++] = byte == '\n' ? 'n' : byte;
        }
        length += width;
    }
    if (size > 0)
        out[written] = '\0';
    return length;
}

int uvhttp_metrics_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                  void *server)
{
    uvhttp_stats_t stats;
    if (uvhttp_server_read_stats(server, &stats) != 0)
        return UVHTTP_EINVAL;
    size_t length = uvhttp_metrics_write(&stats, NULL, 0), routes, space = 0;
    char *text = NULL;
    /* Other workers may count a new series between two calls. */
    while ((routes = uvhttp_metrics_write_routes(server, text == NULL ? NULL : text + length,
                                                 space)) >= space) {
        space = routes + ROUTES_GROWTH;
        text = uvhttp_request_allocate(request, length + space);
        if (text == NULL)
            return UVHTTP_ENOMEM;
    }
    /* The NUL of the first part is the first byte of the second one. */
    char first = text[length];
    uvhttp_metrics_write(&stats, text, length + 1);
    text[length] = first;
    return uvhttp_response_send(response, 200, UVHTTP_METRICS_CONTENT_TYPE, text, length + routes);
}
