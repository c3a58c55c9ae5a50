/* Sockets that are told of by edges: a connection that is read again and again is, and loses nothing by it. This program has system calls of its own
 * between libuv, the server and the system. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/socket_watch.h"
#include "support/stage.h"

enum {
    OFTEN = 12,      /* requests one after the other, more than it takes */
    BURST = 3000,    /* at once, more than the server reads at once */
    LARGE = 4000000, /* more than the sockets hold */
    STEP = 1 << 20,
    MOST_WAITS = 2000,
};

#define GET       "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
#define LARGE_GET "GET /large HTTP/1.1\r\nHost: h\r\n\r\n"

static struct {
    bool refuses_edges;
    bool names_otherwise; /* than by numbers, which libuv may do one day */
} system_does;

static size_t edges; /* sockets that were changed to them */

static struct stage stage;
static struct raw_client client;
static size_t answers; /* of `client` */
static char large[LARGE];

/* ---- the system calls ---- */

int epoll_ctl(int set, int operation, int descriptor, struct epoll_event *event)
{
    if (operation == EPOLL_CTL_MOD && (event->events & EPOLLET) != 0) {
        edges++;
        if (system_does.refuses_edges) {
            errno = ENOMEM;
            return -1;
        }
    }
    return (int)syscall(SYS_epoll_ctl, set, operation, descriptor, event);
}

/* libuv waits for many events at once; who asks for one looks how they are named. */
int epoll_wait(int set, struct epoll_event *events, int most, int timeout)
{
    int count = (int)syscall(SYS_epoll_pwait, set, events, most, timeout, NULL, 8);
    if (most == 1 && count == 1 && system_does.names_otherwise)
        events[0].data.u64 += 0x10000;
    return count;
}

/* ---- the server ---- */

static int answer(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send(response, 200, "text/plain", "a", 1);
}

static int answer_much(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_borrowed(response, 200, "text/plain", large, LARGE, NULL, NULL);
}

static void connect_client(void)
{
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    answers = 0;
}

/* What was sent so far gets so many answers more. */
static void assert_answered(size_t count)
{
    answers += count;
    assert_int_equal(stage_drive_answers(&stage, &client, STEP, answers), answers);
}

static void ask_often(void)
{
    for (int i = 0; i < OFTEN; i++) {
        raw_client_send_text(&client, GET);
        assert_answered(1);
    }
}

static void begin(void)
{
    memset(&system_does, 0, sizeof(system_does));
    edges = 0;
    stage_begin(&stage);
    stage.config->keep_alive_timeout = 3600; /* whoever was forgotten is not found by it */
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", answer, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "POST", "/", answer, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/large", answer_much, NULL), 0);
    stage_listen(&stage);
    client.socket = -1;
    connect_client();
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

/* ---- tests ---- */

static void ask_where_sockets_are_named_otherwise(void)
{
    begin();
    system_does.names_otherwise = true;
    ask_often();
    assert_int_equal(edges, 0);
    end();
}

/* Looked up once in a process, so this has one of its own, before the others. */
static void without_the_names_that_are_known_there_are_no_edges(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        ask_where_sockets_are_named_otherwise(); /* a failure does not come back from here as 0 */
        _exit(0);
    }
    int status = 0;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void what_is_read_often_is_told_by_edges(void **state)
{
    (void)state;
    begin();
    ask_often();
    assert_int_equal(edges, 1);
    ask_often();
    assert_int_equal(edges, 1);
    end();
}

static void what_was_not_read_at_once_is_read_later(void **state)
{
    (void)state;
    begin();
    ask_often();
    for (int i = 0; i < BURST; i++)
        raw_client_send_text(&client, GET);
    assert_answered(BURST);
    ask_often();
    assert_int_equal(edges, 1); /* not again for somebody who sends so much */
    end();
}

static void a_body_of_many_readings_is_taken(void **state)
{
    static const char head[] = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n";
    (void)state;
    begin();
    ask_often();
    raw_client_send(&client, head, sizeof(head) - 1);
    raw_client_send(&client, large, 500000);
    assert_answered(1);
    ask_often();
    end();
}

static void the_end_behind_a_request_is_seen(void **state)
{
    (void)state;
    begin();
    ask_often();
    raw_client_send_text(&client, GET);
    raw_client_step(&client, STEP);
    raw_client_end_sending(&client); /* both lie there before the server looks */
    for (int i = 0; i < MOST_WAITS && !client.ended; i++) {
        raw_client_step(&client, STEP);
        stage_wait(&stage);
    }
    assert_true(client.ended);
    assert_answered(1);
    assert_int_equal(edges, 1);
    end();
}

static void a_reset_behind_a_request_is_seen(void **state)
{
    (void)state;
    begin();
    ask_often();
    raw_client_send_text(&client, GET);
    raw_client_step(&client, STEP);
    raw_client_close(&client, true);
    for (int i = 0; i < MOST_WAITS && uvhttp_server_stats(stage.server)->active_connections > 0; i++)
        stage_wait(&stage);
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, 0);
    end();
}

static void who_had_to_wait_is_told_by_edges_again(void **state)
{
    (void)state;
    begin();
    stage_shrink_send_buffer(&stage, 4096);
    connect_client();
    ask_often();
    assert_int_equal(edges, 1);
    raw_client_send_text(&client, LARGE_GET GET);
    assert_answered(2);
    ask_often();
    assert_int_equal(edges, 2);
    end();
}

/* Debug builds assert that this one is told of by level. */
static void a_refused_request_is_followed_to_its_end(void **state)
{
    (void)state;
    begin();
    ask_often();
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nbad field\r\n\r\n");
    assert_answered(1);
    raw_client_send(&client, large, LARGE); /* thrown away */
    for (int i = 0; i < MOST_WAITS && client.out_sent < client.out_length; i++) {
        raw_client_step(&client, STEP);
        stage_wait(&stage);
    }
    assert_int_equal(client.out_sent, client.out_length);
    raw_client_end_sending(&client);
    stage_drive_to_end(&stage, &client, STEP);
    end();
}

static void without_edges_everything_is_answered_as_well(void **state)
{
    (void)state;
    begin();
    system_does.refuses_edges = true;
    ask_often();
    ask_often();
    assert_int_equal(edges, 1); /* tried once */
    for (int i = 0; i < BURST; i++)
        raw_client_send_text(&client, GET);
    assert_answered(BURST);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_names_that_are_known_there_are_no_edges), /* the first */
        cmocka_unit_test(what_is_read_often_is_told_by_edges),
        cmocka_unit_test(what_was_not_read_at_once_is_read_later),
        cmocka_unit_test(a_body_of_many_readings_is_taken),
        cmocka_unit_test(the_end_behind_a_request_is_seen),
        cmocka_unit_test(a_reset_behind_a_request_is_seen),
        cmocka_unit_test(who_had_to_wait_is_told_by_edges_again),
        cmocka_unit_test(a_refused_request_is_followed_to_its_end),
        cmocka_unit_test(without_edges_everything_is_answered_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
