/* Blocking handlers in states that need control over the loop: allocation failures while a handler
 * waits for buffer space, messages that arrive while a worker stops, and responses that cannot be
 * completed. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "h1/h1.h"
#include "platform/socket.h"
#include "server/accept.h"
#include "server/exchange.h"
#include "server/server.h"
#include "support/stage.h"

enum { LARGE = 5 << 18, CHUNK = 1 << 20, SMALL_BUFFER = 4096, LARGER_BUFFER = 1 << 17 };

static struct stage stage;
static struct raw_client client;
static uvhttp_response_t *loop_response; /* the loop's response object of the last request */
static atomic_int first_result, second_result, ended;
static uv_sem_t gate;

/* ---- handlers ---- */

static int change_status(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const char *status = uvhttp_request_query(request, "status");
    (void)arg;
    return status == NULL ? 0 : uvhttp_response_set_status(response, (int)strtol(status, NULL, 10));
}

static int add_trailer(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    loop_response = response;
    if (uvhttp_response_on_send(response, change_status, NULL) != 0)
        return UVHTTP_ENOMEM;
    return uvhttp_response_add_trailer(response, "X-First", "1") == 0 ? UVHTTP_DECLINED
                                                                      : UVHTTP_ENOMEM;
}

struct source {
    size_t left;
    int result; /* returned after the last byte */
};

static int pull(uvhttp_response_t *response, char *buffer, size_t size, size_t *length, void *arg)
{
    struct source *source = arg;
    (void)response;
    *length = source->left < size ? source->left : size;
    memset(buffer, 'x', *length);
    source->left -= *length;
    return source->left > 0 ? 0 : source->result;
}

static int send_hints(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    int err = uvhttp_response_set_header(response, "Link", "</a.css>");
    if (err == 0)
        err = uvhttp_response_send_early_hints(response);
    return err == 0 ? uvhttp_response_send_text(response, 200, "page") : err;
}

static int send_pulled(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    struct source source = {
        LARGE, uvhttp_request_query(request, "fail") == NULL ? UVHTTP_END : UVHTTP_ETRUNCATED};
    (void)arg;
    int err = uvhttp_response_send_pulled(response, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN, pull,
                                          NULL, &source);
    if (uvhttp_request_query(request, "gate") != NULL)
        uv_sem_wait(&gate);
    atomic_store(&first_result, err);
    atomic_store(&second_result, source.left < LARGE);
    atomic_store(&ended, 1);
    return err;
}

static int hide(uvhttp_response_t *response, uvhttp_filter_event_t event, const void *data,
                size_t size, uvhttp_filter_output_t *output, void *arg)
{
    (void)response, (void)event, (void)data, (void)arg;
    return size == 0 ? 0 : uvhttp_filter_output_append(output, "hidden", 6);
}

static int set_hiding(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    return uvhttp_response_filter(response, hide, NULL, arg);
}

static int send_hidden(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    int err = uvhttp_response_on_send(response, set_hiding, arg);
    if (err == 0)
        err = uvhttp_response_begin(response, 204, NULL, UVHTTP_LENGTH_UNKNOWN);
    if (err == 0)
        err = uvhttp_response_write(response, "secret", 6);
    return err != 0 ? err : uvhttp_response_end(response);
}

static int send_over_limit(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    uvhttp_response_limit_body(response, 4);
    int err = uvhttp_response_begin(response, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN);
    if (err != 0)
        return err;
    atomic_store(&first_result, uvhttp_response_write(response, "12345", 5));
    atomic_store(&second_result, uvhttp_response_write(response, "1", 1));
    atomic_store(&ended, 1);
    return 0;
}

static char chunk[CHUNK];

/* Writes until an error, and once more. */
static int write_until_error(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    int err = uvhttp_response_begin(response, 200, "text/plain", (uint64_t)1 << 40);
    while (err == 0)
        err = uvhttp_response_write(response, chunk, sizeof(chunk));
    atomic_store(&first_result, err);
    atomic_store(&second_result, uvhttp_response_write(response, chunk, sizeof(chunk)));
    atomic_store(&ended, 1);
    return err;
}

static int send_event_at_gate(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    static const uvhttp_sse_event_t event = {.data = {"x", 1}};
    int err = uvhttp_response_begin_events(response);
    uv_sem_wait(&gate);
    if (err == 0)
        err = uvhttp_response_send_event(response, &event);
    atomic_store(&first_result, err);
    atomic_store(&ended, 1);
    return err != 0 ? err : uvhttp_response_end(response);
}

static int wait_at_gate(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    uv_sem_wait(&gate);
    atomic_store(&first_result, uvhttp_response_send_text(response, 200, "late"));
    atomic_store(&ended, 1);
    return 0;
}

/* Runs until the client has shut down its sending side. */
static int wait_for_peer_end(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    bool before = uvhttp_response_peer_ended(response);
    uv_sem_post(&gate);
    while (!uvhttp_response_peer_ended(response))
        sched_yield();
    atomic_store(&first_result, before);
    atomic_store(&second_result, uvhttp_response_on_peer_end(response, NULL, NULL));
    int err = uvhttp_response_send_text(response, 200, "cut short");
    atomic_store(&ended, 1);
    return err;
}

static int send_hello(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "hello");
}

static uvhttp_static_t *files;

/* Calls the static handler from a blocking handler. */
static int serve_file(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    uvhttp_handler_cb handler = uvhttp_request_query(request, "upload") != NULL
                                    ? uvhttp_static_handle_upload
                                    : uvhttp_static_handle_request;
    (void)arg;
    int err = handler(request, response, files);
    atomic_store(&first_result, err);
    atomic_store(&ended, 1);
    return err;
}

/* ---- setup and teardown ---- */

/* A drain timeout of 0 means the default. */
static void begin_with(size_t drain_timeout)
{
    static const uvhttp_route_t routes[] = {
        {.pattern = "/pulled", .handler = send_pulled, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/hidden", .handler = send_hidden, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/hints", .handler = send_hints, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/limited", .handler = send_over_limit, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/pieces", .handler = write_until_error, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/events", .handler = send_event_at_gate, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/compute", .handler = wait_for_peer_end, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/gate",
         .handler = wait_at_gate,
         .handler_timeout = 1,
         .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/files/*", .handler = serve_file, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/", .handler = send_hello, .flags = UVHTTP_ROUTE_BLOCKING},
    };
    stage_begin(&stage);
    loop_response = NULL;
    atomic_store(&first_result, 0);
    atomic_store(&second_result, 0);
    atomic_store(&ended, 0);
    stage.config->event_heartbeat = 1;
    if (drain_timeout != 0)
        stage.config->drain_timeout = drain_timeout;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_use(stage.server, add_trailer, NULL), 0);
    for (size_t i = 0; i < UVH_COUNT_OF(routes); i++)
        assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server), &routes[i]), 0);
    stage_listen(&stage);
    stage_shrink_send_buffer(&stage, SMALL_BUFFER);
    raw_client_connect(&client, uvhttp_server_port(stage.server), SMALL_BUFFER);
}

static void begin(void)
{
    begin_with(0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void end_files(void)
{
    raw_client_close(&client, false);
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    uvhttp_static_free(files);
    stage_end(&stage);
}

static void send_request(const char *target)
{
    char request[128];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", target);
    raw_client_send_text(&client, request);
}

static bool has_ended(void *arg)
{
    (void)arg;
    return atomic_load(&ended) != 0;
}

/* ---- pulled bodies, and bodies that cannot be completed ---- */

static void pulled_large_body_is_complete(void **state)
{
    (void)state;
    size_t offset = 0;
    struct raw_response response;
    begin();
    send_request("/pulled");
    assert_int_equal(stage_drive_responses(&stage, &client, LARGE, 1), 1);
    assert_true(raw_client_response(&client, &offset, false, &response));
    assert_int_equal(response.body_length, LARGE);
    assert_int_equal(atomic_load(&first_result), 0);
    /* Fields that middleware has added are sent, too. */
    static const char last[] = "\r\n0\r\nX-First: 1\r\n\r\n";
    assert_memory_equal(client.data + client.received - strlen(last), last, strlen(last));
    end();
}

/* Whether there is a body depends on the status that is sent, not on that of the handler. */
static void hook_decides_about_body_of_blocking_handler(void **state)
{
    (void)state;
    size_t offset = 0;
    struct raw_response response;
    begin();
    send_request("/hidden?status=200");
    assert_int_equal(stage_drive_responses(&stage, &client, LARGE, 1), 1);
    assert_true(raw_client_response(&client, &offset, false, &response));
    assert_int_equal(response.status, 200);
    assert_int_equal(response.body_length, 6);
    assert_memory_equal(response.body, "hidden", 6);
    send_request("/pulled?status=204");
    assert_int_equal(stage_drive_responses(&stage, &client, LARGE, 2), 2);
    assert_true(raw_client_response(&client, &offset, true, &response));
    assert_int_equal(response.status, 204);
    stage_drive(&stage, &client, 0, has_ended, NULL);
    end();
    assert_int_equal(atomic_load(&first_result), 0);
    assert_int_equal(atomic_load(&second_result), 0); /* nothing was pulled */
}

static bool has_page(void *arg)
{
    (void)arg;
    return client.received > 4 && memcmp(client.data + client.received - 4, "page", 4) == 0;
}

static void early_hints_precede_the_response(void **state)
{
    (void)state;
    static const char hints[] = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK";
    begin();
    send_request("/hints");
    stage_drive(&stage, &client, LARGE, has_page, NULL);
    assert_true(client.received > sizeof(hints));
    assert_memory_equal(client.data, hints, strlen(hints));
    end();
}

static void failing_pull_source_closes_connection(void **state)
{
    (void)state;
    begin();
    send_request("/pulled?fail=1");
    stage_drive_to_end(&stage, &client, LARGE);
    assert_true(client.received > CHUNK / 2);
    assert_memory_not_equal(client.data + client.received - 5, "0\r\n\r\n", 5);
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    send_request("/");
    assert_int_equal(stage_drive_responses(&stage, &client, LARGE, 1), 1);
    end();
}

/* The client need not wait for the end of the handler. */
static void failing_pull_source_closes_connection_at_once(void **state)
{
    (void)state;
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    begin();
    send_request("/pulled?fail=1&gate=1");
    stage_drive_to_end(&stage, &client, LARGE);
    bool before = atomic_load(&ended) == 0;
    uv_sem_post(&gate);
    end();
    uv_sem_destroy(&gate);
    assert_true(before);
}

static void body_over_handler_limit_closes_connection(void **state)
{
    (void)state;
    begin();
    send_request("/limited");
    stage_drive_to_end(&stage, &client, LARGE);
    end();
    assert_int_equal(atomic_load(&first_result), UVHTTP_ETOOLARGE);
    assert_int_equal(atomic_load(&second_result), UVHTTP_EDISCONNECTED);
}

/* ---- waiting for buffer space ---- */

static bool waits_for_drain(void *arg)
{
    (void)arg;
    return loop_response != NULL && loop_response->wants_drain;
}

/* Less is pending than the larger send buffer takes, which takes a part of the next chunk, too. */
static bool is_almost_sent(void *arg)
{
    (void)arg;
    return uvhttp_response_pending(loop_response) < LARGER_BUFFER / 4;
}

static void enlarge_send_buffer(void)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(uvh_exchange_of_response(loop_response));
    int bytes = LARGER_BUFFER;
    assert_int_equal(
        setsockopt(exchange->h1->conn.socket.fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)), 0);
}

/* The rest of the waiting chunk cannot be stored, so the connection fails in the call that reports
 * buffer space. */
static void connection_error_during_drain_is_reported_once(void **state)
{
    (void)state;
    begin();
    send_request("/pieces");
    raw_client_step(&client, 0);
    stage_drive(&stage, &client, 0, waits_for_drain, NULL);
    stage_drive(&stage, &client, SMALL_BUFFER, is_almost_sent, NULL);
    enlarge_send_buffer();
    fault_heap_arm(&stage.heap, 1, true);
    stage_drive_to_end(&stage, &client, LARGE);
    stage_drive(&stage, &client, 0, has_ended, NULL);
    fault_heap_arm(&stage.heap, 0, false);
    assert_int_equal(atomic_load(&first_result), UVHTTP_EDISCONNECTED);
    assert_int_equal(atomic_load(&second_result), UVHTTP_EDISCONNECTED);
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    send_request("/");
    assert_int_equal(stage_drive_responses(&stage, &client, LARGE, 1), 1);
    end();
}

static bool has_response_or_ended(void *arg)
{
    size_t offset = 0;
    struct raw_response response;
    (void)arg;
    return client.ended || raw_client_response(&client, &offset, false, &response);
}

/* With an allocation failure on either thread the client receives a response or the end of the
 * connection, and nothing leaks. */
static void blocking_handlers_survive_allocation_failures(void **state)
{
    static const char *const targets[] = {"/", "/pulled", "/limited"};
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(targets); i++) {
        bool failed = true;
        for (size_t n = 1; failed && n < 200; n++) {
            begin();
            stage_iterations(&stage, 5);
            fault_heap_arm(&stage.heap, n, false);
            send_request(targets[i]);
            stage_drive(&stage, &client, LARGE, has_response_or_ended, NULL);
            failed = atomic_load(&stage.heap.failures) > 0;
            fault_heap_arm(&stage.heap, 0, false);
            end();
        }
        assert_false(failed);
    }
}

/* ---- late handlers ---- */

static void handler_timeout_closes_connection(void **state)
{
    (void)state;
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    begin();
    send_request("/gate");
    for (int iteration = 0; iteration < 5000 && !client.ended; iteration++) {
        raw_client_step(&client, 1000);
        stage_wait(&stage);
    }
    bool had_ended = client.ended;
    assert_int_equal(uvhttp_server_stats(stage.server)->blocking_handlers.running, 1);
    raw_client_close(&client, false);
    stage_iterations(&stage, 20);
    bool open = uvhttp_server_stats(stage.server)->active_connections > 0;
    uv_sem_post(&gate);
    client.socket = -1;
    stage_drive(&stage, &client, 0, has_ended, NULL);
    end();
    uv_sem_destroy(&gate);
    assert_true(had_ended);
    assert_false(open);
    assert_int_equal(atomic_load(&first_result), UVHTTP_EDISCONNECTED);
}

/* ---- functions for the loop's thread only ---- */

static void static_handler_on_blocking_thread_gets_einval(void **state)
{
    static const char *const targets[] = {"/files/index.html", "/files/none",
                                          "/files/index.html?upload=1"};
    const uvhttp_static_options_t config = {.root = UVHTTP_TESTS_DIR "/../examples/site",
                                            .uploads = true,
                                            .allocator = &stage.heap.allocator};
    uvhttp_static_stats_t stats;
    (void)state;
    begin();
    assert_int_equal(uvhttp_static_new(&files, &config, NULL), 0);
    for (size_t i = 0; i < UVH_COUNT_OF(targets); i++) {
        size_t offset = 0;
        struct raw_response response;
        atomic_store(&first_result, 0);
        client.received = 0;
        send_request(targets[i]);
        assert_int_equal(stage_drive_responses(&stage, &client, LARGE, 1), 1);
        assert_true(raw_client_response(&client, &offset, false, &response));
        assert_int_equal(response.status, 500);
        assert_int_equal(atomic_load(&first_result), UVHTTP_EINVAL);
    }
    assert_int_equal(uvhttp_static_read_stats(files, &stats), 0);
    assert_int_equal(stats.hits + stats.misses + stats.negative_hits, 0);
    end_files();
}

/* ---- clients that shut down ---- */

static void peer_end_visible_to_blocking_handler(void **state)
{
    (void)state;
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    begin();
    send_request("/compute");
    for (int iteration = 0; iteration < 5000 && uv_sem_trywait(&gate) != 0; iteration++) {
        raw_client_step(&client, 1000);
        stage_wait(&stage);
    }
    raw_client_end_sending(&client);
    assert_int_equal(stage_drive_responses(&stage, &client, LARGE, 1), 1);
    end();
    uv_sem_destroy(&gate);
    assert_int_equal(atomic_load(&first_result), false);
    assert_int_equal(atomic_load(&second_result), UVHTTP_EINVAL);
}

/* ---- heartbeats ---- */

static bool has_heartbeat(void *arg)
{
    static const char heartbeat[] = "3\r\n:\n\n\r\n";
    (void)arg;
    for (size_t i = 0; i + sizeof(heartbeat) <= client.received + 1; i++) {
        if (memcmp(client.data + i, heartbeat, sizeof(heartbeat) - 1) == 0)
            return true;
    }
    return false;
}

static void blocking_event_stream_sends_heartbeats(void **state)
{
    (void)state;
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    begin();
    send_request("/events");
    for (int iteration = 0; iteration < 5000 && !has_heartbeat(NULL); iteration++) {
        raw_client_step(&client, 1000);
        stage_wait(&stage);
    }
    bool had_one = has_heartbeat(NULL);
    uv_sem_post(&gate);
    end();
    uv_sem_destroy(&gate);
    assert_true(had_one);
}

static void server_stop_ends_blocking_event_stream(void **state)
{
    (void)state;
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    begin_with(1);
    send_request("/events");
    for (int iteration = 0; iteration < 5000 && client.received == 0; iteration++) {
        raw_client_step(&client, 1000);
        stage_wait(&stage);
    }
    uvhttp_server_stop(stage.server);
    stage_drive_to_end(&stage, &client, 1000);
    uv_sem_post(&gate);
    for (int iteration = 0; iteration < 5000 && !has_ended(NULL); iteration++)
        stage_wait(&stage);
    stage_iterations(&stage, 5);
    size_t errors = stage.errors_logged;
    end();
    uv_sem_destroy(&gate);
    assert_int_equal(atomic_load(&first_result), UVHTTP_EDISCONNECTED);
    assert_int_equal(errors, 0);
}

/* ---- the last messages ---- */

static int handed_over = -1;

/* Does what another worker does that has accepted a connection and has not stopped yet. */
static void hand_over(uvhttp_server_t *server, size_t worker, void *arg)
{
    (void)arg;
    assert_int_equal(uvh_accept_take(&uvh_server_of(server)->workers[worker], handed_over, NULL),
                     0);
}

static void post_hand_over(uvhttp_server_t *server, size_t worker, void *arg)
{
    (void)arg;
    assert_int_equal(uvhttp_server_post(server, worker, hand_over, NULL), 0);
}

/* Runs while the server stops. The message it posts is the last one that the worker takes. */
static void post_second_to_last(uvhttp_server_t *server, size_t worker, void *arg)
{
    (void)arg;
    uvhttp_server_stop(server);
    assert_int_equal(uvhttp_server_post(server, worker, post_hand_over, NULL), 0);
}

static void connection_accepted_during_stop_is_served(void **state)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    char response[1024] = "";
    int pair[2];
    (void)state;
    begin();
    raw_client_close(&client, false);
    stage_iterations(&stage, 5);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    handed_over = pair[0];
    assert_int_equal(uvh_socket_make_ours(handed_over), 0);
    assert_int_equal(send(pair[1], request, strlen(request), 0), (ssize_t)strlen(request));
    assert_int_equal(uvhttp_server_post(stage.server, 0, post_second_to_last, NULL), 0);
    ssize_t size = -1;
    for (int iteration = 0; iteration < 2000 && size < 0; iteration++) {
        stage_wait(&stage);
        size = recv(pair[1], response, sizeof(response) - 1, MSG_DONTWAIT);
    }
    assert_true(size > 0);
    assert_memory_equal(response, "HTTP/1.1 200", 12);
    close(pair[1]);
    client.socket = -1;
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pulled_large_body_is_complete),
        cmocka_unit_test(hook_decides_about_body_of_blocking_handler),
        cmocka_unit_test(early_hints_precede_the_response),
        cmocka_unit_test(failing_pull_source_closes_connection),
        cmocka_unit_test(failing_pull_source_closes_connection_at_once),
        cmocka_unit_test(body_over_handler_limit_closes_connection),
        cmocka_unit_test(connection_error_during_drain_is_reported_once),
        cmocka_unit_test(blocking_handlers_survive_allocation_failures),
        cmocka_unit_test(handler_timeout_closes_connection),
        cmocka_unit_test(static_handler_on_blocking_thread_gets_einval),
        cmocka_unit_test(peer_end_visible_to_blocking_handler),
        cmocka_unit_test(blocking_event_stream_sends_heartbeats),
        cmocka_unit_test(server_stop_ends_blocking_event_stream),
        cmocka_unit_test(connection_accepted_during_stop_is_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
