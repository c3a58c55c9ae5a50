/* Timers, signals and references of an application: they end with the server, whenever that is. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <uvhttp.h>

#include "support/fault_heap.h"
#include "support/stage.h"

enum { WORKERS = 3 };

static struct stage stage;
static int calls, signals, released;

static void count_call(uvhttp_server_t *server, void *arg)
{
    uvhttp_timer_t **timer = arg;
    assert_ptr_equal(server, stage.server);
    if (++calls == 3 && timer != NULL)
        uvhttp_timer_stop(*timer);
}

static void count_release(void *arg)
{
    (void)arg;
    released++;
}

static void count_signal(uvhttp_server_t *server, int number, void *arg)
{
    assert_ptr_equal(server, stage.server);
    assert_ptr_equal(arg, &signals);
    assert_int_equal(number, SIGUSR1);
    signals++;
}

static int send_hello(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_send_text(response, 200, "hello");
}

static void begin(void)
{
    calls = signals = released = 0;
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
}

static void timers_run_until_they_are_stopped(void **state)
{
    uvhttp_timer_t *every, *after;
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_every(stage.server, 1, count_call, &every, &every), 0);
    uvhttp_timer_own(every, count_release);
    stage_listen(&stage);
    while (released < 1)
        stage_wait(&stage);
    assert_int_equal(calls, 3);
    assert_int_equal(uvhttp_server_after(stage.server, 0, count_call, NULL, &after), 0);
    uvhttp_timer_own(after, count_release);
    while (released < 2)
        stage_wait(&stage);
    assert_int_equal(calls, 4);
    stage_end(&stage);
}

/* stage_end checks that no handle and no memory is left. */
static void server_ends_timers_and_signals(void **state)
{
    (void)state;
    for (int listens = 0; listens < 2; listens++) {
        uvhttp_timer_t *timer;
        begin();
        assert_int_equal(uvhttp_server_every(stage.server, 60000, count_call, NULL, &timer), 0);
        uvhttp_timer_own(timer, count_release);
        assert_int_equal(uvhttp_server_after(stage.server, UINT32_MAX, count_call, NULL, NULL), 0);
        assert_int_equal(uvhttp_server_on_signal(stage.server, SIGUSR1, count_signal, &signals), 0);
        if (listens)
            stage_listen(&stage);
        stage_end(&stage);
        assert_int_equal(released, 1);
        assert_int_equal(calls, 0);
    }
}

static void signal_calls_all_its_functions(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_on_signal(stage.server, SIGUSR1, count_signal, &signals), 0);
    assert_int_equal(uvhttp_server_on_signal(stage.server, SIGUSR1, count_signal, &signals), 0);
    assert_int_equal(uvhttp_server_on_signal(stage.server, SIGKILL, count_signal, NULL), UV_EINVAL);
    stage_listen(&stage);
    raise(SIGUSR1);
    while (signals < 2)
        stage_wait(&stage);
    stage_end(&stage);
}

static void invalid_timers_are_rejected(void **state)
{
    uvhttp_timer_t *timer = (uvhttp_timer_t *)(void *)&stage;
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_every(stage.server, 0, count_call, NULL, &timer), UVHTTP_EINVAL);
    assert_null(timer);
    fault_heap_arm(&stage.heap, 1, true);
    assert_int_equal(uvhttp_server_after(stage.server, 1, count_call, NULL, NULL), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_server_on_signal(stage.server, SIGUSR1, count_signal, NULL),
                     UVHTTP_ENOMEM);
    stage_end(&stage);
}

/* ---- references ---- */

static atomic_bool stopping, unreferenced;
static atomic_int posts;

static void on_stopping(uvhttp_server_t *server, void *arg)
{
    (void)server, (void)arg;
    atomic_store(&stopping, true);
}

static void count_post(uvhttp_server_t *server, size_t worker, void *arg)
{
    (void)server, (void)worker, (void)arg;
    atomic_fetch_add(&posts, 1);
}

/* Posts after the stop. */
static void *post_late(void *server)
{
    while (!atomic_load(&stopping))
        sched_yield();
    for (int i = 0; i < 100; i++) {
        sched_yield();
        for (size_t worker = 0; worker < WORKERS; worker++) {
            if (uvhttp_server_post(server, worker, count_post, NULL) != 0)
                abort();
        }
    }
    uvhttp_server_unref(server);
    return NULL;
}

/* `allocator` may be NULL. */
static uvhttp_server_t *new_server(const uvhttp_allocator_t *allocator)
{
    uvhttp_config_t *config = uvhttp_config_new();
    assert_non_null(config);
    config->workers = WORKERS;
    config->drain_timeout = 0;
    config->allocator = allocator;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    atomic_store(&stopping, false);
    atomic_store(&posts, 0);
    assert_int_equal(uvhttp_server_route(server, "GET", "/", send_hello, NULL), 0);
    uvhttp_server_on_stopping(server, on_stopping, NULL);
    return server;
}

/* `runs`: otherwise the server is freed instead. */
static void expect_posts_after_stop(bool runs)
{
    struct fault_heap heap;
    pthread_t threads[2];
    fault_heap_init(&heap);
    uvhttp_server_t *server = new_server(&heap.allocator);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    for (int i = 0; i < 2; i++) {
        uvhttp_server_ref(server);
        assert_int_equal(pthread_create(&threads[i], NULL, post_late, server), 0);
    }
    if (runs) {
        uvhttp_server_stop(server);
        assert_int_equal(uvhttp_server_run(server), 0);
        assert_int_equal(uvhttp_server_post(server, 1, count_post, NULL), UVHTTP_ESTOPPED);
    }
    uvhttp_server_free(server);
    assert_int_equal(atomic_load(&posts), 2 * 100 * WORKERS);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&heap.live), 0);
}

static void server_waits_for_references(void **state)
{
    (void)state;
    expect_posts_after_stop(true);
    expect_posts_after_stop(false);
}

/* Ends after the callback of uvhttp_server_on_stopping. */
static void *post_until_stopping(void *server)
{
    while (!atomic_load(&stopping)) {
        if (uvhttp_server_post(server, 0, count_post, NULL) != UVHTTP_EINVAL)
            abort();
        sched_yield();
    }
    atomic_store(&unreferenced, true);
    uvhttp_server_unref(server);
    return NULL;
}

/* stage_end checks that nothing is leaked. */
static void free_waits_for_references_after_failed_set_up(void **state)
{
    (void)state;
    for (int with_timer = 0; with_timer < 2; with_timer++) {
        pthread_t thread;
        stage_begin(&stage);
        stage.config->max_connections = 0;
        assert_non_null(stage_new_server(&stage));
        atomic_store(&stopping, false);
        atomic_store(&unreferenced, false);
        if (with_timer)
            assert_int_equal(uvhttp_server_every(stage.server, 1, count_call, NULL, NULL), 0);
        uvhttp_server_on_stopping(stage.server, on_stopping, NULL);
        uvhttp_server_ref(stage.server);
        assert_int_equal(pthread_create(&thread, NULL, post_until_stopping, stage.server), 0);
        assert_int_equal(uvhttp_server_listen(stage.server, "127.0.0.1", 0), UVHTTP_ECONFIG);
        uvhttp_server_free(stage.server);
        stage.server = NULL;
        bool waited = atomic_load(&unreferenced);
        atomic_store(&stopping, true);
        pthread_join(thread, NULL);
        assert_true(waited);
        stage_end(&stage);
    }
}

static void *post_and_stop(void *server)
{
    int err;
    while ((err = uvhttp_server_post(server, WORKERS - 1, count_post, NULL)) == UVHTTP_EINVAL)
        sched_yield(); /* it does not listen yet */
    uvhttp_server_stop(server);
    uvhttp_server_unref(server);
    return (void *)(intptr_t)err;
}

static void threads_may_post_while_server_begins_to_listen(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        pthread_t thread;
        void *result;
        uvhttp_server_t *server = new_server(NULL);
        uvhttp_server_ref(server);
        assert_int_equal(pthread_create(&thread, NULL, post_and_stop, server), 0);
        assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
        assert_int_equal(uvhttp_server_run(server), 0);
        uvhttp_server_free(server);
        pthread_join(thread, &result);
        assert_null(result);
        assert_int_equal(atomic_load(&posts), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_run_until_they_are_stopped),
        cmocka_unit_test(server_ends_timers_and_signals),
        cmocka_unit_test(signal_calls_all_its_functions),
        cmocka_unit_test(invalid_timers_are_rejected),
        cmocka_unit_test(server_waits_for_references),
        cmocka_unit_test(free_waits_for_references_after_failed_set_up),
        cmocka_unit_test(threads_may_post_while_server_begins_to_listen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
