/* See the header. */
#include "conn/shared.h"

#include "base/alloc.h"
#include "conn/conn.h"
#include "conn/stream.h"
#include "conn/stream_connect.h"

enum { CONNECTIONS_PER_PAGE = 64 };

static struct uvh_conn_shared *shared_of(struct uvh_poller *poller)
{
    return UVH_CONTAINER_OF(poller, struct uvh_conn_shared, poller);
}

static void on_events(struct uvh_poller *poller)
{
    struct uvh_conn_shared *shared = shared_of(poller);
    shared->callbacks->active(shared);
}

static const struct uvh_poller_callbacks poller_callbacks = {
    .begin = on_events,
    .ready = uvh_conn_ready,
    .removed = uvh_conn_removed,
};

int uvh_shared_init(struct uvh_conn_shared *shared, uv_loop_t *loop,
                    const uvhttp_allocator_t *allocator, const struct uvh_conn_callbacks *callbacks,
                    size_t conn_size, size_t buffer_size)
{
    int err = uvh_poller_init(&shared->poller, loop, &poller_callbacks);
    if (err != 0)
        return err;
    shared->loop = loop;
    shared->allocator = allocator;
    shared->callbacks = callbacks;
    uvh_slab_init(&shared->slab, allocator, conn_size, CONNECTIONS_PER_PAGE);
    uvh_buffer_pool_init(&shared->buffers, allocator, buffer_size);
    uvh_list_init(&shared->ready);
    uvh_list_init(&shared->handshakes.queue);
    uvh_list_init(&shared->connecting);
    uvh_list_init(&shared->streams);
    uvh_list_init(&shared->closed_streams);
    return 0;
}

void uvh_shared_release(struct uvh_conn_shared *shared)
{
    uvh_stream_free_closed(shared);
    if (shared->receive_buffer != NULL)
        uvh_buffer_unref(shared->receive_buffer);
    shared->receive_buffer = NULL;
    uvh_buffer_pool_release(&shared->buffers);
    uvh_slab_release(&shared->slab);
    uvh_free(shared->allocator, shared->timers);
}

struct uvh_buffer *uvh_shared_receive_buffer(struct uvh_conn_shared *shared, size_t space)
{
    struct uvh_buffer *buffer = shared->receive_buffer;
    if (buffer != NULL) {
        if (buffer->refs == 1)
            buffer->used = 0; /* no connection references it */
        if (buffer->capacity - buffer->used >= space)
            return buffer;
        uvh_buffer_unref(buffer);
    }
    shared->receive_buffer = uvh_buffer_take(&shared->buffers, space);
    return shared->receive_buffer;
}

static struct uvh_conn *conn_of(struct uvh_timeout *timeout)
{
    return UVH_CONTAINER_OF(timeout, struct uvh_conn, timeout);
}

static void expire_list(struct uvh_timeout_list *list, uint64_t now)
{
    struct uvh_timeout *expired;
    while ((expired = uvh_timeout_expired(list, now)) != NULL)
        uvh_conn_timed_out(conn_of(expired));
}

void uvh_shared_expire(struct uvh_conn_shared *shared, uint64_t now)
{
    for (size_t i = 0; i < UVH_CONN_TIMEOUTS; i++)
        expire_list(&shared->timeouts[i], now);
    for (struct uvh_timeout_lengths *each = shared->write_timeouts; each != NULL; each = each->next)
        for (size_t i = 0; i < each->count; i++)
            expire_list(&each->lists[i], now);
    /* A timer that its callback sets again expires later than now, so the loop ends. */
    for (size_t i = 0; i < UVH_TIMEOUT_STEPS && shared->timers != NULL; i++) {
        struct uvh_timeout *expired;
        while ((expired = uvh_timeout_expired(&shared->timers[i], now)) != NULL)
            uvh_stream_on_timer(UVH_CONTAINER_OF(expired, struct uvhttp_stream, timer));
    }
}

bool uvh_shared_resume(struct uvh_conn_shared *shared)
{
    struct uvh_list batch;
    uvh_stream_free_closed(shared);
    uvh_handshakes_resume(shared);
    uvh_stream_connect_resume(shared);
    uvh_list_init(&batch);
    uvh_list_take_all(&batch, &shared->ready);
    while (!uvh_list_empty(&batch)) {
        struct uvh_list *first = batch.next;
        uvh_list_remove(first);
        uvh_conn_resume(UVH_CONTAINER_OF(first, struct uvh_conn, ready));
    }
    return !uvh_list_empty(&shared->ready) || !uvh_list_empty(&shared->connecting) ||
           !uvh_list_empty(&shared->closed_streams) || uvh_handshakes_has_more(shared);
}

static void close_list(struct uvh_timeout_list *list)
{
    struct uvh_timeout *first;
    while ((first = uvh_timeout_first(list)) != NULL) {
        struct uvh_conn *conn = conn_of(first);
        uvh_conn_event_begin(conn);
        uvh_conn_close(conn);
        uvh_conn_event_end(conn);
    }
}

void uvh_shared_close_all(struct uvh_conn_shared *shared)
{
    for (size_t i = 0; i < UVH_CONN_TIMEOUTS; i++)
        close_list(&shared->timeouts[i]);
    for (struct uvh_timeout_lengths *each = shared->write_timeouts; each != NULL; each = each->next)
        for (size_t i = 0; i < each->count; i++)
            close_list(&each->lists[i]);
}

struct uvh_timeout_list *uvh_shared_timers(struct uvh_conn_shared *shared, uint32_t length_ms)
{
    if (shared->timers == NULL) {
        shared->timers = uvh_alloc(shared->allocator, UVH_TIMEOUT_STEPS * sizeof(*shared->timers));
        if (shared->timers == NULL)
            return NULL;
        for (size_t i = 0; i < UVH_TIMEOUT_STEPS; i++)
            uvh_timeout_list_init(&shared->timers[i], uvh_timeout_step_length(i));
    }
    return &shared->timers[uvh_timeout_step(length_ms)];
}
