/* The metrics of a server, on public functions only: uvhttp/metrics.h. */
#include <uvhttp/metrics.h>

#include <inttypes.h>
#include <stdio.h>

#include <uvhttp/error.h>
#include <uvhttp/negotiate.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "codec/text/utf8_sequence.h"
#include "observe/metrics_text.h"
#include "options/field_lines.h"
#include "platform/line_writer.h"
#include "platform/process.h"

enum { FIRST_SIZE = 24576, GROWTH = 4096, LABELS_SIZE = 32 }; /* bytes */

static void begin(struct uvh_metrics_text *text, const char *name, const char *type,
                  const char *help)
{
    uvh_metrics_text_begin(text, name, type, help);
}

static void gauge(struct uvh_metrics_text *text, const char *name, const char *labels,
                  uint64_t value)
{
    uvh_metrics_text_gauge(text, name, labels, value);
}

static void count(struct uvh_metrics_text *text, const char *name, const char *labels,
                  uint64_t value)
{
    uvh_metrics_text_count(text, name, labels, value);
}

static void counter(struct uvh_metrics_text *text, const char *name, const char *help,
                    uint64_t value)
{
    uvh_metrics_text_counter(text, name, help, value);
}

static void time_counter(struct uvh_metrics_text *text, const char *name, const char *help,
                         uint64_t microseconds)
{
    begin(text, name, "counter", help);
    uvh_metrics_text_count_time(text, name, "", microseconds);
}

/* The counters are not read at the same moment. */
static size_t difference(size_t all, size_t part)
{
    return all > part ? all - part : 0;
}

static void connections(struct uvh_metrics_text *text, const uvhttp_stats_t *stats)
{
    static const char states[] = "uvhttp_connections", protocols[] = "uvhttp_protocol_connections";
    size_t others = stats->idle_connections + stats->handshaking_connections +
                    stats->reading_connections + stats->writing_connections +
                    stats->closing_connections;
    size_t http1 = difference(stats->active_connections, stats->active_http2);
    begin(text, states, "gauge", "Open connections by state.");
    gauge(text, states, "state=\"active\"", difference(stats->active_connections, others));
    gauge(text, states, "state=\"idle\"", stats->idle_connections);
    gauge(text, states, "state=\"handshaking\"", stats->handshaking_connections);
    gauge(text, states, "state=\"reading\"", stats->reading_connections);
    gauge(text, states, "state=\"writing\"", stats->writing_connections);
    gauge(text, states, "state=\"closing\"", stats->closing_connections);
    begin(text, protocols, "gauge", "Open connections by protocol.");
    gauge(text, protocols, "protocol=\"http1\"", difference(http1, stats->active_upgraded));
    gauge(text, protocols, "protocol=\"http2\"", stats->active_http2);
    gauge(text, protocols, "protocol=\"upgraded\"", stats->active_upgraded);
    begin(text, "uvhttp_websockets", "gauge", "Open WebSockets, including those within HTTP/2.");
    gauge(text, "uvhttp_websockets", "", stats->active_websockets);
    counter(text, "uvhttp_accepted_connections", "Accepted connections, including rejected ones.",
            stats->total_connections);
    counter(text, "uvhttp_rejected_connections", "Connections rejected because of max_connections.",
            stats->rejected_connections);
}

static void tls(struct uvh_metrics_text *text, const uvhttp_stats_t *stats)
{
    static const char handshakes[] = "uvhttp_tls_handshakes",
                      expiry[] = "uvhttp_tls_certificate_expiry_seconds";
    begin(text, handshakes, "counter", "TLS handshakes by result.");
    count(text, handshakes, "result=\"full\"", stats->tls_handshakes - stats->tls_resumed);
    count(text, handshakes, "result=\"resumed\"", stats->tls_resumed);
    count(text, handshakes, "result=\"failed\"", stats->tls_failures);
    counter(text, "uvhttp_tls_queued_handshakes",
            "TLS handshakes queued because of max_handshakes.", stats->tls_waited);
    counter(text, "uvhttp_tls_early_requests", "Requests received as early data.",
            stats->early_requests);
    counter(text, "uvhttp_tls_offloaded_connections",
            "TLS connections encrypted by the kernel (kTLS).", stats->tls_offloaded);
    if (stats->tls_expires == 0)
        return;
    begin(text, expiry, "gauge",
          "Time at which the first certificate expires, in seconds since 1970.");
    gauge(text, expiry, "", (uint64_t)stats->tls_expires);
}

static void responses(struct uvh_metrics_text *text, const uvhttp_stats_t *stats)
{
    const uint64_t classes[] = {stats->responses_1xx, stats->responses_2xx, stats->responses_3xx,
                                stats->responses_4xx, stats->responses_5xx};
    char labels[LABELS_SIZE];
    begin(text, "uvhttp_responses", "counter", "Responses by status class.");
    for (unsigned i = 0; i < UVH_COUNT_OF(classes); i++) {
        snprintf(labels, sizeof(labels), "class=\"%uxx\"", i + 1);
        count(text, "uvhttp_responses", labels, classes[i]);
    }
}

static void requests(struct uvh_metrics_text *text, const uvhttp_stats_t *stats)
{
    static const char lookups[] = "uvhttp_cache_lookups";
    counter(text, "uvhttp_requests", "Requests received with a valid head.", stats->total_requests);
    counter(text, "uvhttp_shed_requests",
            "Requests that got 503 because of overload_guard or blocking_wait_ms.",
            stats->shed_requests);
    counter(text, "uvhttp_http2_requests", "Of these, over HTTP/2.", stats->http2_requests);
    counter(text, "uvhttp_http2_connections", "Connections that chose HTTP/2.",
            stats->http2_connections);
    counter(text, "uvhttp_http2_refused_requests",
            "HTTP/2 requests that were refused, above http2_max_streams.", stats->http2_refused);
    counter(text, "uvhttp_http2_errors", "HTTP/2 connections that ended with an error.",
            stats->http2_errors);
    responses(text, stats);
    counter(text, "uvhttp_parse_errors", "Requests rejected by the parser.", stats->parse_errors);
    counter(text, "uvhttp_timeouts", "Connections ended by a timeout, at once or after a response.",
            stats->timeouts);
    counter(text, "uvhttp_aborted_exchanges",
            "Exchanges whose client disconnected before the response was complete.",
            stats->aborted_exchanges);
    counter(text, "uvhttp_received_bytes", "Bytes received from clients.", stats->bytes_received);
    counter(text, "uvhttp_sent_bytes", "Bytes sent to clients.", stats->bytes_sent);
    begin(text, lookups, "counter", "Cache lookups by result, such as those of static files.");
    count(text, lookups, "result=\"hit\"", stats->cache_hits);
    count(text, lookups, "result=\"miss\"", stats->cache_misses);
}

static void jobs(struct uvh_metrics_text *text, const uvhttp_stats_t *stats)
{
    static const char rejected[] = "uvhttp_rejected_jobs", blocking[] = "uvhttp_blocking_handlers";
    begin(text, "uvhttp_jobs", "gauge", "Jobs by lane and state.");
    gauge(text, "uvhttp_jobs", "lane=\"quick\",state=\"pending\"", stats->quick_jobs.pending);
    gauge(text, "uvhttp_jobs", "lane=\"quick\",state=\"running\"", stats->quick_jobs.running);
    gauge(text, "uvhttp_jobs", "lane=\"heavy\",state=\"pending\"", stats->heavy_jobs.pending);
    gauge(text, "uvhttp_jobs", "lane=\"heavy\",state=\"running\"", stats->heavy_jobs.running);
    begin(text, rejected, "counter", "Jobs rejected because the queue of the lane was full.");
    count(text, rejected, "lane=\"quick\"", stats->quick_jobs.rejected);
    count(text, rejected, "lane=\"heavy\"", stats->heavy_jobs.rejected);
    begin(text, blocking, "gauge", "Handlers of blocking routes by state.");
    gauge(text, blocking, "state=\"pending\"", stats->blocking_handlers.pending);
    gauge(text, blocking, "state=\"running\"", stats->blocking_handlers.running);
    counter(text, "uvhttp_rejected_blocking_handlers",
            "Requests of blocking routes rejected because the queue was full.",
            stats->blocking_handlers.rejected);
    begin(text, "uvhttp_memory_bytes", "gauge",
          "Memory used for connections, exchanges and buffers.");
    gauge(text, "uvhttp_memory_bytes", "", stats->memory);
}

static void durations(struct uvh_metrics_text *text, const uvhttp_stats_t *stats,
                      const uvhttp_exemplar_t *exemplars)
{
    static const char duration[] = "uvhttp_request_duration_seconds",
                      latency[] = "uvhttp_request_latency_seconds",
                      delay[] = "uvhttp_loop_delay_seconds";
    begin(text, duration, "histogram", "Time from the request head to the end of the response.");
    uvh_metrics_text_histogram(text, duration, &stats->latency, exemplars);
    begin(text, latency, "summary",
          "Percentiles of the request duration since the start; quantile 1 is the maximum.");
    uvh_metrics_text_summary(text, latency, "", &stats->latency);
    begin(text, delay, "summary",
          "Duration of event loop iterations, the maximum delay of an event.");
    uvh_metrics_text_summary(text, delay, "", &stats->loop_delay);
    time_counter(text, "uvhttp_loop_busy_seconds", "Time that event loops spent running callbacks.",
                 stats->loop_busy_us);
    counter(text, "uvhttp_stuck_loops", "Times that an event loop did not run for stuck_loop_ms.",
            stats->stuck_loops);
    time_counter(text, "uvhttp_loop_seconds",
                 "Time that event loops spent running callbacks or waiting.", stats->loop_time_us);
}

static void add_stats(struct uvh_metrics_text *text, const uvhttp_stats_t *stats,
                      const uvhttp_exemplar_t *exemplars)
{
    begin(text, "uvhttp_build_info", "gauge", "Version and build options; the value is always 1.");
    uvh_metrics_text_add(text, "uvhttp_build_info{");
    uvh_metrics_text_add_label(text, "version", uvhttp_version(), ",");
    uvh_metrics_text_add_label(text, "build", uvhttp_build_info(), "} 1\n");
    connections(text, stats);
    tls(text, stats);
    requests(text, stats);
    jobs(text, stats);
    durations(text, stats, exemplars);
}

size_t uvhttp_metrics_write(const uvhttp_stats_t *stats, char *out, size_t size)
{
    struct uvh_metrics_text text;
    uvh_metrics_text_init(&text, out, size);
    if (stats != NULL)
        add_stats(&text, stats, NULL);
    return text.length;
}

/* ---- by route ---- */

static void add_route_labels(struct uvh_metrics_text *text, const char *name,
                             const uvhttp_route_stats_t *stats)
{
    uvh_metrics_text_add(text, "uvhttp_route_duration_seconds_%s{", name);
    if (stats->host != NULL)
        uvh_metrics_text_add_label(text, "host", stats->host, ",");
    uvh_metrics_text_add_label(text, "route", stats->route, ",");
    uvh_metrics_text_add_label(text, "method", stats->method, ",");
    uvh_metrics_text_add(text, "class=\"%dxx\"}", stats->status_class);
}

struct routes {
    struct uvh_metrics_text *text;
    bool begun;
};

static int add_route(const uvhttp_route_stats_t *stats, void *arg)
{
    struct routes *routes = arg;
    if (!routes->begun)
        begin(routes->text, "uvhttp_route_duration_seconds", "summary",
              "Time from the request head to the end of the response, by route.");
    routes->begun = true;
    add_route_labels(routes->text, "sum", stats);
    uvh_metrics_text_add_time(routes->text, stats->duration_us);
    add_route_labels(routes->text, "count", stats);
    uvh_metrics_text_add(routes->text, " %" PRIu64 "\n", stats->count);
    return 0;
}

static void add_routes(struct uvh_metrics_text *text, uvhttp_server_t *server)
{
    struct routes routes = {.text = text};
    uvhttp_server_each_route_stats(server, add_route, &routes);
}

size_t uvhttp_metrics_write_routes(uvhttp_server_t *server, char *out, size_t size)
{
    struct uvh_metrics_text text;
    uvh_metrics_text_init(&text, out, size);
    add_routes(&text, server);
    return text.length;
}

/* ---- by worker, and of the process ---- */

enum worker_metric { WORKER_REQUESTS = 0, WORKER_CONNECTIONS, WORKER_BUSY, WORKER_DELAY };

/* The samples of a family follow one another, so each reads all workers. */
static void add_workers(struct uvh_metrics_text *text, uvhttp_server_t *server, const char *name,
                        enum worker_metric metric)
{
    uvhttp_stats_t stats;
    char labels[LABELS_SIZE];
    for (size_t i = 0; uvhttp_server_worker_stats(server, i, &stats) == 0; i++) {
        snprintf(labels, sizeof(labels), "worker=\"%zu\"", i);
        if (metric == WORKER_REQUESTS)
            count(text, name, labels, stats.total_requests);
        else if (metric == WORKER_CONNECTIONS)
            gauge(text, name, labels, stats.active_connections);
        else if (metric == WORKER_BUSY)
            uvh_metrics_text_count_time(text, name, labels, stats.loop_busy_us);
        else
            uvh_metrics_text_summary(text, name, labels, &stats.loop_delay);
    }
}

static void workers(struct uvh_metrics_text *text, uvhttp_server_t *server)
{
    begin(text, "uvhttp_worker_requests", "counter", "Requests by worker.");
    add_workers(text, server, "uvhttp_worker_requests", WORKER_REQUESTS);
    begin(text, "uvhttp_worker_connections", "gauge", "Open connections by worker.");
    add_workers(text, server, "uvhttp_worker_connections", WORKER_CONNECTIONS);
    begin(text, "uvhttp_worker_loop_busy_seconds", "counter",
          "Time that the event loop of a worker spent running callbacks.");
    add_workers(text, server, "uvhttp_worker_loop_busy_seconds", WORKER_BUSY);
    begin(text, "uvhttp_worker_loop_delay_seconds", "summary",
          "Duration of event loop iterations by worker.");
    add_workers(text, server, "uvhttp_worker_loop_delay_seconds", WORKER_DELAY);
}

static void process_gauge(struct uvh_metrics_text *text, const char *name, const char *help,
                          uint64_t value)
{
    if (value == 0) /* unknown */
        return;
    begin(text, name, "gauge", help);
    gauge(text, name, "", value);
}

/* The names are those of Prometheus' client libraries. */
static void process(struct uvh_metrics_text *text)
{
    struct uvh_process_figures figures;
    uvh_process_read(&figures);
    counter(text, "uvhttp_access_log_dropped_lines",
            "Lines that the access logs of the process have lost.", uvh_line_writer_all_dropped());
    begin(text, "process_cpu_seconds", "counter", "User and system time of the process.");
    uvh_metrics_text_add(text, "process_cpu_seconds_total");
    uvh_metrics_text_add_time(text, figures.cpu_us);
    process_gauge(text, "process_resident_memory_bytes", "Resident memory of the process.",
                  figures.resident_bytes);
    process_gauge(text, "process_open_fds", "Open file descriptors.", figures.open_fds);
    process_gauge(text, "process_max_fds", "Limit of open file descriptors.", figures.max_fds);
    if (figures.started_ms == 0)
        return;
    begin(text, "process_start_time_seconds", "gauge",
          "Start of the process, in seconds since 1970.");
    uvh_metrics_text_add(text, "process_start_time_seconds");
    uvh_metrics_text_add_time(text, (uint64_t)figures.started_ms * 1000);
}

/* ---- all of it ---- */

size_t uvhttp_metrics_write_server(uvhttp_server_t *server, uvhttp_metrics_format_t format,
                                   char *out, size_t size)
{
    struct uvh_metrics_text text;
    uvhttp_stats_t stats;
    uvhttp_exemplar_t exemplars[UVHTTP_EXEMPLARS];
    uvh_metrics_text_init(&text, out, size);
    if (uvhttp_server_read_stats(server, &stats) != 0 ||
        uvhttp_server_read_exemplars(server, exemplars) != 0)
        return 0;
    text.open = format == UVHTTP_METRICS_OPENMETRICS;
    text.created_ms = stats.started_ms;
    add_stats(&text, &stats, exemplars);
    workers(&text, server);
    add_routes(&text, server);
    process(&text);
    return text.length;
}

/* The text for the byte or the sequence at `at`, whose length is written to `size`. */
static uvhttp_slice_t escape_one(const char *at, size_t left, size_t *size)
{
    *size = uvh_utf8_sequence_valid_length(at, left);
    switch (*at) {
    case '\\':
        return uvh_slice("\\\\");
    case '"':
        return uvh_slice("\\\"");
    case '\n':
        return uvh_slice("\\n");
    default:
        if (*size > 0 && *at != '\0')
            return (uvhttp_slice_t){at, *size};
        *size = 1;
        return uvh_slice("\xef\xbf\xbd"); /* U+FFFD */
    }
}

size_t uvhttp_metrics_escape(uvhttp_slice_t value, char *out, size_t size)
{
    size_t length = 0, written = 0;
    if (out == NULL)
        size = 0;
    for (size_t i = 0, used; i < value.length; i += used) {
        uvhttp_slice_t one = escape_one(value.base + i, value.length - i, &used);
        if (written == length && length + one.length < size) {
            memcpy(out + written, one.base, one.length);
            written += one.length;
        }
        length += one.length;
    }
    if (size > 0)
        out[written] = '\0';
    return length;
}

/* Prometheus 3 requests an escaping; all of them write these names in the same way. */
static uvhttp_metrics_format_t select_format(uvhttp_slice_t accept)
{
    static const char *const offers[] = {
        "text/plain;version=0.0.4;charset=utf-8",
        "application/openmetrics-text;version=1.0.0;charset=utf-8;escaping=allow-utf-8",
        "application/openmetrics-text;version=1.0.0;charset=utf-8;escaping=underscores",
    };
    return uvhttp_negotiate_type(accept, offers, UVH_COUNT_OF(offers)) > 0
               ? UVHTTP_METRICS_OPENMETRICS
               : UVHTTP_METRICS_TEXT;
}

/* Each pass writes current values, and other workers may count a new series before the next. */
static int write_body(uvhttp_request_t *request, uvhttp_server_t *server,
                      uvhttp_metrics_format_t format, uvhttp_slice_t *body)
{
    static const char end[] = "# EOF\n";
    size_t space = FIRST_SIZE, length;
    char *text;
    for (;;) {
        text = uvhttp_request_allocate(request, space + sizeof(end));
        if (text == NULL)
            return UVHTTP_ENOMEM;
        length = uvhttp_metrics_write_server(server, format, text, space);
        if (length < space)
            break;
        space = length + GROWTH;
    }
    if (format == UVHTTP_METRICS_OPENMETRICS) {
        snprintf(text + length, sizeof(end), "%s", end);
        length += sizeof(end) - 1;
    }
    *body = (uvhttp_slice_t){text, length};
    return 0;
}

int uvhttp_metrics_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                  void *server)
{
    if (server == NULL)
        return UVHTTP_EINVAL;
    uvhttp_slice_t accept = uvhttp_request_field(request, UVHTTP_FIELD_ACCEPT), body;
    int err = uvh_field_lines_join(request, UVHTTP_FIELD_ACCEPT, &accept);
    uvhttp_metrics_format_t format = select_format(accept);
    if (err == 0)
        err = write_body(request, server, format, &body);
    if (err == 0)
        err = uvhttp_response_add_header(response, "Vary", "Accept");
    if (err != 0)
        return err;
    return uvhttp_response_send(response, 200,
                                format == UVHTTP_METRICS_OPENMETRICS
                                    ? UVHTTP_OPENMETRICS_CONTENT_TYPE
                                    : UVHTTP_METRICS_CONTENT_TYPE,
                                body.base, body.length);
}
