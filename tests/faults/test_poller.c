/* net/poller.c with a server. Sockets are edge-triggered, so a connection that misses one edge
 * hangs. This program replaces system calls that the server uses. */
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
    BURST = 400,     /* number of pipelined requests, more than the server reads at a time */
    BUFFER = 4096,   /* size of the server's read buffer */
    LARGE = 4000000, /* more than the socket buffers hold */
    /* most bytes of a sendfile call, although the socket may have space for more */
    SENDFILE_MAX = 16384,
    STEP = 1 << 20,
    MAX_WAITS = 2000,
};

#define GET       "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
#define LARGE_GET "GET /large HTTP/1.1\r\nHost: h\r\n\r\n"
#define FILE_GET  "GET /file HTTP/1.1\r\nHost: h\r\n\r\n"

static int epoll_error; /* error of epoll_ctl for sockets; 0: none */
static size_t added;

static struct stage stage;
static struct raw_client client;
static size_t responses; /* of `client` */
static char large[LARGE];
static int file = -1; /* of LARGE bytes */

/* ---- system calls ---- */

__attribute__((visibility("default"))) /* replaces libuv's calls, too */
int epoll_ctl(int set, int operation, int descriptor, struct epoll_event *event)
{
    bool socket = operation == EPOLL_CTL_ADD && (event->events & EPOLLET) != 0;
    added += socket;
    if (socket && epoll_error != 0) {
        errno = epoll_error;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, set, operation, descriptor, event);
}

ssize_t sendfile(int socket, int descriptor, off_t *offset, size_t count_request)
{
    return syscall(SYS_sendfile, socket, descriptor, offset,
                   count_request < SENDFILE_MAX ? count_request : SENDFILE_MAX);
}

/* ---- the server ---- */

static int send_small(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send(response, 200, "text/plain", "a", 1);
}

static int send_large(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_borrowed(response, 200, "text/plain", large, LARGE, NULL, NULL);
}

static int send_file(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_descriptor(response, 200, "text/plain", file, 0, LARGE, NULL, NULL);
}

static void connect_client(void)
{
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    responses = 0;
}

/* Waits for `count` more responses. */
static void assert_responses(size_t count_request)
{
    responses += count_request;
    assert_int_equal(stage_drive_responses(&stage, &client, STEP, responses), responses);
}

static void request_often(void)
{
    for (int i = 0; i < OFTEN; i++) {
        raw_client_send_text(&client, GET);
        assert_responses(1);
    }
}

static void begin(void)
{
    added = 0;
    stage_begin(&stage);
    /* Long timeouts, so that no timeout hides a missed edge. */
    stage.config->keep_alive_timeout = stage.config->linger_timeout = 3600;
    stage.config->max_header_size = stage.config->max_trailer_size = BUFFER / 2;
    stage.config->buffer_size = BUFFER;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", send_small, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "POST", "/", send_small, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/large", send_large, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/file", send_file, NULL), 0);
    stage_listen(&stage);
    client.socket = -1;
    connect_client();
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
    epoll_error = 0;
}

static void assert_connections(size_t count_request)
{
    for (int i = 0;
         i < MAX_WAITS && uvhttp_server_stats(stage.server)->active_connections != count_request;
         i++)
        stage_wait(&stage);
    assert_int_equal(uvhttp_server_stats(stage.server)->active_connections, count_request);
}

/* ---- tests ---- */

static void socket_added_to_epoll_once(void **state)
{
    (void)state;
    begin();
    request_often();
    request_often();
    assert_int_equal(added, 1);
    end();
}

static void input_over_buffer_size_is_read(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < BURST; i++)
        raw_client_send_text(&client, GET);
    assert_responses(BURST);
    request_often();
    end();
}

static void large_request_body_is_read_completely(void **state)
{
    static const char head[] = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n";
    (void)state;
    begin();
    raw_client_send(&client, head, sizeof(head) - 1);
    raw_client_send(&client, large, 500000);
    assert_responses(1);
    request_often();
    end();
}

static void half_close_after_request_detected(void **state)
{
    (void)state;
    begin();
    request_often();
    raw_client_send_text(&client, GET);
    raw_client_step(&client, STEP);
    raw_client_end_sending(&client); /* both arrive before the server reads */
    stage_drive_to_end(&stage, &client, STEP);
    assert_responses(1);
    end();
}

static void reset_after_request_detected(void **state)
{
    (void)state;
    begin();
    request_often();
    raw_client_send_text(&client, GET);
    raw_client_step(&client, STEP);
    raw_client_close(&client, true);
    assert_connections(0);
    end();
}

/* A read stops at urgent data, although more data follows. */
static void data_after_urgent_data_is_read(void **state)
{
    (void)state;
    begin();
    request_often();
    assert_int_equal(send(client.socket, "GET / HT", 8, 0), 8);
    assert_int_equal(send(client.socket, "!", 1, MSG_OOB), 1);
    static const char rest[] = "TP/1.1\r\nHost: h\r\n\r\n";
    assert_int_equal(send(client.socket, rest, sizeof(rest) - 1, 0), (ssize_t)(sizeof(rest) - 1));
    assert_responses(1);
    end();
}

static void begin_with_small_send_buffer(void)
{
    begin();
    stage_shrink_send_buffer(&stage, 4096);
    connect_client();
    request_often();
}

static void full_socket_resumes_writing(void **state)
{
    (void)state;
    begin_with_small_send_buffer();
    for (int i = 0; i < 2; i++) {
        raw_client_send_text(&client, LARGE_GET GET);
        assert_responses(2);
        request_often();
    }
    end();
}

static void request_on_full_socket_gets_response(void **state)
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
        assert_responses(2);
    }
    end();
}

static void half_close_on_full_socket_detected(void **state)
{
    (void)state;
    begin_with_small_send_buffer();
    raw_client_send_text(&client, LARGE_GET);
    raw_client_step(&client, 0);
    stage_iterations(&stage, OFTEN);
    raw_client_end_sending(&client);
    stage_iterations(&stage, OFTEN);
    stage_drive_to_end(&stage, &client, STEP);
    assert_responses(1);
    end();
}

static void reset_on_full_socket_detected(void **state)
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

/* The kernel reports space only once, unless all of it is used. */
static void sendfile_uses_remaining_socket_space(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 2; i++) {
        file = memfd_create("large", MFD_CLOEXEC);
        assert_int_equal(ftruncate(file, LARGE), 0);
        raw_client_send_text(&client, FILE_GET GET);
        assert_responses(2);
        close(file);
    }
    end();
}

static bool has_sent_all(void *arg)
{
    (void)arg;
    return client.out_sent == client.out_length;
}

static void input_after_error_response_is_discarded(void **state)
{
    (void)state;
    begin();
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nbad field\r\n\r\n");
    assert_responses(1);
    raw_client_send(&client, large, LARGE);
    stage_drive(&stage, &client, STEP, has_sent_all, NULL);
    raw_client_end_sending(&client);
    stage_drive_to_end(&stage, &client, STEP);
    end();
}

static void epoll_add_failure_closes_only_that_socket(void **state)
{
    static const int codes[] = {ENOSPC, ENOMEM};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        begin();
        assert_connections(1);
        size_t warnings = stage.warnings_logged;
        epoll_error = codes[i];
        struct raw_client rejected;
        raw_client_connect(&rejected, uvhttp_server_port(stage.server), 0);
        stage_drive_to_end(&stage, &rejected, STEP);
        assert_int_equal(rejected.received, 0);
        assert_int_equal(stage.warnings_logged, warnings + 1);
        epoll_error = 0;
        raw_client_close(&rejected, false);
        request_often();
        connect_client();
        request_often();
        end();
    }
}

/* ---- many sockets in one batch ---- */

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
        if (conn->owner != NULL) /* the connection of this request */
            continue;
        uvh_conn_event_begin(conn);
        uvh_conn_close(conn);
        uvh_conn_event_end(conn);
    }
    return uvhttp_response_send(response, 200, "text/plain", "a", 1);
}

static int count_request(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    served++;
    return send_small(request, response, arg);
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

static void poller_batch_is_limited(void **state)
{
    (void)state;
    begin_with_many(count_request);
    stage_iterate(&stage);
    assert_in_range(served, 1, UVH_POLLER_BATCH);
    for (int i = 0; i < MAX_WAITS && served < MANY; i++)
        stage_wait(&stage);
    assert_int_equal(served, MANY);
    end_with_many();
}

/* What a full batch leaves has waited until the next one. */
static void waiting_time_after_full_batch_is_measured(void **state)
{
    (void)state;
    enum { WAIT_MS = 60, LEAST_MS = 40 }; /* the system's clock for this is coarse */
    begin_with_many(count_request);
    struct uvh_poller *poller = &uvh_server_of(stage.server)->workers[0].conns.poller;
    poller->measures = true;
    while (served == 0)
        stage_iterate(&stage);
    assert_int_equal(poller->reported, UVH_POLLER_BATCH);
    assert_int_equal(poller->waited_ms, 0);
    uint64_t end = uv_hrtime() + (uint64_t)WAIT_MS * 1000000;
    while (uv_hrtime() < end)
        ;
    size_t before = served;
    while (served == before)
        stage_iterate(&stage);
    assert_int_equal(poller->reported, MANY - UVH_POLLER_BATCH);
    assert_true(poller->waited_ms >= LEAST_MS);
    poller->waited_ms = 0;
    raw_client_send_text(&many[0], GET);
    raw_client_step(&many[0], 0);
    while (served < MANY + 1)
        stage_iterate(&stage);
    assert_int_equal(poller->reported, 1);
    assert_int_equal(poller->waited_ms, 0);
    end_with_many();
}

static void connection_closed_within_batch_is_skipped(void **state)
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
        cmocka_unit_test(socket_added_to_epoll_once),
        cmocka_unit_test(input_over_buffer_size_is_read),
        cmocka_unit_test(large_request_body_is_read_completely),
        cmocka_unit_test(half_close_after_request_detected),
        cmocka_unit_test(reset_after_request_detected),
        cmocka_unit_test(data_after_urgent_data_is_read),
        cmocka_unit_test(full_socket_resumes_writing),
        cmocka_unit_test(request_on_full_socket_gets_response),
        cmocka_unit_test(half_close_on_full_socket_detected),
        cmocka_unit_test(reset_on_full_socket_detected),
        cmocka_unit_test(sendfile_uses_remaining_socket_space),
        cmocka_unit_test(input_after_error_response_is_discarded),
        cmocka_unit_test(epoll_add_failure_closes_only_that_socket),
        cmocka_unit_test(poller_batch_is_limited),
        cmocka_unit_test(waiting_time_after_full_batch_is_measured),
        cmocka_unit_test(connection_closed_within_batch_is_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
