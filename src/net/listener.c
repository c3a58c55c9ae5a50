/* Level-triggered: connections left in the queue after one iteration's limit are reported in the
 * next iteration. */
#include "net/listener.h"

#include <errno.h>

#include "base/compiler.h"
#include "platform/socket.h"

/* per loop iteration, so that a flood of new connections does not starve open ones */
enum { ACCEPTS_PER_ITERATION = 64 };

void uvh_listener_pause(struct uvh_listener *listener)
{
    listener->paused = true;
    uv_poll_stop(&listener->poll);
}

static void accept_failed(struct uvh_listener *listener, int code)
{
    uvh_listener_pause(listener);
    listener->on_failed(listener, code);
}

static void accept_some(struct uvh_listener *listener, int count)
{
    listener->is_late = listener->was_full;
    listener->was_full = false;
    for (int i = 0; i < count && !listener->paused; i++) {
        int socket = uvh_socket_accept(listener->socket);
        if (socket == -EAGAIN)
            return;
        if (socket < 0) {
            accept_failed(listener, socket);
            return;
        }
        listener->on_accept(listener, socket);
        listener->is_late = false;
    }
    listener->was_full = true;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct uvh_listener *listener = UVH_CONTAINER_OF(poll, struct uvh_listener, poll);
    (void)events;
    if (status < 0)
        accept_failed(listener, status);
    else
        accept_some(listener, ACCEPTS_PER_ITERATION);
}

int uvh_listener_start(struct uvh_listener *listener, uv_loop_t *loop, int socket)
{
    int err = uv_poll_init(loop, &listener->poll, socket);
    if (err != 0)
        return err;
    listener->socket = socket;
    listener->paused = false;
    /* Cannot fail: the handle is new and the events are valid, which is all uv_poll_start
     * checks. */
    return uv_poll_start(&listener->poll, UV_READABLE, on_poll);
}

void uvh_listener_resume(struct uvh_listener *listener)
{
    if (!listener->paused)
        return;
    listener->paused = false;
    uv_poll_start(&listener->poll, UV_READABLE, on_poll);
}

void uvh_listener_drain_queue(struct uvh_listener *listener)
{
    listener->paused = false; /* the error may be over */
    accept_some(listener, SOMAXCONN);
}

void uvh_listener_close(struct uvh_listener *listener, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&listener->poll,
             closed); /* stops polling at once, so the descriptor may be closed */
    uvh_socket_close(listener->socket);
    listener->socket = -1;
}
