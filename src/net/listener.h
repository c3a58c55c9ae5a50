/* A listening socket on a loop: reports accepted connections, and pauses accepting when descriptors
 * or memory run out.
 *
 * Invariant: while paused the socket is not polled, so the loop does not spin on a queue it cannot
 * empty. */
#ifndef UVH_NET_LISTENER_H
#define UVH_NET_LISTENER_H

#include <stdbool.h>

#include <uv.h>

#include "base/list.h"

struct uvh_listener;

/* Takes ownership of an accepted, non-blocking socket. */
typedef void (*uvh_listener_accept_cb)(struct uvh_listener *listener, int socket);
/* Accepting failed with `code` and is paused until uvh_listener_resume. */
typedef void (*uvh_listener_failed_cb)(struct uvh_listener *listener, int code);

struct uvh_listener {
    uv_poll_t poll;
    int socket;
    struct uvh_list link; /* the owner's list */
    void *owner;
    void *data;  /* the owner's: how to serve connections */
    unsigned id; /* the owner's */
    uvh_listener_accept_cb on_accept;
    uvh_listener_failed_cb on_failed;
    bool paused;
    bool was_full; /* the last loop iteration has left connections in the queue */
    /* within on_accept: this connection was in the queue in the last iteration */
    bool is_late;
};

/* Starts accepting on a listening socket, which is closed with the listener. The caller has set
 * owner, on_accept and on_failed. Returns 0, or libuv's code; then the caller keeps the
 * socket. */
int uvh_listener_start(struct uvh_listener *listener, uv_loop_t *loop, int socket);

/* Stops accepting until uvh_listener_resume. May be called from on_accept. */
void uvh_listener_pause(struct uvh_listener *listener);

/* Resumes accepting after a pause; no effect when not paused. */
void uvh_listener_resume(struct uvh_listener *listener);

/* Accepts the connections that are queued now. Used before closing, so that no established
 * connection is dropped. */
void uvh_listener_drain_queue(struct uvh_listener *listener);

void uvh_listener_close(struct uvh_listener *listener, uv_close_cb closed);

#endif
