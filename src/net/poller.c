/* One epoll set polled by one uv_poll_t, which is level-triggered: events left after a batch are
 * reported again. */
#include "net/poller.h"

#include "base/compiler.h"
#include "platform/socket.h"

#if UVH_POLLER_EPOLL

static void free_removed(struct uvh_poller *poller)
{
    while (poller->removed != NULL) {
        struct uvh_poller_socket *socket = poller->removed;
        poller->removed = socket->next;
        poller->callbacks->removed(socket);
    }
}

static void on_sweep(uv_idle_t *sweep)
{
    struct uvh_poller *poller = UVH_CONTAINER_OF(sweep, struct uvh_poller, sweep);
    uv_idle_stop(sweep);
    free_removed(poller);
}

/* Sockets are reported in the order in which they became ready, so those that a full batch has left
 * come first in the next one. */
static void measure(struct uvh_poller *poller, const struct uvh_epoll_event *first, int count)
{
    const struct uvh_poller_socket *socket = uvh_epoll_data(first);
    poller->reported = (uint32_t)count;
    if (poller->was_full && (uvh_epoll_bits(first) & UVH_EPOLL_READABLE) != 0)
        poller->waited_ms = uvh_socket_waited_ms(socket->fd);
    poller->was_full = count == UVH_POLLER_BATCH;
}

static void on_readable(uv_poll_t *watch, int status, int events)
{
    struct uvh_poller *poller = UVH_CONTAINER_OF(watch, struct uvh_poller, watch);
    struct uvh_epoll_event batch[UVH_POLLER_BATCH];
    (void)status;
    (void)events;
    int count = uvh_epoll_wait(poller->set, batch, UVH_POLLER_BATCH);
    if (count <= 0)
        return;
    if (poller->measures)
        measure(poller, &batch[0], count);
    poller->callbacks->begin(poller);
    poller->reporting = true;
    for (int i = 0; i < count; i++) {
        struct uvh_poller_socket *socket = uvh_epoll_data(&batch[i]);
        unsigned bits = uvh_epoll_bits(&batch[i]);
        if (socket->fd < 0) /* removed by an earlier event of this batch */
            continue;
        socket->readable |= (bits & UVH_EPOLL_READABLE) != 0;
        socket->writable |= (bits & UVH_EPOLL_WRITABLE) != 0;
        socket->peer_ended |= (bits & UVH_EPOLL_PEER_ENDED) != 0;
        socket->failed |= (bits & UVH_EPOLL_FAILED) != 0;
        socket->urgent |= (bits & UVH_EPOLL_URGENT) != 0;
        poller->callbacks->ready(socket);
    }
    poller->reporting = false;
    free_removed(poller);
}

int uvh_poller_init(struct uvh_poller *poller, uv_loop_t *loop,
                    const struct uvh_poller_callbacks *callbacks)
{
    *poller = (struct uvh_poller){.loop = loop, .callbacks = callbacks};
    poller->set = uvh_epoll_open();
    if (poller->set < 0)
        return poller->set;
    return 0;
}

static int start_watching(struct uvh_poller *poller)
{
    void *data = poller->watch.data;
    int err = poller->watching ? 0 : uv_poll_init(poller->loop, &poller->watch, poller->set);
    if (err != 0 || poller->watching)
        return err;
    poller->watching = true;
    poller->watch.data = data;
    uv_idle_init(poller->loop, &poller->sweep);
    poller->sweep.data = data;
    uv_unref((uv_handle_t *)&poller->watch);
    /* Cannot fail: the handle is new and the events are valid, which is all uv_poll_start
     * checks. */
    return uv_poll_start(&poller->watch, UV_READABLE, on_readable);
}

void uvh_poller_close(struct uvh_poller *poller, uv_close_cb closed)
{
    uv_handle_t *watch = (uv_handle_t *)&poller->watch, *sweep = (uv_handle_t *)&poller->sweep;
    if (poller->watching) {
        uv_close(watch, closed); /* stops polling at once, so the descriptor may be closed */
        uv_close(sweep, closed);
    } else if (closed != NULL) {
        closed(watch);
        closed(sweep);
    }
    uvh_socket_close(poller->set);
    poller->set = -1;
}

void uvh_poller_set_data(struct uvh_poller *poller, void *data)
{
    poller->watch.data = poller->sweep.data = data;
}

int uvh_poller_add(struct uvh_poller *poller, struct uvh_poller_socket *socket, int fd)
{
    *socket = (struct uvh_poller_socket){.fd = fd, .writable = true};
    int err = start_watching(poller);
    if (err == 0)
        err = uvh_epoll_add(poller->set, fd, socket);
    if (err != 0)
        return err;
    if (poller->count++ == 0)
        uv_ref((uv_handle_t *)&poller->watch);
    return 0;
}

void uvh_poller_remove(struct uvh_poller *poller, struct uvh_poller_socket *socket)
{
    /* close(2) alone would leave the socket in the set while a child process has a copy of the
     * descriptor. */
    uvh_epoll_remove(poller->set, socket->fd);
    uvh_socket_close(socket->fd);
    socket->fd = -1;
    if (--poller->count == 0)
        uv_unref((uv_handle_t *)&poller->watch);
    socket->next = poller->removed;
    poller->removed = socket;
    if (!poller->reporting)
        uv_idle_start(&poller->sweep, on_sweep);
}

#else

/* libuv requires an event to poll for; errors are reported with any */
enum { NOTHING = UV_PRIORITIZED };

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct uvh_poller_socket *socket = UVH_CONTAINER_OF(poll, struct uvh_poller_socket, poll);
    struct uvh_poller *poller = socket->poller;
    /* libuv has stopped polling; the next read or write returns the error */
    if (status != 0) {
        socket->watched = 0;
        socket->failed = socket->readable = socket->writable = true;
    }
    socket->readable |= (events & (UV_READABLE | UV_DISCONNECT)) != 0;
    socket->writable |= (events & UV_WRITABLE) != 0;
    socket->peer_ended |= (events & UV_DISCONNECT) != 0;
    socket->urgent |= (events & UV_PRIORITIZED) != 0;
    poller->callbacks->begin(poller);
    poller->callbacks->ready(socket);
    if (socket->fd >= 0)
        uvh_poller_update(socket);
}

int uvh_poller_init(struct uvh_poller *poller, uv_loop_t *loop,
                    const struct uvh_poller_callbacks *callbacks)
{
    *poller = (struct uvh_poller){.loop = loop, .callbacks = callbacks};
    return 0;
}

void uvh_poller_close(struct uvh_poller *poller, uv_close_cb closed)
{
    (void)poller;
    (void)closed;
}

void uvh_poller_set_data(struct uvh_poller *poller, void *data)
{
    (void)poller;
    (void)data;
}

int uvh_poller_add(struct uvh_poller *poller, struct uvh_poller_socket *socket, int fd)
{
    *socket = (struct uvh_poller_socket){.fd = fd, .writable = true, .poller = poller};
    int err = uv_poll_init(poller->loop, &socket->poll, fd);
    if (err != 0)
        return err;
    poller->count++;
    uvh_poller_update(socket);
    return 0;
}

void uvh_poller_update(struct uvh_poller_socket *socket)
{
    unsigned wanted = (socket->readable ? 0u : (unsigned)UV_READABLE) |
                      (socket->writable ? 0u : (unsigned)UV_WRITABLE) |
                      (socket->peer_ended ? 0u : (unsigned)UV_DISCONNECT) |
                      (socket->urgent ? 0u : (unsigned)NOTHING);
    if (wanted == 0)
        wanted = NOTHING;
    if (wanted == socket->watched)
        return;
    uv_poll_start(&socket->poll, (int)wanted, on_event);
    socket->watched = (unsigned char)wanted;
}

static void on_closed(uv_handle_t *handle)
{
    struct uvh_poller_socket *socket =
        UVH_CONTAINER_OF((uv_poll_t *)handle, struct uvh_poller_socket, poll);
    socket->poller->callbacks->removed(socket);
}

void uvh_poller_remove(struct uvh_poller *poller, struct uvh_poller_socket *socket)
{
    uv_close((uv_handle_t *)&socket->poll,
             on_closed); /* stops polling at once, so the descriptor may be closed */
    uvh_socket_close(socket->fd);
    socket->fd = -1;
    poller->count--;
}

#endif
