/* See status_sample.h. */
#include "observe/status_sample.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "platform/clock.h"

enum { US_PER_MS = 1000, US_PER_SECOND = 1000000, FIRST_BOUND_US = 64 };

size_t uvh_status_sample_size(size_t workers)
{
    return sizeof(struct uvh_status_sample) + workers * sizeof(struct uvh_status_worker);
}

/* ---- taking a sample ---- */

/* Keeps the routes with the most requests, in that order. */
static void insert_route(struct uvh_status_sample *sample, const struct uvh_status_route *route)
{
    size_t at = sample->route_count;
    if (route->count == 0)
        return;
    while (at > 0 && sample->routes[at - 1].count < route->count)
        at--;
    if (at == UVH_STATUS_ROUTES)
        return;
    size_t last =
        sample->route_count < UVH_STATUS_ROUTES ? sample->route_count++ : UVH_STATUS_ROUTES - 1;
    memmove(&sample->routes[at + 1], &sample->routes[at], (last - at) * sizeof(sample->routes[0]));
    sample->routes[at] = *route;
}

/* The classes of a method of a route follow one another. */
struct routes {
    struct uvh_status_sample *sample;
    const char *host, *route, *method; /* of `sum` */
    struct uvh_status_route sum;
};

static int add_route(const uvhttp_route_stats_t *stats, void *arg)
{
    struct routes *routes = arg;
    if (stats->route != routes->route || stats->host != routes->host ||
        stats->method != routes->method) {
        insert_route(routes->sample, &routes->sum);
        routes->route = stats->route;
        routes->host = stats->host;
        routes->method = stats->method;
        routes->sum = (struct uvh_status_route){.method = stats->method};
        const char *host = stats->host == NULL ? "" : stats->host;
        snprintf(routes->sum.host, UVH_STATUS_NAME_SIZE, "%s", host);
        snprintf(routes->sum.route, UVH_STATUS_NAME_SIZE, "%s", stats->route);
        routes->sum.id = uvh_hash(stats->method, strlen(stats->method), 0);
        routes->sum.id = uvh_hash(host, strlen(host), routes->sum.id);
        routes->sum.id = uvh_hash(stats->route, strlen(stats->route), routes->sum.id);
    }
    routes->sum.count += stats->count;
    routes->sum.duration_us += stats->duration_us;
    routes->sum.client_errors += stats->status_class == 4 ? stats->count : 0;
    routes->sum.server_errors += stats->status_class == 5 ? stats->count : 0;
    return 0;
}

void uvh_status_sample_take(struct uvh_status_sample *sample, uvhttp_server_t *server,
                            size_t workers)
{
    struct routes routes = {.sample = sample};
    uvhttp_stats_t stats;
    sample->at_us = uvh_clock_monotonic_us();
    sample->unix_ms = uvh_clock_unix_ms();
    uvhttp_server_read_stats(server, &sample->stats);
    uvhttp_server_read_latency(server, &sample->latency);
    uvh_process_read(&sample->process);
    sample->route_count = 0;
    uvhttp_server_each_route_stats(server, add_route, &routes);
    insert_route(sample, &routes.sum);
    sample->worker_count = workers;
    for (size_t i = 0; i < workers; i++) {
        uvhttp_server_worker_stats(server, i, &stats);
        sample->workers[i] = (struct uvh_status_worker){.connections = stats.active_connections,
                                                        .requests = stats.total_requests,
                                                        .busy_us = stats.loop_busy_us,
                                                        .time_us = stats.loop_time_us,
                                                        .delay = stats.loop_delay};
    }
}

/* ---- between two samples ---- */

uint64_t uvh_status_interval_us(const struct uvh_status_view *view)
{
    const struct uvh_status_sample *after = view->after;
    int64_t up_ms = after->unix_ms - after->stats.started_ms;
    if (view->before->at_us != 0)
        return after->at_us - view->before->at_us;
    return up_ms <= 0 ? 1 : (uint64_t)up_ms * US_PER_MS;
}

uint64_t uvh_status_rate(const struct uvh_status_view *view, uint64_t before, uint64_t after)
{
    double growth = after > before ? (double)(after - before) : 0;
    return (uint64_t)(growth * US_PER_SECOND * 1000 / (double)uvh_status_interval_us(view));
}

void uvh_status_latency(const struct uvh_status_view *view, uvhttp_latency_t *latency)
{
    uvhttp_latency_between(&view->before->latency, &view->after->latency, latency);
}

uint64_t uvh_status_share(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : (uint64_t)((double)part * 1000 / (double)whole + 0.5);
}

const struct uvh_status_worker *uvh_status_worker_before(const struct uvh_status_view *view,
                                                         size_t index)
{
    static const struct uvh_status_worker none;
    return index < view->before->worker_count ? &view->before->workers[index] : &none;
}

uint64_t uvh_status_worker_busy(const struct uvh_status_view *view, size_t index)
{
    const struct uvh_status_worker *before = uvh_status_worker_before(view, index);
    const struct uvh_status_worker *after = &view->after->workers[index];
    return uvh_status_share(after->busy_us - before->busy_us, after->time_us - before->time_us);
}

uint64_t uvh_status_worker_delay(const struct uvh_status_view *view, size_t index)
{
    const uvhttp_latency_t *before = &uvh_status_worker_before(view, index)->delay;
    const uvhttp_latency_t *after = &view->after->workers[index].delay;
    uint64_t count = after->count - before->count;
    unsigned i = 0;
    while (i < UVHTTP_LATENCY_BOUNDS && after->below[i] - before->below[i] < count)
        i++;
    return count == 0 ? 0 : (uint64_t)FIRST_BOUND_US << i;
}

uint64_t uvh_status_route_before(const struct uvh_status_view *view,
                                 const struct uvh_status_route *route)
{
    for (size_t i = 0; i < view->before->route_count; i++) {
        const struct uvh_status_route *other = &view->before->routes[i];
        if (other->id == route->id)
            return other->count;
    }
    return view->before->route_count < UVH_STATUS_ROUTES ? 0 : route->count;
}

uint64_t uvh_status_busy(const struct uvh_status_view *view)
{
    const uvhttp_stats_t *before = &view->before->stats, *after = &view->after->stats;
    return uvh_status_share(after->loop_busy_us - before->loop_busy_us,
                            after->loop_time_us - before->loop_time_us);
}

void uvh_status_history_add(struct uvh_status_history *history, const struct uvh_status_view *view)
{
    const uvhttp_stats_t *before = &view->before->stats, *after = &view->after->stats;
    uvhttp_latency_t latency;
    uvh_status_latency(view, &latency);
    const uint64_t values[UVH_STATUS_LINES] = {
        [UVH_STATUS_REQUESTS] =
            uvh_status_rate(view, before->total_requests, after->total_requests),
        [UVH_STATUS_LATENCY] = latency.p99_us,
        [UVH_STATUS_CONNECTIONS] = after->active_connections,
        [UVH_STATUS_BUSY] = uvh_status_busy(view),
        [UVH_STATUS_RECEIVED] =
            uvh_status_rate(view, before->bytes_received, after->bytes_received),
        [UVH_STATUS_SENT] = uvh_status_rate(view, before->bytes_sent, after->bytes_sent),
    };
    bool full = history->count == UVH_STATUS_HISTORY;
    for (size_t i = 0; i < UVH_STATUS_LINES; i++) {
        uint64_t *line = history->values[i];
        if (full)
            memmove(line, line + 1, (UVH_STATUS_HISTORY - 1) * sizeof(*line));
        line[full ? UVH_STATUS_HISTORY - 1 : history->count] = values[i];
    }
    history->count += !full;
}
