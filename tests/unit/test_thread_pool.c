/* The thread pool: order, the limit of its queue, its counters, and threads that cannot be created.
 * uv_thread_create of failing_threads.h creates the threads instead of that of libuv. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "net/thread_pool.h"
#include "support/failing_threads.h"

enum { TASKS = 100 };

struct job {
    struct uvh_task task;
    int number;
};

static struct uvh_thread_pool pool;
static uv_sem_t started, gate;
static atomic_int ran;
static int numbers[TASKS];

static void record_job(struct uvh_task *task)
{
    struct job *job = UVH_CONTAINER_OF(task, struct job, task);
    numbers[atomic_fetch_add(&ran, 1)] = job->number;
}

static void wait_at_gate(struct uvh_task *task)
{
    (void)task;
    uv_sem_post(&started);
    uv_sem_wait(&gate);
}

static void end_late(struct uvh_task *task)
{
    wait_at_gate(task);
    for (int i = 0; i < 1000; i++)
        sched_yield();
    atomic_fetch_add(&ran, 1);
}

static void begin(size_t threads, size_t queue)
{
    failing_threads_reset();
    ran = 0;
    assert_int_equal(uv_sem_init(&started, 0), 0);
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    assert_int_equal(uvh_thread_pool_init(&pool, uvh_alloc_default(), threads, queue), 0);
}

static void end(void)
{
    uvh_thread_pool_release(&pool);
    uv_sem_destroy(&started);
    uv_sem_destroy(&gate);
}

static struct uvh_thread_pool_counts await_idle(void)
{
    struct uvh_thread_pool_counts counts;
    do {
        counts = uvh_thread_pool_read(&pool);
    } while (counts.pending > 0 || counts.running > 0);
    return counts;
}

static void one_thread_runs_tasks_in_order(void **state)
{
    (void)state;
    static struct job jobs[TASKS];
    begin(1, TASKS);
    assert_int_equal(uvh_thread_pool_start(&pool), 0);
    for (int i = 0; i < TASKS; i++) {
        jobs[i] = (struct job){.task = {.run = record_job}, .number = i};
        assert_int_equal(uvh_thread_pool_submit(&pool, &jobs[i].task), 0);
    }
    await_idle();
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(numbers[i], i);
    end();
    assert_int_equal(ran, TASKS);
}

static void release_waits_for_running_tasks(void **state)
{
    (void)state;
    struct uvh_task blocked = {.run = end_late};
    begin(2, 1);
    assert_int_equal(uvh_thread_pool_start(&pool), 0);
    assert_int_equal(uvh_thread_pool_submit(&pool, &blocked), 0);
    uv_sem_wait(&started);
    uv_sem_post(&gate);
    end();
    assert_int_equal(ran, 1);
}

/* `threads_first`: all threads are created at the start; otherwise on demand. */
static void fill(bool threads_first)
{
    struct uvh_task blocked[3] = {
        {.run = wait_at_gate}, {.run = wait_at_gate}, {.run = wait_at_gate}};
    struct job more[3] = {{.task = {.run = record_job}},
                          {.task = {.run = record_job}},
                          {.task = {.run = record_job}}};
    begin(3, 2);
    if (threads_first)
        assert_int_equal(uvh_thread_pool_start(&pool), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(uvh_thread_pool_submit(&pool, &blocked[i]), 0);
    for (size_t i = 0; i < 3; i++)
        uv_sem_wait(&started);
    assert_int_equal(uvh_thread_pool_submit(&pool, &more[0].task), 0);
    assert_int_equal(uvh_thread_pool_submit(&pool, &more[1].task), 0);
    assert_int_equal(uvh_thread_pool_submit(&pool, &more[2].task), UVHTTP_EFULL);
    struct uvh_thread_pool_counts counts = uvh_thread_pool_read(&pool);
    assert_int_equal(counts.pending, 2);
    assert_int_equal(counts.running, 3);
    assert_int_equal(counts.rejected, 1);
    assert_int_equal(ran, 0);
    assert_int_equal(uvh_thread_pool_submit_beyond(&pool, &more[2].task), 0);
    assert_int_equal(uvh_thread_pool_read(&pool).pending, 3);
    assert_int_equal(uvh_thread_pool_read(&pool).rejected, 1);
    for (size_t i = 0; i < 3; i++)
        uv_sem_post(&gate);
    counts = await_idle();
    assert_int_equal(counts.rejected, 1);
    assert_int_equal(ran, 3);
    assert_int_equal(failing_threads_created(), 3);
    end();
}

static void full_queue_refuses_one_more_task(void **state)
{
    (void)state;
    fill(true);
    fill(false);
}

/* The threads of a new pool may not have reached their first wait yet. */
static void started_pool_accepts_tasks_at_once(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct job jobs[5];
        begin(4, 1);
        assert_int_equal(uvh_thread_pool_start(&pool), 0);
        for (int i = 0; i < 5; i++) {
            jobs[i] = (struct job){.task = {.run = record_job}};
            assert_int_equal(uvh_thread_pool_submit(&pool, &jobs[i].task), 0);
        }
        await_idle();
        end();
        assert_int_equal(ran, 5);
    }
}

static void threads_are_created_on_demand(void **state)
{
    (void)state;
    struct job job = {.task = {.run = record_job}};
    begin(16, 1);
    assert_int_equal(failing_threads_created(), 0);
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(uvh_thread_pool_submit(&pool, &job.task), 0);
        await_idle();
    }
    assert_int_equal(failing_threads_created(), 1);
    end();
    assert_int_equal(ran, TASKS);
}

/* A new thread takes a task, so that each thread gets one even without a queue. */
static void zero_queue_accepts_tasks_for_new_threads(void **state)
{
    (void)state;
    struct uvh_task blocked[2] = {{.run = wait_at_gate}, {.run = wait_at_gate}};
    struct job refused = {.task = {.run = record_job}};
    begin(2, 0);
    assert_int_equal(uvh_thread_pool_submit(&pool, &blocked[0]), 0);
    assert_int_equal(uvh_thread_pool_submit(&pool, &blocked[1]), 0);
    assert_int_equal(uvh_thread_pool_submit(&pool, &refused.task), UVHTTP_EFULL);
    assert_int_equal(failing_threads_created(), 2);
    uv_sem_post(&gate);
    uv_sem_post(&gate);
    end();
    assert_int_equal(ran, 0);
}

static void failed_thread_creation_uses_existing_thread(void **state)
{
    (void)state;
    struct uvh_task blocked = {.run = wait_at_gate};
    struct job job = {.task = {.run = record_job}};
    begin(2, 1);
    assert_int_equal(uvh_thread_pool_submit(&pool, &blocked), 0);
    uv_sem_wait(&started);
    failing_threads_fail_at(1);
    assert_int_equal(uvh_thread_pool_submit(&pool, &job.task), 0);
    assert_int_equal(failing_threads_created(), 1);
    uv_sem_post(&gate);
    end();
    assert_int_equal(ran, 1);
}

static void failed_start_leaves_no_thread(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 4; n++) {
        begin(4, 1);
        failing_threads_fail_at(n);
        assert_int_equal(uvh_thread_pool_start(&pool), UV_EAGAIN);
        assert_int_equal(failing_threads_created(), n - 1);
        assert_int_equal(failing_threads_alive(), 0);
        end();
    }
}

static void task_without_any_thread_is_refused(void **state)
{
    (void)state;
    struct job job = {.task = {.run = record_job}};
    begin(2, 1);
    failing_threads_fail_at(1);
    assert_int_equal(uvh_thread_pool_submit(&pool, &job.task), UV_EAGAIN);
    assert_int_equal(uvh_thread_pool_read(&pool).pending, 0);
    assert_int_equal(uvh_thread_pool_submit(&pool, &job.task), 0);
    await_idle();
    end();
    assert_int_equal(ran, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_runs_tasks_in_order),
        cmocka_unit_test(release_waits_for_running_tasks),
        cmocka_unit_test(full_queue_refuses_one_more_task),
        cmocka_unit_test(started_pool_accepts_tasks_at_once),
        cmocka_unit_test(threads_are_created_on_demand),
        cmocka_unit_test(zero_queue_accepts_tasks_for_new_threads),
        cmocka_unit_test(failed_thread_creation_uses_existing_thread),
        cmocka_unit_test(failed_start_leaves_no_thread),
        cmocka_unit_test(task_without_any_thread_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
