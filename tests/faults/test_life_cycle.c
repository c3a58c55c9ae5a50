/* The life of servers, connections and exchanges, ended at every stage: nothing is left on the loop, on the heap or in the table of
 * descriptors, and every callback runs as often as it is promised. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/stage.h"

static struct stage stage;
static struct raw_client client;

/* ---- handlers ---- */

static int say(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    return uvhttp_response_send_text(response, 200, arg == NULL ? "hello" : arg);
}

static int waiting, aborts;

static void on_abort(uvhttp_response_t *response, void *arg)
{
    assert_ptr_equal(arg, &aborts);
    assert_false(uvhttp_response_open(response));
    assert_int_equal(uvhttp_response_send_text(response, 200, "late"), UVHTTP_EGONE);
    assert_int_equal(uvhttp_response_set_header(response, "X-A", "1"), UVHTTP_EGONE);
    aborts++;
}

static uvhttp_response_t *kept;

static int never(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    waiting++;
    kept = response;
    uvhttp_response_on_abort(response, on_abort, NULL); /* the second call replaces the first */
    uvhttp_response_on_abort(response, on_abort, &aborts);
    return 0;
}

static uv_sem_t gate; /* jobs wait for it */
static int jobs_done, result_of_late_answer;

static void wait_at_gate(void *arg)
{
    uv_sem_wait(arg);
}

static int after_gate(uvhttp_response_t *response, void *arg)
{
    assert_ptr_equal(arg, &gate);
    jobs_done++;
    result_of_late_answer = uvhttp_response_send_text(response, 200, "worked");
    return result_of_late_answer;
}

static int deferred(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    waiting++;
    uvhttp_response_on_abort(response, on_abort, &aborts);
    return uvhttp_response_defer(response, wait_at_gate, after_gate, &gate);
}

/* ---- beginning and ending ---- */

static void begin_unheard(void)
{
    stage_begin(&stage);
    waiting = aborts = jobs_done = result_of_late_answer = 0;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", say, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/never", never, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/deferred", deferred, NULL), 0);
}

static void begin(void)
{
    begin_unheard();
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void ask(struct raw_client *asking, const char *target)
{
    char request[128];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", target);
    raw_client_send_text(asking, request);
}

static void assert_answer(struct raw_client *asked, const char *body)
{
    size_t offset = 0;
    struct raw_answer answer;
    assert_int_equal(stage_drive_answers(&stage, asked, 1000, 1), 1);
    assert_true(raw_client_answer(asked, &offset, false, &answer));
    assert_int_equal(answer.body_length, strlen(body));
    assert_memory_equal(answer.body, body, strlen(body));
    assert_int_equal(offset, asked->received);
    asked->received = 0;
}

static bool is_waiting(void *arg)
{
    (void)arg;
    return waiting > 0;
}

static bool was_told(void *arg)
{
    (void)arg;
    return aborts > 0;
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

/* ---- servers ---- */

static void functions_accept_a_null_server(void **state)
{
    (void)state;
    uvhttp_server_free(NULL);
    assert_null(uvhttp_server_router(NULL));
    assert_int_equal(uvhttp_server_route(NULL, "GET", "/", say, NULL), UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_server_use(NULL, say, NULL), UVHTTP_ENOMEM);
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

static void a_server_that_never_listened_can_be_freed(void **state)
{
    (void)state;
    begin_unheard();
    uvhttp_server_stop(stage.server); /* does nothing before listening */
    assert_int_equal(uvhttp_server_port(stage.server), 0);
    assert_true(uvhttp_server_stats(stage.server)->idle_connections == 0);
    stage_end(&stage);
    begin_unheard();
    assert_int_equal(uvhttp_server_stop_on_signals(stage.server), 0);
    stage_end(&stage);
    begin_unheard(); /* listened in vain */
    assert_int_equal(uvhttp_server_listen(stage.server, "no address", 0), UVHTTP_EINVAL);
    stage_end(&stage);
}

static void a_server_with_a_loop_of_its_own_is_gone_on_return(void **state)
{
    (void)state;
    struct fault_heap heap;
    size_t descriptors = stage_descriptors();
    for (int listens = 0; listens < 2; listens++) {
        uvhttp_config_t *config = uvhttp_config_new();
        fault_heap_init(&heap);
        config->allocator = &heap.allocator;
        uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
        uvhttp_config_free(config);
        assert_non_null(server);
        assert_non_null(uvhttp_server_loop(server));
        if (listens) {
            assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
            assert_int_equal(uvhttp_server_stop_on_signals(server), 0);
            raw_client_connect(&client, uvhttp_server_port(server), 0);
            ask(&client, "/");
            raw_client_step(&client, 0);
            uvhttp_server_stop(server);
            assert_int_equal(uvhttp_server_run(server), 0);
            raw_client_step(&client, 1000); /* it was connected before the stop, so it is answered */
            assert_memory_equal(client.data, "HTTP/1.1 404 ", 13);
            raw_client_close(&client, false);
        }
        uvhttp_server_free(server);
        assert_int_equal(atomic_load(&heap.live), 0);
    }
    assert_int_equal(stage_descriptors(), descriptors);
}

static void several_servers_share_a_loop(void **state)
{
    (void)state;
    enum { SERVERS = 3 };
    static char names[SERVERS][8] = {"one", "two", "three"};
    uvhttp_server_t *servers[SERVERS];
    struct raw_client clients[SERVERS];
    stage_begin(&stage);
    for (int i = 0; i < SERVERS; i++) {
        servers[i] = uvhttp_server_new_with(&stage.loop, stage.config);
        assert_int_equal(uvhttp_server_route(servers[i], "GET", "/", say, names[i]), 0);
        assert_int_equal(uvhttp_server_listen(servers[i], "127.0.0.1", 0), 0);
        raw_client_connect(&clients[i], uvhttp_server_port(servers[i]), 0);
    }
    for (int gone = 0; gone < SERVERS; gone++) { /* those left go on */
        for (int i = gone; i < SERVERS; i++) {
            ask(&clients[i], "/");
            assert_answer(&clients[i], names[i]);
            assert_true(uvhttp_server_stats(servers[i])->total_requests == (uint64_t)gone + 1);
        }
        uvhttp_server_free(servers[gone]);
        stage_drive_to_end(&stage, &clients[gone], 1000);
        raw_client_close(&clients[gone], false);
    }
    stage_end(&stage);
}

static void starting_and_stopping_a_hundred_times_leaves_nothing(void **state)
{
    (void)state;
    size_t descriptors = stage_descriptors();
    stage_begin(&stage);
    for (int round = 0; round < 100; round++) {
        assert_non_null(stage_new_server(&stage));
        assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", say, NULL), 0);
        stage_listen(&stage);
        raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
        ask(&client, "/");
        assert_answer(&client, "hello");
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

static void what_cannot_be_listened_on_is_refused_and_the_next_is_tried(void **state)
{
    (void)state;
    begin_unheard();
    struct stage other;
    stage_begin(&other);
    assert_non_null(stage_new_server(&other));
    stage_listen(&other);
    int taken = uvhttp_server_port(other.server);
    static const struct {
        const char *address;
        int port;
    } wrong[] = {
        {"localhost",   0    },
        {"",            0    },
        {"127.0.0.1:8", 0    },
        {"127.0.0.1",   65536},
        {"127.0.0.1",   -1   },
        {NULL,          0    },
    };
    for (size_t i = 0; i < UVH_COUNT_OF(wrong); i++)
        assert_int_equal(uvhttp_server_listen(stage.server, wrong[i].address, wrong[i].port), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_listen(stage.server, "127.0.0.1", taken), UV_EADDRINUSE);
    assert_int_equal(uvhttp_server_port(stage.server), 0);
    stage_listen(&stage);
    int port = uvhttp_server_port(stage.server);
    assert_int_equal(uvhttp_server_listen(stage.server, "127.0.0.1", 0), 0); /* a second one */
    assert_int_equal(uvhttp_server_port(stage.server), port);
    raw_client_connect(&client, port, 0);
    ask(&client, "/");
    assert_answer(&client, "hello");
    stage_end(&other);
    end();
}

static void a_wrong_configuration_is_refused_when_listening(void **state)
{
    (void)state;
    stage_begin(&stage);
    stage.config->max_connections = 0;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_listen(stage.server, "127.0.0.1", 0), UVHTTP_ECONFIG);
    assert_non_null(strstr(stage.last_error, "max_connections is 0"));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", say, NULL), 0); /* not frozen by that */
    stage_end(&stage);
}

static void routes_are_frozen_by_listening(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/more", say, NULL), UVHTTP_EFROZEN);
    assert_int_equal(uvhttp_server_use(stage.server, say, NULL), UVHTTP_EFROZEN);
    end();
}

/* ---- freeing and stopping with something under way ---- */

static void freeing_with_open_connections_aborts_what_waits(void **state)
{
    (void)state;
    struct raw_client idle, partial;
    begin();
    raw_client_connect(&idle, uvhttp_server_port(stage.server), 0);
    raw_client_connect(&partial, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&partial, "GET / HT");
    raw_client_step(&partial, 0);
    ask(&client, "/never");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    stage_turns(&stage, 5);
    assert_true(uvhttp_server_stats(stage.server)->active_connections == 3);
    free_server();
    assert_int_equal(aborts, 1);
    stage_drive_to_end(&stage, &client, 100);
    stage_drive_to_end(&stage, &idle, 100);
    stage_drive_to_end(&stage, &partial, 100);
    raw_client_close(&idle, false);
    raw_client_close(&partial, false);
    end();
    assert_int_equal(aborts, 1);
}

static void freeing_with_a_job_at_work_waits_for_it(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    stopped = 0;
    uvhttp_server_on_stopped(stage.server, on_stopped, &stopped);
    ask(&client, "/deferred");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    free_server();
    stage_drive_to_end(&stage, &client, 100); /* the connection goes at once */
    stage_turns(&stage, 50);
    assert_int_equal(aborts, 1);
    assert_int_equal(jobs_done, 0);
    assert_int_equal(stopped, 0);
    uv_sem_post(&gate);
    stage_drive(&stage, &client, 100, has_stopped, NULL);
    assert_int_equal(jobs_done, 1);
    assert_int_equal(result_of_late_answer, UVHTTP_EGONE);
    end();
    assert_int_equal(aborts, 1);
    uv_sem_destroy(&gate);
}

static void stopping_lets_what_waits_finish(void **state)
{
    (void)state;
    char value[16];
    struct raw_answer answer;
    size_t offset = 0;
    begin();
    ask(&client, "/never");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    stop();
    stage_turns(&stage, 50);
    assert_int_equal(stopped, 0);
    assert_int_equal(uvhttp_response_send_text(kept, 200, "at last"), 0);
    stage_drive_answers(&stage, &client, 100, 1);
    assert_true(raw_client_answer(&client, &offset, false, &answer));
    assert_true(raw_answer_field(&answer, "Connection", value, sizeof(value)));
    assert_string_equal(value, "close");
    stage_drive_to_end(&stage, &client, 100);
    raw_client_close(&client, false);
    stage_drive(&stage, &client, 100, has_stopped, NULL);
    assert_int_equal(aborts, 0);
    end();
    assert_int_equal(stopped, 1);
}

static void stopping_twice_ends_what_waits(void **state)
{
    (void)state;
    begin();
    ask(&client, "/never");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    stop();
    stage_turns(&stage, 50);
    assert_int_equal(aborts, 0);
    uvhttp_server_stop(stage.server);
    stage_drive(&stage, &client, 100, has_stopped, NULL);
    assert_int_equal(aborts, 1);
    stage_drive_to_end(&stage, &client, 100);
    assert_int_equal(client.received, 0);
    end();
    assert_int_equal(stopped, 1);
    assert_int_equal(aborts, 1);
}

static void signals_stop_and_the_second_one_at_once(void **state)
{
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2; i++) {
        begin();
        assert_int_equal(uvhttp_server_stop_on_signals(stage.server), 0);
        assert_int_equal(uvhttp_server_stop_on_signals(stage.server), 0); /* harmless */
        stopped = 0;
        uvhttp_server_on_stopped(stage.server, on_stopped, &stopped);
        ask(&client, "/never");
        stage_drive(&stage, &client, 100, is_waiting, NULL);
        raise(numbers[i]);
        stage_turns(&stage, 50);
        assert_int_equal(stopped, 0);
        assert_int_equal(aborts, 0);
        raise(numbers[1 - i]);
        stage_drive(&stage, &client, 100, has_stopped, NULL);
        assert_int_equal(aborts, 1);
        end();
    }
}

static void free_in_callback(uvhttp_server_t *server, void *arg)
{
    on_stopped(server, arg);
    uvhttp_server_free(server);
    stage.server = NULL;
}

static void a_server_may_be_freed_when_it_says_that_it_has_stopped(void **state)
{
    (void)state;
    begin();
    ask(&client, "/");
    assert_answer(&client, "hello");
    stopped = 0;
    uvhttp_server_on_stopped(stage.server, free_in_callback, &stopped);
    uvhttp_server_stop(stage.server);
    stage_drive(&stage, &client, 100, has_stopped, NULL);
    assert_null(stage.server);
    assert_int_equal(atomic_load(&stage.heap.live), 0);
    end();
    assert_int_equal(stopped, 1);
}

/* ---- exchanges ---- */

static void abort_is_told_once_when_the_client_resets(void **state)
{
    (void)state;
    begin();
    ask(&client, "/never");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    raw_client_close(&client, true);
    stage_drive(&stage, &client, 100, was_told, NULL);
    stage_turns(&stage, 20);
    assert_true(uvhttp_server_stats(stage.server)->aborted_exchanges == 1);
    assert_true(uvhttp_server_stats(stage.server)->active_connections == 0);
    end();
    assert_int_equal(aborts, 1);
}

static void abort_is_not_told_once_it_is_answered(void **state)
{
    (void)state;
    begin();
    ask(&client, "/never");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    assert_int_equal(uvhttp_response_send_text(kept, 200, "later"), 0);
    assert_answer(&client, "later");
    raw_client_close(&client, true);
    stage_turns(&stage, 20);
    end();
    assert_int_equal(aborts, 0);
}

static void a_job_whose_client_has_gone_is_done_all_the_same(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    ask(&client, "/deferred");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    raw_client_close(&client, true);
    stage_drive(&stage, &client, 100, was_told, NULL);
    assert_int_equal(jobs_done, 0);
    uv_sem_post(&gate);
    for (int turn = 0; turn < STAGE_MOST_TURNS && jobs_done == 0; turn++)
        stage_wait(&stage);
    assert_int_equal(jobs_done, 1);
    assert_int_equal(result_of_late_answer, UVHTTP_EGONE);
    assert_int_equal(stage.errors_logged, 0); /* a client that leaves is no failure */
    end();
    assert_int_equal(aborts, 1);
    uv_sem_destroy(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_accept_a_null_server),
        cmocka_unit_test(a_server_that_never_listened_can_be_freed),
        cmocka_unit_test(a_server_with_a_loop_of_its_own_is_gone_on_return),
        cmocka_unit_test(several_servers_share_a_loop),
        cmocka_unit_test(starting_and_stopping_a_hundred_times_leaves_nothing),
        cmocka_unit_test(what_cannot_be_listened_on_is_refused_and_the_next_is_tried),
        cmocka_unit_test(a_wrong_configuration_is_refused_when_listening),
        cmocka_unit_test(routes_are_frozen_by_listening),
        cmocka_unit_test(freeing_with_open_connections_aborts_what_waits),
        cmocka_unit_test(freeing_with_a_job_at_work_waits_for_it),
        cmocka_unit_test(stopping_lets_what_waits_finish),
        cmocka_unit_test(stopping_twice_ends_what_waits),
        cmocka_unit_test(signals_stop_and_the_second_one_at_once),
        cmocka_unit_test(a_server_may_be_freed_when_it_says_that_it_has_stopped),
        cmocka_unit_test(abort_is_told_once_when_the_client_resets),
        cmocka_unit_test(abort_is_not_told_once_it_is_answered),
        cmocka_unit_test(a_job_whose_client_has_gone_is_done_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
