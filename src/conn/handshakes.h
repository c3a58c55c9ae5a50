/* The TLS handshakes of one worker that go on at a time: at most `max`, the rest in a queue.
 *
 * The expensive part of a handshake is the step in which the client's hello is processed: keys are
 * exchanged and the server signs. A connection has a slot for this step only. A slot that was kept
 * until the handshake is over would let as many clients as there are slots block all others by a
 * hello and nothing more. On the loop a slot is free again in the next loop iteration, so events of
 * other connections come between; on a thread when the step is done.
 *
 * Always true: a queued connection has been reported readable, is not read, and is linked by its
 * member `ready`. Used on the worker's thread only. Called by tls_io.c, conn.c and shared.c. */
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
    struct uvh_list queue; /* connections, the oldest first */
};

/* Takes a slot for a connection that is to be read. False: there is none, and the connection was
 * queued. */
bool uvh_handshakes_take_slot(struct uvh_conn *conn);

/* Begins a step on another thread. False: memory ran out. */
bool uvh_handshakes_work(struct uvh_conn *conn);

/* A step on another thread is done: its slot is free. */
void uvh_handshakes_worked(struct uvh_conn_shared *shared, struct uvh_tls_session *session);

/* A loop iteration begins: the first of the queue get the slots that are free. */
void uvh_handshakes_resume(struct uvh_conn_shared *shared);

/* uvh_handshakes_resume is to run in the next loop iteration. */
bool uvh_handshakes_has_more(const struct uvh_conn_shared *shared);

#endif
