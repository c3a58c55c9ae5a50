/* A job: work on a thread of a pool whose messages go to the loop of a worker. Used by jobs.c,
 * blocking.c and handshake_jobs.c. */
#ifndef UVH_SERVER_JOB_H
#define UVH_SERVER_JOB_H

#include "base/compiler.h"
#include "net/thread_pool.h"
#include "server/worker.h"

/* A member of the submitter's struct. */
struct uvh_job {
    struct uvh_task task;
    struct uvh_message message;
    struct uvh_worker *worker;
    void (*run)(struct uvh_job *job);    /* on the thread */
    void (*report)(struct uvh_job *job); /* on the loop, for each report */
};

/* On the thread: has `report` called on the loop. It may free the job at once. What the job works
 * for references a connection or an exchange, which keeps the inbox open. */
static inline void uvh_job_report(struct uvh_job *job)
{
    uvh_inbox_put(&job->worker->inbox, &job->message);
}

static inline void uvh_job_run(struct uvh_task *task)
{
    struct uvh_job *job = UVH_CONTAINER_OF(task, struct uvh_job, task);
    job->run(job);
    uvh_job_report(job);
}

static inline void uvh_job_read(struct uvh_message *message, void *reader)
{
    struct uvh_job *job = UVH_CONTAINER_OF(message, struct uvh_job, message);
    (void)reader;
    job->report(job);
}

/* `report` is also called when `run` has returned. */
static inline void uvh_job_init(struct uvh_job *job, struct uvh_worker *worker,
                                void (*run)(struct uvh_job *job),
                                void (*report)(struct uvh_job *job))
{
    *job = (struct uvh_job){.task = {.run = uvh_job_run},
                            .message = {.read = uvh_job_read},
                            .worker = worker,
                            .run = run,
                            .report = report};
}

#endif
