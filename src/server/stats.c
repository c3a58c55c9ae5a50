/* Sums the workers' counters on request. */
#include <string.h>

#include "conn/conn.h"
#include "server/blocking.h"
#include "server/protocols.h"
#include "server/server.h"
#include "tls/contexts.h"

/* The connection whose handler asks is in its worker's list of idle ones until its event ends. So
 * on that thread the idle connections are checked one by one. On other threads, a connection in the
 * middle of an immediate response counts as idle. */
static size_t idle_connections(struct uvh_worker *worker)
{
    struct uvh_list *idle = &worker->conns.timeouts[UVH_CONN_TIMEOUT_IDLE].members;
    size_t count = 0;
    if (atomic_load_explicit(&worker->loop_stats.thread, memory_order_relaxed) !=
        uvh_loop_stats_thread())
        return (size_t)uvh_counter_read(&worker->conns.in_class[UVH_CONN_TIMEOUT_IDLE]);
    for (struct uvh_list *link = idle->next; link != idle; link = link->next)
        count += uvh_protocols_is_idle(UVH_CONTAINER_OF(link, struct uvh_conn, timeout.link));
    return count;
}

static void add_connections(struct uvh_worker *worker, uvhttp_stats_t *stats)
{
    _Atomic uint64_t *in_class = worker->conns.in_class;
    stats->active_connections += uvh_counter_read(&worker->conns.open);
    stats->idle_connections += idle_connections(worker);
    stats->handshaking_connections += uvh_counter_read(&in_class[UVH_CONN_TIMEOUT_HANDSHAKE]);
    stats->reading_connections += uvh_counter_read(&in_class[UVH_CONN_TIMEOUT_HEADER]);
    stats->writing_connections += uvh_counter_read(&in_class[UVH_CONN_TIMEOUT_WRITE]);
    stats->closing_connections += uvh_counter_read(&in_class[UVH_CONN_TIMEOUT_LINGER]);
    stats->active_upgraded += uvh_counter_read(&worker->conns.upgraded);
    stats->active_websockets += uvh_counter_read(&worker->conns.websockets);
}

static void add_worker(struct uvh_worker *worker, uvhttp_stats_t *stats,
                       struct uvh_loop_stats_sum *sum)
{
#define ADD_COUNTER(name) stats->name += uvh_counter_read(&worker->counters.name);
    UVH_COUNTERS(ADD_COUNTER)
#undef ADD_COUNTER
    add_connections(worker, stats);
    stats->bytes_received += uvh_counter_read(&worker->conns.bytes_received);
    stats->bytes_sent += uvh_counter_read(&worker->conns.bytes_sent);
    stats->tls_handshakes += uvh_counter_read(&worker->conns.tls_handshakes);
    stats->tls_resumed += uvh_counter_read(&worker->conns.tls_resumed);
    stats->tls_offloaded += uvh_counter_read(&worker->conns.tls_offloaded);
    stats->tls_failures += uvh_counter_read(&worker->conns.tls_failures);
    stats->tls_waited += uvh_counter_read(&worker->conns.tls_waited);
    stats->memory += uvh_counter_read(&worker->conns.slab.memory) +
                     uvh_counter_read(&worker->arenas.memory) +
                     uvh_counter_read(&worker->conns.buffers.memory);
    uvh_loop_stats_sum_add(sum, &worker->loop_stats);
}

/* Sums the workers from `first` to before `end`. */
static void read_workers(struct uvh_server *server, size_t first, size_t end, uvhttp_stats_t *stats)
{
    struct uvh_loop_stats_sum sum;
    struct uvh_worker *workers = uvh_server_workers(server);
    *stats = (uvhttp_stats_t){0};
    uvh_loop_stats_sum_clear(&sum);
    for (size_t i = first; i < end && workers != NULL; i++)
        add_worker(&workers[i], stats, &sum);
    uvh_loop_stats_sum_report(&sum, stats);
}

static int64_t tls_expires(struct uvh_server *server)
{
    int64_t first = 0;
    for (struct uvh_tls_contexts *one = server->tls; one != NULL; one = one->next) {
        int64_t expires = uvhttp_tls_expires(one->tls);
        if (first == 0 || expires < first)
            first = expires;
    }
    return first;
}

int uvhttp_server_read_stats(uvhttp_server_t *view, uvhttp_stats_t *stats)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    if (stats == NULL)
        return UVHTTP_EINVAL;
    /* config.workers may change before the server listens */
    read_workers(server, 0, uvh_server_workers(server) == NULL ? 0 : server->worker_count, stats);
    uvh_jobs_read_stats(server, stats);
    stats->tls_expires = tls_expires(server);
    stats->started_ms = uvh_server_workers(server) == NULL ? 0 : server->started_ms;
    return 0;
}

int uvhttp_server_worker_stats(uvhttp_server_t *view, size_t worker, uvhttp_stats_t *stats)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    if (stats == NULL || worker >= server->config.workers)
        return UVHTTP_EINVAL;
    read_workers(server, worker, worker + 1, stats);
    return 0;
}

int uvhttp_server_read_exemplars(uvhttp_server_t *view,
                                 uvhttp_exemplar_t exemplars[UVHTTP_EXEMPLARS])
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    struct uvh_worker *workers = uvh_server_workers(server);
    if (exemplars == NULL)
        return UVHTTP_EINVAL;
    memset(exemplars, 0, UVHTTP_EXEMPLARS * sizeof(*exemplars));
    for (size_t i = 0; workers != NULL && i < server->worker_count; i++)
        uvh_exemplars_merge(exemplars, &workers[i].exemplars);
    return 0;
}

const uvhttp_stats_t *uvhttp_server_stats(uvhttp_server_t *view)
{
    if (view == NULL)
        return NULL;
    uvhttp_server_read_stats(view, &view->stats);
    return &view->stats;
}

void uvhttp_request_count_cache(uvhttp_request_t *request, bool hit)
{
    struct uvh_exchange *exchange = UVH_CONTAINER_OF(request, struct uvh_exchange, request);
    if (uvh_blocking_is(exchange)) /* only the loop may write counters */
        return;
    struct uvh_counters *counters = &exchange->worker->counters;
    uvh_counter_add(hit ? &counters->cache_hits : &counters->cache_misses, 1);
}

size_t uvhttp_server_worker_count(const uvhttp_server_t *view)
{
    return view == NULL ? 0 : ((const struct uvh_server *)(const void *)view)->config.workers;
}
