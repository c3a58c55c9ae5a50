/* Names end with the unit. Docs: docs/watching.md. */
#include "observe/status_json.h"

#include <inttypes.h>
#include <string.h>

#include "codec/text/json.h"
#include "platform/line_writer.h"

enum { THOUSAND = 1000 };

static void add(struct uvh_bytes *json, const char *text)
{
    uvh_bytes_append_text(json, text);
}

static void add_string(struct uvh_bytes *json, const char *text)
{
    char character[UVH_JSON_CHARACTER_SIZE];
    size_t size, left = strlen(text);
    add(json, "\"");
    for (; left > 0; left -= size, text += size)
        uvh_bytes_append(json, character, uvh_json_character(text, left, character, &size));
    add(json, "\"");
}

/* A member, with a comma before it unless it is the first one of its object. */
static void begin(struct uvh_bytes *json, const char *name)
{
    char last = json->length == 0 ? '{' : json->data[json->length - 1];
    uvh_bytes_append_format(json, "%s\"%s\":", last == '{' ? "" : ",", name);
}

static void open(struct uvh_bytes *json, const char *name)
{
    begin(json, name);
    add(json, "{");
}

static void number(struct uvh_bytes *json, const char *name, uint64_t value)
{
    begin(json, name);
    uvh_bytes_append_format(json, "%" PRIu64, value);
}

static void thousandths(struct uvh_bytes *json, const char *name, uint64_t value)
{
    begin(json, name);
    uvh_bytes_append_format(json, "%" PRIu64 ".%03" PRIu64, value / THOUSAND, value % THOUSAND);
}

/* {"total":..., "per_second":...} */
static void counter(struct uvh_bytes *json, const struct uvh_status_view *view, const char *name,
                    uint64_t before, uint64_t after)
{
    open(json, name);
    number(json, "total", after);
    thousandths(json, "per_second", uvh_status_rate(view, before, after));
    add(json, "}");
}

static void latency(struct uvh_bytes *json, const char *name, const uvhttp_latency_t *latency)
{
    open(json, name);
    number(json, "count", latency->count);
    number(json, "p50", latency->p50_us);
    number(json, "p90", latency->p90_us);
    number(json, "p99", latency->p99_us);
    number(json, "p999", latency->p999_us);
    number(json, "max", latency->max_us);
    add(json, "}");
}

static void server(struct uvh_bytes *json, const struct uvh_status_view *view)
{
    const struct uvh_status_sample *after = view->after;
    begin(json, "version");
    add_string(json, uvhttp_version());
    begin(json, "time_ms");
    uvh_bytes_append_format(json, "%" PRId64, after->unix_ms);
    begin(json, "started_ms");
    uvh_bytes_append_format(json, "%" PRId64, after->stats.started_ms);
    number(json, "interval_ms", uvh_status_interval_us(view) / THOUSAND);
}

static void requests(struct uvh_bytes *json, const struct uvh_status_view *view)
{
    const uvhttp_stats_t *before = &view->before->stats, *after = &view->after->stats;
    counter(json, view, "requests", before->total_requests, after->total_requests);
    counter(json, view, "http2_requests", before->http2_requests, after->http2_requests);
    open(json, "responses");
    counter(json, view, "1xx", before->responses_1xx, after->responses_1xx);
    counter(json, view, "2xx", before->responses_2xx, after->responses_2xx);
    counter(json, view, "3xx", before->responses_3xx, after->responses_3xx);
    counter(json, view, "4xx", before->responses_4xx, after->responses_4xx);
    counter(json, view, "5xx", before->responses_5xx, after->responses_5xx);
    add(json, "}");
    number(json, "parse_errors", after->parse_errors);
    number(json, "timeouts", after->timeouts);
    number(json, "aborted_exchanges", after->aborted_exchanges);
    number(json, "shed_requests", after->shed_requests);
    number(json, "stuck_loops", after->stuck_loops);
    counter(json, view, "received_bytes", before->bytes_received, after->bytes_received);
    counter(json, view, "sent_bytes", before->bytes_sent, after->bytes_sent);
    open(json, "cache");
    counter(json, view, "hits", before->cache_hits, after->cache_hits);
    counter(json, view, "misses", before->cache_misses, after->cache_misses);
    add(json, "}");
}

static void durations(struct uvh_bytes *json, const struct uvh_status_view *view)
{
    uvhttp_latency_t recent;
    uvh_status_latency(view, &recent);
    open(json, "latency_us");
    latency(json, "interval", &recent);
    latency(json, "total", &view->after->stats.latency);
    add(json, "}");
    latency(json, "loop_delay_us", &view->after->stats.loop_delay);
    thousandths(json, "utilization", uvh_status_busy(view));
}

static void connections(struct uvh_bytes *json, const struct uvh_status_view *view)
{
    const uvhttp_stats_t *stats = &view->after->stats;
    open(json, "connections");
    number(json, "open", stats->active_connections);
    number(json, "idle", stats->idle_connections);
    number(json, "handshaking", stats->handshaking_connections);
    number(json, "reading", stats->reading_connections);
    number(json, "writing", stats->writing_connections);
    number(json, "closing", stats->closing_connections);
    number(json, "http2", stats->active_http2);
    number(json, "upgraded", stats->active_upgraded);
    number(json, "websockets", stats->active_websockets);
    counter(json, view, "accepted", view->before->stats.total_connections,
            stats->total_connections);
    number(json, "rejected", stats->rejected_connections);
    add(json, "}");
    open(json, "tls");
    counter(json, view, "handshakes", view->before->stats.tls_handshakes, stats->tls_handshakes);
    number(json, "resumed", stats->tls_resumed);
    number(json, "failed", stats->tls_failures);
    if (stats->tls_expires != 0)
        number(json, "certificate_expires_seconds", (uint64_t)stats->tls_expires);
    add(json, "}");
}

static void process(struct uvh_bytes *json, const struct uvh_status_view *view)
{
    const struct uvh_process_figures *figures = &view->after->process;
    open(json, "process");
    thousandths(json, "cpu_seconds", figures->cpu_us / THOUSAND);
    number(json, "resident_bytes", figures->resident_bytes);
    number(json, "open_fds", figures->open_fds);
    number(json, "max_fds", figures->max_fds);
    number(json, "dropped_log_lines", uvh_line_writer_all_dropped());
    add(json, "}");
}

static void workers(struct uvh_bytes *json, const struct uvh_status_view *view)
{
    begin(json, "workers");
    add(json, "[");
    for (size_t i = 0; i < view->after->worker_count; i++) {
        const struct uvh_status_worker *worker = &view->after->workers[i];
        add(json, i == 0 ? "{" : ",{");
        counter(json, view, "requests", uvh_status_worker_before(view, i)->requests,
                worker->requests);
        number(json, "connections", worker->connections);
        thousandths(json, "utilization", uvh_status_worker_busy(view, i));
        latency(json, "loop_delay_us", &worker->delay);
        number(json, "loop_delay_below_us", uvh_status_worker_delay(view, i));
        add(json, "}");
    }
    add(json, "]");
}

static void routes(struct uvh_bytes *json, const struct uvh_status_view *view)
{
    begin(json, "routes");
    add(json, "[");
    for (size_t i = 0; i < view->after->route_count; i++) {
        const struct uvh_status_route *route = &view->after->routes[i];
        add(json, i == 0 ? "{" : ",{");
        if (route->host[0] != '\0') {
            begin(json, "host");
            add_string(json, route->host);
        }
        begin(json, "route");
        add_string(json, route->route);
        begin(json, "method");
        add_string(json, route->method);
        counter(json, view, "requests", uvh_status_route_before(view, route), route->count);
        number(json, "mean_us", route->duration_us / route->count);
        number(json, "responses_4xx", route->client_errors);
        number(json, "responses_5xx", route->server_errors);
        add(json, "}");
    }
    add(json, "]");
}

void uvh_status_json_append(struct uvh_bytes *json, const struct uvh_status_view *view)
{
    add(json, "{");
    server(json, view);
    requests(json, view);
    durations(json, view);
    connections(json, view);
    process(json, view);
    workers(json, view);
    routes(json, view);
    add(json, "}\n");
}
