/* See the header; and uvhttp_server_never_shed. */
#include "server/shed.h"

#include "server/server.h"

enum { NS_PER_MS = 1000000 };

/* ---- the loop ---- */

static unsigned long long per_second(uint64_t count, const struct uvh_overload_counts *counts)
{
    return count * 1000 / (counts->duration / NS_PER_MS + 1);
}

static void log_line(struct uvh_worker *worker, enum uvh_overload_line line)
{
    const struct uvh_overload_counts *counts = &worker->overload->counts;
    if (line == UVH_OVERLOAD_SHEDDING)
        uvh_server_log(worker->server, UVHTTP_LOG_WARNING,
                       "overload: shedding %llu of %llu requests/s, loop delay %llu ms, worker %zu "
                       "(overload_guard)",
                       per_second(counts->shed, counts), per_second(counts->requests, counts),
                       (unsigned long long)worker->overload->delay / NS_PER_MS, worker->index);
    else if (line == UVH_OVERLOAD_OVER)
        uvh_server_log(worker->server, UVHTTP_LOG_WARNING,
                       "overload: over, shed %llu of %llu requests in %llu ms, worker %zu",
                       (unsigned long long)counts->shed, (unsigned long long)counts->requests,
                       (unsigned long long)counts->duration / NS_PER_MS, worker->index);
}

static void on_iteration_ended(struct uvh_loop_stats *stats, uint64_t now, uint64_t length)
{
    struct uvh_worker *worker = UVH_CONTAINER_OF(stats, struct uvh_worker, loop_stats);
    struct uvh_poller *poller = &worker->conns.poller;
    struct uvh_overload_iteration iteration = {.end = now,
                                               .length = length,
                                               .events = poller->reported,
                                               .waited = poller->waited_ms * (uint64_t)NS_PER_MS};
    poller->reported = poller->waited_ms = 0;
    log_line(worker, uvh_overload_add_iteration(worker->overload, &iteration));
}

void uvh_shed_begin(struct uvh_worker *worker)
{
    const uvhttp_config_t *config = &worker->server->config;
    worker->overload = &worker->overload_guard;
    uvh_overload_init(worker->overload, config->overload_target_ms * (uint64_t)NS_PER_MS,
                      config->overload_interval_ms * (uint64_t)NS_PER_MS, (uint32_t)uv_hrtime());
    worker->conns.poller.measures = true;
    worker->loop_stats.ended = on_iteration_ended;
}

/* ---- requests ---- */

/* The callback of the application is not called while all requests are admitted. */
static bool is_exempt(struct uvh_exchange *exchange)
{
    const struct uvh_generation *generation = exchange->use->generation;
    const struct uvh_route *route = exchange->match.route;
    if (exchange->worker->overload->shed_part == 0)
        return true;
    if (route != NULL && (route->flags & UVHTTP_ROUTE_NEVER_SHED) != 0)
        return true;
    return generation->never_shed != NULL &&
           generation->never_shed(&exchange->request, generation->never_shed_arg);
}

bool uvh_shed_request(struct uvh_exchange *exchange)
{
    struct uvh_worker *worker = exchange->worker;
    if (uvh_overload_admits(worker->overload, exchange->began, is_exempt(exchange)))
        return false;
    uvhttp_response_t *response = &exchange->response;
    uvh_counter_add(&worker->counters.shed_requests, 1);
    uvh_exchange_ref(exchange);
    int err = uvhttp_response_set_header(response, "Retry-After", "1");
    uvh_exchange_conclude(exchange, err != 0 ? err : uvhttp_response_send_status(response, 503));
    uvh_exchange_unref(exchange);
    return true;
}

void uvhttp_server_never_shed(uvhttp_server_t *view, uvhttp_never_shed_cb never_shed, void *arg)
{
    if (view == NULL)
        return;
    struct uvh_server *server = uvh_server_of(view);
    if (!uvh_server_takes(server, "uvhttp_server_never_shed"))
        return;
    server->setup->never_shed = never_shed;
    server->setup->never_shed_arg = arg;
}
