/* Sockets that are told of by edges: a connection that is read again and again is, and loses nothing by it. This program has system calls of its own
 * between libuv, the server and the system. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "platform/edges.h"
#include "server/server.h"
#include "support/stage.h"

enum {
    OFTEN = 12,      /* requests one after the other, more than it takes */
    BURST = 400,     /* at once, more than the server reads at once */
    BUFFER = 4096,   /* that it reads into */
    LARGE = 4000000, /* more than the sockets hold */
    LITTLE = 16384,  /* of a file leaves at once, although there may be room for more */
    STEP = 1 << 20,
    MOST_WAITS = 2000,
};

#define GET       "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
#define LARGE_GET "GET /large HTTP/1.1\r\nHost: h\r\n\r\n"
#define FILE_GET  "GET /file HTTP/1.1\r\nHost: h\r\n\r\n"

static struct {
    bool refuses_edges;
    bool refuses_levels;
    bool names_otherwise; /* than by numbers, which libuv may do one day */
} system_does;

static size_t edges, levels; /* sockets that were changed to them */
static size_t put_in;        /* sockets that libuv has put into its set */

static struct stage stage;
static struct raw_client client;
static size_t answers; /* of `client` */
static char large[LARGE];
static int file = -1; /* as large */

/* ---- the system calls ---- */

__attribute__((visibility("default"))) /* libuv's calls, too */
int epoll_ctl(int set, int operation, int descriptor, struct epoll_event *event)
{
    put_in += operation == EPOLL_CTL_ADD;
    if (operation == EPOLL_CTL_MOD) { /* libuv takes out and puts in again */
        bool by_edges = (event->events & EPOLLET) != 0;
        *(by_edges ? &edges : &levels) += 1;
        if (by_edges ? system_does.refuses_edges : system_does.refuses_levels) {
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

ssize_t sendfile(int socket, int descriptor, off_t *offset, size_t count)
{
    return syscall(SYS_sendfile, socket, descriptor, offset, count < LITTLE ? count : LITTLE);
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

static int answer_with_file(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_descriptor(response, 200, "text/plain", file, 0, LARGE, NULL, NULL);
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
    edges = levels = 0;
    stage_begin(&stage);
    stage.config->keep_alive_timeout = stage.config->linger_timeout =
        3600; /* whoever was forgotten is not found by them */
    stage.config->max_header_size = stage.config->max_trailer_size = BUFFER / 2;
    stage.config->buffer_size = BUFFER;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", answer, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "POST", "/", answer, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/large", answer_much, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/file", answer_with_file, NULL), 0);
    stage_listen(&stage);
    client.socket = -1;
    connect_client();
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
    memset(&system_does, 0, sizeof(system_does));
}

/* ---- tests ---- */

static void ask_where_sockets_are_named_otherwise(void)
{
    system_does.names_otherwise = true;
    begin();
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
    assert_int_equal(levels, 0);
    end();
}

static void ask_at_once(void)
{
    for (int i = 0; i < BURST; i++)
        raw_client_send_text(&client, GET);
    assert_answered(BURST);
}

static void what_was_not_read_at_once_is_read_later(void **state)
{
    (void)state;
    begin();
    ask_often();
    ask_at_once();
    ask_often();
    assert_int_equal(edges, 1); /* not again for somebody who sends so much */
    assert_int_equal(levels, 1);
    end();
}

static void when_levels_are_refused_libuv_brings_them_back(void **state)
{
    (void)state;
    system_does.refuses_levels = true;
    begin();
    ask_often();
    ask_at_once();
    assert_int_equal(levels, 1);
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
    assert_int_equal(levels, 1);
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
    stage_drive_to_end(&stage, &client, STEP);
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

/* A server that has to wait for room in a socket that is told of by edges. */
static void begin_with_little_room(void)
{
    begin();
    stage_shrink_send_buffer(&stage, 4096);
    connect_client();
    ask_often();
    assert_int_equal(edges, 1);
}

static void ask_for_much(void)
{
    raw_client_send_text(&client, LARGE_GET GET);
    assert_answered(2);
    ask_often();
}

static void ask_for_file(void)
{
    file = memfd_create("large", MFD_CLOEXEC);
    assert_int_equal(ftruncate(file, LARGE), 0);
    raw_client_send_text(&client, FILE_GET GET);
    assert_answered(2);
    close(file);
}

static void who_had_to_wait_stays_with_edges(void **state)
{
    (void)state;
    begin_with_little_room();
    size_t first = put_in;
    ask_for_much();
    assert_int_equal(put_in, first + 1); /* libuv does so to watch both */
    ask_for_much();
    size_t waited = edges;
    ask_often();
    assert_int_equal(edges, waited);
    assert_int_equal(put_in, first + 1);
    assert_int_equal(levels, 0);
    end();
}

static void what_comes_while_the_server_waits_is_answered(void **state)
{
    (void)state;
    begin_with_little_room();
    for (int i = 0; i < 3; i++) {
        raw_client_send_text(&client, LARGE_GET);
        raw_client_step(&client, 0);
        stage_turns(&stage, OFTEN);
        raw_client_send_text(&client, GET);
        raw_client_step(&client, 0);
        stage_turns(&stage, OFTEN);
        assert_answered(2);
    }
    assert_int_equal(levels, 0);
    end();
}

static void the_end_that_comes_while_the_server_waits_is_seen(void **state)
{
    (void)state;
    begin_with_little_room();
    ask_for_much();
    raw_client_send_text(&client, LARGE_GET);
    raw_client_step(&client, 0);
    stage_turns(&stage, OFTEN);
    raw_client_end_sending(&client);
    stage_turns(&stage, OFTEN);
    stage_drive_to_end(&stage, &client, STEP);
    assert_answered(1);
    end();
}

static void a_reset_that_comes_while_the_server_waits_is_seen(void **state)
{
    (void)state;
    begin_with_little_room();
    ask_for_much();
    raw_client_send_text(&client, LARGE_GET);
    raw_client_step(&client, 0);
    stage_turns(&stage, OFTEN);
    raw_client_close(&client, true);
    for (int i = 0; i < MOST_WAITS && uvhttp_server_stats(stage.server)->active_connections > 0; i++)
        stage_wait(&stage);
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, 0);
    end();
}

/* The system says once that there is room, and does not say it again because it was not used up. */
static void room_that_was_left_is_used(void **state)
{
    (void)state;
    begin();
    ask_often();
    for (int i = 0; i < 2; i++)
        ask_for_file();
    end();
}

static void who_has_to_wait_where_edges_are_refused_waits_by_level(void **state)
{
    (void)state;
    for (int before = 0; before < 2; before++) {
        begin_with_little_room();
        if (before > 0)
            ask_for_much();
        system_does.refuses_edges = true;
        ask_for_file();
        ask_often();
        size_t tried = edges;
        ask_for_file();
        assert_int_equal(edges, tried);
        end();
    }
}

static void who_sends_much_after_it_had_to_wait_goes_back_to_levels(void **state)
{
    (void)state;
    begin_with_little_room();
    ask_for_much();
    size_t last = edges;
    ask_at_once();
    ask_for_much();
    assert_int_equal(edges, last);
    end();
}

static bool has_sent_all(void *arg)
{
    (void)arg;
    return client.out_sent == client.out_length;
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
    stage_drive(&stage, &client, STEP, has_sent_all, NULL);
    raw_client_end_sending(&client);
    stage_drive_to_end(&stage, &client, STEP);
    end();
}

static void without_edges_everything_is_answered_as_well(void **state)
{
    (void)state;
    system_does.refuses_edges = true;
    begin();
    ask_often();
    ask_often();
    assert_int_equal(edges, 1); /* tried once */
    ask_at_once();
    assert_int_equal(levels, 0);
    end();
}

/* Somebody else may wait on the descriptors of a loop that was handed over, and would take the events away. */
static void only_loops_of_the_servers_own_have_edges(void **state)
{
    (void)state;
    begin();
    raw_client_close(&client, false);
    uvhttp_server_free(stage.server);
    assert_int_equal(uvhttp_server_listen(stage_new_server(&stage), "127.0.0.1", 0), 0);
    assert_false(uvh_server_of(stage.server)->workers[0].has_edges);
    uvhttp_server_t *own = uvhttp_server_new(NULL);
    assert_int_equal(uvhttp_server_listen(own, "127.0.0.1", 0), 0);
    assert_true(uvh_server_of(own)->workers[0].has_edges);
    uvhttp_server_free(own);
    end();
}

/* recv may stop between two pieces of what was written to another kind of stream (unix(7), SCM_RIGHTS). */
static void only_tcp_has_edges(void **state)
{
    int ends[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(uvh_edges_begin(-1, ends[0]), -EPROTONOSUPPORT);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_names_that_are_known_there_are_no_edges), /* the first */
        cmocka_unit_test(what_is_read_often_is_told_by_edges),
        cmocka_unit_test(what_was_not_read_at_once_is_read_later),
        cmocka_unit_test(when_levels_are_refused_libuv_brings_them_back),
        cmocka_unit_test(a_body_of_many_readings_is_taken),
        cmocka_unit_test(the_end_behind_a_request_is_seen),
        cmocka_unit_test(a_reset_behind_a_request_is_seen),
        cmocka_unit_test(who_had_to_wait_stays_with_edges),
        cmocka_unit_test(what_comes_while_the_server_waits_is_answered),
        cmocka_unit_test(the_end_that_comes_while_the_server_waits_is_seen),
        cmocka_unit_test(a_reset_that_comes_while_the_server_waits_is_seen),
        cmocka_unit_test(room_that_was_left_is_used),
        cmocka_unit_test(who_has_to_wait_where_edges_are_refused_waits_by_level),
        cmocka_unit_test(who_sends_much_after_it_had_to_wait_goes_back_to_levels),
        cmocka_unit_test(a_refused_request_is_followed_to_its_end),
        cmocka_unit_test(without_edges_everything_is_answered_as_well),
        cmocka_unit_test(only_loops_of_the_servers_own_have_edges),
        cmocka_unit_test(only_tcp_has_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
