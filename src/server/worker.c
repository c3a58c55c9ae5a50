/* Pools, timeouts and the date of one loop, what comes to it from other threads, and its end. */
#include "server/worker.h"

#include <string.h>

#include "base/alloc.h"
#include "codec/http_date.h"
#include "server/accept.h"
#include "server/conn.h"
#include "server/server.h"
#include "server/workers.h"

enum {
    TICK_MS = 250, /* how late a timeout may fire */
    CONNECTIONS_PER_PAGE = 64,
};

/* A timer that is set again by what it calls is due later than now, so this ends. */
static void tell_timers(struct uvh_worker *worker, uint64_t now)
{
    for (size_t i = 0; i < UVH_TIMEOUT_STEPS && worker->timers != NULL; i++) {
        struct uvh_timeout *expired;
        while ((expired = uvh_timeout_expired(&worker->timers[i], now)) != NULL)
            uvh_stream_time_has_come(UVH_CONTAINER_OF(expired, struct uvhttp_stream, timer));
    }
}

static void on_tick(uv_timer_t *tick)
{
    struct uvh_worker *worker = UVH_CONTAINER_OF(tick, struct uvh_worker, tick);
    uint64_t now = uv_now(worker->loop);
    uvh_watch_event(&worker->watch);
    for (size_t i = 0; i < worker->timeout_count; i++) {
        struct uvh_timeout *expired;
        while ((expired = uvh_timeout_expired(&worker->timeouts[i], now)) != NULL)
            uvh_conn_timed_out(UVH_CONTAINER_OF(expired, struct uvh_conn, timeout));
    }
    tell_timers(worker, now);
    /* Descriptors and memory may have come free elsewhere in the process. */
    struct uvh_list *listeners = &worker->listeners;
    for (struct uvh_list *link = listeners->next; link != listeners; link = link->next)
        uvh_listener_resume(UVH_CONTAINER_OF(link, struct uvh_listener, link));
    uvh_standing_expire(&worker->standing, now);
    if (worker->connection_count == 0) {
        uvh_standing_release(&worker->standing);
        uv_timer_stop(tick);
    }
}

/* ---- letters ---- */

static void read_letters(struct uvh_worker *worker, struct uvh_letter *letter)
{
    worker->reading = true;
    while (letter != NULL) {
        struct uvh_letter *next = letter->next;
        letter->read(letter, worker);
        letter = next;
    }
    worker->reading = false;
}

/* Takes the members of the moment only: a connection that comes back at once waits for the next turn. */
static void on_resume(uv_idle_t *resume)
{
    struct uvh_worker *worker = UVH_CONTAINER_OF(resume, struct uvh_worker, resume);
    struct uvh_list *waiting = &worker->timeouts[UVH_TIMEOUT_RESUME].members;
    struct uvh_list batch;
    uvh_watch_event(&worker->watch);
    if (worker->letters_here) {
        worker->letters_here = false;
        read_letters(worker, uvh_inbox_take(&worker->inbox));
    }
    uvh_list_init(&batch);
    uvh_list_take_all(&batch, waiting);
    while (!uvh_list_empty(&batch)) {
        struct uvh_list *first = batch.next;
        uvh_list_remove(first);
        uvh_conn_resume(UVH_CONTAINER_OF(first, struct uvh_conn, timeout.link));
    }
    if (uvh_list_empty(waiting) && !worker->letters_here)
        uv_idle_stop(resume);
}

static void on_woken(uv_async_t *wake)
{
    struct uvh_worker *worker = UVH_CONTAINER_OF(wake, struct uvh_worker, inbox.wake);
    uvh_watch_event(&worker->watch);
    read_letters(worker, uvh_inbox_take(&worker->inbox));
    if (worker->index == 0)
        uvh_server_woken(worker->server);
    uvh_worker_obey(worker);
}

/* ---- the end ---- */

/* Connections without a request are looked at once more, and closed. */
static void drain_idle(struct uvh_worker *worker)
{
    struct uvh_list idle;
    uvh_list_init(&idle);
    uvh_list_take_all(&idle, &worker->timeouts[UVH_TIMEOUT_IDLE].members);
    while (!uvh_list_empty(&idle)) {
        struct uvh_list *first = idle.next;
        uvh_list_remove(first);
        uvh_conn_drain(UVH_CONTAINER_OF(first, struct uvh_conn, timeout.link));
    }
}

static void end_connections(struct uvh_worker *worker)
{
    for (size_t i = 0; i < worker->timeout_count; i++) {
        struct uvh_timeout *timeout;
        while ((timeout = uvh_timeout_first(&worker->timeouts[i])) != NULL)
            uvh_conn_close(UVH_CONTAINER_OF(timeout, struct uvh_conn, timeout));
    }
}

void uvh_worker_obey(struct uvh_worker *worker)
{
    unsigned char ordered = atomic_load(&worker->ordered);
    if (ordered >= UVH_WORKER_DRAIN && worker->life == UVH_WORKER_RUNNING) {
        uvh_accept_end(worker);
        worker->life = UVH_WORKER_DRAINING;
        worker->draining = true;
        uvh_stream_stop_all(worker);
    }
    if (worker->life == UVH_WORKER_DRAINING)
        drain_idle(worker);
    if (ordered >= UVH_WORKER_END)
        end_connections(worker);
    uvh_worker_settle(worker);
}

/* Reads letters as long as the worker has nothing else to do. False when that gave it something to do: a connection that another worker has
 * accepted in the end. */
static bool read_last_letters(struct uvh_worker *worker, struct uvh_letter *letters)
{
    read_letters(worker, letters);
    if (worker->connection_count > 0) /* before it has a request, which may have to be told something */
        uvh_inbox_reopen(&worker->inbox);
    drain_idle(worker);
    if (atomic_load(&worker->ordered) >= UVH_WORKER_END)
        end_connections(worker);
    return worker->connection_count == 0;
}

void uvh_worker_settle(struct uvh_worker *worker)
{
    if (worker->life != UVH_WORKER_DRAINING || worker->connection_count > 0 || worker->reading)
        return;
    /* The first one waits for the others: what they have to tell it while they end must not be lost. */
    if (worker->index == 0 && !uvh_workers_ended(worker->server))
        return;
    /* Twice, since what is said in the first may lead to more, and behind the second one nothing more is taken. */
    if (!read_last_letters(worker, uvh_inbox_take(&worker->inbox)) ||
        !read_last_letters(worker, uvh_inbox_shut(&worker->inbox)))
        return;
    worker->life = UVH_WORKER_CLOSING;
    if (worker->index == 0)
        uvh_server_close_handles(worker->server);
    else
        uvh_worker_close(worker, NULL);
}

/* ---- timeouts ---- */

/* The lengths that routes ask for, each once. */
struct route_timeouts {
    struct uvh_timeout_list *lists;
    size_t count;
};

static void add_length(struct route_timeouts *found, uint32_t seconds)
{
    uint64_t length = seconds * (uint64_t)1000;
    if (seconds == 0)
        return;
    for (size_t i = 0; i < found->count; i++) {
        if (found->lists[i].length_ms == length)
            return;
    }
    uvh_timeout_list_init(&found->lists[found->count++], length);
}

static int count_lengths(const uvhttp_route_info_t *route, void *arg)
{
    size_t *most = arg;
    if (route->handler_timeout != 0 || route->body_timeout != 0 || route->write_timeout != 0)
        *most += 3;
    return 0;
}

static int add_lengths(const uvhttp_route_info_t *route, void *arg)
{
    add_length(arg, route->handler_timeout);
    add_length(arg, route->body_timeout);
    add_length(arg, route->write_timeout);
    return 0;
}

static int init_timeouts(struct uvh_worker *worker)
{
    const uvhttp_config_t *config = &worker->server->config;
    size_t most = UVH_TIMEOUT_CLASSES;
    uvhttp_router_each(worker->server->router, count_lengths, &most);
    worker->timeouts = uvh_alloc(worker->server->allocator, most * sizeof(*worker->timeouts));
    if (worker->timeouts == NULL)
        return UVHTTP_ENOMEM;
    const struct {
        enum uvh_timeout_class class;
        size_t seconds; /* 0: never */
    } classes[] = {
        {UVH_TIMEOUT_IDLE,      config->keep_alive_timeout},
        {UVH_TIMEOUT_HEADER,    config->header_timeout    },
        {UVH_TIMEOUT_BODY,      config->body_timeout      },
        {UVH_TIMEOUT_WRITE,     config->write_timeout     },
        {UVH_TIMEOUT_HANDLER,   config->handler_timeout   },
        {UVH_TIMEOUT_LINGER,    config->linger_timeout    },
        {UVH_TIMEOUT_WAIT,      0                         },
        {UVH_TIMEOUT_HEARTBEAT, config->event_heartbeat   },
        {UVH_TIMEOUT_PACE,      0                         },
        {UVH_TIMEOUT_RESUME,    0                         },
    };
    _Static_assert(UVH_COUNT_OF(classes) == UVH_TIMEOUT_CLASSES, "each class has its list");
    for (size_t i = 0; i < UVH_TIMEOUT_CLASSES; i++)
        uvh_timeout_list_init(&worker->timeouts[classes[i].class], classes[i].seconds == 0
                                                                       ? UVH_TIMEOUT_NEVER
                                                                       : classes[i].seconds * (uint64_t)1000);
    worker->timeouts[UVH_TIMEOUT_IDLE].length_ms += UVH_WORKER_IDLE_SLACK_MS;
    worker->timeouts[UVH_TIMEOUT_PACE].length_ms = 1; /* the next tick */
    struct route_timeouts found = {worker->timeouts + UVH_TIMEOUT_CLASSES, 0};
    uvhttp_router_each(worker->server->router, add_lengths, &found);
    worker->timeout_count = UVH_TIMEOUT_CLASSES + found.count;
    return 0;
}

struct uvh_timeout_list *uvh_worker_route_timeouts(struct uvh_worker *worker, uint32_t seconds)
{
    struct uvh_timeout_list *list = worker->timeouts + UVH_TIMEOUT_CLASSES; /* few: mostly one or two */
    while (list->length_ms != seconds * (uint64_t)1000)
        list++;
    return list;
}

struct uvh_timeout_list *uvh_worker_timers(struct uvh_worker *worker, uint32_t length_ms)
{
    const uvhttp_allocator_t *allocator = worker->server->allocator;
    if (worker->timers == NULL) {
        worker->timers = uvh_alloc(allocator, UVH_TIMEOUT_STEPS * sizeof(*worker->timers));
        if (worker->timers == NULL)
            return NULL;
        for (size_t i = 0; i < UVH_TIMEOUT_STEPS; i++)
            uvh_timeout_list_init(&worker->timers[i], uvh_timeout_step_length(i));
    }
    return &worker->timers[uvh_timeout_step(length_ms)];
}

/* ---- the beginning ---- */

int uvh_worker_init(struct uvh_worker *worker, struct uvh_server *server, size_t index, uv_loop_t *loop)
{
    const uvhttp_config_t *config = &server->config;
    worker->server = server;
    int err = init_timeouts(worker);
    if (err != 0)
        return err;
    /* Of all handles only this one can fail: it needs descriptors. It comes first, so no other is to be undone. */
    err = uvh_inbox_open(&worker->inbox, loop, on_woken);
    if (err != 0) {
        uvh_free(server->allocator, worker->timeouts);
        return err;
    }
    worker->loop = loop;
    worker->index = worker->compared = index;
    worker->has_edges = (index > 0 || server->owns_loop) && uvh_socket_watch_has_edges();
    uvh_list_init(&worker->listeners);
    uvh_steering_init(&worker->steering);
    uvh_list_init(&worker->streams);
    uvh_slab_init(&worker->connections, server->allocator, sizeof(struct uvh_conn), CONNECTIONS_PER_PAGE);
    uvh_arena_pool_init(&worker->arenas, server->allocator);
    uvh_buffer_pool_init(&worker->buffers, server->allocator, config->buffer_size);
    /* When a second of the user's clock ends, nobody knows. */
    uvh_standing_init(&worker->standing, server->allocator,
                      config->clock == NULL ? config->standing_memory : 0);
    worker->head_limits = (uvhttp_head_limits_t){.max_size = (uint32_t)config->max_header_size,
                                                 .max_target = (uint32_t)config->max_target_size,
                                                 .max_fields = (uint32_t)config->max_header_count};
    worker->trailer_limits = worker->head_limits;
    worker->trailer_limits.max_size = (uint32_t)config->max_trailer_size;
    uv_timer_init(loop, &worker->tick);
    uv_idle_init(loop, &worker->resume);
    uvh_watch_start(&worker->watch, loop);
    return 0;
}

void uvh_worker_release(struct uvh_worker *worker)
{
    if (worker->receive_buffer != NULL)
        uvh_buffer_unref(worker->receive_buffer);
    worker->receive_buffer = NULL;
    uvh_buffer_pool_release(&worker->buffers);
    uvh_arena_pool_release(&worker->arenas);
    uvh_slab_release(&worker->connections);
    uvh_standing_release(&worker->standing);
    uvh_inbox_release(&worker->inbox);
    uvh_free(worker->server->allocator, worker->timeouts);
    uvh_free(worker->server->allocator, worker->timers);
}

void uvh_worker_close(struct uvh_worker *worker, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&worker->tick, closed);
    uv_close((uv_handle_t *)&worker->resume, closed);
    uv_close((uv_handle_t *)&worker->inbox.wake, closed);
    uvh_watch_close(&worker->watch, closed);
}

struct uvh_buffer *uvh_worker_receive_buffer(struct uvh_worker *worker, size_t space)
{
    struct uvh_buffer *buffer = worker->receive_buffer;
    if (buffer != NULL) {
        if (buffer->refs == 1)
            buffer->used = 0; /* nobody holds a piece of it any more */
        if (buffer->capacity - buffer->used >= space)
            return buffer;
        uvh_buffer_unref(buffer);
    }
    worker->receive_buffer = uvh_buffer_take(&worker->buffers, space);
    return worker->receive_buffer;
}

void uvh_worker_new_date(struct uvh_worker *worker, uint64_t now)
{
    int64_t unix_ms = uvh_server_unix_ms(worker->server);
    char *line = worker->head_begin + UVH_OK_LINE_SIZE;
    memcpy(worker->head_begin, "HTTP/1.1 200 OK\r\n", UVH_OK_LINE_SIZE);
    memcpy(line, "Date: ", 6);
    uvh_http_date_format(unix_ms / 1000, line + 6);
    memcpy(line + 6 + UVH_HTTP_DATE_SIZE, "\r\n", 2);
    /* A clock of the user's may be set while the loop's goes on. */
    bool own_clock = worker->server->config.clock != NULL;
    worker->date_expires = own_clock ? 0 : now + (uint64_t)(1000 - unix_ms % 1000);
}

void uvh_worker_watch_time(struct uvh_worker *worker)
{
    if (!uv_is_active((uv_handle_t *)&worker->tick))
        uv_timer_start(&worker->tick, on_tick, TICK_MS, TICK_MS);
}

bool uvh_worker_write(struct uvh_worker *worker, struct uvh_letter *letter)
{
    if (!uvh_watch_in_turn(&worker->watch))
        return uvh_inbox_put(&worker->inbox, letter);
    if (!uvh_inbox_put_here(&worker->inbox, letter))
        return false;
    worker->letters_here = true;
    uv_idle_start(&worker->resume, on_resume);
    return true;
}

void uvh_worker_resume_later(struct uvh_worker *worker)
{
    uv_idle_start(&worker->resume, on_resume);
}
