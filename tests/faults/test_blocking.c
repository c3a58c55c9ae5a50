/* Handlers that block, in what only a test with the loop in its hands can bring about: memory that
 * runs out while one waits for room, letters that come when a worker is about to end, and answers
 * that cannot be completed. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
static uvhttp_response_t *real; /* the loop's, of the last request */
static atomic_int first_result, second_result, ended;
static uv_sem_t gate;

/* ---- handlers ---- */

static int see(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    real = response;
    return uvhttp_response_add_trailer(response, "X-First", "1") == 0 ? UVHTTP_DECLINED
                                                                      : UVHTTP_ENOMEM;
}

struct source {
    size_t left;
    int result; /* behind the last byte */
};

static int pull(uvhttp_response_t *response, char *buffer, size_t size, size_t *length, void *arg)
{
    struct source *source = arg;
    (void)response;
    *length = source->left < size ? source->left : size;
    memset(buffer, 'x', *length);
    source->left -= *length;
    return *length == 0 ? source->result : 0;
}

static int pulled(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    struct source source = {LARGE,
                            uvhttp_request_query(request, "fail") == NULL ? 0 : UVHTTP_ETRUNCATED};
    (void)arg;
    int err = uvhttp_response_send_pulled(response, 200, "text/plain", UVHTTP_LENGTH_UNKNOWN, pull,
                                          NULL, &source);
    atomic_store(&first_result, err);
    atomic_store(&ended, 1);
    return err;
}

static int limited(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
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

/* Until that fails, and once more. */
static int chunks(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
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

static int events(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
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

/* Goes on until its client has ended its side. */
static int compute(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
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

static int say(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return uvhttp_response_send_text(response, 200, "hello");
}

static uvhttp_static_t *files;

/* The static handler behind one of the program's own. */
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

/* ---- beginning and ending ---- */

/* A drain timeout of 0 stands for the usual one. */
static void begin_with(size_t drain_timeout)
{
    static const uvhttp_route_t routes[] = {
        {.pattern = "/pulled", .handler = pulled, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/limited", .handler = limited, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/pieces", .handler = chunks, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/events", .handler = events, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/compute", .handler = compute, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/gate",
         .handler = wait_at_gate,
         .handler_timeout = 1,
         .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/files/*", .handler = serve_file, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/", .handler = say, .flags = UVHTTP_ROUTE_BLOCKING},
    };
    stage_begin(&stage);
    real = NULL;
    atomic_store(&first_result, 0);
    atomic_store(&second_result, 0);
    atomic_store(&ended, 0);
    stage.config->event_heartbeat = 1;
    if (drain_timeout != 0)
        stage.config->drain_timeout = drain_timeout;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_use(stage.server, see, NULL), 0);
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

static void ask(const char *target)
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

/* ---- bodies that are pulled, and those that cannot be completed ---- */

static void a_large_body_is_pulled_to_its_end(void **state)
{
    (void)state;
    size_t offset = 0;
    struct raw_response answer;
    begin();
    ask("/pulled");
    assert_int_equal(stage_drive_responses(&stage, &client, LARGE, 1), 1);
    assert_true(raw_client_response(&client, &offset, false, &answer));
    assert_int_equal(answer.body_length, LARGE);
    assert_int_equal(atomic_load(&first_result), 0);
    /* What middleware has said goes out, too. */
    static const char last[] = "\r\n0\r\nX-First: 1\r\n\r\n";
    assert_memory_equal(client.data + client.received - strlen(last), last, strlen(last));
    end();
}

static void a_source_that_fails_ends_the_connection(void **state)
{
    (void)state;
    begin();
    ask("/pulled?fail=1");
    stage_drive_to_end(&stage, &client, LARGE);
    assert_true(client.received > CHUNK / 2);
    assert_memory_not_equal(client.data + client.received - 5, "0\r\n\r\n", 5);
    raw_client_close(&client, false);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    ask("/");
    assert_int_equal(stage_drive_responses(&stage, &client, LARGE, 1), 1);
    end();
}

static void a_body_above_the_handlers_own_limit_ends_the_connection(void **state)
{
    (void)state;
    begin();
    ask("/limited");
    stage_drive_to_end(&stage, &client, LARGE);
    end();
    assert_int_equal(atomic_load(&first_result), UVHTTP_ETOOLARGE);
    assert_int_equal(atomic_load(&second_result), UVHTTP_EDISCONNECTED);
}

/* ---- waiting for room ---- */

static bool waits_for_room(void *arg)
{
    (void)arg;
    return real != NULL && real->wants_drain;
}

/* Less is pending than the larger send buffer takes, which takes a part of the next chunk, too. */
static bool is_almost_sent(void *arg)
{
    (void)arg;
    return uvhttp_response_pending(real) < LARGER_BUFFER / 4;
}

static void enlarge_send_buffer(void)
{
    struct uvh_h1_exchange *exchange = uvh_h1_exchange_of(uvh_exchange_of_response(real));
    int bytes = LARGER_BUFFER;
    assert_int_equal(
        setsockopt(exchange->h1->conn.socket.fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)), 0);
}

/* What the socket does not take of the chunk that has waited cannot be stored: the connection
 * breaks in the very call that reports room. */
static void a_connection_that_breaks_when_there_is_room_is_told_once(void **state)
{
    (void)state;
    begin();
    ask("/pieces");
    raw_client_step(&client, 0);
    stage_drive(&stage, &client, 0, waits_for_room, NULL);
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
    ask("/");
    assert_int_equal(stage_drive_responses(&stage, &client, LARGE, 1), 1);
    end();
}

static bool has_answer_or_end(void *arg)
{
    size_t offset = 0;
    struct raw_response answer;
    (void)arg;
    return client.ended || raw_client_response(&client, &offset, false, &answer);
}

/* On either thread: an answer or the connection's end comes all the same, and nothing is left. */
static void memory_may_run_out_at_any_moment(void **state)
{
    static const char *const targets[] = {"/", "/pulled", "/limited"};
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(targets); i++) {
        bool failed = true;
        for (size_t n = 1; failed && n < 200; n++) {
            begin();
            stage_iterations(&stage, 5);
            fault_heap_arm(&stage.heap, n, false);
            ask(targets[i]);
            stage_drive(&stage, &client, LARGE, has_answer_or_end, NULL);
            failed = atomic_load(&stage.heap.failures) > 0;
            fault_heap_arm(&stage.heap, 0, false);
            end();
        }
        assert_false(failed);
    }
}

/* ---- handlers that take too long ---- */

static void its_client_need_not_wait_for_a_handler_that_is_late(void **state)
{
    (void)state;
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    begin();
    ask("/gate");
    for (int turn = 0; turn < 5000 && !client.ended; turn++) {
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

/* ---- what is for the loop's thread ---- */

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
        struct raw_response answer;
        atomic_store(&first_result, 0);
        client.received = 0;
        ask(targets[i]);
        assert_int_equal(stage_drive_responses(&stage, &client, LARGE, 1), 1);
        assert_true(raw_client_response(&client, &offset, false, &answer));
        assert_int_equal(answer.status, 500);
        assert_int_equal(atomic_load(&first_result), UVHTTP_EINVAL);
    }
    assert_int_equal(uvhttp_static_read_stats(files, &stats), 0);
    assert_int_equal(stats.hits + stats.misses + stats.negative_hits, 0);
    end_files();
}

/* ---- clients that end ---- */

static void it_can_ask_whether_its_client_has_ended(void **state)
{
    (void)state;
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    begin();
    ask("/compute");
    for (int turn = 0; turn < 5000 && uv_sem_trywait(&gate) != 0; turn++) {
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

static void its_stream_of_events_has_heartbeats(void **state)
{
    (void)state;
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    begin();
    ask("/events");
    for (int turn = 0; turn < 5000 && !has_heartbeat(NULL); turn++) {
        raw_client_step(&client, 1000);
        stage_wait(&stage);
    }
    bool had_one = has_heartbeat(NULL);
    uv_sem_post(&gate);
    end();
    uv_sem_destroy(&gate);
    assert_true(had_one);
}

static void its_stream_of_events_is_gone_when_the_server_stops(void **state)
{
    (void)state;
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    begin_with(1);
    ask("/events");
    for (int turn = 0; turn < 5000 && client.received == 0; turn++) {
        raw_client_step(&client, 1000);
        stage_wait(&stage);
    }
    uvhttp_server_stop(stage.server);
    stage_drive_to_end(&stage, &client, 1000);
    uv_sem_post(&gate);
    for (int turn = 0; turn < 5000 && !has_ended(NULL); turn++)
        stage_wait(&stage);
    stage_iterations(&stage, 5);
    size_t errors = stage.errors_logged;
    end();
    uv_sem_destroy(&gate);
    assert_int_equal(atomic_load(&first_result), UVHTTP_EDISCONNECTED);
    assert_int_equal(errors, 0);
}

/* ---- the last letters ---- */

static int handed_over = -1;

/* As another worker does that has accepted a connection and not yet been told to stop. */
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

/* Read while the server stops; its own letter is then the very last one that is taken. */
static void post_last_but_one(uvhttp_server_t *server, size_t worker, void *arg)
{
    (void)arg;
    uvhttp_server_stop(server);
    assert_int_equal(uvhttp_server_post(server, worker, post_hand_over, NULL), 0);
}

static void a_connection_that_comes_last_is_served_all_the_same(void **state)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    char answer[1024] = "";
    int pair[2];
    (void)state;
    begin();
    raw_client_close(&client, false);
    stage_iterations(&stage, 5);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    handed_over = pair[0];
    assert_int_equal(uvh_socket_make_ours(handed_over), 0);
    assert_int_equal(send(pair[1], request, strlen(request), 0), (ssize_t)strlen(request));
    assert_int_equal(uvhttp_server_post(stage.server, 0, post_last_but_one, NULL), 0);
    ssize_t size = -1;
    for (int turn = 0; turn < 2000 && size < 0; turn++) {
        stage_wait(&stage);
        size = recv(pair[1], answer, sizeof(answer) - 1, MSG_DONTWAIT);
    }
    assert_true(size > 0);
    assert_memory_equal(answer, "HTTP/1.1 200", 12);
    close(pair[1]);
    client.socket = -1;
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_body_is_pulled_to_its_end),
        cmocka_unit_test(a_source_that_fails_ends_the_connection),
        cmocka_unit_test(a_body_above_the_handlers_own_limit_ends_the_connection),
        cmocka_unit_test(a_connection_that_breaks_when_there_is_room_is_told_once),
        cmocka_unit_test(memory_may_run_out_at_any_moment),
        cmocka_unit_test(its_client_need_not_wait_for_a_handler_that_is_late),
        cmocka_unit_test(static_handler_on_blocking_thread_gets_einval),
        cmocka_unit_test(it_can_ask_whether_its_client_has_ended),
        cmocka_unit_test(its_stream_of_events_has_heartbeats),
        cmocka_unit_test(its_stream_of_events_is_gone_when_the_server_stops),
        cmocka_unit_test(a_connection_that_comes_last_is_served_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
