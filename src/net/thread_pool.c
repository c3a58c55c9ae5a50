/* A queue with a lock. Unless the pool is started, a thread is created only when a task finds no
 * idle thread, so a server without requests for its blocking routes has none. */
#include "net/thread_pool.h"

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"

/* Returns the next task; NULL at the end. `*ran`: the thread has just run one. */
static struct uvh_task *next_task(struct uvh_thread_pool *pool, bool *ran)
{
    uv_mutex_lock(&pool->lock);
    pool->counts.running -= *ran;
    while (uvh_list_empty(&pool->tasks) && !pool->ending)
        uv_cond_wait(&pool->work, &pool->lock);
    struct uvh_list *first = uvh_list_take(&pool->tasks);
    *ran = first != NULL;
    if (first != NULL) {
        pool->counts.pending--;
        pool->counts.running++;
    }
    uv_mutex_unlock(&pool->lock);
    return first == NULL ? NULL : UVH_CONTAINER_OF(first, struct uvh_task, link);
}

static void work(void *arg)
{
    struct uvh_task *task;
    bool ran = false;
    while ((task = next_task(arg, &ran)) != NULL)
        task->run(task); /* the task's memory may be freed when this returns */
}

int uvh_thread_pool_init(struct uvh_thread_pool *pool, const uvhttp_allocator_t *allocator,
                         size_t most_threads, size_t most_pending)
{
    *pool = (struct uvh_thread_pool){
        .allocator = allocator, .most_threads = most_threads, .most_pending = most_pending};
    uvh_list_init(&pool->tasks);
    pool->threads = uvh_alloc(allocator, most_threads * sizeof(*pool->threads));
    if (pool->threads == NULL)
        return UVHTTP_ENOMEM;
    int err = uv_mutex_init(&pool->lock);
    if (err == 0 && (err = uv_cond_init(&pool->work)) != 0)
        uv_mutex_destroy(&pool->lock);
    if (err != 0)
        uvh_free(allocator, pool->threads);
    return err;
}

/* Ends the threads once the queue is empty. */
static void join_threads(struct uvh_thread_pool *pool)
{
    uv_mutex_lock(&pool->lock);
    pool->ending = true;
    uv_cond_broadcast(&pool->work);
    uv_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->thread_count; i++)
        uv_thread_join(&pool->threads[i]);
    pool->thread_count = 0;
}

int uvh_thread_pool_start(struct uvh_thread_pool *pool)
{
    int err = 0;
    while (err == 0 && pool->thread_count < pool->most_threads) {
        err = uv_thread_create(&pool->threads[pool->thread_count], work, pool);
        pool->thread_count += err == 0;
    }
    if (err != 0)
        join_threads(pool);
    return err;
}

void uvh_thread_pool_release(struct uvh_thread_pool *pool)
{
    join_threads(pool);
    uv_cond_destroy(&pool->work);
    uv_mutex_destroy(&pool->lock);
    uvh_free(pool->allocator, pool->threads);
}

/* Under the lock. Creates a thread if none is idle for one more task and the limit allows it. */
static int start_thread_if_needed(struct uvh_thread_pool *pool)
{
    size_t idle = pool->thread_count - pool->counts.running;
    if (idle > pool->counts.pending || pool->thread_count == pool->most_threads)
        return 0;
    int err = uv_thread_create(&pool->threads[pool->thread_count], work, pool);
    if (err == 0)
        pool->thread_count++;
    return pool->thread_count > 0 ? 0 : err; /* fewer threads than wanted are only slower */
}

/* Under the lock. A task for which a thread is idle or may be created does not count, since it
 * waits for no other task. */
static bool is_full(const struct uvh_thread_pool *pool)
{
    size_t free_threads = pool->most_threads - pool->counts.running;
    return pool->counts.pending >= pool->most_pending + free_threads;
}

static int submit(struct uvh_thread_pool *pool, struct uvh_task *task, bool limited)
{
    int err;
    uv_mutex_lock(&pool->lock);
    if (limited && is_full(pool)) {
        pool->counts.rejected++;
        err = UVHTTP_EFULL;
    } else if ((err = start_thread_if_needed(pool)) == 0) {
        uvh_list_append(&pool->tasks, &task->link);
        pool->counts.pending++;
        uv_cond_signal(&pool->work);
    }
    uv_mutex_unlock(&pool->lock);
    return err;
}

int uvh_thread_pool_submit(struct uvh_thread_pool *pool, struct uvh_task *task)
{
    return submit(pool, task, true);
}

int uvh_thread_pool_submit_beyond(struct uvh_thread_pool *pool, struct uvh_task *task)
{
    return submit(pool, task, false);
}

bool uvh_thread_pool_rejects(struct uvh_thread_pool *pool)
{
    uv_mutex_lock(&pool->lock);
    bool full = is_full(pool);
    pool->counts.rejected += full;
    uv_mutex_unlock(&pool->lock);
    return full;
}

struct uvh_thread_pool_counts uvh_thread_pool_read(struct uvh_thread_pool *pool)
{
    uv_mutex_lock(&pool->lock);
    struct uvh_thread_pool_counts counts = pool->counts;
    uv_mutex_unlock(&pool->lock);
    return counts;
}
