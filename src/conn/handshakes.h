/* Limits the concurrent TLS handshakes of a worker: at most `max`, the rest is queued.
 *
 * The expensive part of a handshake is the step that processes the ClientHello: key exchange and
 * signature. A connection has a slot for this step only. If slots were kept for the whole
 * handshake, a few clients could block all others with a ClientHello alone. On the loop a slot is
 * released in the next loop iteration, so that events of other connections are handled in between;
 * on a thread when the step is done.
 *
 * Invariant: a queued connection has been reported readable, is not read, and is linked by its
 * member `ready`. Used on the worker's thread only. */
#ifndef UVH_CONN_HANDSHAKES_H
#define UVH_CONN_HANDSHAKES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"

struct uvh_conn;
struct uvh_conn_shared;
struct uvh_tls_session;

struct uvh_handshakes {
    size_t max;            /* 0: no limit */
    size_t begun;          /* in this loop iteration, or on threads */
    bool on_threads;       /* steps run on other threads */
    struct uvh_list queue; /* connections, oldest first */
};

/* Takes a slot for a connection that is to be read. False: no slot is free, and the connection was
 * queued. */
bool uvh_handshakes_take_slot(struct uvh_conn *conn);

/* Starts a step on another thread. False: out of memory. */
bool uvh_handshakes_work(struct uvh_conn *conn);

/* A step on another thread is done: releases its slot. */
void uvh_handshakes_worked(struct uvh_conn_shared *shared, struct uvh_tls_session *session);

/* Start of a loop iteration: gives free slots to the first queued connections. */
void uvh_handshakes_resume(struct uvh_conn_shared *shared);

/* True when uvh_handshakes_resume must run in the next loop iteration. */
bool uvh_handshakes_has_more(const struct uvh_conn_shared *shared);

#endif
