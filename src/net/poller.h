/* Readiness of sockets on a loop, edge-triggered.
 *
 * On Linux a poller has its own epoll set, polled by one uv_poll_t. A socket is added once, for all
 * events; `readable` and `writable` cache its readiness. Code that gets EAGAIN clears the bit and
 * is notified by the next edge. Elsewhere, and with -DUVHTTP_POLLER_UV=ON, each socket has a
 * level-triggered uv_poll_t that polls only for what is not ready.
 *
 * Invariants: at most UVH_POLLER_BATCH events are reported per loop iteration, so other handles of
 * the loop are not starved; the memory of a removed socket stays valid until `removed` has run,
 * never within an event. Called on the loop's thread. */
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
    struct uvh_poller_socket *next; /* in the list of removed sockets */
    int fd;                         /* -1 once it is removed */
    bool readable : 1;              /* a read may return bytes, an end or an error */
    bool writable : 1;              /* a write may accept bytes */
    /* an end of the peer's side was reported: the socket stays readable until it was read */
    bool peer_ended : 1;
    bool failed : 1; /* an error or a hang-up was reported */
    bool urgent : 1; /* urgent data was reported: a short read may not have emptied the socket */
#if !UVH_POLLER_EPOLL
    unsigned char watched; /* the events that `poll` polls for */
    struct uvh_poller *poller;
    uv_poll_t poll;
#endif
};

/* Implemented by the poller's owner. */
struct uvh_poller_callbacks {
    /* Called before the events of a loop iteration. */
    void (*begin)(struct uvh_poller *poller);
    /* The readiness bits of a socket have changed. */
    void (*ready)(struct uvh_poller_socket *socket);
    /* Nothing references a removed socket any more. */
    void (*removed)(struct uvh_poller_socket *socket);
};

struct uvh_poller {
    uv_loop_t *loop;
    const struct uvh_poller_callbacks *callbacks;
    size_t count; /* of sockets; they keep the loop alive */
    /* The owner wants the following two, and resets them. */
    bool measures;
    uint32_t reported;  /* sockets of the last batch */
    uint32_t waited_ms; /* at least for so long the first one has been readable */
#if UVH_POLLER_EPOLL
    int set;
    bool watching; /* `watch` is open */
    bool was_full; /* the last batch: there may be more ready sockets; kept if `measures` */
    bool reporting;
    /* passed to the `removed` callback at the end of the batch, or by `sweep` */
    struct uvh_poller_socket *removed;
    uv_poll_t watch;
    uv_idle_t sweep;
#endif
};

/* Polling starts when the first socket is added, so that nothing needs to be undone here. Returns
 * 0, or
 *   libuv's code when descriptors or memory run out. */
int uvh_poller_init(struct uvh_poller *poller, uv_loop_t *loop,
                    const struct uvh_poller_callbacks *callbacks);

/* Closes the handles; `closed` runs once for each of UVH_POLLER_HANDLES, maybe within this call.
 * All sockets must have been removed. */
void uvh_poller_close(struct uvh_poller *poller, uv_close_cb closed);

/* Sets `data` of the handles. */
void uvh_poller_set_data(struct uvh_poller *poller, void *data);

/* Adds a non-blocking socket. It counts as writable, and as not readable until the first event.
 * Returns 0, or
 *   libuv's code (UV_ENOMEM; UV_ENOSPC: the user's limit of epoll watches is reached); the caller
 *   keeps the socket. */
int uvh_poller_add(struct uvh_poller *poller, struct uvh_poller_socket *socket, int fd);

/* Removes and closes the socket. `removed` runs later. */
void uvh_poller_remove(struct uvh_poller *poller, struct uvh_poller_socket *socket);

/* Called at the end of each of the owner's events, after it has changed the bits. */
#if UVH_POLLER_EPOLL
static inline void uvh_poller_update(struct uvh_poller_socket *socket)
{
    (void)socket; /* epoll reports every edge */
}
#else
void uvh_poller_update(struct uvh_poller_socket *socket);
#endif

#endif
