/* uv_poll_t with the interest remembered: changing it costs system calls in libuv, so it is changed only when it differs. */
#include "net/socket_watch.h"

#include "platform/socket.h"

enum { INTEREST_UNSET = 255 };

int uvh_socket_watch_init(struct uvh_socket_watch *watch, uv_loop_t *loop, int socket)
{
    int err = uv_poll_init(loop, &watch->poll, socket);
    if (err != 0)
        return err;
    watch->socket = socket;
    watch->interest = INTEREST_UNSET;
    return 0;
}

int uvh_socket_watch_want(struct uvh_socket_watch *watch, unsigned interest, uv_poll_cb on_poll)
{
    /* The system always reports errors and hang-ups, but libuv wants some event to watch for: urgent data, which no HTTP client
     * sends (one that does ends its own connection). */
    static const int events[] = {
        [UVH_WANT_NOTHING] = UV_PRIORITIZED,
        [UVH_WANT_READ] = UV_READABLE,
        [UVH_WANT_WRITE] = UV_WRITABLE,
        [UVH_WANT_BOTH] = UV_READABLE | UV_WRITABLE,
    };
    if (watch->interest == interest)
        return 0;
    int err = uv_poll_start(&watch->poll, events[interest], on_poll);
    if (err == 0)
        watch->interest = (unsigned char)interest;
    return err;
}

void uvh_socket_watch_forget(struct uvh_socket_watch *watch)
{
    watch->interest = INTEREST_UNSET;
}

unsigned uvh_socket_watch_ready(struct uvh_socket_watch *watch, int status, int events)
{
    if (status != 0) {
        /* libuv has stopped watching. What was received before the error can still be read; then, or when writing, it shows. So
         * the owner goes on as if ready, and has to ask to be told again. */
        unsigned interest = watch->interest;
        watch->interest = INTEREST_UNSET;
        return interest;
    }
    return ((events & UV_READABLE) != 0 ? UVH_WANT_READ : 0u) |
           ((events & UV_WRITABLE) != 0 ? UVH_WANT_WRITE : 0u);
}

void uvh_socket_watch_close(struct uvh_socket_watch *watch, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&watch->poll, closed); /* stops watching now, so the descriptor may go */
    uvh_socket_close(watch->socket);
    watch->socket = -1;
}
