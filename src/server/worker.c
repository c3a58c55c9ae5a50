/* Pools, timeouts and the date of one loop, messages from other threads, and shutdown. */
#include "server/worker.h"
#include "server/handshake_jobs.h"

#include <string.h>

#include "base/alloc.h"
#include "codec/fields/http_date.h"
#include "codec/http2/hpack.h"
#include "codec/proxy/header.h"
#include "conn/conn.h"
#include "conn/stream.h"
#include "server/accept.h"
#include "server/exchange.h"
#include "server/protocols.h"
#include "server/server.h"
#include "server/shed.h"
#include "server/workers.h"

enum {
    TICK_MS = 250,        /* maximum delay of a timeout */
    HANDSHAKE_LINES = 10, /* log lines about failed handshakes per second and worker */
};

static struct uvh_worker *worker_of(struct uvh_conn_shared *conns)
{
    return UVH_CONTAINER_OF(conns, struct uvh_worker, conns);
}

/* ---- time ---- */

static void expire_exchanges(struct uvh_timeout_list *list, uint64_t now)
{
    struct uvh_timeout *expired;
    while ((expired = uvh_timeout_expired(list, now)) != NULL) {
        struct uvh_exchange *exchange = UVH_CONTAINER_OF(expired, struct uvh_exchange, timeout);
        enum uvh_exchange_timeout timeout = (enum uvh_exchange_timeout)exchange->timeout_class;
        if (timeout == UVH_EXCHANGE_TIMEOUT_HANDLER && exchange->heavy_jobs > 0) {
            uvh_timeout_arm(list, expired, now); /* such work may take any time */
            continue;
        }
        uvh_exchange_set_timeout(exchange, UVH_EXCHANGE_TIMEOUT_NONE, false);
        exchange->protocol->timed_out(exchange, timeout);
    }
}

static void on_tick(uv_timer_t *tick)
{
    struct uvh_worker *worker = UVH_CONTAINER_OF(tick, struct uvh_worker, tick);
    uint64_t now = uv_now(worker->loop);
    uvh_loop_stats_event(&worker->loop_stats);
    uvh_shared_expire(&worker->conns, now);
    for (size_t i = 0; i < UVH_EXCHANGE_TIMEOUT_NONE; i++)
        expire_exchanges(&worker->exchange_timeouts[i], now);
    for (struct uvh_timeout_lengths *each = worker->exchange_lengths; each != NULL;
         each = each->next)
        for (size_t i = 0; i < each->count; i++)
            expire_exchanges(&each->lists[i], now);
    bool paused = uvh_accept_tick(worker);
    uvh_response_cache_expire(&worker->response_cache, now);
    if (worker->conns.count == 0 && !paused) {
        uvh_response_cache_release(&worker->response_cache);
        uv_timer_stop(tick);
    }
}

/* ---- messages ---- */

/* With `shut`, the inbox accepts no further messages. */
static void read_messages(struct uvh_worker *worker, bool shut)
{
    struct uvh_list messages, *first;
    uvh_inbox_take(&worker->inbox, &messages, shut);
    worker->reading = true;
    while ((first = uvh_list_take(&messages)) != NULL) {
        struct uvh_message *message = UVH_CONTAINER_OF(first, struct uvh_message, link);
        message->read(message, worker);
    }
    worker->reading = false;
}

static void on_resume(uv_idle_t *resume)
{
    struct uvh_worker *worker = UVH_CONTAINER_OF(resume, struct uvh_worker, resume);
    uvh_loop_stats_event(&worker->loop_stats);
    if (worker->messages_here) {
        worker->messages_here = false;
        read_messages(worker, false);
    }
    bool more = uvh_shared_resume(&worker->conns);
    uvh_generation_drop_retired(worker);
    if (!more && !worker->messages_here)
        uv_idle_stop(resume);
}

static void on_woken(uv_async_t *wake)
{
    struct uvh_worker *worker = UVH_CONTAINER_OF(wake, struct uvh_worker, inbox.wake);
    uvh_loop_stats_event(&worker->loop_stats);
    read_messages(worker, false);
    if (worker->index == 0)
        uvh_server_woken(worker->server);
    uvh_worker_apply_state(worker);
}

/* ---- shutdown ---- */

/* Checks connections without a request once more, and closes them. */
static void drain_idle(struct uvh_worker *worker)
{
    struct uvh_list idle;
    uvh_list_init(&idle);
    uvh_list_take_all(&idle, &worker->conns.timeouts[UVH_CONN_TIMEOUT_IDLE].members);
    while (!uvh_list_empty(&idle)) {
        struct uvh_list *first = idle.next;
        uvh_list_remove(first);
        uvh_protocols_drain(UVH_CONTAINER_OF(first, struct uvh_conn, timeout.link));
    }
}

/* The lists change during the walk, so each connection is moved to a local list first. */
static void drain_handshakes(struct uvh_worker *worker)
{
    struct uvh_list *members = &worker->conns.timeouts[UVH_CONN_TIMEOUT_HANDSHAKE].members;
    struct uvh_list begun;
    uvh_list_init(&begun);
    uvh_list_take_all(&begun, members);
    while (!uvh_list_empty(&begun)) {
        struct uvh_list *first = begun.next;
        uvh_list_remove(first);
        uvh_list_append(members, first);
        uvh_conn_drain_handshake(UVH_CONTAINER_OF(first, struct uvh_conn, timeout.link));
    }
}

/* A callback may end streams, and with them the use of a replaced generation. */
static void stop_streams(struct uvh_worker *worker)
{
    struct uvh_list batch;
    uvh_list_init(&batch);
    uvh_list_take_all(&batch, &worker->retired);
    worker->ended_streams += uvh_stream_stop_all(&worker->conns.streams);
    while (!uvh_list_empty(&batch)) {
        struct uvh_list *first = uvh_list_take(&batch);
        uvh_list_append(&worker->retired, first);
        worker->ended_streams +=
            uvh_stream_stop_all(&UVH_CONTAINER_OF(first, struct uvh_use, retired)->streams);
    }
}

static void begin_drain(struct uvh_worker *worker)
{
    uvh_accept_end(worker);
    worker->life = UVH_WORKER_DRAINING;
    worker->draining = true;
    stop_streams(worker);
    for (; !uvh_list_empty(&worker->event_streams); worker->ended_streams++)
        uvh_exchange_end_events(
            UVH_CONTAINER_OF(worker->event_streams.next, struct uvh_exchange, link));
    uvh_protocols_begin_drain(worker);
}

void uvh_worker_apply_state(struct uvh_worker *worker)
{
    unsigned char requested_state = atomic_load(&worker->requested_state);
    if (requested_state >= UVH_WORKER_DRAIN && worker->life == UVH_WORKER_RUNNING)
        begin_drain(worker);
    worker->closes_idle = requested_state >= UVH_WORKER_CLOSE_IDLE;
    if (worker->life == UVH_WORKER_DRAINING && worker->closes_idle) {
        drain_handshakes(worker);
        drain_idle(worker);
    }
    if (requested_state >= UVH_WORKER_END)
        uvh_shared_close_all(&worker->conns);
    uvh_worker_settle(worker);
}

/* Reads messages until the worker has something else to do. False when a message has given it a
 * connection that another worker accepted late. */
static bool read_last_messages(struct uvh_worker *worker, bool shut)
{
    read_messages(worker, shut);
    if (worker->conns.count > 0) /* before it has a request, whose handler may need messages */
        uvh_inbox_reopen(&worker->inbox);
    if (worker->closes_idle)
        drain_idle(worker);
    if (atomic_load(&worker->requested_state) >= UVH_WORKER_END)
        uvh_shared_close_all(&worker->conns);
    return worker->conns.count == 0;
}

void uvh_worker_settle(struct uvh_worker *worker)
{
    if (worker->life != UVH_WORKER_DRAINING || worker->conns.count > 0 || worker->reading)
        return;
    if (uvh_application_is_busy(&worker->server->application))
        return;
    /* The first worker waits for the others, so that no message they send while they end is
     * lost. */
    if (worker->index == 0 && !uvh_workers_ended(worker->server))
        return;
    /* Twice: the first messages may cause more; after the second call none is accepted. */
    if (!read_last_messages(worker, false) || !read_last_messages(worker, true))
        return;
    worker->life = UVH_WORKER_CLOSING;
    if (worker->index == 0)
        uvh_server_close_handles(worker->server);
    else
        uvh_worker_close(worker, NULL);
}

/* ---- timeouts ---- */

/* Adds lists for the timeouts of routes, one per length. */
static void add_length(struct uvh_timeout_lengths *lengths, uint32_t seconds)
{
    if (seconds != 0)
        uvh_timeout_lengths_add(lengths, seconds * (uint64_t)1000);
}

static int count_lengths(const uvhttp_route_info_t *route, void *arg)
{
    size_t *most = arg;
    if (route->handler_timeout != 0 || route->body_timeout != 0 || route->write_timeout != 0)
        *most += 3; /* in each of the two lists */
    return 0;
}

static int add_lengths(const uvhttp_route_info_t *route, void *arg)
{
    struct uvh_worker *worker = arg;
    add_length(worker->exchange_lengths, route->handler_timeout);
    add_length(worker->exchange_lengths, route->body_timeout);
    add_length(worker->exchange_lengths, route->write_timeout);
    add_length(worker->conns.write_timeouts, route->write_timeout);
    return 0;
}

static size_t most_lengths(const struct uvhttp_router *router)
{
    size_t most = 0;
    uvhttp_router_each(router, count_lengths, &most);
    return most;
}

size_t uvh_worker_lengths_size(const struct uvhttp_router *router)
{
    size_t most = most_lengths(router);
    return most == 0
               ? 0
               : 2 * (sizeof(struct uvh_timeout_lengths) + most * sizeof(struct uvh_timeout_list));
}

/* Timeouts may be in the lists until the worker ends. */
void uvh_worker_add_lengths(struct uvh_worker *worker, const struct uvhttp_router *router,
                            void *memory)
{
    if (memory == NULL)
        return;
    struct uvh_timeout_lengths *exchanges = memory, *writes = exchanges + 1;
    struct uvh_timeout_list *lists = (struct uvh_timeout_list *)(void *)(writes + 1);
    *exchanges = (struct uvh_timeout_lengths){worker->exchange_lengths, lists, 0};
    *writes =
        (struct uvh_timeout_lengths){worker->conns.write_timeouts, lists + most_lengths(router), 0};
    worker->exchange_lengths = exchanges;
    worker->conns.write_timeouts = writes;
    uvhttp_router_each(router, add_lengths, worker);
    if (exchanges->count > 0 || writes->count > 0)
        return;
    worker->exchange_lengths = exchanges->next;
    worker->conns.write_timeouts = writes->next;
    uvh_free(worker->server->allocator, memory);
}

static void free_lengths(struct uvh_worker *worker)
{
    while (worker->exchange_lengths != NULL) {
        struct uvh_timeout_lengths *first = worker->exchange_lengths;
        worker->exchange_lengths = first->next;
        uvh_free(worker->server->allocator, first);
    }
}

static void init_list(struct uvh_timeout_list *list, size_t seconds)
{
    uvh_timeout_list_init(list, seconds == 0 ? UVH_TIMEOUT_NEVER : seconds * (uint64_t)1000);
}

static int init_timeouts(struct uvh_worker *worker)
{
    const uvhttp_config_t *config = &worker->server->config;
    struct uvh_timeout_list *conns = worker->conns.timeouts;
    struct uvh_timeout_list *exchanges = worker->exchange_timeouts;
    const struct uvhttp_router *router = worker->use->generation->router;
    size_t size = uvh_worker_lengths_size(router);
    void *memory = size == 0 ? NULL : uvh_alloc(worker->server->allocator, size);
    if (size > 0 && memory == NULL)
        return UVHTTP_ENOMEM;
    uvh_worker_add_lengths(worker, router, memory);
    init_list(&conns[UVH_CONN_TIMEOUT_IDLE], config->keep_alive_timeout);
    init_list(&conns[UVH_CONN_TIMEOUT_HEADER], config->header_timeout);
    init_list(&conns[UVH_CONN_TIMEOUT_WRITE], config->write_timeout);
    init_list(&conns[UVH_CONN_TIMEOUT_LINGER], config->linger_timeout);
    init_list(&conns[UVH_CONN_TIMEOUT_HANDSHAKE], config->handshake_timeout);
    init_list(&conns[UVH_CONN_TIMEOUT_PING], config->http2_ping_interval);
    init_list(&conns[UVH_CONN_TIMEOUT_NONE], 0);
    init_list(&exchanges[UVH_EXCHANGE_TIMEOUT_BODY], config->body_timeout);
    init_list(&exchanges[UVH_EXCHANGE_TIMEOUT_HANDLER], config->handler_timeout);
    init_list(&exchanges[UVH_EXCHANGE_TIMEOUT_HEARTBEAT], config->event_heartbeat);
    init_list(&exchanges[UVH_EXCHANGE_TIMEOUT_WRITE], config->write_timeout);
    uvh_timeout_list_init(&exchanges[UVH_EXCHANGE_TIMEOUT_PACE], 1); /* expires at the next tick */
    if (conns[UVH_CONN_TIMEOUT_IDLE].length_ms != UVH_TIMEOUT_NEVER)
        conns[UVH_CONN_TIMEOUT_IDLE].length_ms += UVH_CONN_IDLE_SLACK_MS;
    return 0;
}

/* ---- connection callbacks ---- */

static void on_conn_active(struct uvh_conn_shared *conns)
{
    uvh_loop_stats_event(&worker_of(conns)->loop_stats);
}

static void on_conn_scheduled(struct uvh_conn_shared *conns)
{
    uv_idle_start(&worker_of(conns)->resume, on_resume);
}

static void on_conn_failed(struct uvh_conn_shared *conns, const char *what, int code)
{
    uvh_server_log(worker_of(conns)->server, UVHTTP_LOG_ERROR, "%s: %s", what,
                   uvhttp_strerror(code));
}

static void on_conn_closed(struct uvh_conn *conn)
{
    if (conn->outgoing)
        return;
    uvh_counter_subtract(&conn->shared->open, 1);
    uvh_accept_closed(worker_of(conn->shared));
}

static void on_conn_freed(struct uvh_conn_shared *conns)
{
    uvh_generation_check_retired(worker_of(conns));
    uvh_worker_settle(worker_of(conns));
}

/* Without `default`, so that the compiler reports a class without a name. */
static const char *timeout_name(enum uvh_conn_timeout timeout)
{
    switch (timeout) {
    case UVH_CONN_TIMEOUT_IDLE:
        return "keep_alive_timeout";
    case UVH_CONN_TIMEOUT_HEADER:
        return "header_timeout";
    case UVH_CONN_TIMEOUT_WRITE:
        return "write_timeout";
    case UVH_CONN_TIMEOUT_LINGER:
        return "linger_timeout";
    case UVH_CONN_TIMEOUT_HANDSHAKE:
        return "handshake_timeout";
    case UVH_CONN_TIMEOUT_PING:
        return "http2_ping_interval";
    case UVH_CONN_TIMEOUT_NONE:
    case UVH_CONN_TIMEOUTS:
        break; /* never expire */
    }
    return "a timeout";
}

/* A connection that lingers was closed for another reason, which was counted. */
static void on_conn_ended_by(struct uvh_conn *conn, enum uvh_conn_timeout timeout)
{
    struct uvh_worker *worker = worker_of(conn->shared);
    char peer[UVH_SOCKET_ADDRESS_TEXT];
    if (timeout != UVH_CONN_TIMEOUT_LINGER)
        uvh_counter_add(&worker->counters.timeouts, 1);
    if (uvh_server_logs(worker->server, UVHTTP_LOG_DEBUG))
        uvh_server_log(worker->server, UVHTTP_LOG_DEBUG, "connection from %s closed by %s",
                       uvh_conn_peer(conn, peer), timeout_name(timeout));
}

/* Rate-limited, since clients control the number of failures. */
static void log_failure(struct uvh_conn *conn, uvhttp_log_level_t level, const char *what,
                        const char *reason)
{
    struct uvh_worker *worker = worker_of(conn->shared);
    struct uvh_handshake_log *log = &worker->handshake_log;
    char peer[UVH_SOCKET_ADDRESS_TEXT];
    uint64_t now = uv_now(worker->loop);
    if (!uvh_server_logs(worker->server, level))
        return;
    if (now - log->begun >= 1000) {
        if (log->lines > HANDSHAKE_LINES)
            uvh_server_log(worker->server, level, "%u more connections failed",
                           log->lines - HANDSHAKE_LINES);
        *log = (struct uvh_handshake_log){.begun = now};
    }
    if (log->lines++ < HANDSHAKE_LINES)
        uvh_server_log(worker->server, level, "%s with %s failed: %s", what,
                       uvh_conn_peer(conn, peer), reason);
}

void uvh_worker_log_failure(struct uvh_conn *conn, const char *what, const char *reason)
{
    log_failure(conn, UVHTTP_LOG_INFO, what, reason);
}

void uvh_worker_warn_of_proxy(struct uvh_conn *conn, const char *data, size_t size)
{
    if (uvh_proxy_has_signature(data, size))
        log_failure(conn, UVHTTP_LOG_WARNING, "PROXY protocol",
                    "it is not in proxy_protocol; add it there if it is your proxy");
}

static void on_handshake_failed(struct uvh_conn *conn, const char *reason)
{
    struct uvh_worker *worker = worker_of(conn->shared);
    char peer[UVH_SOCKET_ADDRESS_TEXT];
    if (conn->outgoing)
        uvh_server_log(worker->server, UVHTTP_LOG_WARNING, "TLS handshake with %s (%s) failed: %s",
                       conn->tls->server_name, uvh_conn_peer(conn, peer), reason);
    else
        uvh_worker_log_failure(conn, "TLS handshake", reason);
    if (!conn->outgoing && !conn->tls->begun)
        uvh_worker_warn_of_proxy(conn, conn->tls->input.base, conn->tls->input.length);
}

static void on_tls_failed(struct uvh_conn *conn, const char *reason)
{
    uvh_worker_log_failure(conn, "TLS connection", reason);
}

static const struct uvh_conn_callbacks conn_callbacks = {
    .active = on_conn_active,
    .schedule = on_conn_scheduled,
    .failed = on_conn_failed,
    .closed = on_conn_closed,
    .freed = on_conn_freed,
    .handshake_failed = on_handshake_failed,
    .work = uvh_handshake_jobs_start,
    .tls_failed = on_tls_failed,
    .ended_by = on_conn_ended_by,
};

/* ---- start ---- */

static int open_handles(struct uvh_worker *worker, uv_loop_t *loop)
{
    const struct uvh_server *server = worker->server;
    /* Only these two can fail: they need descriptors. */
    int err = uvh_shared_init(&worker->conns, loop, server->allocator, &conn_callbacks,
                              uvh_protocols_conn_size(), server->config.buffer_size);
    if (err != 0)
        return err;
    err = uvh_inbox_open(&worker->inbox, loop, on_woken);
    if (err != 0) {
        uvh_poller_close(&worker->conns.poller, NULL);
        return err;
    }
    uv_timer_init(loop, &worker->tick);
    uv_idle_init(loop, &worker->resume);
    uvh_loop_stats_start(&worker->loop_stats, loop);
    return 0;
}

int uvh_worker_init(struct uvh_worker *worker, struct uvh_server *server, size_t index,
                    uv_loop_t *loop)
{
    const uvhttp_config_t *config = &server->config;
    worker->server = server;
    worker->use = &server->setup->uses[index];
    uvh_list_init(&worker->retired);
    int err = init_timeouts(worker);
    if (err == 0)
        err = open_handles(worker, loop);
    if (err != 0) {
        free_lengths(worker);
        return err;
    }
    if (config->overload_guard != 0)
        uvh_shed_begin(worker);
    worker->loop = loop;
    worker->index = worker->compared = index;
    uvh_lock_init(&worker->exemplars.lock);
    uvh_list_init(&worker->listeners);
    uvh_list_init(&worker->event_streams);
    uvh_list_init(&worker->http2);
    uvh_arena_pool_init(&worker->arenas, server->allocator);
    worker->conns.write_backlog = config->write_backlog;
    worker->conns.max_age_ms = config->max_connection_age * (uint64_t)1000;
    worker->conns.random = (uint32_t)uv_hrtime() + (uint32_t)index; /* differs between machines */
    worker->conns.handshakes.max = config->max_handshakes;
    worker->conns.handshakes.on_threads = config->handshake_threads > 0;
    /* With a user clock, the end of a second is unknown. */
    uvh_response_cache_init(&worker->response_cache, server->allocator,
                            config->clock == NULL ? config->response_cache_memory : 0);
    worker->head_limits = (uvhttp_head_limits_t){.max_size = (uint32_t)config->max_header_size,
                                                 .max_target = (uint32_t)config->max_target_size,
                                                 .max_fields = (uint32_t)config->max_header_count};
    worker->trailer_limits = worker->head_limits;
    worker->trailer_limits.max_size = (uint32_t)config->max_trailer_size;
    return 0;
}

void uvh_worker_release(struct uvh_worker *worker)
{
    uvh_shared_release(&worker->conns);
    uvh_arena_pool_release(&worker->arenas);
    uvh_response_cache_release(&worker->response_cache);
    uvh_inbox_release(&worker->inbox);
    free_lengths(worker);
}

void uvh_worker_close(struct uvh_worker *worker, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&worker->tick, closed);
    uv_close((uv_handle_t *)&worker->resume, closed);
    uv_close((uv_handle_t *)&worker->inbox.wake, closed);
    uvh_loop_stats_close(&worker->loop_stats, closed);
    uvh_poller_close(&worker->conns.poller, closed);
}

void uvh_worker_new_date(struct uvh_worker *worker, uint64_t now)
{
    int64_t unix_ms = uvh_server_unix_ms(worker->server);
    char *line = worker->head_begin + UVH_OK_LINE_SIZE;
    memcpy(worker->head_begin, "HTTP/1.1 200 OK\r\n", UVH_OK_LINE_SIZE);
    memcpy(line, "Date: ", 6);
    uvh_http_date_format(unix_ms / 1000, line + 6);
    memcpy(line + 6 + UVH_HTTP_DATE_SIZE, "\r\n", 2);
    worker->date_field_size = (uint8_t)uvh_hpack_encode_field(
        worker->date_field, sizeof(worker->date_field), (uvhttp_slice_t){"date", 4},
        (uvhttp_slice_t){line + 6, UVH_HTTP_DATE_SIZE});
    /* A user clock may be set while the loop's clock continues. */
    bool own_clock = worker->server->config.clock != NULL;
    worker->date_expires = own_clock ? 0 : now + (uint64_t)(1000 - unix_ms % 1000);
}

void uvh_worker_stats_time(struct uvh_worker *worker)
{
    if (!uv_is_active((uv_handle_t *)&worker->tick))
        uv_timer_start(&worker->tick, on_tick, TICK_MS, TICK_MS);
}

bool uvh_worker_write(struct uvh_worker *worker, struct uvh_message *message)
{
    if (!uvh_loop_stats_in_iteration(&worker->loop_stats))
        return uvh_inbox_put(&worker->inbox, message);
    if (!uvh_inbox_put_here(&worker->inbox, message))
        return false;
    worker->messages_here = true;
    uv_idle_start(&worker->resume, on_resume);
    return true;
}
