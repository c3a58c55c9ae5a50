/* The life of servers: creation, successful and failing listen, several on one loop, one hundred in
 * sequence. Nothing is left on the loop, on the heap or in the descriptor table. */
#include <poll.h>
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

#include "base/compiler.h"
#include "support/stage.h"

static struct stage stage;
static struct raw_client client;

static int send_text(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    return uvhttp_response_send_text(response, 200, arg == NULL ? "hello" : arg);
}

static void begin_without_listening(void)
{
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", send_text, NULL), 0);
}

static void begin(void)
{
    begin_without_listening();
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void send_request(struct raw_client *from, const char *target)
{
    char request[128];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", target);
    raw_client_send_text(from, request);
}

static void assert_response(struct raw_client *client_of_response, const char *body)
{
    size_t offset = 0;
    struct raw_response response;
    assert_int_equal(stage_drive_responses(&stage, client_of_response, 1000, 1), 1);
    assert_true(raw_client_response(client_of_response, &offset, false, &response));
    assert_int_equal(response.body_length, strlen(body));
    assert_memory_equal(response.body, body, strlen(body));
    assert_int_equal(offset, client_of_response->received);
    client_of_response->received = 0;
}

static void free_server(void)
{
    uvhttp_server_free(stage.server);
    stage.server = NULL;
}

static int stopped;

static void on_stopped(uvhttp_server_t *server, void *arg)
{
    assert_ptr_equal(arg, &stopped);
    assert_non_null(server);
    stopped++;
}

static bool has_stopped(void *arg)
{
    (void)arg;
    return stopped > 0;
}

static void stop(void)
{
    stopped = 0;
    uvhttp_server_on_stopped(stage.server, on_stopped, &stopped);
    uvhttp_server_stop(stage.server);
}

static void functions_accept_a_null_server(void **state)
{
    (void)state;
    uvhttp_server_free(NULL);
    assert_null(uvhttp_server_router(NULL));
    assert_int_equal(uvhttp_server_route(NULL, "GET", "/", send_text, NULL), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_server_use(NULL, send_text, NULL), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_server_own(NULL, NULL, NULL), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_server_listen(NULL, "127.0.0.1", 0), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_server_port(NULL), 0);
    assert_int_equal(uvhttp_server_run(NULL), UVHTTP_ENOMEM);
    uvhttp_server_stop(NULL);
    assert_int_equal(uvhttp_server_stop_on_signals(NULL), UVHTTP_ENOMEM);
    assert_null(uvhttp_server_loop(NULL));
    uvhttp_server_on_stopped(NULL, on_stopped, NULL);
    assert_null(uvhttp_server_stats(NULL));
}

static void server_without_listen_can_be_freed(void **state)
{
    (void)state;
    begin_without_listening();
    uvhttp_server_stop(stage.server); /* does nothing before listen */
    assert_int_equal(uvhttp_server_port(stage.server), 0);
    assert_true(uvhttp_server_stats(stage.server)->idle_connections == 0);
    stage_end(&stage);
    begin_without_listening();
    assert_int_equal(uvhttp_server_stop_on_signals(stage.server), 0);
    stage_end(&stage);
    begin_without_listening(); /* with a failed listen */
    assert_int_equal(uvhttp_server_listen(stage.server, "no address", 0), UVHTTP_EINVAL);
    stage_end(&stage);
}

static uvhttp_server_t *new_server_with_own_loop(struct fault_heap *heap)
{
    uvhttp_config_t *config = uvhttp_config_new();
    fault_heap_init(heap);
    config->allocator = &heap->allocator;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    assert_non_null(server);
    return server;
}

static void server_with_own_loop_freed_synchronously(void **state)
{
    (void)state;
    struct fault_heap heap;
    size_t descriptors = stage_descriptors();
    for (int listens = 0; listens < 2; listens++) {
        uvhttp_server_t *server = new_server_with_own_loop(&heap);
        assert_non_null(uvhttp_server_loop(server));
        if (listens) {
            assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
            assert_int_equal(uvhttp_server_stop_on_signals(server), 0);
            raw_client_connect(&client, uvhttp_server_port(server), 0);
            raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
            raw_client_step(&client, 0);
            uvhttp_server_stop(server);
            assert_int_equal(uvhttp_server_run(server), 0);
            /* The client connected before the stop, so it gets a response. */
            raw_client_step(&client, 1000);
            assert_memory_equal(client.data, "HTTP/1.1 404 ", 13);
            raw_client_close(&client, false);
        } else { /* signals have nothing to stop */
            assert_int_equal(uvhttp_server_stop_on_signals(server), 0);
            assert_int_equal(uvhttp_server_run(server), UVHTTP_EINVAL);
        }
        uvhttp_server_free(server);
        assert_int_equal(atomic_load(&heap.live), 0);
    }
    assert_int_equal(stage_descriptors(), descriptors);
}

static void sleep_100_ms(uv_work_t *work)
{
    (void)work;
    (void)poll(NULL, 0, 100);
}

static void set_done(uv_work_t *work, int status)
{
    *(int *)work->data = status == 0;
}

static void own_loop_requests_complete_before_free_returns(void **state)
{
    (void)state;
    struct fault_heap heap;
    int done = 0;
    uv_work_t work = {.data = &done};
    uvhttp_server_t *server = new_server_with_own_loop(&heap);
    assert_int_equal(uv_queue_work(uvhttp_server_loop(server), &work, sleep_100_ms, set_done), 0);
    uvhttp_server_free(server);
    assert_int_equal(done, 1);
    assert_int_equal(atomic_load(&heap.live), 0);
}

/* Memory that the handle may use is not released, and the call does not wait for the handle. */
static void open_user_handle_keeps_own_loop_memory(void **state)
{
    (void)state;
    struct fault_heap heap;
    uv_timer_t timer;
    uvhttp_server_t *server = new_server_with_own_loop(&heap);
    uv_loop_t *loop = uvhttp_server_loop(server);
    assert_int_equal(uv_timer_init(loop, &timer), 0);
    uvhttp_server_free(server);
    assert_int_equal(atomic_load(&heap.live), 1);
    uv_close((uv_handle_t *)&timer, NULL);
    (void)uv_run(loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(loop), 0);
    heap.allocator.release(server, heap.allocator.context);
    assert_int_equal(atomic_load(&heap.live), 0);
}

static void stop_server(uv_timer_t *timer)
{
    uvhttp_server_stop(timer->data);
}

/* An active handle of the user does not keep uvhttp_server_run running. */
static void run_returns_with_active_user_handle(void **state)
{
    (void)state;
    struct fault_heap heap;
    uv_timer_t timer;
    uvhttp_server_t *server = new_server_with_own_loop(&heap);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    assert_int_equal(uv_timer_init(uvhttp_server_loop(server), &timer), 0);
    timer.data = server;
    assert_int_equal(uv_timer_start(&timer, stop_server, 0, 1), 0);
    assert_int_equal(uvhttp_server_run(server), 0);
    assert_true(uv_is_active((uv_handle_t *)&timer));
    assert_int_equal(uvhttp_server_run(server), 0); /* it has stopped */
    uv_close((uv_handle_t *)&timer, NULL);
    uvhttp_server_free(server);
    assert_int_equal(atomic_load(&heap.live), 0);
}

static void several_servers_share_loop(void **state)
{
    (void)state;
    enum { SERVERS = 3 };
    static char names[SERVERS][8] = {"one", "two", "three"};
    uvhttp_server_t *servers[SERVERS];
    struct raw_client clients[SERVERS];
    stage_begin(&stage);
    for (int i = 0; i < SERVERS; i++) {
        servers[i] = uvhttp_server_new_with(&stage.loop, stage.config);
        assert_int_equal(uvhttp_server_route(servers[i], "GET", "/", send_text, names[i]), 0);
        assert_int_equal(uvhttp_server_listen(servers[i], "127.0.0.1", 0), 0);
        raw_client_connect(&clients[i], uvhttp_server_port(servers[i]), 0);
    }
    for (int freed = 0; freed < SERVERS; freed++) { /* the remaining servers are not affected */
        for (int i = freed; i < SERVERS; i++) {
            send_request(&clients[i], "/");
            assert_response(&clients[i], names[i]);
            assert_true(uvhttp_server_stats(servers[i])->total_requests == (uint64_t)freed + 1);
        }
        uvhttp_server_free(servers[freed]);
        stage_drive_to_end(&stage, &clients[freed], 1000);
        raw_client_close(&clients[freed], false);
    }
    stage_end(&stage);
}

static void repeated_start_and_stop_leaks_nothing(void **state)
{
    (void)state;
    size_t descriptors = stage_descriptors();
    stage_begin(&stage);
    for (int round = 0; round < 100; round++) {
        assert_non_null(stage_new_server(&stage));
        assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", send_text, NULL), 0);
        stage_listen(&stage);
        raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
        send_request(&client, "/");
        assert_response(&client, "hello");
        stop();
        stage_drive(&stage, &client, 100, has_stopped, NULL);
        assert_true(uvhttp_server_stats(stage.server)->active_connections == 0);
        assert_int_equal(uvhttp_server_listen(stage.server, "127.0.0.1", 0), UVHTTP_ESTOPPED);
        free_server();
        raw_client_close(&client, false);
        assert_int_equal(atomic_load(&stage.heap.live), 0);
        assert_int_equal(stopped, 1);
    }
    stage_end(&stage);
    assert_int_equal(stage_descriptors(), descriptors);
}

/* The first server has a client in its accept queue, which it serves. */
static void stop_frees_the_address_for_the_same_callback(void **state)
{
    static char new_text[] = "new";
    (void)state;
    for (int with_path = 0; with_path < 2; with_path++) {
        begin();
        struct raw_client second;
        char path[64];
        int port = uvhttp_server_port(stage.server);
        snprintf(path, sizeof(path), "/tmp/uvhttp-life-%d.sock", (int)getpid());
        if (with_path)
            assert_int_equal(uvhttp_server_listen_unix(stage.server, path, 0), 0);
        uvhttp_server_t *next = uvhttp_server_new_with(&stage.loop, stage.config);
        assert_int_equal(uvhttp_server_route(next, "GET", "/", send_text, new_text), 0);
        assert_int_equal(uvhttp_server_listen(next, "127.0.0.1", port), UV_EADDRINUSE);
        send_request(&client, "/");
        raw_client_step(&client, 1000);
        stop();
        assert_int_equal(uvhttp_server_listen(next, "127.0.0.1", port), 0);
        if (with_path)
            assert_int_equal(uvhttp_server_listen_unix(next, path, 0), 0);
        raw_client_connect(&second, port, 0);
        send_request(&second, "/");
        assert_response(&second, new_text);
        assert_response(&client, "hello");
        stage_drive(&stage, &client, 100, has_stopped, NULL);
        assert_int_equal(access(path, F_OK), with_path ? 0 : -1);
        uvhttp_server_free(next);
        stage_drive_to_end(&stage, &second, 1000);
        raw_client_close(&second, false);
        end();
    }
}

static uvhttp_response_t *held;

static int hold(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    held = response;
    return 0;
}

/* Two connections, each with a request that waits for its response: that of `client` is `held`. */
static void begin_drain(struct raw_client *second)
{
    begin_without_listening();
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/hold", hold, NULL), 0);
    stage_listen(&stage);
    struct raw_client *clients[] = {second, &client};
    for (size_t i = 0; i < UVH_COUNT_OF(clients); i++) {
        raw_client_connect(clients[i], uvhttp_server_port(stage.server), 0);
        send_request(clients[i], "/hold");
        raw_client_step(clients[i], 1000);
        stage_iterations(&stage, 3);
    }
    stopped = 0;
    uvhttp_server_on_stopped(stage.server, on_stopped, &stopped);
}

static void end_drain(struct raw_client *second, size_t completed)
{
    uvhttp_drain_result_t result;
    stage_drive(&stage, second, 100, has_stopped, NULL);
    assert_int_equal(stopped, 1);
    assert_int_equal(uvhttp_server_drain_result(stage.server, &result), 0);
    assert_int_equal(result.connections, 2);
    assert_int_equal(result.cut_connections, 2 - completed);
    assert_int_equal(result.responses, completed);
    assert_int_equal(result.aborted, 2 - completed);
    assert_int_equal(result.streams, 0);
    raw_client_close(second, false);
    end();
}

static void second_stop_is_in_the_result_of_the_drain(void **state)
{
    (void)state;
    struct raw_client second;
    uvhttp_drain_result_t result;
    begin_drain(&second);
    assert_int_equal(uvhttp_server_drain_result(stage.server, &result), UVHTTP_EINVAL);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 5);
    assert_int_equal(uvhttp_server_drain_result(stage.server, &result), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_response_send_text(held, 200, "late"), 0);
    assert_response(&client, "late");
    raw_client_close(&client, false);
    stage_iterations(&stage, 5);
    uvhttp_server_stop(stage.server);
    end_drain(&second, 1);
}

/* The last accept empties the queue of the listener. */
static void drain_counts_connections_accepted_at_its_begin(void **state)
{
    enum { QUEUED = 3 };
    static const uvhttp_drain_t times = {.grace = 1, .timeout = 1};
    struct raw_client queued[QUEUED];
    uvhttp_drain_result_t result;
    (void)state;
    begin();
    stopped = 0;
    uvhttp_server_on_stopped(stage.server, on_stopped, &stopped);
    raw_client_close(&client, true);
    stage_iterations(&stage, 5);
    assert_int_equal(uvhttp_server_drain(stage.server, &times), 0);
    uvhttp_server_stop(stage.server); /* immediately */
    for (size_t i = 0; i < QUEUED; i++)
        raw_client_connect(&queued[i], uvhttp_server_port(stage.server), 0);
    stage_drive(&stage, &queued[0], 100, has_stopped, NULL);
    assert_int_equal(uvhttp_server_drain_result(stage.server, &result), 0);
    assert_int_equal(result.connections, QUEUED);
    assert_int_equal(result.cut_connections, QUEUED);
    for (size_t i = 0; i < QUEUED; i++)
        raw_client_close(&queued[i], false);
    end();
}

static void drain_has_times_of_its_own(void **state)
{
    (void)state;
    static const uvhttp_drain_t invalid[] = {{3601, 0, 0}, {0, 2, 1}, {0, 0, 86401}};
    struct raw_client second;
    begin_drain(&second);
    for (size_t i = 0; i < UVH_COUNT_OF(invalid); i++)
        assert_int_equal(uvhttp_server_drain(stage.server, &invalid[i]), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_drain(stage.server, &(uvhttp_drain_t){.timeout = 0}), 0);
    end_drain(&second, 0);
}

static void drain_frees_the_address_for_the_same_callback(void **state)
{
    (void)state;
    begin();
    int port = uvhttp_server_port(stage.server);
    uvhttp_server_t *next = uvhttp_server_new_with(&stage.loop, stage.config);
    assert_int_equal(uvhttp_server_drain(stage.server, &(uvhttp_drain_t){.timeout = 1}), 0);
    assert_int_equal(uvhttp_server_listen(next, "127.0.0.1", port), 0);
    uvhttp_server_free(next);
    end();
}

static void drain_requires_a_running_server(void **state)
{
    (void)state;
    static const uvhttp_drain_t times = {.timeout = 1};
    begin_without_listening();
    assert_int_equal(uvhttp_server_drain(stage.server, &times), UVHTTP_EINVAL);
    stage_end(&stage);
    begin();
    stop();
    stage_drive(&stage, &client, 100, has_stopped, NULL);
    assert_int_equal(uvhttp_server_drain(stage.server, &times), UVHTTP_ESTOPPED);
    end();
}

static void *drain_before_it_listens(void *arg)
{
    static const uvhttp_drain_t times = {.timeout = 1};
    for (int i = 0; i < 1000; i++)
        assert_int_equal(uvhttp_server_drain(arg, &times), UVHTTP_EINVAL);
    return NULL;
}

/* With ThreadSanitizer: another thread does not read what the set-up writes. */
static void drain_during_set_up_gets_einval(void **state)
{
    pthread_t thread;
    (void)state;
    begin_without_listening();
    assert_int_equal(pthread_create(&thread, NULL, drain_before_it_listens, stage.server), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(uvhttp_server_set(stage.server, "drain_timeout", "1"), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    stage_end(&stage);
}

static void listen_succeeds_after_invalid_addresses(void **state)
{
    (void)state;
    begin_without_listening();
    uvhttp_server_t *other = uvhttp_server_new_with(&stage.loop, stage.config);
    assert_int_equal(uvhttp_server_listen(other, "127.0.0.1", 0), 0);
    int used_port = uvhttp_server_port(other);
    static const struct {
        const char *address;
        int port;
    } invalid[] = {
        {"example.com", 0},   {"", 0},           {"127.0.0.1:8", 0},
        {"127.0.0.1", 65536}, {"127.0.0.1", -1}, {NULL, 0},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(invalid); i++)
        assert_int_equal(uvhttp_server_listen(stage.server, invalid[i].address, invalid[i].port),
                         UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_listen(stage.server, "127.0.0.1", used_port), UV_EADDRINUSE);
    assert_int_equal(uvhttp_server_port(stage.server), 0);
    stage_listen(&stage);
    uvhttp_server_free(other);
    int port = uvhttp_server_port(stage.server);
    assert_int_equal(uvhttp_server_listen(stage.server, "127.0.0.1", 0), 0); /* a second address */
    assert_int_equal(uvhttp_server_port(stage.server), port);
    raw_client_connect(&client, port, 0);
    send_request(&client, "/");
    assert_response(&client, "hello");
    end();
}

static void invalid_config_fails_listen_with_econfig(void **state)
{
    (void)state;
    stage_begin(&stage);
    stage.config->max_connections = 0;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_listen(stage.server, "127.0.0.1", 0), UVHTTP_ECONFIG);
    assert_non_null(strstr(stage.last_error, "max_connections is 0"));
    /* the failed call has not frozen the router */
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", send_text, NULL), 0);
    stage_end(&stage);
}

static void emfile_pauses_and_resumes_accept(void **state)
{
    (void)state;
    struct rlimit usual, none;
    begin_without_listening();
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none = usual;
    none.rlim_cur = 3; /* fewer than are open already */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    send_request(&client, "/");
    for (int iteration = 0; iteration < 300; iteration++) {
        raw_client_step(&client, 0);
        stage_iterate(&stage);
    }
    size_t warnings = stage.warnings_logged;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_true(warnings > 0 && warnings < 100); /* it does not retry in every iteration */
    assert_true(uvhttp_server_stats(stage.server)->total_connections == 0);
    assert_response(&client, "hello");
    end();
}

static void listen_freezes_routes(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/more", send_text, NULL),
                     UVHTTP_EFROZEN);
    assert_int_equal(uvhttp_server_use(stage.server, send_text, NULL), UVHTTP_EFROZEN);
    end();
}

static void free_in_callback(uvhttp_server_t *server, void *arg)
{
    on_stopped(server, arg);
    uvhttp_server_free(server);
    stage.server = NULL;
}

static void server_free_in_on_stopped_is_allowed(void **state)
{
    (void)state;
    begin();
    send_request(&client, "/");
    assert_response(&client, "hello");
    stopped = 0;
    uvhttp_server_on_stopped(stage.server, free_in_callback, &stopped);
    uvhttp_server_stop(stage.server);
    stage_drive(&stage, &client, 100, has_stopped, NULL);
    assert_null(stage.server);
    assert_int_equal(atomic_load(&stage.heap.live), 0);
    end();
    assert_int_equal(stopped, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_accept_a_null_server),
        cmocka_unit_test(server_without_listen_can_be_freed),
        cmocka_unit_test(server_with_own_loop_freed_synchronously),
        cmocka_unit_test(own_loop_requests_complete_before_free_returns),
        cmocka_unit_test(open_user_handle_keeps_own_loop_memory),
        cmocka_unit_test(run_returns_with_active_user_handle),
        cmocka_unit_test(several_servers_share_loop),
        cmocka_unit_test(repeated_start_and_stop_leaks_nothing),
        cmocka_unit_test(stop_frees_the_address_for_the_same_callback),
        cmocka_unit_test(second_stop_is_in_the_result_of_the_drain),
        cmocka_unit_test(drain_has_times_of_its_own),
        cmocka_unit_test(drain_counts_connections_accepted_at_its_begin),
        cmocka_unit_test(drain_frees_the_address_for_the_same_callback),
        cmocka_unit_test(drain_requires_a_running_server),
        cmocka_unit_test(drain_during_set_up_gets_einval),
        cmocka_unit_test(listen_succeeds_after_invalid_addresses),
        cmocka_unit_test(invalid_config_fails_listen_with_econfig),
        cmocka_unit_test(emfile_pauses_and_resumes_accept),
        cmocka_unit_test(listen_freezes_routes),
        cmocka_unit_test(server_free_in_on_stopped_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
