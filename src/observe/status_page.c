/* Numbers that the metrics have, too, are elements <data> with the exact value. */
#include "observe/status_page.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"
#include "observe/status_text.h"
#include "platform/clock.h"

enum {
    STEP = 10, /* of a graph, between two values */
    WIDTH = STEP * (UVH_STATUS_HISTORY - 1),
    HEIGHT = 120,
    BOTTOM = 117,
    PEAK = 110, /* height of the highest value */
    US_PER_SECOND = 1000000,
    SECONDS_PER_DAY = 86400,
    SOON_DAYS = 14,
};

static void add(struct uvh_bytes *page, const char *text)
{
    uvh_bytes_append_text(page, text);
}

static void add_total(struct uvh_bytes *page, uint64_t value)
{
    uvh_bytes_append_format(page, "<data value=\"%" PRIu64 "\">", value);
    uvh_status_text_count(page, value);
    add(page, "</data>");
}

static void add_total_size(struct uvh_bytes *page, uint64_t value)
{
    uvh_bytes_append_format(page, "<data value=\"%" PRIu64 "\">", value);
    uvh_status_text_size(page, value);
    add(page, "</data>");
}

static void add_interval(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    uint64_t us = uvh_status_interval_us(view);
    if (view->before->at_us == 0)
        add(page, "since the start");
    else
        uvh_bytes_append_format(page, "last %" PRIu64 " s",
                                (us + US_PER_SECOND / 2) / US_PER_SECOND);
}

/* ---- tiles ---- */

static uint64_t peak_of(const struct uvh_status_view *view, enum uvh_status_line line)
{
    uint64_t peak = 0;
    for (size_t i = 0; i < view->history->count; i++) {
        uint64_t value = view->history->values[line][i];
        peak = value > peak ? value : peak;
    }
    return peak;
}

/* The line begins and ends outside of the picture, so that only the values are drawn. A history
 * that is not full yet begins where its first value is. */
static void add_graph(struct uvh_bytes *page, const struct uvh_status_view *view,
                      enum uvh_status_line line, const char *label)
{
    const uint64_t *values = view->history->values[line];
    uint64_t peak = peak_of(view, line);
    size_t count = view->history->count;
    int left = (int)(UVH_STATUS_HISTORY - count) * STEP, height = 0;
    uvh_bytes_append_format(page,
                            "<svg class=\"graph\" viewBox=\"0 0 %d %d\" "
                            "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s in the last "
                            "minute\"><polyline points=\"",
                            (int)WIDTH, (int)HEIGHT, label);
    for (size_t i = 0; i < count; i++) {
        height = peak == 0 ? 0 : (int)((double)values[i] / (double)peak * PEAK);
        if (i == 0)
            uvh_bytes_append_format(page, "%d,%d %d,%d ", left == 0 ? -STEP : left, 2 * HEIGHT,
                                    left == 0 ? -STEP : left, BOTTOM - height);
        uvh_bytes_append_format(page, "%d,%d ", left + (int)i * STEP, BOTTOM - height);
    }
    uvh_bytes_append_format(page, "%d,%d %d,%d\"/></svg>", WIDTH + STEP, BOTTOM - height,
                            WIDTH + STEP, 2 * HEIGHT);
}

static void begin_tile(struct uvh_bytes *page, const char *id, const char *name)
{
    uvh_bytes_append_format(page, "<section id=\"%s\"><h2>%s</h2><p class=\"big\">", id, name);
}

static void requests_tile(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    uint64_t before = view->before->stats.total_requests, after = view->after->stats.total_requests;
    begin_tile(page, "requests", "Requests");
    uvh_status_text_rate(page, uvh_status_rate(view, before, after));
    add(page, "<small>/s</small></p>");
    add_graph(page, view, UVH_STATUS_REQUESTS, "Requests per second");
    add(page, "<p>peak ");
    uvh_status_text_rate(page, peak_of(view, UVH_STATUS_REQUESTS));
    add(page, "/s, total ");
    add_total(page, after);
    add(page, "</p></section>\n");
}

static void latency_tile(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    uvhttp_latency_t latency;
    uvh_status_latency(view, &latency);
    begin_tile(page, "latency", "Latency p99");
    if (latency.count == 0)
        add(page, "–");
    else
        uvh_status_text_duration(page, latency.p99_us);
    add(page, "</p>");
    add_graph(page, view, UVH_STATUS_LATENCY, "99th percentile of the latency");
    add(page, "<p>peak ");
    uvh_status_text_duration(page, peak_of(view, UVH_STATUS_LATENCY));
    add(page, "</p></section>\n");
}

static void connections_tile(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    const uvhttp_stats_t *before = &view->before->stats, *after = &view->after->stats;
    begin_tile(page, "open", "Connections");
    uvh_status_text_count(page, after->active_connections);
    add(page, "</p>");
    add_graph(page, view, UVH_STATUS_CONNECTIONS, "Open connections");
    add(page, "<p>peak ");
    uvh_status_text_count(page, peak_of(view, UVH_STATUS_CONNECTIONS));
    add(page, ", new ");
    uvh_status_text_rate(
        page, uvh_status_rate(view, before->total_connections, after->total_connections));
    add(page, "/s");
    add(page, "</p></section>\n");
}

static void busy_tile(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    begin_tile(page, "busy", "Loops busy");
    uvh_status_text_share(page, uvh_status_busy(view));
    add(page, "</p>");
    add_graph(page, view, UVH_STATUS_BUSY, "Time in which the event loops worked");
    add(page, "<p>peak ");
    uvh_status_text_share(page, peak_of(view, UVH_STATUS_BUSY));
    add(page, "</p></section>\n");
}

static void bytes_tile(struct uvh_bytes *page, const struct uvh_status_view *view,
                       enum uvh_status_line line, uint64_t before, uint64_t after)
{
    bool received = line == UVH_STATUS_RECEIVED;
    begin_tile(page, received ? "received" : "sent", received ? "Received" : "Sent");
    uvh_status_text_size(page, uvh_status_rate(view, before, after) / 1000);
    add(page, "<small>/s</small></p>");
    add_graph(page, view, line, received ? "Bytes received per second" : "Bytes sent per second");
    add(page, "<p>peak ");
    uvh_status_text_size(page, peak_of(view, line) / 1000);
    add(page, "/s, total ");
    add_total_size(page, after);
    add(page, "</p></section>\n");
}

static void cache_tile(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    const uvhttp_stats_t *before = &view->before->stats, *after = &view->after->stats;
    uint64_t hits = after->cache_hits - before->cache_hits;
    uint64_t lookups = hits + after->cache_misses - before->cache_misses;
    begin_tile(page, "cache", "Cache hits");
    if (lookups == 0)
        add(page, "–");
    else
        uvh_status_text_share(page, uvh_status_share(hits, lookups));
    add(page, "</p><dl><dt>hits</dt><dd>");
    add_total(page, after->cache_hits);
    add(page, "</dd><dt>misses</dt><dd>");
    add_total(page, after->cache_misses);
    add(page, "</dd></dl></section>\n");
}

static void process_tile(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    const struct uvh_process_figures *before = &view->before->process,
                                     *after = &view->after->process;
    begin_tile(page, "process", "Processor");
    uvh_status_text_share(page,
                          uvh_status_rate(view, before->cpu_us, after->cpu_us) / US_PER_SECOND);
    add(page, "</p><dl><dt>memory</dt><dd>");
    uvh_status_text_size(page, after->resident_bytes);
    add(page, "</dd><dt>descriptors</dt><dd>");
    uvh_status_text_count(page, after->open_fds);
    add(page, "</dd></dl></section>\n");
}

static void add_tiles(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    const uvhttp_stats_t *before = &view->before->stats, *after = &view->after->stats;
    add(page, "<div class=\"tiles\">\n");
    requests_tile(page, view);
    latency_tile(page, view);
    connections_tile(page, view);
    busy_tile(page, view);
    bytes_tile(page, view, UVH_STATUS_RECEIVED, before->bytes_received, after->bytes_received);
    bytes_tile(page, view, UVH_STATUS_SENT, before->bytes_sent, after->bytes_sent);
    cache_tile(page, view);
    process_tile(page, view);
    add(page, "</div>\n");
}

/* ---- tables ---- */

static void add_bar(struct uvh_bytes *page, const char *kind, uint64_t thousandths)
{
    uvh_bytes_append_format(page,
                            "<svg class=\"bar %s\" viewBox=\"0 0 1000 1\" "
                            "preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
                            "width=\"%" PRIu64 "\" height=\"1\"/></svg>",
                            kind, thousandths);
}

static void responses(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    const uvhttp_stats_t *before = &view->before->stats, *after = &view->after->stats;
    const struct {
        const char *name, *kind;
        uint64_t before, after;
    } rows[] = {
        {"1xx", "info", before->responses_1xx, after->responses_1xx},
        {"2xx", "good", before->responses_2xx, after->responses_2xx},
        {"3xx", "info", before->responses_3xx, after->responses_3xx},
        {"4xx", "warn", before->responses_4xx, after->responses_4xx},
        {"5xx", "bad", before->responses_5xx, after->responses_5xx},
    };
    uint64_t all = 0;
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++)
        all += rows[i].after - rows[i].before;
    add(page, "<section id=\"responses\"><h2>Responses</h2><table><thead><tr><th>Status</th>"
              "<td class=\"wide\"></td><th>Per second</th><th>Total</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        uvh_bytes_append_format(page, "<tr><th>%s</th><td class=\"wide\">", rows[i].name);
        add_bar(page, rows[i].kind, uvh_status_share(rows[i].after - rows[i].before, all));
        add(page, "</td><td>");
        uvh_status_text_rate(page, uvh_status_rate(view, rows[i].before, rows[i].after));
        add(page, "</td><td>");
        add_total(page, rows[i].after);
        add(page, "</td></tr>\n");
    }
    add(page, "</tbody></table><dl><dt>malformed requests</dt><dd>");
    add_total(page, after->parse_errors);
    add(page, "</dd><dt>timeouts</dt><dd>");
    add_total(page, after->timeouts);
    add(page, "</dd><dt>aborted by clients</dt><dd>");
    add_total(page, after->aborted_exchanges);
    add(page, "</dd><dt>shed because of overload</dt><dd>");
    add_total(page, after->shed_requests);
    add(page, "</dd></dl></section>\n");
}

static void add_duration(struct uvh_bytes *page, const uvhttp_latency_t *latency,
                         uint64_t microseconds)
{
    uvh_bytes_append_format(page, "<td><data value=\"%" PRIu64 "\">", microseconds);
    if (latency->count == 0)
        add(page, "–");
    else
        uvh_status_text_duration(page, microseconds);
    add(page, "</data></td>");
}

static void latency_row(struct uvh_bytes *page, const uvhttp_latency_t *recent,
                        const uvhttp_latency_t *total, const char *name, size_t offset)
{
    uint64_t of_recent = *(const uint64_t *)(const void *)((const char *)recent + offset);
    uint64_t of_total = *(const uint64_t *)(const void *)((const char *)total + offset);
    uvh_bytes_append_format(page, "<tr><th>%s</th>", name);
    add_duration(page, recent, of_recent);
    add_duration(page, total, of_total);
    add(page, "</tr>\n");
}

static void latencies(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    static const struct {
        const char *name;
        size_t offset;
    } rows[] = {
        {"p50", offsetof(uvhttp_latency_t, p50_us)},
        {"p90", offsetof(uvhttp_latency_t, p90_us)},
        {"p99", offsetof(uvhttp_latency_t, p99_us)},
        {"p99.9", offsetof(uvhttp_latency_t, p999_us)},
        {"longest", offsetof(uvhttp_latency_t, max_us)},
    };
    uvhttp_latency_t recent;
    uvh_status_latency(view, &recent);
    add(page,
        "<section id=\"percentiles\"><h2>Latency</h2><table><thead><tr><th>Percentile</th><th>");
    add_interval(page, view);
    add(page, "</th><th>since the start</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++)
        latency_row(page, &recent, &view->after->stats.latency, rows[i].name, rows[i].offset);
    add(page, "</tbody></table></section>\n");
}

static size_t difference(size_t all, size_t part)
{
    return all > part ? all - part : 0;
}

static void count_row(struct uvh_bytes *page, const char *name, size_t count, size_t all)
{
    uvh_bytes_append_format(page, "<tr><th>%s</th><td class=\"wide\">", name);
    add_bar(page, "info", uvh_status_share(count < all ? count : all, all));
    add(page, "</td><td>");
    add_total(page, count);
    add(page, "</td></tr>\n");
}

static void connections(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    const uvhttp_stats_t *stats = &view->after->stats;
    size_t all = stats->active_connections;
    size_t others = stats->idle_connections + stats->handshaking_connections +
                    stats->reading_connections + stats->writing_connections +
                    stats->closing_connections;
    add(page, "<section id=\"connections\"><h2>Connections</h2><div class=\"halves\">"
              "<table><tbody>\n");
    count_row(page, "active", difference(all, others), all);
    count_row(page, "idle", stats->idle_connections, all);
    count_row(page, "handshaking", stats->handshaking_connections, all);
    count_row(page, "reading", stats->reading_connections, all);
    count_row(page, "writing", stats->writing_connections, all);
    count_row(page, "closing", stats->closing_connections, all);
    add(page, "</tbody></table><table><tbody>\n");
    count_row(page, "HTTP/1.1", difference(all, stats->active_http2 + stats->active_upgraded), all);
    count_row(page, "HTTP/2", stats->active_http2, all);
    count_row(page, "upgraded", stats->active_upgraded, all);
    add(page, "</tbody></table></div><dl><dt>WebSockets</dt><dd>");
    add_total(page, stats->active_websockets);
    add(page, "</dd><dt>accepted</dt><dd>");
    add_total(page, stats->total_connections);
    add(page, "</dd><dt>rejected</dt><dd>");
    add_total(page, stats->rejected_connections);
    add(page, "</dd></dl></section>\n");
}

static void add_expiry(struct uvh_bytes *page, int64_t expires, int64_t now)
{
    char stamp[UVH_CLOCK_STAMP_SIZE];
    int64_t days = (expires - now) / SECONDS_PER_DAY;
    uvh_clock_stamp(expires, stamp);
    uvh_bytes_append_format(page, "<time class=\"%s\" datetime=\"%s\">",
                            expires <= now     ? "bad"
                            : days < SOON_DAYS ? "warn"
                                               : "plain",
                            stamp);
    if (expires <= now)
        uvh_bytes_append_format(page, "expired %.10s", stamp);
    else
        uvh_bytes_append_format(page, "%.10s, in %" PRId64 " %s", stamp, days,
                                days == 1 ? "day" : "days");
    add(page, "</time>");
}

static void tls(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    const uvhttp_stats_t *before = &view->before->stats, *after = &view->after->stats;
    if (after->tls_expires == 0)
        return;
    add(page, "<section id=\"tls\"><h2>TLS</h2><dl><dt>certificate expires</dt><dd>");
    add_expiry(page, after->tls_expires, view->after->unix_ms / 1000);
    add(page, "</dd><dt>handshakes</dt><dd>");
    uvh_status_text_rate(page,
                         uvh_status_rate(view, before->tls_handshakes, after->tls_handshakes));
    add(page, "/s</dd><dt>resumed</dt><dd>");
    uvh_status_text_share(page, uvh_status_share(after->tls_resumed, after->tls_handshakes));
    add(page, "</dd><dt>failed</dt><dd>");
    add_total(page, after->tls_failures);
    add(page, "</dd></dl></section>\n");
}

static void workers(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    add(page, "<section id=\"workers\"><h2>Workers</h2><table><thead><tr><th>Worker</th>"
              "<td class=\"wide\"></td><th>Busy</th><th>Requests/s</th><th>Open</th>"
              "<th>Loop delay</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < view->after->worker_count; i++) {
        const struct uvh_status_worker *worker = &view->after->workers[i];
        uint64_t busy = uvh_status_worker_busy(view, i), delay = uvh_status_worker_delay(view, i);
        uvh_bytes_append_format(page, "<tr><th>%zu</th><td class=\"wide\">", i);
        add_bar(page, busy < 800 ? "info" : "bad", busy < 1000 ? busy : 1000);
        add(page, "</td><td>");
        uvh_status_text_share(page, busy);
        add(page, "</td><td>");
        uvh_status_text_rate(
            page,
            uvh_status_rate(view, uvh_status_worker_before(view, i)->requests, worker->requests));
        add(page, "</td><td>");
        uvh_status_text_count(page, worker->connections);
        add(page, delay == 0 ? "</td><td>" : "</td><td>&lt; ");
        if (delay == 0)
            add(page, "–");
        else
            uvh_status_text_duration(page, delay);
        add(page, "</td></tr>\n");
    }
    add(page, "</tbody></table></section>\n");
}

static void routes(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    add(page, "<section id=\"routes\"><h2>Routes</h2>");
    if (view->after->route_count == 0) {
        add(page, "<p>None is counted. Set <code>route_stats</code>.</p></section>\n");
        return;
    }
    add(page, "<table><thead><tr><th>Route</th><th>Requests/s</th><th>Total</th><th>Mean</th>"
              "<th>4xx</th><th>5xx</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < view->after->route_count; i++) {
        const struct uvh_status_route *route = &view->after->routes[i];
        add(page, "<tr><th>");
        add(page, route->method);
        add(page, " ");
        uvh_status_text_html(page, route->host);
        uvh_status_text_html(page, route->route);
        add(page, "</th><td>");
        uvh_status_text_rate(
            page, uvh_status_rate(view, uvh_status_route_before(view, route), route->count));
        add(page, "</td><td>");
        add_total(page, route->count);
        add(page, "</td><td>");
        uvh_status_text_duration(page, route->duration_us / route->count);
        add(page, "</td><td>");
        add_total(page, route->client_errors);
        add(page, route->server_errors > 0 ? "</td><td class=\"bad\">" : "</td><td class=\"\">");
        add_total(page, route->server_errors);
        add(page, "</td></tr>\n");
    }
    add(page, "</tbody></table></section>\n");
}

/* ---- the page ---- */

void uvh_status_page_append_main(struct uvh_bytes *page, const struct uvh_status_view *view)
{
    const struct uvh_status_sample *after = view->after;
    int64_t up_ms = after->unix_ms - after->stats.started_ms;
    uvh_bytes_append_format(page, "<main>\n<p class=\"facts\">uvhttp %s, up ", uvhttp_version());
    uvh_status_text_time(page, up_ms < 0 ? 0 : (uint64_t)up_ms / 1000);
    uvh_bytes_append_format(page, ", %zu worker%s. Rates and percentiles: ", after->worker_count,
                            after->worker_count == 1 ? "" : "s");
    add_interval(page, view);
    add(page, ".</p>\n");
    add_tiles(page, view);
    add(page, "<div class=\"tables\">\n");
    responses(page, view);
    latencies(page, view);
    connections(page, view);
    workers(page, view);
    tls(page, view);
    routes(page, view);
    add(page, "</div>\n</main>\n");
}

void uvh_status_page_append(struct uvh_bytes *page, const struct uvh_status_view *view,
                            const char *nonce)
{
    uvh_bytes_append_format(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Status</title>\n"
        "<link rel=\"icon\" href=\"data:,\">\n"
        "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n"
        "<style nonce=\"%s\">\n",
        nonce);
    add(page, uvh_status_style);
    add(page, "</style>\n</head>\n<body>\n<header><h1>Status</h1><p id=\"state\">snapshot</p>"
              "</header>\n");
    uvh_status_page_append_main(page, view);
    uvh_bytes_append_format(page, "<script nonce=\"%s\">\n", nonce);
    add(page, uvh_status_script);
    add(page, "</script>\n</body>\n</html>\n");
}
