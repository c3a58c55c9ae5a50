/* See the header. */
#include "conn/handshakes.h"

#include "conn/conn.h"

static bool is_full(const struct uvh_handshakes *handshakes)
{
    return handshakes->max != 0 && handshakes->begun >= handshakes->max;
}

/* With threads the slot is taken with the step (uvh_handshakes_work): there may be nothing to
 * read. */
bool uvh_handshakes_take_slot(struct uvh_conn *conn)
{
    struct uvh_conn_shared *shared = conn->shared;
    struct uvh_handshakes *handshakes = &shared->handshakes;
    if (handshakes->max == 0)
        return true;
    if (!handshakes->on_threads)
        shared->callbacks->schedule(shared);
    if (!is_full(handshakes)) {
        handshakes->begun += !handshakes->on_threads;
        return true;
    }
    uvh_list_remove(&conn->ready);
    uvh_list_append(&handshakes->queue, &conn->ready);
    conn->queued = true;
    if (!conn->tls->begun)
        uvh_counter_add(&shared->tls_waited, 1);
    return false;
}

bool uvh_handshakes_work(struct uvh_conn *conn)
{
    struct uvh_tls_session *session = conn->tls;
    session->has_slot = !uvh_tls_session_has_hello(session); /* before the thread may change it */
    session->working = true;
    if (conn->shared->callbacks->work(conn)) {
        conn->shared->handshakes.begun += session->has_slot;
        return true;
    }
    session->has_slot = session->working = false;
    return false;
}

void uvh_handshakes_worked(struct uvh_conn_shared *shared, struct uvh_tls_session *session)
{
    if (!session->has_slot)
        return;
    session->has_slot = false;
    shared->handshakes.begun--;
    if (!uvh_list_empty(&shared->handshakes.queue))
        shared->callbacks->schedule(shared);
}

void uvh_handshakes_resume(struct uvh_conn_shared *shared)
{
    struct uvh_handshakes *handshakes = &shared->handshakes;
    if (!handshakes->on_threads)
        handshakes->begun = 0;
    while (!uvh_list_empty(&handshakes->queue) && !is_full(handshakes)) {
        struct uvh_conn *conn = UVH_CONTAINER_OF(handshakes->queue.next, struct uvh_conn, ready);
        uvh_list_remove(&conn->ready);
        conn->queued = false;
        uvh_conn_resume(conn);
    }
}

bool uvh_handshakes_has_more(const struct uvh_conn_shared *shared)
{
    const struct uvh_handshakes *handshakes = &shared->handshakes;
    return !handshakes->on_threads &&
           (handshakes->begun > 0 || !uvh_list_empty(&handshakes->queue));
}
