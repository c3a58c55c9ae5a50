/* A listening socket on a loop: hands over connections, and stops asking for a while when
 * descriptors or memory run out.
 *
 * Always true: while paused the socket is not watched, so the loop does not spin on a queue it
 * cannot empty. */
#ifndef UVH_NET_LISTENER_H
#define UVH_NET_LISTENER_H

#include <stdbool.h>

#include <uv.h>

#include "base/list.h"

struct uvh_listener;

/* Gets an accepted, non-blocking socket and owns it. */
typedef void (*uvh_listener_accept_cb)(struct uvh_listener *listener, int socket);
/* Accepting failed with `code` and is paused until uvh_listener_resume. */
typedef void (*uvh_listener_failed_cb)(struct uvh_listener *listener, int code);

struct uvh_listener {
    uv_poll_t poll;
    int socket;
    struct uvh_list link; /* the owner's list */
    void *owner;
    void *data; /* the owner's: how connections are served */
    uvh_listener_accept_cb on_accept;
    uvh_listener_failed_cb on_failed;
    bool paused;
};

/* Starts accepting on a socket that listens, which is closed with the listener. 0, or libuv's code
 * and the socket stays the caller's. Owner, on_accept and on_failed are set before. */
int uvh_listener_start(struct uvh_listener *listener, uv_loop_t *loop, int socket);

/* Accepts no more until uvh_listener_resume, also from within on_accept. */
void uvh_listener_pause(struct uvh_listener *listener);

/* Accepts again after a pause; harmless when not paused. */
void uvh_listener_resume(struct uvh_listener *listener);

/* Accepts what waits in the queue now; used once more before closing, so that nobody who is
 * connected is dropped. */
void uvh_listener_drain_queue(struct uvh_listener *listener);

void uvh_listener_close(struct uvh_listener *listener, uv_close_cb closed);

#endif
