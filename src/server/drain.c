/* See drain.h. */
#include "server/drain.h"

#include <uvhttp/error.h>

#include "server/server.h"

/* ---- counts ---- */

static struct uvh_drain_counts count(const struct uvh_server *server)
{
    struct uvh_drain_counts counts = {0};
    for (size_t i = 0; i < server->worker_count; i++) {
        const struct uvh_counters *counters = &server->workers[i].counters;
        counts.accepted += uvh_counter_read(&counters->total_connections);
        counts.responses += uvh_counter_read(&counters->responses_2xx) +
                            uvh_counter_read(&counters->responses_3xx) +
                            uvh_counter_read(&counters->responses_4xx) +
                            uvh_counter_read(&counters->responses_5xx);
        counts.aborted += uvh_counter_read(&counters->aborted_exchanges);
    }
    return counts;
}

void uvh_drain_begin(struct uvh_server *server)
{
    struct uvh_drain *drain = &server->drain;
    drain->began = uv_hrtime();
    drain->before = count(server);
    drain->result.connections = uvh_server_open_connections(server);
}

void uvh_drain_cut(struct uvh_server *server)
{
    struct uvh_drain *drain = &server->drain;
    if (drain->began != 0 && drain->result.cut_connections == 0)
        drain->result.cut_connections = uvh_server_open_connections(server);
}

void uvh_drain_end(struct uvh_server *server)
{
    struct uvh_drain *drain = &server->drain;
    uvhttp_drain_result_t *result = &drain->result;
    if (drain->began == 0)
        return;
    drain->is_over = true;
    result->duration_ms = (uv_hrtime() - drain->began) / 1000000;
    struct uvh_drain_counts counts = count(server);
    result->connections += (size_t)(counts.accepted - drain->before.accepted);
    result->responses = counts.responses - drain->before.responses;
    result->aborted = counts.aborted - drain->before.aborted;
    for (size_t i = 0; i < server->worker_count; i++)
        result->streams += server->workers[i].ended_streams;
    if (result->connections > 0)
        uvh_server_log(server, UVHTTP_LOG_INFO,
                       "drained in %llu ms: %zu connections, %zu of them cut; %llu responses, %llu "
                       "aborted; %zu streams ended",
                       (unsigned long long)result->duration_ms, result->connections,
                       result->cut_connections, (unsigned long long)result->responses,
                       (unsigned long long)result->aborted, result->streams);
}

int uvhttp_server_drain_result(uvhttp_server_t *view, uvhttp_drain_result_t *result)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    if (result == NULL || !uvh_server_of(view)->drain.is_over)
        return UVHTTP_EINVAL;
    *result = uvh_server_of(view)->drain.result;
    return 0;
}

/* ---- times ---- */

/* The limits are those of the configuration, which does not change while the server runs. */
static bool are_valid(const struct uvh_server *server, const uvhttp_drain_t *times)
{
    uvhttp_config_t config = server->config;
    config.drain_delay = times->delay;
    config.drain_grace = times->grace;
    config.drain_timeout = times->timeout;
    return times->grace <= times->timeout && uvhttp_config_check(&config, NULL) == 0;
}

uvhttp_drain_t uvh_drain_times(struct uvh_server *server)
{
    const uvhttp_config_t *config = &server->config;
    uvh_lock_acquire(&server->current_lock);
    uvhttp_drain_t times =
        server->drain.has_times
            ? server->drain.times
            : (uvhttp_drain_t){config->drain_delay, config->drain_grace, config->drain_timeout};
    uvh_lock_release(&server->current_lock);
    return times;
}

int uvhttp_server_drain(uvhttp_server_t *view, const uvhttp_drain_t *times)
{
    if (view == NULL)
        return UVHTTP_ENOMEM;
    struct uvh_server *server = uvh_server_of(view);
    /* until the server has workers, the configuration may change */
    if (times == NULL || uvh_server_workers(server) == NULL || !are_valid(server, times))
        return UVHTTP_EINVAL;
    if (server->life > UVH_SERVER_DRAINING)
        return UVHTTP_ESTOPPED;
    uvh_lock_acquire(&server->current_lock);
    if (!uvh_server_is_stopping(server)) {
        server->drain.times = *times;
        server->drain.has_times = true;
    }
    uvhttp_server_stop(view);
    uvh_lock_release(&server->current_lock);
    return 0;
}
