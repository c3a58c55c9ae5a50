/* The thread pool: order, the limit of its queue, its counters, and threads that cannot be
 * created. Threads are created by this file's uv_thread_create, which the library calls instead
 * of libuv's. */
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

struct order {
    struct uvh_task task;
    int number;
};

static struct uvh_thread_pool pool;
static uv_sem_t started, gate;
static atomic_int ran;
static int numbers[TASKS];

static void note(struct uvh_task *task)
{
    struct order *order = UVH_CONTAINER_OF(task, struct order, task);
    numbers[atomic_fetch_add(&ran, 1)] = order->number;
}

static void wait_at_gate(struct uvh_task *task)
{
    (void)task;
    uv_sem_post(&started);
    uv_sem_wait(&gate);
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
    static struct order orders[TASKS];
    begin(1, TASKS);
    assert_int_equal(uvh_thread_pool_start(&pool), 0);
    for (int i = 0; i < TASKS; i++) {
        orders[i] = (struct order){.task = {.run = note}, .number = i};
        assert_int_equal(uvh_thread_pool_submit(&pool, &orders[i].task), 0);
    }
    await_idle();
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(numbers[i], i);
    end();
    assert_int_equal(ran, TASKS);
}

static void release_runs_what_is_running_to_its_end(void **state)
{
    (void)state;
    struct uvh_task blocked = {.run = wait_at_gate};
    begin(2, 1);
    assert_int_equal(uvh_thread_pool_start(&pool), 0);
    assert_int_equal(uvh_thread_pool_submit(&pool, &blocked), 0);
    uv_sem_wait(&started);
    uv_sem_post(&gate);
    end();
}

/* `started`: all threads are there from the beginning; else they are created one by one. */
static void fill(bool threads_first)
{
    struct uvh_task blocked[3] = {
        {.run = wait_at_gate}, {.run = wait_at_gate}, {.run = wait_at_gate}};
    struct order more[3] = {
        {.task = {.run = note}}, {.task = {.run = note}}, {.task = {.run = note}}};
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

/* The threads of a pool that has just been started may not have come to their first wait yet. */
static void started_pool_takes_tasks_at_once(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct order orders[5];
        begin(4, 1);
        assert_int_equal(uvh_thread_pool_start(&pool), 0);
        for (int i = 0; i < 5; i++) {
            orders[i] = (struct order){.task = {.run = note}};
            assert_int_equal(uvh_thread_pool_submit(&pool, &orders[i].task), 0);
        }
        await_idle();
        end();
        assert_int_equal(ran, 5);
    }
}

static void threads_are_created_when_needed(void **state)
{
    (void)state;
    struct order order = {.task = {.run = note}};
    begin(16, 1);
    assert_int_equal(failing_threads_created(), 0);
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(uvh_thread_pool_submit(&pool, &order.task), 0);
        await_idle();
    }
    assert_int_equal(failing_threads_created(), 1);
    end();
    assert_int_equal(ran, TASKS);
}

/* A thread that may be created takes a task, so even without a queue each of them gets one. */
static void empty_queue_takes_tasks_for_new_threads(void **state)
{
    (void)state;
    struct uvh_task blocked[2] = {{.run = wait_at_gate}, {.run = wait_at_gate}};
    struct order refused = {.task = {.run = note}};
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

static void existing_thread_runs_tasks_when_no_other_can_be_created(void **state)
{
    (void)state;
    struct uvh_task blocked = {.run = wait_at_gate};
    struct order order = {.task = {.run = note}};
    begin(2, 1);
    assert_int_equal(uvh_thread_pool_submit(&pool, &blocked), 0);
    uv_sem_wait(&started);
    failing_threads_fail_at(1);
    assert_int_equal(uvh_thread_pool_submit(&pool, &order.task), 0);
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

static void task_is_refused_when_there_can_be_no_thread(void **state)
{
    (void)state;
    struct order order = {.task = {.run = note}};
    begin(2, 1);
    failing_threads_fail_at(1);
    assert_int_equal(uvh_thread_pool_submit(&pool, &order.task), UV_EAGAIN);
    assert_int_equal(uvh_thread_pool_read(&pool).pending, 0);
    assert_int_equal(uvh_thread_pool_submit(&pool, &order.task), 0);
    await_idle();
    end();
    assert_int_equal(ran, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_runs_tasks_in_order),
        cmocka_unit_test(release_runs_what_is_running_to_its_end),
        cmocka_unit_test(full_queue_refuses_one_more_task),
        cmocka_unit_test(started_pool_takes_tasks_at_once),
        cmocka_unit_test(threads_are_created_when_needed),
        cmocka_unit_test(empty_queue_takes_tasks_for_new_threads),
        cmocka_unit_test(existing_thread_runs_tasks_when_no_other_can_be_created),
        cmocka_unit_test(failed_start_leaves_no_thread),
        cmocka_unit_test(task_is_refused_when_there_can_be_no_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
