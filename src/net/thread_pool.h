/* A bounded task queue and the threads that run it, for work that may block.
 *
 * Invariants: a queued task runs exactly once, on a thread of the pool; tasks start in the order of
 * submission. Threads are created on demand, or all at once by uvh_thread_pool_start, and stay
 * until the pool is released. A task reports its completion by its own means (net/inbox.h). */
#ifndef UVH_NET_THREAD_POOL_H
#define UVH_NET_THREAD_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include <uvhttp/types.h>

#include "base/list.h"

/* A member of the submitter's struct. */
struct uvh_task {
    struct uvh_list link;
    void (*run)(struct uvh_task *task);
};

struct uvh_thread_pool_counts {
    size_t pending;    /* tasks in the queue */
    size_t running;    /* tasks on a thread */
    uint64_t rejected; /* submissions that failed with UVHTTP_EFULL, since the pool was created */
};

struct uvh_thread_pool {
    const uvhttp_allocator_t *allocator;
    uv_thread_t *threads;
    size_t most_threads;
    size_t most_pending;
    uv_mutex_t lock;
    uv_cond_t work; /* a task was queued, or `ending` was set */
    /* Under the lock: */
    size_t thread_count;
    struct uvh_thread_pool_counts counts;
    struct uvh_list tasks;
    bool ending;
};

/* Creates no thread yet. Returns 0, or
 * UVHTTP_ENOMEM, libuv's code. */
int uvh_thread_pool_init(struct uvh_thread_pool *pool, const uvhttp_allocator_t *allocator,
                         size_t most_threads, size_t most_pending);

/* Creates all threads of a pool that has none. Returns 0, or libuv's code: the system allows no
 * further thread. Then the pool has none, and must be released. */
int uvh_thread_pool_start(struct uvh_thread_pool *pool);

/* Runs the queued tasks, then joins the threads. No task may be submitted any more. */
void uvh_thread_pool_release(struct uvh_thread_pool *pool);

/* Queues a task. Any thread. Returns 0, or UVHTTP_EFULL: `most_pending` tasks are queued already;
 * the caller keeps the task. libuv's code: the pool has no thread, and none could be created. */
int uvh_thread_pool_submit(struct uvh_thread_pool *pool, struct uvh_task *task);

/* True if uvh_thread_pool_submit would return UVHTTP_EFULL now, which is counted as rejected. */
bool uvh_thread_pool_rejects(struct uvh_thread_pool *pool);

/* As uvh_thread_pool_submit without the limit of the queue. Cannot fail in a pool that was
 * started. */
int uvh_thread_pool_submit_beyond(struct uvh_thread_pool *pool, struct uvh_task *task);

/* Any thread. */
struct uvh_thread_pool_counts uvh_thread_pool_read(struct uvh_thread_pool *pool);

#endif
