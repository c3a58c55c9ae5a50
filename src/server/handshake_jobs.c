/* See the header. The reference to the connection keeps its worker valid, too. */
#include "server/handshake_jobs.h"

#include "base/alloc.h"
#include "base/compiler.h"
#include "conn/conn.h"
#include "server/job.h"
#include "server/server.h"

struct step {
    struct uvh_job job;
    struct uvh_conn *conn;
    struct uvh_tls_session *session;
};

static void run(struct uvh_job *job)
{
    uvh_tls_session_work(UVH_CONTAINER_OF(job, struct step, job)->session);
}

static void complete(struct uvh_job *job)
{
    struct step *step = UVH_CONTAINER_OF(job, struct step, job);
    struct uvh_conn *conn = step->conn;
    struct uvh_tls_session *session = step->session;
    uvh_free(job->worker->server->allocator, step);
    uvh_conn_worked(conn, session);
}

bool uvh_handshake_jobs_start(struct uvh_conn *conn)
{
    struct uvh_worker *worker = UVH_CONTAINER_OF(conn->shared, struct uvh_worker, conns);
    struct step *step = uvh_alloc(worker->server->allocator, sizeof(*step));
    if (step == NULL)
        return false;
    *step = (struct step){.conn = conn, .session = conn->tls};
    uvh_job_init(&step->job, worker, run, complete);
    uvh_conn_ref(conn);
    /* No queue limit: at most one step per connection, and config->max_handshakes in total. */
    uvh_thread_pool_submit_beyond(&worker->server->jobs.lanes[UVH_LANE_HANDSHAKE], &step->job.task);
    return true;
}
