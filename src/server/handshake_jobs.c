/* See the header. The reference to the connection keeps its worker valid, too. */
#include "server/handshake_jobs.h"

#include "base/alloc.h"
#include "base/compiler.h"
#include "conn/conn.h"
#include "server/server.h"

struct step {
    struct uvh_task task;
    struct uvh_message message;
    struct uvh_worker *worker;
    struct uvh_conn *conn;
    struct uvh_tls_session *session;
};

/* On a thread of the lane. */
static void run(struct uvh_task *task)
{
    struct step *step = UVH_CONTAINER_OF(task, struct step, task);
    uvh_tls_session_work(step->session);
    /* Last: the loop frees the step. The inbox is open while the connection exists. */
    uvh_inbox_put(&step->worker->inbox, &step->message);
}

static void complete(struct uvh_message *message, void *reader)
{
    struct step *step = UVH_CONTAINER_OF(message, struct step, message);
    struct uvh_conn *conn = step->conn;
    struct uvh_tls_session *session = step->session;
    (void)reader;
    uvh_free(step->worker->server->allocator, step);
    uvh_conn_worked(conn, session);
}

bool uvh_handshake_jobs_start(struct uvh_conn *conn)
{
    struct uvh_worker *worker = UVH_CONTAINER_OF(conn->shared, struct uvh_worker, conns);
    struct step *step = uvh_alloc(worker->server->allocator, sizeof(*step));
    if (step == NULL)
        return false;
    *step = (struct step){.task = {.run = run},
                          .message = {.read = complete},
                          .worker = worker,
                          .conn = conn,
                          .session = conn->tls};
    uvh_conn_ref(conn);
    /* No queue limit: at most one step per connection, and config->max_handshakes in total. */
    uvh_thread_pool_submit_beyond(&worker->server->jobs.lanes[UVH_LANE_HANDSHAKE], &step->task);
    return true;
}
