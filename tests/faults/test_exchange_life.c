/* The life of exchanges, ended at every stage, by the client, by stopping or freeing the
 * server: every callback runs as often as it is promised, and nothing is left on the loop or on
 * the heap. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
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
    int err = uvhttp_response_send_text(response, 200, arg == NULL ? "hello" : arg);
    assert_false(uvhttp_response_open(response));
    return err;
}

static int waiting, aborts;

static void on_abort(uvhttp_response_t *response, void *arg)
{
    assert_ptr_equal(arg, &aborts);
    assert_false(uvhttp_response_open(response));
    assert_int_equal(uvhttp_response_send_text(response, 200, "late"), UVHTTP_EDISCONNECTED);
    assert_int_equal(uvhttp_response_set_header(response, "X-A", "1"), UVHTTP_EDISCONNECTED);
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

/* What an exchange leaves behind to be put away; lies in its memory. */
struct left_behind {
    uvhttp_response_t *response;
    char text[16];
};

static atomic_int cleaned;
static bool starving; /* nothing is left in the exchange's memory for a job */

static void clean(void *arg)
{
    const struct left_behind *left = arg;
    uv_sem_wait(&gate);
    cleaned += strcmp(left->text, "still there") == 0;
}

static void clean_at_the_end(void *data)
{
    struct left_behind *left = data;
    uvhttp_response_clean_up(left->response, clean, left);
}

static void clean_when_aborted(uvhttp_response_t *response, void *arg)
{
    aborts++;
    while (starving && uvhttp_request_allocate(uvhttp_response_request(response), 16) != NULL)
        continue;
    int before = atomic_load(&cleaned);
    uvhttp_response_clean_up(response, clean, arg);
    assert_int_equal(atomic_load(&cleaned), before + starving);
}

/* Answers when it is asked for "/cleaning?answer". */
static int cleaning(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const char key;
    struct left_behind *left = uvhttp_request_allocate(request, sizeof(*left));
    (void)arg;
    waiting++;
    *left = (struct left_behind){.response = response, .text = "still there"};
    uvhttp_response_on_abort(response, clean_when_aborted, left);
    assert_int_equal(uvhttp_request_attach(request, &key, left, clean_at_the_end), 0);
    if (uvhttp_request_query(request, "answer") == NULL)
        return 0;
    int err = uvhttp_response_send_text(response, 200, "hello");
    uvhttp_response_clean_up(response, clean, left);
    uvhttp_response_clean_up(response, NULL, left);
    return err;
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
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/cleaning", cleaning, NULL), 0);
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
    struct raw_response answer;
    assert_int_equal(stage_drive_responses(&stage, asked, 1000, 1), 1);
    assert_true(raw_client_response(asked, &offset, false, &answer));
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

static void note_freed(void *arg)
{
    ++*(int *)arg;
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
    stage_iterations(&stage, 5);
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
    assert_int_equal(uvhttp_server_own(stage.server, note_freed, &stopped), 0);
    ask(&client, "/deferred");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    free_server();
    stage_drive_to_end(&stage, &client, 100); /* the connection goes at once */
    stage_iterations(&stage, 50);
    assert_int_equal(aborts, 1);
    assert_int_equal(jobs_done, 0);
    assert_int_equal(stopped, 0);
    uv_sem_post(&gate);
    stage_drive(&stage, &client, 100, has_stopped, NULL);
    assert_int_equal(jobs_done, 1);
    assert_int_equal(result_of_late_answer, UVHTTP_EDISCONNECTED);
    end();
    assert_int_equal(aborts, 1);
    uv_sem_destroy(&gate);
}

static void stopping_lets_what_waits_finish(void **state)
{
    (void)state;
    char value[16];
    struct raw_response answer;
    size_t offset = 0;
    begin();
    ask(&client, "/never");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    stop();
    stage_iterations(&stage, 50);
    assert_int_equal(stopped, 0);
    assert_int_equal(uvhttp_response_send_text(kept, 200, "at last"), 0);
    stage_drive_responses(&stage, &client, 100, 1);
    assert_true(raw_client_response(&client, &offset, false, &answer));
    assert_true(raw_response_field(&answer, "Connection", value, sizeof(value)));
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
    stage_iterations(&stage, 50);
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

/* Both calls come before the loop has seen the first. */
static void stopping_twice_in_one_turn_ends_what_waits(void **state)
{
    (void)state;
    begin();
    ask(&client, "/never");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    stop();
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 50);
    assert_int_equal(stopped, 1);
    assert_int_equal(aborts, 1);
    stage_drive_to_end(&stage, &client, 100);
    end();
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
        stage_iterations(&stage, 50);
        assert_int_equal(stopped, 0);
        assert_int_equal(aborts, 0);
        raise(numbers[1 - i]);
        stage_drive(&stage, &client, 100, has_stopped, NULL);
        assert_int_equal(aborts, 1);
        end();
    }
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
    stage_iterations(&stage, 20);
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
    stage_iterations(&stage, 20);
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
    for (int turn = 0; turn < STAGE_MAX_ITERATIONS && jobs_done == 0; turn++)
        stage_wait(&stage);
    assert_int_equal(jobs_done, 1);
    assert_int_equal(result_of_late_answer, UVHTTP_EDISCONNECTED);
    assert_int_equal(stage.errors_logged, 0); /* a client that leaves is no failure */
    end();
    assert_int_equal(aborts, 1);
    uv_sem_destroy(&gate);
}

/* The gate lets all jobs through; `count` have run when the server has ended. */
static void assert_cleaned(int count)
{
    for (int i = 0; i < count; i++)
        uv_sem_post(&gate);
    end();
    assert_int_equal(atomic_load(&cleaned), count);
    uv_sem_destroy(&gate);
}

static void begin_cleaning(void)
{
    begin();
    cleaned = 0;
    starving = false;
    assert_int_equal(uv_sem_init(&gate, 0), 0);
}

static void an_exchange_stays_until_it_has_been_cleaned_up(void **state)
{
    (void)state;
    begin_cleaning();
    ask(&client, "/cleaning?answer");
    assert_answer(&client, "hello");
    ask(&client, "/");
    for (int turn = 0; turn < 20; turn++) {
        raw_client_step(&client, 100);
        stage_iterate(&stage);
    }
    assert_int_equal(client.received,
                     0); /* the next one waits, since memory and connection are still in use */
    uv_sem_post(&gate);
    uv_sem_post(&gate);
    assert_answer(&client, "hello");
    end();
    assert_int_equal(atomic_load(&cleaned), 2);
    uv_sem_destroy(&gate);
}

static void cleaning_up_when_the_client_has_gone(void **state)
{
    (void)state;
    begin_cleaning();
    ask(&client, "/cleaning");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    raw_client_close(&client, true);
    stage_drive(&stage, &client, 100, was_told, NULL);
    assert_cleaned(2);
    assert_int_equal(aborts, 1);
}

static void cleaning_up_when_the_server_is_freed(void **state)
{
    (void)state;
    begin_cleaning();
    ask(&client, "/cleaning");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    free_server();
    assert_cleaned(2);
    assert_int_equal(aborts, 1);
}

static void cleaning_up_without_memory_happens_at_once(void **state)
{
    (void)state;
    begin_cleaning();
    ask(&client, "/cleaning");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    uv_sem_post(&gate);
    uv_sem_post(&gate);
    starving = true;
    fault_heap_arm(&stage.heap, 1, true);
    raw_client_close(&client, true);
    stage_drive(&stage, &client, 100, was_told, NULL);
    fault_heap_arm(&stage.heap, 0, false);
    end();
    assert_int_equal(atomic_load(&cleaned), 2);
    uv_sem_destroy(&gate);
}

static void a_client_that_ends_its_side_is_answered_later_too(void **state)
{
    (void)state;
    begin();
    ask(&client, "/never");
    stage_drive(&stage, &client, 100, is_waiting, NULL);
    raw_client_send_text(&client, "GET / HT"); /* this will never become a request */
    raw_client_step(&client, 0);
    raw_client_end_sending(&client);
    stage_iterations(&stage, 20);
    assert_int_equal(aborts, 0);
    assert_int_equal(uvhttp_response_send_text(kept, 200, "later"), 0);
    assert_answer(&client, "later");
    stage_drive_to_end(&stage, &client, 100);
    end();
    assert_int_equal(aborts, 0);
}

/* More answers than the server collects before it sends, so it notices in the middle of one that
 * nobody is there. */
static void a_client_that_resets_with_requests_at_hand_is_no_failure(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 1600; i++)
        ask(&client, "/");
    for (int step = 0; client.out_sent < client.out_length && step < 100; step++)
        raw_client_step(&client, 0);
    raw_client_close(&client, true);
    stage_iterations(&stage, 20);
    assert_true(uvhttp_server_stats(stage.server)->active_connections == 0);
    assert_int_equal(stage.errors_logged, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(freeing_with_open_connections_aborts_what_waits),
        cmocka_unit_test(freeing_with_a_job_at_work_waits_for_it),
        cmocka_unit_test(stopping_lets_what_waits_finish),
        cmocka_unit_test(stopping_twice_ends_what_waits),
        cmocka_unit_test(stopping_twice_in_one_turn_ends_what_waits),
        cmocka_unit_test(signals_stop_and_the_second_one_at_once),
        cmocka_unit_test(abort_is_told_once_when_the_client_resets),
        cmocka_unit_test(abort_is_not_told_once_it_is_answered),
        cmocka_unit_test(a_job_whose_client_has_gone_is_done_all_the_same),
        cmocka_unit_test(an_exchange_stays_until_it_has_been_cleaned_up),
        cmocka_unit_test(cleaning_up_when_the_client_has_gone),
        cmocka_unit_test(cleaning_up_when_the_server_is_freed),
        cmocka_unit_test(cleaning_up_without_memory_happens_at_once),
        cmocka_unit_test(a_client_that_ends_its_side_is_answered_later_too),
        cmocka_unit_test(a_client_that_resets_with_requests_at_hand_is_no_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
