/* Threads for work that may block: at most so many of them, and at most so many tasks that wait for one.
 *
 * Always true: a task that was taken runs exactly once, on a thread of the pool; tasks begin in the order of submitting. Threads are started when
 * they are needed and stay until the pool is released. What a task says when it is done is its own business (net/inbox.h). */
#ifndef UVH_NET_THREAD_POOL_H
#define UVH_NET_THREAD_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

#include <uvhttp/types.h>

/* Stands in the memory of who submits it. */
struct uvh_task {
    struct uvh_task *next;
    void (*run)(struct uvh_task *task);
};

struct uvh_thread_pool {
    const uvhttp_allocator_t *allocator;
    uv_thread_t *threads;
    size_t most_threads;
    size_t most_waiting;
    uv_mutex_t lock;
    uv_cond_t work; /* there is some, or the end */
    /* The following are under the lock. */
    size_t thread_count;
    size_t idle_count;
    size_t waiting_count;
    struct uvh_task *first;
    struct uvh_task *last;
    bool ending;
};

/* Starts no thread yet. 0, UVHTTP_ENOMEM or libuv's code. */
int uvh_thread_pool_init(struct uvh_thread_pool *pool, const uvhttp_allocator_t *allocator,
                         size_t most_threads, size_t most_waiting);

/* Waits for the tasks that run; none waits any more. */
void uvh_thread_pool_release(struct uvh_thread_pool *pool);

/* Any thread. 0; UVHTTP_EFULL when too many wait already; libuv's code when not even one thread could be started. */
int uvh_thread_pool_submit(struct uvh_thread_pool *pool, struct uvh_task *task);

#endif
