/* Readiness of sockets on a loop, edge-triggered.
 *
 * On Linux a poller has an epoll set of its own behind one uv_poll_t: a socket is added once, for
 * everything, and `readable` and `writable` say what is known of it. Who gets EAGAIN clears the bit
 * and hears of the next edge. Elsewhere, and with -DUVHTTP_POLLER_UV=ON, each socket has a
 * level-triggered uv_poll_t that watches only what is not ready.
 *
 * Always true: at most UVH_POLLER_BATCH events are reported per loop iteration, so other handles of
 * the loop are not starved; the memory of a removed socket stays valid until `removed` has run,
 * never within an event. Called by conn/ and server/worker.c, on the loop's thread. */
#ifndef UVH_NET_POLLER_H
#define UVH_NET_POLLER_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

#include "platform/epoll.h"

#if UVH_HAS_EPOLL && !defined(UVH_POLLER_UV)
#define UVH_POLLER_EPOLL 1
enum { UVH_POLLER_HANDLES = 2 };
#else
#define UVH_POLLER_EPOLL 0
enum { UVH_POLLER_HANDLES = 0 };
#endif

enum { UVH_POLLER_BATCH = 256 };

struct uvh_poller;

struct uvh_poller_socket {
    struct uvh_poller_socket *next; /* among the removed ones */
    int fd;                         /* -1 once it is removed */
    bool readable : 1;              /* reading may give something: bytes, an end, an error */
    bool writable : 1;              /* writing may take something */
    /* an end of the peer's side was reported: it stays readable until it was read */
    bool peer_ended : 1;
    bool failed : 1; /* an error or a hang-up was reported */
    bool urgent : 1; /* urgent data was reported: a short read may not be all there is */
#if !UVH_POLLER_EPOLL
    unsigned char watched; /* the events that `poll` watches */
    struct uvh_poller *poller;
    uv_poll_t poll;
#endif
};

/* The poller's owner. */
struct uvh_poller_callbacks {
    /* Events of a loop iteration follow. */
    void (*begin)(struct uvh_poller *poller);
    /* The bits of a socket have changed. */
    void (*ready)(struct uvh_poller_socket *socket);
    /* Nothing refers to a removed socket any more. */
    void (*removed)(struct uvh_poller_socket *socket);
};

struct uvh_poller {
    uv_loop_t *loop;
    const struct uvh_poller_callbacks *callbacks;
    size_t count; /* of sockets; the loop is kept alive by them */
#if UVH_POLLER_EPOLL
    int set;
    bool watching; /* `watch` is open */
    bool reporting;
    /* their memory waits for the end of the batch, or for `sweep` */
    struct uvh_poller_socket *removed;
    uv_poll_t watch;
    uv_idle_t sweep;
#endif
};

/* The loop is asked to watch when the first socket is added, so that nothing needs to be undone
 * here.
 * Returns 0, or
 *   libuv's code when descriptors or memory run out. */
int uvh_poller_init(struct uvh_poller *poller, uv_loop_t *loop,
                    const struct uvh_poller_callbacks *callbacks);

/* Closes the handles; `closed` runs once for each of UVH_POLLER_HANDLES, perhaps at once. All
 * sockets were removed before. */
void uvh_poller_close(struct uvh_poller *poller, uv_close_cb closed);

/* Sets `data` of the handles. */
void uvh_poller_set_data(struct uvh_poller *poller, void *data);

/* Adds a non-blocking socket, which counts as writable and not as readable until the first event.
 * Returns 0, or
 *   libuv's code (UV_ENOMEM, UV_ENOSPC: the user's epoll watches are used up); the socket stays the
 *   caller's. */
int uvh_poller_add(struct uvh_poller *poller, struct uvh_poller_socket *socket, int fd);

/* Removes and closes the socket. `removed` runs later. */
void uvh_poller_remove(struct uvh_poller *poller, struct uvh_poller_socket *socket);

/* The bits were changed by the owner: at the end of each of its events. */
#if UVH_POLLER_EPOLL
static inline void uvh_poller_update(struct uvh_poller_socket *socket)
{
    (void)socket; /* the set reports every edge */
}
#else
void uvh_poller_update(struct uvh_poller_socket *socket);
#endif

#endif
