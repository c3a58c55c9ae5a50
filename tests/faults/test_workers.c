/* Servers with several workers in one process: a failed start is undone, each posted function runs
 * exactly once, and nothing is left on the heap or in the descriptor table, at whatever point the
 * server ends. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>
#include <uv.h>
#include <uvhttp.h>

#include "base/compiler.h"
#include "support/fault_heap.h"
#include "support/raw_client.h"
#include "support/stage.h"

enum { WORKERS = 3, POSTS = 200, MAX_ALLOCATIONS = 400 };

static struct fault_heap heap;
static uvhttp_server_t *server;
static size_t descriptors;
static char last_error[512];
static int failing_thread; /* the n-th uv_thread_create from now on fails; 0: none */

/* Replaces libuv's function. */
int uv_thread_create(uv_thread_t *thread, uv_thread_cb entry, void *arg)
{
    int (*real)(uv_thread_t *, uv_thread_cb, void *);
    *(void **)&real = dlsym(RTLD_NEXT, "uv_thread_create");
    if (failing_thread > 0 && --failing_thread == 0)
        return UV_EAGAIN;
    return real(thread, entry, arg);
}

/* libuv 1.44 leaks the loop's epoll descriptor when it cannot open the other ones. This function
 * closes it. */
int uv_loop_init(uv_loop_t *loop)
{
    int (*real)(uv_loop_t *);
    *(void **)&real = dlsym(RTLD_NEXT, "uv_loop_init");
    struct rlimit usual, enough;
    getrlimit(RLIMIT_NOFILE, &usual);
    enough = usual;
    enough.rlim_cur = usual.rlim_max;
    setrlimit(RLIMIT_NOFILE, &enough);
    size_t before = stage_descriptors();
    setrlimit(RLIMIT_NOFILE, &usual);
    int err = real(loop);
    if (err != 0) {
        setrlimit(RLIMIT_NOFILE, &enough);
        if (stage_descriptors() > before)
            close(uv_backend_fd(loop));
        setrlimit(RLIMIT_NOFILE, &usual);
    }
    return err;
}

static void on_log(uvhttp_log_level_t level, const char *message, void *arg)
{
    (void)arg;
    if (level == UVHTTP_LOG_ERROR)
        snprintf(last_error, sizeof(last_error), "%s", message);
}

static int send_hello(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "hello");
}

static int new_server(size_t workers, struct uv_loop_s *loop)
{
    uvhttp_config_t *config = uvhttp_config_new();
    assert_non_null(config);
    config->workers = workers;
    config->allocator = &heap.allocator;
    config->log = on_log;
    config->drain_timeout = 0;
    server = uvhttp_server_new_with(loop, config);
    uvhttp_config_free(config);
    return server == NULL ? UVHTTP_ENOMEM
                          : uvhttp_server_route(server, "GET", "/", send_hello, NULL);
}

static void begin(void)
{
    uv_loop_t first; /* the first loop of a process opens descriptors that stay open */
    assert_int_equal(uv_loop_init(&first), 0);
    assert_int_equal(uv_loop_close(&first), 0);
    fault_heap_init(&heap);
    descriptors = stage_descriptors();
    last_error[0] = '\0';
}

static void begin_listening(void)
{
    begin();
    assert_int_equal(new_server(WORKERS, NULL), 0);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
}

static void end(void)
{
    uvhttp_server_free(server);
    server = NULL;
    assert_int_equal(atomic_load(&heap.live), 0);
    assert_int_equal(stage_descriptors(), descriptors);
}

static void *run(void *arg)
{
    (void)arg;
    return (void *)(intptr_t)uvhttp_server_run(server);
}

static pthread_t start_running(void)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
    return thread;
}

static int result_of(pthread_t thread)
{
    void *result;
    assert_int_equal(pthread_join(thread, &result), 0);
    return (int)(intptr_t)result;
}

/* ---- failing start ---- */

static void caller_loop_with_several_workers_gets_econfig(void **state)
{
    uv_loop_t loop;
    (void)state;
    begin();
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(new_server(2, &loop), 0);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), UVHTTP_ECONFIG);
    assert_non_null(strstr(last_error, "workers is 2"));
    assert_non_null(strstr(last_error, "server's own loop"));
    uvhttp_server_free(server);
    assert_int_equal(new_server(1, &loop), 0);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    uvhttp_server_free(server);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    server = NULL;
    end();
}

static void listen_without_memory_gets_enomem(void **state)
{
    (void)state;
    int failures = 0;
    begin();
    for (size_t n = 1; n < MAX_ALLOCATIONS; n++) {
        fault_heap_arm(&heap, 0, false);
        assert_int_equal(new_server(WORKERS, NULL), 0);
        fault_heap_arm(&heap, n, false);
        int err = uvhttp_server_listen(server, "127.0.0.1", 0);
        bool failed = atomic_load(&heap.failures) > 0;
        fault_heap_arm(&heap, 0, false);
        if (err != 0) {
            assert_int_equal(err, UVHTTP_ENOMEM);
            assert_int_equal(uvhttp_server_port(server), 0);
            /* memory is available again */
            assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
            failures++;
        }
        end();
        if (!failed)
            break;
    }
    assert_true(failures > 2);
}

static void listen_without_descriptors_gets_emfile(void **state)
{
    struct rlimit usual, few;
    int failures = 0, err;
    (void)state;
    begin();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    few = usual;
    few.rlim_cur = 3;
    do {
        assert_int_equal(new_server(WORKERS, NULL), 0);
        few.rlim_cur++;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        err = uvhttp_server_listen(server, "127.0.0.1", 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
        assert_true(err == 0 || err == UV_EMFILE);
        failures += err != 0;
        end();
    } while (err != 0);
    assert_true(failures > WORKERS);
}

static void thread_start_failure_stops_server(void **state)
{
    (void)state;
    for (int n = 1; n < WORKERS; n++) {
        begin_listening();
        int port = uvhttp_server_port(server);
        failing_thread = n;
        assert_int_equal(uvhttp_server_run(server), UV_EAGAIN);
        failing_thread = 0;
        assert_non_null(strstr(last_error, "cannot start thread"));
        assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), UVHTTP_ESTOPPED);
        uvhttp_server_t *other = server; /* the port is free already */
        assert_int_equal(new_server(1, NULL), 0);
        assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", port), 0);
        uvhttp_server_free(other);
        end();
    }
}

static void port_of_other_server_gets_eaddrinuse(void **state)
{
    (void)state;
    begin_listening();
    uvhttp_server_t *other = server;
    assert_int_equal(new_server(WORKERS, NULL), 0);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", uvhttp_server_port(other)),
                     UV_EADDRINUSE);
    uvhttp_server_free(other);
    end();
}

/* ---- posted functions ---- */

static atomic_int calls;
static int next[WORKERS][2]; /* by worker and poster; each worker writes its own row */

static void count(uvhttp_server_t *from, size_t worker, void *arg)
{
    (void)from;
    (void)worker;
    (void)arg;
    atomic_fetch_add(&calls, 1);
}

static void invalid_posts_are_rejected(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_post(NULL, 0, count, NULL), UVHTTP_ENOMEM);
    assert_int_equal(new_server(WORKERS, NULL), 0);
    assert_int_equal(uvhttp_server_worker_count(server), WORKERS);
    assert_int_equal(uvhttp_server_post(server, 0, count, NULL), UVHTTP_EINVAL); /* not listening */
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    assert_int_equal(uvhttp_server_post(server, WORKERS, count, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_post(server, 0, NULL, NULL), UVHTTP_EINVAL);
    fault_heap_arm(&heap, 1, false);
    assert_int_equal(uvhttp_server_post(server, 0, count, NULL), UVHTTP_ENOMEM);
    fault_heap_arm(&heap, 0, false);
    uvhttp_server_stop(server);
    assert_int_equal(uvhttp_server_run(server), 0);
    for (size_t worker = 0; worker < WORKERS; worker++)
        assert_int_equal(uvhttp_server_post(server, worker, count, NULL), UVHTTP_ESTOPPED);
    end();
}

static void posted_functions_run_at_free_without_run(void **state)
{
    (void)state;
    begin_listening();
    atomic_store(&calls, 0);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(uvhttp_server_post(server, i % WORKERS, count, NULL), 0);
    assert_int_equal(atomic_load(&calls), 0);
    end();
    assert_int_equal(atomic_load(&calls), 10);
}

/* `arg` is the number of the thread times POSTS plus the number of the post. */
static void check_order(uvhttp_server_t *from, size_t worker, void *arg)
{
    int number = (int)(intptr_t)arg;
    int poster = number / POSTS;
    count(from, worker, NULL);
    if (next[worker][poster] > number % POSTS)
        next[worker][poster] = -1;
    if (next[worker][poster] >= 0)
        next[worker][poster] = number % POSTS + 1;
}

static void *post_all(void *arg)
{
    intptr_t accepted = 0;
    for (intptr_t i = 0; i < POSTS; i++)
        accepted += uvhttp_server_post(server, (size_t)i % WORKERS, check_order,
                                       (void *)((intptr_t)arg * POSTS + i)) == 0;
    return (void *)accepted;
}

static void posts_run_in_order_during_stop(void **state)
{
    (void)state;
    pthread_t posters[2];
    for (int round = 0; round < 30; round++) {
        intptr_t accepted = 0;
        begin_listening();
        atomic_store(&calls, 0);
        memset(next, 0, sizeof(next));
        pthread_t running = start_running();
        for (intptr_t i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&posters[i], NULL, post_all, (void *)i), 0);
        if (round % 3 != 0)
            uvhttp_server_stop(server); /* between two posts */
        for (size_t i = 0; i < 2; i++) {
            void *result;
            pthread_join(posters[i], &result);
            accepted += (intptr_t)result;
        }
        if (round % 3 == 0) {
            assert_int_equal(accepted, 2 * POSTS);
            uvhttp_server_stop(server);
        }
        assert_int_equal(result_of(running), 0);
        assert_int_equal(atomic_load(&calls), accepted);
        for (size_t worker = 0; worker < WORKERS; worker++)
            assert_true(next[worker][0] >= 0 && next[worker][1] >= 0);
        end();
    }
}

static int connect_results[WORKERS]; /* result of the call on each worker */

static void on_data(uvhttp_stream_t *stream, char *data, size_t size, void *arg)
{
    (void)stream, (void)data, (void)size, (void)arg;
}

static void on_closed(uvhttp_stream_t *stream, void *arg)
{
    (void)stream, (void)arg;
}

static void on_connected(uvhttp_stream_t *stream, int status, void *arg)
{
    (void)stream, (void)status, (void)arg;
}

static void try_to_connect(uvhttp_server_t *from, size_t worker, void *arg)
{
    static const uvhttp_stream_events_t events = {.data = on_data, .closed = on_closed};
    uvhttp_stream_t *stream;
    connect_results[worker] = uvhttp_stream_connect(from, "127.0.0.1", uvhttp_server_port(from),
                                                    1000, on_connected, &events, NULL, &stream);
    count(from, worker, arg);
}

static void stream_connect_works_on_each_worker(void **state)
{
    (void)state;
    begin_listening();
    atomic_store(&calls, 0);
    pthread_t running = start_running();
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(uvhttp_server_post(server, i, try_to_connect, NULL), 0);
    uvhttp_server_stop(server);
    assert_int_equal(result_of(running), 0);
    assert_int_equal(atomic_load(&calls), WORKERS);
    for (size_t i = 0; i < WORKERS; i++)
        assert_true(connect_results[i] == 0 || connect_results[i] == UVHTTP_ESTOPPED);
    end();
}

/* ---- life of servers ---- */

static int stopped;

static void on_stopped(uvhttp_server_t *from, void *arg)
{
    assert_ptr_equal(from, server);
    assert_true(pthread_equal(*(pthread_t *)arg, pthread_self()));
    stopped++;
}

static void repeated_start_and_stop_leaks_nothing(void **state)
{
    (void)state;
    pthread_t here = pthread_self();
    for (int round = 0; round < 30; round++) {
        struct raw_client client;
        begin_listening();
        stopped = 0;
        uvhttp_server_on_stopped(server, on_stopped, &here);
        raw_client_connect(&client, uvhttp_server_port(server), 0);
        raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        raw_client_step(&client, 0);
        uvhttp_server_stop(server);
        assert_int_equal(uvhttp_server_run(server), 0);
        /* It connected before the stop, so any worker responds. */
        raw_client_step(&client, 1000);
        assert_memory_equal(client.data, "HTTP/1.1 200 ", 13);
        raw_client_close(&client, false);
        assert_int_equal(stopped, 1);
        end();
    }
}

static void workers_without_run_can_be_freed(void **state)
{
    struct raw_client client;
    (void)state;
    begin_listening();
    raw_client_connect(&client, uvhttp_server_port(server), 0); /* to one of the workers */
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    uvhttp_server_free(server);
    raw_client_close(&client, false);
    server = NULL;
    end();
}

static void worker_stats_add_up_to_server_stats(void **state)
{
    uvhttp_stats_t one, all;
    uint64_t requests = 0, connections = 0, latencies = 0;
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_read_stats(NULL, &all), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_server_worker_stats(NULL, 0, &all), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_server_worker_count(NULL), 0);
    assert_true(uvhttp_core_count() >= 1 && uvhttp_core_count() <= UVHTTP_WORKERS_MAX);
    assert_int_equal(new_server(WORKERS, NULL), 0);
    assert_int_equal(uvhttp_server_read_stats(server, &all), 0); /* before listen */
    assert_true(all.total_requests == 0);
    assert_int_equal(uvhttp_server_read_stats(server, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_worker_stats(server, WORKERS, &all), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    pthread_t running = start_running();
    for (int i = 0; i < 30; i++) {
        struct raw_client client;
        raw_client_connect(&client, uvhttp_server_port(server), 0);
        raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        while (!client.ended)
            raw_client_step(&client, 1000);
        raw_client_close(&client, false);
    }
    uvhttp_server_stop(server);
    assert_int_equal(result_of(running), 0);
    for (size_t i = 0; i < WORKERS; i++) {
        assert_int_equal(uvhttp_server_worker_stats(server, i, &one), 0);
        requests += one.total_requests;
        connections += one.total_connections;
        latencies += one.latency.count;
        assert_true(one.active_connections == 0 && one.idle_connections == 0);
    }
    assert_int_equal(uvhttp_server_read_stats(server, &all), 0);
    assert_true(requests == 30 && connections == 30 && latencies == 30);
    assert_true(all.total_requests == 30 && all.total_connections == 30 && all.latency.count == 30);
    assert_true(all.responses_2xx == 30);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(caller_loop_with_several_workers_gets_econfig),
        cmocka_unit_test(listen_without_memory_gets_enomem),
        cmocka_unit_test(listen_without_descriptors_gets_emfile),
        cmocka_unit_test(thread_start_failure_stops_server),
        cmocka_unit_test(port_of_other_server_gets_eaddrinuse),
        cmocka_unit_test(invalid_posts_are_rejected),
        cmocka_unit_test(posted_functions_run_at_free_without_run),
        cmocka_unit_test(posts_run_in_order_during_stop),
        cmocka_unit_test(stream_connect_works_on_each_worker),
        cmocka_unit_test(repeated_start_and_stop_leaks_nothing),
        cmocka_unit_test(workers_without_run_can_be_freed),
        cmocka_unit_test(worker_stats_add_up_to_server_stats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
