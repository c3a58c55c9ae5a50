/* net/poller.c under a server: every edge counts, so a connection that misses one would hang. This
 * program has system calls of its own between the server and the system. */
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
#include <unistd.h>

#include <cmocka.h>

#include "conn/conn.h"
#include "server/server.h"
#include "support/stage.h"

enum {
    OFTEN = 12,
    BURST = 400,     /* requests at once, more than the server reads at once */
    BUFFER = 4096,   /* that it reads into */
    LARGE = 4000000, /* more than the sockets hold */
    LITTLE = 16384,  /* bytes of a file leave at once, although there may be space for more */
    STEP = 1 << 20,
    MOST_WAITS = 2000,
};

#define GET       "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
#define LARGE_GET "GET /large HTTP/1.1\r\nHost: h\r\n\r\n"
#define FILE_GET  "GET /file HTTP/1.1\r\nHost: h\r\n\r\n"

static int refuses; /* an errno that epoll_ctl gives for sockets; 0: none */
static size_t added;

static struct stage stage;
static struct raw_client client;
static size_t answers; /* of `client` */
static char large[LARGE];
static int file = -1; /* as large */

/* ---- the system calls ---- */

__attribute__((visibility("default"))) /* libuv's calls, too */
int epoll_ctl(int set, int operation, int descriptor, struct epoll_event *event)
{
    bool socket = operation == EPOLL_CTL_ADD && (event->events & EPOLLET) != 0;
    added += socket;
    if (socket && refuses != 0) {
        errno = refuses;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, set, operation, descriptor, event);
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
    assert_int_equal(stage_drive_responses(&stage, &client, STEP, answers), answers);
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
    added = 0;
    stage_begin(&stage);
    /* A connection that was forgotten is not found by a timeout. */
    stage.config->keep_alive_timeout = stage.config->linger_timeout = 3600;
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
    refuses = 0;
}

static void assert_connections(size_t count)
{
    for (int i = 0;
         i < MOST_WAITS && uvhttp_server_stats(stage.server)->active_connections != count; i++)
        stage_wait(&stage);
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, count);
}

/* ---- tests ---- */

static void socket_is_added_once(void **state)
{
    (void)state;
    begin();
    ask_often();
    ask_often();
    assert_int_equal(added, 1);
    end();
}

static void input_larger_than_the_buffer_is_read_on(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < BURST; i++)
        raw_client_send_text(&client, GET);
    assert_answered(BURST);
    ask_often();
    end();
}

static void large_request_body_is_read_to_its_end(void **state)
{
    static const char head[] = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n";
    (void)state;
    begin();
    raw_client_send(&client, head, sizeof(head) - 1);
    raw_client_send(&client, large, 500000);
    assert_answered(1);
    ask_often();
    end();
}

static void half_close_after_a_request_is_seen(void **state)
{
    (void)state;
    begin();
    ask_often();
    raw_client_send_text(&client, GET);
    raw_client_step(&client, STEP);
    raw_client_end_sending(&client); /* both are there before the server looks */
    stage_drive_to_end(&stage, &client, STEP);
    assert_answered(1);
    end();
}

static void reset_after_a_request_is_seen(void **state)
{
    (void)state;
    begin();
    ask_often();
    raw_client_send_text(&client, GET);
    raw_client_step(&client, STEP);
    raw_client_close(&client, true);
    assert_connections(0);
    end();
}

/* A read stops at urgent data, although more follows. */
static void urgent_data_does_not_hide_what_follows(void **state)
{
    (void)state;
    begin();
    ask_often();
    assert_int_equal(send(client.socket, "GET / HT", 8, 0), 8);
    assert_int_equal(send(client.socket, "!", 1, MSG_OOB), 1);
    static const char rest[] = "TP/1.1\r\nHost: h\r\n\r\n";
    assert_int_equal(send(client.socket, rest, sizeof(rest) - 1, 0), (ssize_t)(sizeof(rest) - 1));
    assert_answered(1);
    end();
}

static void begin_with_small_send_buffer(void)
{
    begin();
    stage_shrink_send_buffer(&stage, 4096);
    connect_client();
    ask_often();
}

static void full_socket_is_written_on(void **state)
{
    (void)state;
    begin_with_small_send_buffer();
    for (int i = 0; i < 2; i++) {
        raw_client_send_text(&client, LARGE_GET GET);
        assert_answered(2);
        ask_often();
    }
    end();
}

static void request_during_a_full_socket_is_answered(void **state)
{
    (void)state;
    begin_with_small_send_buffer();
    for (int i = 0; i < 3; i++) {
        raw_client_send_text(&client, LARGE_GET);
        raw_client_step(&client, 0);
        stage_iterations(&stage, OFTEN);
        raw_client_send_text(&client, GET);
        raw_client_step(&client, 0);
        stage_iterations(&stage, OFTEN);
        assert_answered(2);
    }
    end();
}

static void half_close_during_a_full_socket_is_seen(void **state)
{
    (void)state;
    begin_with_small_send_buffer();
    raw_client_send_text(&client, LARGE_GET);
    raw_client_step(&client, 0);
    stage_iterations(&stage, OFTEN);
    raw_client_end_sending(&client);
    stage_iterations(&stage, OFTEN);
    stage_drive_to_end(&stage, &client, STEP);
    assert_answered(1);
    end();
}

static void reset_during_a_full_socket_is_seen(void **state)
{
    (void)state;
    begin_with_small_send_buffer();
    raw_client_send_text(&client, LARGE_GET);
    raw_client_step(&client, 0);
    stage_iterations(&stage, OFTEN);
    raw_client_close(&client, true);
    assert_connections(0);
    end();
}

/* The system reports space once, and not again because it was not used up. */
static void space_left_by_a_file_is_used(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 2; i++) {
        file = memfd_create("large", MFD_CLOEXEC);
        assert_int_equal(ftruncate(file, LARGE), 0);
        raw_client_send_text(&client, FILE_GET GET);
        assert_answered(2);
        close(file);
    }
    end();
}

static bool has_sent_all(void *arg)
{
    (void)arg;
    return client.out_sent == client.out_length;
}

static void input_after_a_refusal_is_discarded(void **state)
{
    (void)state;
    begin();
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nbad field\r\n\r\n");
    assert_answered(1);
    raw_client_send(&client, large, LARGE);
    stage_drive(&stage, &client, STEP, has_sent_all, NULL);
    raw_client_end_sending(&client);
    stage_drive_to_end(&stage, &client, STEP);
    end();
}

static void refused_socket_is_closed_and_serving_goes_on(void **state)
{
    static const int codes[] = {ENOSPC, ENOMEM};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        begin();
        assert_connections(1);
        size_t warnings = stage.warnings_logged;
        refuses = codes[i];
        struct raw_client refused;
        raw_client_connect(&refused, uvhttp_server_port(stage.server), 0);
        stage_drive_to_end(&stage, &refused, STEP);
        assert_int_equal(refused.received, 0);
        assert_int_equal(stage.warnings_logged, warnings + 1);
        refuses = 0;
        raw_client_close(&refused, false);
        ask_often();
        connect_client();
        ask_often();
        end();
    }
}

/* ---- many sockets at once ---- */

enum { MANY = UVH_POLLER_BATCH + 50 };

static struct raw_client many[MANY];
static size_t served;

static int close_others(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    struct uvh_conn_shared *conns = &uvh_server_of(stage.server)->workers[0].conns;
    struct uvh_list *idle = &conns->timeouts[UVH_CONN_TIMEOUT_IDLE].members;
    (void)request;
    (void)arg;
    served++;
    for (struct uvh_list *link = idle->next, *next = link->next; link != idle;
         link = next, next = link->next) {
        struct uvh_conn *conn = UVH_CONTAINER_OF(link, struct uvh_conn, timeout.link);
        if (conn->owner != NULL) /* the one that asks */
            continue;
        uvh_conn_event_begin(conn);
        uvh_conn_close(conn);
        uvh_conn_event_end(conn);
    }
    return uvhttp_response_send(response, 200, "text/plain", "a", 1);
}

static int count(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    served++;
    return answer(request, response, arg);
}

static void begin_with_many(uvhttp_handler_cb handler)
{
    served = 0;
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", handler, NULL), 0);
    stage_listen(&stage);
    for (size_t i = 0; i < MANY; i++)
        raw_client_connect(&many[i], uvhttp_server_port(stage.server), 0);
    assert_connections(MANY);
    for (size_t i = 0; i < MANY; i++) {
        raw_client_send_text(&many[i], GET);
        raw_client_step(&many[i], 0);
    }
}

static void end_with_many(void)
{
    for (size_t i = 0; i < MANY; i++)
        raw_client_close(&many[i], false);
    stage_end(&stage);
}

static void batch_is_bounded(void **state)
{
    (void)state;
    begin_with_many(count);
    stage_iterate(&stage);
    assert_in_range(served, 1, UVH_POLLER_BATCH);
    for (int i = 0; i < MOST_WAITS && served < MANY; i++)
        stage_wait(&stage);
    assert_int_equal(served, MANY);
    end_with_many();
}

static void connection_closed_by_another_of_its_batch_is_skipped(void **state)
{
    (void)state;
    begin_with_many(close_others);
    for (int i = 0; i < 5; i++)
        stage_wait(&stage);
    assert_int_equal(served, 1);
    assert_connections(1);
    end_with_many();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(socket_is_added_once),
        cmocka_unit_test(input_larger_than_the_buffer_is_read_on),
        cmocka_unit_test(large_request_body_is_read_to_its_end),
        cmocka_unit_test(half_close_after_a_request_is_seen),
        cmocka_unit_test(reset_after_a_request_is_seen),
        cmocka_unit_test(urgent_data_does_not_hide_what_follows),
        cmocka_unit_test(full_socket_is_written_on),
        cmocka_unit_test(request_during_a_full_socket_is_answered),
        cmocka_unit_test(half_close_during_a_full_socket_is_seen),
        cmocka_unit_test(reset_during_a_full_socket_is_seen),
        cmocka_unit_test(space_left_by_a_file_is_used),
        cmocka_unit_test(input_after_a_refusal_is_discarded),
        cmocka_unit_test(refused_socket_is_closed_and_serving_goes_on),
        cmocka_unit_test(batch_is_bounded),
        cmocka_unit_test(connection_closed_by_another_of_its_batch_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
