/* A list behind a lock. A thread is started only when a task finds none idle, so a server whose blocking routes nobody asks has none. */
#include "net/thread_pool.h"

#include <uvhttp/error.h>

#include "base/alloc.h"

static struct uvh_task *next_task(struct uvh_thread_pool *pool)
{
    uv_mutex_lock(&pool->lock);
    pool->idle_count++;
    while (pool->first == NULL && !pool->ending)
        uv_cond_wait(&pool->work, &pool->lock);
    pool->idle_count--;
    struct uvh_task *task = pool->first;
    if (task != NULL) {
        pool->first = task->next;
        pool->waiting_count--;
    }
    uv_mutex_unlock(&pool->lock);
    return task;
}

static void work(void *arg)
{
    struct uvh_task *task;
    while ((task = next_task(arg)) != NULL)
        task->run(task); /* whose memory may be gone afterwards */
}

int uvh_thread_pool_init(struct uvh_thread_pool *pool, const uvhttp_allocator_t *allocator,
                         size_t most_threads, size_t most_waiting)
{
    *pool = (struct uvh_thread_pool){
        .allocator = allocator, .most_threads = most_threads, .most_waiting = most_waiting};
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

void uvh_thread_pool_release(struct uvh_thread_pool *pool)
{
    uv_mutex_lock(&pool->lock);
    pool->ending = true;
    uv_cond_broadcast(&pool->work);
    uv_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->thread_count; i++)
        uv_thread_join(&pool->threads[i]);
    uv_cond_destroy(&pool->work);
    uv_mutex_destroy(&pool->lock);
    uvh_free(pool->allocator, pool->threads);
}

/* Under the lock. A task more finds nobody idle: starts a thread if there may be one. */
static int start_thread_if_needed(struct uvh_thread_pool *pool)
{
    if (pool->idle_count > pool->waiting_count || pool->thread_count == pool->most_threads)
        return 0;
    int err = uv_thread_create(&pool->threads[pool->thread_count], work, pool);
    if (err == 0)
        pool->thread_count++;
    return pool->thread_count > 0 ? 0 : err; /* fewer threads are slower, and that is all */
}

int uvh_thread_pool_submit(struct uvh_thread_pool *pool, struct uvh_task *task)
{
    task->next = NULL;
    uv_mutex_lock(&pool->lock);
    /* Those who wait for a thread that is idle or could be started do not count: they wait for no other task. */
    size_t at_once = pool->idle_count + (pool->most_threads - pool->thread_count);
    int err =
        pool->waiting_count >= pool->most_waiting + at_once ? UVHTTP_EFULL : start_thread_if_needed(pool);
    if (err == 0) {
        if (pool->first == NULL)
            pool->first = task;
        else
            pool->last->next = task;
        pool->last = task;
        pool->waiting_count++;
        uv_cond_signal(&pool->work);
    }
    uv_mutex_unlock(&pool->lock);
    return err;
}
