/* uv_poll_t with the interest remembered: changing it costs system calls in libuv, so it is changed only when it differs.
 *
 * libuv has no edges, but its set of descriptors is public (uv_backend_fd), and so a socket in it can be told of by them from outside; whatever
 * libuv does to the socket later brings the level back. What is not public is how it names descriptors there, so that is looked up first.
 *
 * A socket that is told of by edges and then found full stays in libuv with everything wanted from then on, so that waiting for room asks the system once,
 * and waiting for the next request not at all; libuv would take it out of the set and put it in again for each. */
#include "net/socket_watch.h"

#include "platform/edges.h"
#include "platform/socket.h"

enum {
    INTEREST_UNSET = 255,
#if defined(UVH_DEBUG_CHECKS)
    OFTEN = 1, /* so that the tests meet edges everywhere */
#else
    OFTEN = 8, /* the change costs what some three requests save */
#endif
};

/* ---- edges ---- */

static uv_once_t looked_up = UV_ONCE_INIT;
static bool has_edges;

static void on_probe(uv_poll_t *poll, int status, int events)
{
    (void)poll;
    (void)status;
    (void)events;
}

/* `descriptor` can be written. */
static void look_into_set(uv_loop_t *loop, uv_file descriptor)
{
    uv_poll_t poll;
    if (uv_poll_init(loop, &poll, descriptor) != 0)
        return;
    if (uv_poll_start(&poll, UV_WRITABLE, on_probe) == 0) {
        uv_run(loop, UV_RUN_NOWAIT);
        has_edges = uvh_edges_fit(uv_backend_fd(loop), descriptor);
    }
    uv_close((uv_handle_t *)&poll, NULL);
    uv_run(loop, UV_RUN_DEFAULT);
}

static void look_up(void)
{
    uv_loop_t loop;
    uv_file ends[2];
    if (uv_loop_init(&loop) != 0)
        return;
    if (uv_pipe(ends, 0, 0) == 0) {
        look_into_set(&loop, ends[1]);
        uvh_socket_close(ends[0]);
        uvh_socket_close(ends[1]);
    }
    uv_loop_close(&loop);
}

bool uvh_socket_watch_has_edges(void)
{
    uv_once(&looked_up, look_up);
    return has_edges;
}

/* Not from the first event on: all that a connection with few requests would get is two more system calls. */
static void count_told(struct uvh_socket_watch *watch)
{
    if (watch->interest != UVH_WANT_READ || watch->peer_ended || ++watch->told < OFTEN)
        return;
    bool by_edges = uvh_edges_begin(uv_backend_fd(watch->poll.loop), watch->socket) == 0;
    watch->told = by_edges ? UVH_TOLD_BY_EDGES : UVH_TOLD_BY_LEVEL;
}

/* ---- interest ---- */

enum { EVERYTHING = UV_READABLE | UV_WRITABLE | UV_DISCONNECT };

/* The system always reports errors and hang-ups, but libuv wants some event to watch for: urgent data, which no HTTP client
 * sends (one that does ends its own connection). */
static const int events_for[] = {
    [UVH_WANT_NOTHING] = UV_PRIORITIZED,
    [UVH_WANT_READ] = UV_READABLE | UV_DISCONNECT, /* for edges, see uvh_socket_watch_has_read */
    [UVH_WANT_WRITE] = UV_WRITABLE,
    [UVH_WANT_BOTH] = UV_READABLE | UV_WRITABLE,
};

void uvh_socket_watch_by_level(struct uvh_socket_watch *watch)
{
    unsigned char told = watch->told;
    watch->told = UVH_TOLD_BY_LEVEL;
    bool changed = true;
    if (told == UVH_TOLD_BY_EDGES)
        changed = uvh_edges_end(uv_backend_fd(watch->poll.loop), watch->socket) == 0;
    else if (told == UVH_TOLD_OF_BOTH || told == UVH_TOLD_TURNING)
        changed = uv_poll_start(&watch->poll, events_for[watch->interest], watch->poll.poll_cb) == 0;
    if (!changed)
        watch->interest = INTEREST_UNSET; /* the owner settles at the end of its event */
}

/* Both are wanted of libuv now, and the system is asked for edges of both. */
static void turn_to_both(struct uvh_socket_watch *watch)
{
    if (uvh_edges_both(uv_backend_fd(watch->poll.loop), watch->socket) == 0)
        watch->told = UVH_TOLD_OF_BOTH;
    else
        uvh_socket_watch_by_level(watch);
}

/* True when the system tells of what is wanted now. Room is asked for anew each time, since not everybody who wants it has found the socket full. */
static bool want_of_both(struct uvh_socket_watch *watch, unsigned interest)
{
    bool writes = (interest & UVH_WANT_WRITE) != 0;
    bool reads = (interest & UVH_WANT_READ) != 0;
    bool wrote = (watch->interest & UVH_WANT_WRITE) != 0 && !watch->had_room;
    bool again = (writes && !wrote) || (reads && watch->missed);
    if (again && uvh_edges_both(uv_backend_fd(watch->poll.loop), watch->socket) != 0)
        return false;
    watch->missed = watch->missed && !again;
    watch->had_room = false;
    watch->interest = (unsigned char)interest;
    return true;
}

int uvh_socket_watch_init(struct uvh_socket_watch *watch, uv_loop_t *loop, int socket, bool by_edges)
{
    int err = uv_poll_init(loop, &watch->poll, socket);
    if (err != 0)
        return err;
    watch->socket = socket;
    watch->interest = INTEREST_UNSET;
    watch->told = by_edges ? 0 : UVH_TOLD_BY_LEVEL;
    watch->peer_ended = watch->missed = watch->had_room = false;
    return 0;
}

int uvh_socket_watch_want(struct uvh_socket_watch *watch, unsigned interest, uv_poll_cb on_poll)
{
    if (watch->interest == interest && !watch->had_room)
        return 0;
    if (watch->told == UVH_TOLD_OF_BOTH && want_of_both(watch, interest))
        return 0;
    bool turning = watch->told == UVH_TOLD_BY_EDGES && (interest & UVH_WANT_WRITE) != 0;
    int err = uv_poll_start(&watch->poll, turning ? EVERYTHING : events_for[interest], on_poll);
    if (err != 0)
        return err;
    watch->interest = (unsigned char)interest;
    watch->missed = watch->had_room = false;
    if (watch->told != UVH_TOLD_BY_LEVEL)
        watch->told = turning ? UVH_TOLD_TURNING : 0;
    return 0;
}

void uvh_socket_watch_forget(struct uvh_socket_watch *watch)
{
    watch->interest = INTEREST_UNSET;
    if (watch->told != UVH_TOLD_BY_LEVEL)
        watch->told = 0;
}

/* What is not wanted now is told only once, too. */
static unsigned wanted_of(struct uvh_socket_watch *watch, unsigned ready)
{
    unsigned wanted = ready & watch->interest;
    watch->missed |= (ready & ~wanted & UVH_WANT_READ) != 0;
    watch->had_room |= (wanted & UVH_WANT_WRITE) != 0;
    return wanted != 0 ? wanted : UVH_READY_UNWANTED;
}

unsigned uvh_socket_watch_ready(struct uvh_socket_watch *watch, int status, int events)
{
    if (status != 0) {
        /* libuv has stopped watching. What was received before the error can still be read; then, or when writing, it shows. So
         * the owner goes on as if ready, and has to ask to be told again. */
        unsigned interest = watch->interest;
        uvh_socket_watch_forget(watch);
        return interest;
    }
    watch->peer_ended = (events & UV_DISCONNECT) != 0;
    unsigned ready = ((events & (UV_READABLE | UV_DISCONNECT)) != 0 ? UVH_WANT_READ : 0u) |
                     ((events & UV_WRITABLE) != 0 ? UVH_WANT_WRITE : 0u);
    if (UVH_LIKELY(watch->told >= UVH_TOLD_BY_EDGES))
        return ready;
    if (watch->told < OFTEN) {
        count_told(watch);
        return ready;
    }
    if (watch->told == UVH_TOLD_TURNING)
        turn_to_both(watch);
    return wanted_of(watch, ready);
}

void uvh_socket_watch_close(struct uvh_socket_watch *watch, uv_close_cb closed)
{
    uv_close((uv_handle_t *)&watch->poll, closed); /* stops watching now, so the descriptor may go */
    uvh_socket_close(watch->socket);
    watch->socket = -1;
}
