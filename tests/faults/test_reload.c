/* The reload of a running server: who is served by which set-up, and when the old one ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <uvhttp.h>

#include "support/fault_heap.h"
#include "support/stage.h"

enum { WORKERS = 3, RELOADS = 200, CLIENTS = 3, FAR_CLIENTS = 100 };

/* What a set-up makes. */
struct version {
    char text[16];
    int released, finished;
};

static struct stage stage;
static struct raw_client client;
static size_t offset; /* of the next response */
static uvhttp_response_t *held;

static int send_version(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const struct version *version = arg;
    (void)request;
    return uvhttp_response_send_text(response, 200, version->text);
}

static int hold(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    held = response;
    return 0;
}

static void count_release(void *arg)
{
    ((struct version *)arg)->released++;
}

static void count_finished(uvhttp_request_t *request, uvhttp_response_t *response,
                           const uvhttp_outcome_t *outcome, void *arg)
{
    (void)request, (void)response, (void)outcome;
    ((struct version *)arg)->finished++;
}

static int add_route(const char *pattern, uvhttp_handler_cb handler, struct version *version,
                     uint32_t timeout)
{
    const uvhttp_route_t route = {.method = "GET",
                                  .pattern = pattern,
                                  .handler = handler,
                                  .arg = version,
                                  .handler_timeout = timeout};
    return uvhttp_router_add(uvhttp_server_router(stage.server), &route);
}

static int set_up(struct version *version, const char *text)
{
    *version = (struct version){.released = 0};
    snprintf(version->text, sizeof(version->text), "%s", text);
    const char *const proxies[] = {"192.0.2.1"};
    int err = uvhttp_server_own(stage.server, count_release, version);
    if (err == 0)
        err = uvhttp_server_trust_proxies(stage.server, proxies, 1, UVHTTP_FORWARDING_X);
    uvhttp_server_on_finished(stage.server, count_finished, version);
    if (err == 0)
        err = add_route("/", send_version, version, (uint32_t)strlen(text));
    if (err == 0)
        err = add_route("/hold", hold, version, 100);
    return err;
}

static void begin(struct version *version)
{
    stage_begin(&stage);
    stage.config->route_stats = 10;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(set_up(version, "one"), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    offset = 0;
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void reload(struct version *version, const char *text)
{
    assert_int_equal(uvhttp_server_begin_reload(stage.server), 0);
    assert_int_equal(set_up(version, text), 0);
    assert_int_equal(uvhttp_server_apply_reload(stage.server), 0);
    stage_iterations(&stage, 3);
}

static bool has_response(void *arg)
{
    size_t at = offset;
    return raw_client_response(&client, &at, false, arg);
}

static void assert_body(const char *expected)
{
    struct raw_response response;
    stage_drive(&stage, &client, 10000, has_response, &response);
    assert_true(raw_client_response(&client, &offset, false, &response));
    assert_int_equal(response.status, 200);
    assert_int_equal(response.body_length, strlen(expected));
    assert_memory_equal(response.body, expected, strlen(expected));
}

static void request(const char *path)
{
    char text[64];
    snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path);
    raw_client_send_text(&client, text);
}

static void open_connection_gets_new_routes(void **state)
{
    struct version one, two;
    (void)state;
    begin(&one);
    request("/");
    assert_body("one");
    reload(&two, "two");
    assert_int_equal(one.released, 1); /* nobody used it any more */
    request("/");
    assert_body("two");
    assert_int_equal(one.finished, 1);
    assert_int_equal(two.finished, 1);
    assert_int_equal(two.released, 0);
    end();
    assert_int_equal(one.released, 1);
    assert_int_equal(two.released, 1);
}

static void exchange_keeps_its_set_up(void **state)
{
    struct version one, two, three;
    (void)state;
    begin(&one);
    request("/hold");
    held = NULL;
    while (held == NULL) {
        (void)raw_client_step(&client, 1000);
        stage_wait(&stage);
    }
    reload(&two, "two");
    reload(&three, "three");
    assert_int_equal(one.released, 0);
    assert_int_equal(two.released, 1); /* nobody ever used it */
    assert_int_equal(uvhttp_response_send_text(held, 200, "late"), 0);
    assert_body("late");
    stage_iterations(&stage, 3);
    assert_int_equal(one.finished, 1);
    assert_int_equal(one.released, 1);
    request("/");
    assert_body("three");
    end();
}

static void kept_object_outlives_reloads(void **state)
{
    struct version one, two, kept = {.released = 0};
    (void)state;
    begin(&one);
    assert_int_equal(uvhttp_server_keep(stage.server, count_release, &kept), 0);
    reload(&two, "two");
    assert_int_equal(one.released, 1);
    assert_int_equal(kept.released, 0);
    end();
    assert_int_equal(kept.released, 1);
}

static int count_routes(const uvhttp_route_stats_t *stats, void *arg)
{
    size_t *count = arg;
    *count += stats->count;
    return 0;
}

static void route_stats_begin_again(void **state)
{
    struct version one, two;
    size_t count = 0;
    (void)state;
    begin(&one);
    request("/");
    assert_body("one");
    assert_int_equal(uvhttp_server_each_route_stats(stage.server, count_routes, &count), 0);
    assert_int_equal(count, 1);
    reload(&two, "two");
    count = 0;
    assert_int_equal(uvhttp_server_each_route_stats(stage.server, count_routes, &count), 0);
    assert_int_equal(count, 0);
    end();
}

static void failed_set_up_changes_nothing(void **state)
{
    struct version one, two;
    (void)state;
    begin(&one);
    assert_int_equal(uvhttp_server_apply_reload(stage.server), UVHTTP_EINVAL);
    uvhttp_server_cancel_reload(stage.server); /* there is none */
    assert_int_equal(uvhttp_server_begin_reload(stage.server), 0);
    assert_int_equal(uvhttp_server_begin_reload(stage.server), UVHTTP_EINVAL);
    assert_int_equal(set_up(&two, "two"), 0);
    int err = add_route("wrong", send_version, &two, 0);
    assert_int_not_equal(err, 0);
    assert_int_equal(uvhttp_server_apply_reload(stage.server), err);
    assert_non_null(strstr(uvhttp_server_first_error(stage.server)->text, "wrong"));
    request("/");
    assert_body("one");
    uvhttp_server_cancel_reload(stage.server);
    assert_int_equal(two.released, 1);
    assert_int_equal(uvhttp_server_first_error(stage.server)->code, 0);
    request("/");
    assert_body("one");
    end();
    assert_int_equal(one.released, 1);
}

static int fail_error_form(uvhttp_request_t *request, uvhttp_response_t *response,
                           const char *reason, void *arg)
{
    (void)request, (void)response, (void)reason, (void)arg;
    fail();
    return 0;
}

static void callbacks_change_only_in_a_reload(void **state)
{
    struct version one, two;
    (void)state;
    begin(&one);
    uvhttp_server_on_finished(stage.server, NULL, NULL);
    uvhttp_server_on_error(stage.server, fail_error_form, NULL);
    assert_int_equal(stage.errors_logged, 2);
    assert_non_null(strstr(stage.last_error, "uvhttp_server_on_error has no effect"));
    assert_int_equal(uvhttp_server_first_error(stage.server)->code, 0);
    request("/missing");
    request("/");
    stage_drive_responses(&stage, &client, 10000, 2);
    assert_int_equal(one.finished, 2);
    reload(&two, "two");
    assert_int_equal(stage.errors_logged, 2);
    end();
}

static void reload_that_is_not_applied_ends_with_the_server(void **state)
{
    struct version one, two;
    (void)state;
    begin(&one);
    assert_int_equal(uvhttp_server_begin_reload(stage.server), 0);
    assert_int_equal(set_up(&two, "two"), 0);
    end();
    assert_int_equal(one.released, 1);
    assert_int_equal(two.released, 1);
}

static void reload_requires_a_running_server(void **state)
{
    struct version one;
    (void)state;
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_begin_reload(stage.server), UVHTTP_EINVAL);
    assert_int_equal(set_up(&one, "one"), 0);
    stage_listen(&stage);
    assert_int_equal(uvhttp_server_begin_reload(stage.server), 0);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, 10);
    assert_int_equal(uvhttp_server_apply_reload(stage.server), UVHTTP_ESTOPPED);
    uvhttp_server_cancel_reload(stage.server);
    assert_int_equal(uvhttp_server_begin_reload(stage.server), UVHTTP_ESTOPPED);
    stage_end(&stage);
}

/* ---- WebSocket ---- */

static bool ws_closed;

static void echo_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                         size_t size, void *arg)
{
    (void)arg;
    uvhttp_websocket_send(ws, kind, data, size);
}

static void note_closed(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    const struct version *version = arg;
    (void)ws, (void)code, (void)reason;
    assert_int_equal(version->released, 0);
    ws_closed = true;
}

static void add_websocket(struct version *version)
{
    const uvhttp_websocket_options_t options = {
        .events = {.message = echo_message, .close = note_closed}, .arg = version};
    assert_int_equal(uvhttp_websocket_route(stage.server, "/ws", &options, NULL), 0);
}

static size_t wanted; /* bytes of the client */

static bool has_wanted(void *arg)
{
    (void)arg;
    return client.received >= wanted;
}

static void assert_echo(void)
{
    raw_client_send(&client, "\x82\x81\0\0\0\0x", 7);
    wanted = client.received + 3;
    stage_drive(&stage, &client, 1000, has_wanted, NULL);
    assert_memory_equal(client.data + client.received - 3, "\x82\x01x", 3);
}

static bool has_head(void *arg)
{
    (void)arg;
    return client.received > 4 && memcmp(client.data + client.received - 4, "\r\n\r\n", 4) == 0;
}

/* A WebSocket of the first set-up, which the second one replaces. */
static void begin_websocket(struct version *one, struct version *two)
{
    ws_closed = false;
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(set_up(one, "one"), 0);
    add_websocket(one);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
                                  "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    stage_drive(&stage, &client, 1000, has_head, NULL);
    assert_echo();
    reload(two, "two");
}

static void websocket_keeps_its_set_up(void **state)
{
    struct version one, two;
    (void)state;
    begin_websocket(&one, &two);
    assert_echo();
    assert_int_equal(one.released, 0);
    raw_client_close(&client, false);
    while (one.released == 0)
        stage_wait(&stage);
    assert_true(ws_closed);
    end();
    assert_int_equal(two.released, 1);
}

static bool is_closed(void *arg)
{
    (void)arg;
    return ws_closed || client.ended;
}

static void stop_ends_websockets_of_a_replaced_set_up(void **state)
{
    struct version one, two;
    (void)state;
    begin_websocket(&one, &two);
    size_t before = client.received;
    uvhttp_server_stop(stage.server);
    wanted = before + 4;
    stage_drive(&stage, &client, 1000, has_wanted, NULL);
    assert_memory_equal(client.data + before, "\x88", 1);
    assert_memory_equal(client.data + before + 2, "\x03\xe9", 2); /* 1001: going away */
    raw_client_send(&client, "\x88\x82\0\0\0\0\x03\xe9", 8);
    stage_drive(&stage, &client, 1000, is_closed, NULL);
    uvhttp_drain_result_t result;
    raw_client_close(&client, false);
    stage_iterations(&stage, 10);
    assert_int_equal(uvhttp_server_drain_result(stage.server, &result), 0);
    assert_int_equal(result.streams, 1);
    end();
    assert_int_equal(one.released, 1);
    assert_int_equal(two.released, 1);
}

/* ---- memory ---- */

static void allocation_failures_leave_the_old_set_up(void **state)
{
    struct version one, two;
    size_t n = 1;
    bool failed = true;
    (void)state;
    for (; failed; n++) {
        begin(&one);
        request("/");
        assert_body("one");
        fault_heap_arm(&stage.heap, n, false);
        int err = uvhttp_server_begin_reload(stage.server);
        if (err == 0)
            err = set_up(&two, "two");
        if (err == 0) {
            err = uvhttp_server_apply_reload(stage.server);
            assert_true((uvhttp_server_first_error(stage.server)->text[0] != '\0') == (err != 0));
        }
        failed = atomic_load(&stage.heap.failures) > 0;
        fault_heap_arm(&stage.heap, 0, false);
        assert_int_equal(err, failed ? UVHTTP_ENOMEM : 0);
        if (failed)
            uvhttp_server_cancel_reload(stage.server);
        request("/");
        assert_body(failed ? "one" : "two");
        end();
    }
    assert_true(n > 5);
}

/* ---- several workers ---- */

static atomic_int reloads, live, clients_finished;
static atomic_bool over;

struct counted {
    atomic_int uses;
    bool gone;
};

static int use_counted(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    struct counted *counted = arg;
    (void)request;
    if (counted->gone)
        return UVHTTP_EINVAL;
    atomic_fetch_add(&counted->uses, 1);
    return uvhttp_response_send_text(response, 200, "ok");
}

static void free_counted(void *arg)
{
    struct counted *counted = arg;
    counted->gone = true;
    free(counted);
    atomic_fetch_sub(&live, 1);
}

static void set_up_counted(uvhttp_server_t *server)
{
    struct counted *counted = calloc(1, sizeof(*counted));
    assert_non_null(counted);
    atomic_fetch_add(&live, 1);
    assert_int_equal(uvhttp_server_own(server, free_counted, counted), 0);
    assert_int_equal(uvhttp_server_route(server, "GET", "/", use_counted, counted), 0);
}

static void reload_counted(uvhttp_server_t *server, void *arg)
{
    (void)arg;
    if (atomic_load(&reloads) == RELOADS)
        return;
    assert_int_equal(uvhttp_server_begin_reload(server), 0);
    set_up_counted(server);
    assert_int_equal(uvhttp_server_apply_reload(server), 0);
    atomic_fetch_add(&reloads, 1);
}

static void *request_until_over(void *arg)
{
    struct raw_client own;
    struct raw_response response = {.status = 200};
    size_t at = 0;
    const int *port = arg;
    raw_client_connect(&own, *port, 0);
    do {
        raw_client_send_text(&own, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        while (!raw_client_response(&own, &at, false, &response) && !own.ended)
            (void)raw_client_step(&own, 1000);
    } while (!own.ended && response.status == 200 && !atomic_load(&over));
    bool answered = !own.ended && response.status == 200;
    raw_client_close(&own, false);
    atomic_fetch_add(&clients_finished, 1);
    return answered ? arg : NULL;
}

/* Stops when no client waits for a response: the next call stops a second time, which closes the
 * connections. */
static void stop_when_reloaded(uvhttp_server_t *server, void *arg)
{
    (void)arg;
    atomic_store(&over, atomic_load(&reloads) == RELOADS);
    if (atomic_load(&clients_finished) == CLIENTS)
        uvhttp_server_stop(server);
}

static void reloads_of_several_workers_lose_no_request(void **state)
{
    pthread_t threads[CLIENTS];
    (void)state;
    uvhttp_config_t *config = uvhttp_config_new();
    config->workers = WORKERS;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    set_up_counted(server);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    assert_int_equal(uvhttp_server_every(server, 1, reload_counted, NULL, NULL), 0);
    assert_int_equal(uvhttp_server_every(server, 5, stop_when_reloaded, NULL, NULL), 0);
    int port = uvhttp_server_port(server);
    for (size_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, request_until_over, &port), 0);
    assert_int_equal(uvhttp_server_run(server), 0);
    for (size_t i = 0; i < CLIENTS; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, &port);
    }
    assert_true(atomic_load(&live) <= 1 + WORKERS);
    uvhttp_server_free(server);
    assert_int_equal(atomic_load(&live), 0);
}

/* The only exchange of a replaced set-up, on another worker than the first one. */
static struct {
    _Atomic(uvhttp_response_t *) held;
    atomic_int released, passed; /* `passed`: posted functions that have run */
    atomic_bool is_sent;
    int released_before_return;
} far;

static void note_release(void *arg)
{
    (void)arg;
    atomic_fetch_add(&far.released, 1);
}

static int hold_far(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    if (uvhttp_request_worker(request) == 0)
        return uvhttp_response_send_text(response, 200, "near");
    atomic_store(&far.held, response);
    return 0;
}

static void set_up_far(uvhttp_server_t *server)
{
    assert_int_equal(uvhttp_server_own(server, note_release, NULL), 0);
    assert_int_equal(uvhttp_server_route(server, "GET", "/", hold_far, NULL), 0);
}

static void pass(uvhttp_server_t *server, size_t worker, void *arg)
{
    (void)server, (void)worker, (void)arg;
    atomic_fetch_add(&far.passed, 1);
}

static void reload_far(uvhttp_server_t *server, size_t worker, void *arg)
{
    assert_int_equal(uvhttp_server_begin_reload(server), 0);
    set_up_far(server);
    assert_int_equal(uvhttp_server_apply_reload(server), 0);
    pass(server, worker, arg);
}

static void wait_for(const atomic_int *value, int least)
{
    while (atomic_load(value) < least)
        sched_yield();
}

/* Ends the exchange, and uses its set-up until it returns. */
static void send_far(uvhttp_server_t *server, size_t worker, void *arg)
{
    (void)worker, (void)arg;
    assert_int_equal(uvhttp_response_send_text(atomic_load(&far.held), 200, "far"), 0);
    assert_int_equal(uvhttp_server_post(server, 0, pass, NULL), 0);
    wait_for(&far.passed, 2); /* the first worker has read what it was sent before */
    far.released_before_return = atomic_load(&far.released);
    atomic_store(&far.is_sent, true);
}

static void *run_server(void *arg)
{
    return uvhttp_server_run(arg) == 0 ? arg : NULL;
}

static void hold_one_far(struct raw_client *clients, size_t *count, int port)
{
    while (atomic_load(&far.held) == NULL) {
        struct raw_client *one = &clients[(*count)++];
        assert_true(*count <= FAR_CLIENTS);
        raw_client_connect(one, port, 0);
        raw_client_send_text(one, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        while (one->received == 0 && atomic_load(&far.held) == NULL)
            (void)raw_client_step(one, 1000);
    }
}

static void set_up_outlives_the_call_that_ends_its_last_exchange(void **state)
{
    struct raw_client clients[FAR_CLIENTS];
    size_t count = 0;
    pthread_t thread;
    void *result;
    (void)state;
    memset(&far, 0, sizeof(far));
    uvhttp_config_t *config = uvhttp_config_new();
    config->workers = 2;
    config->drain_timeout = 0;
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    set_up_far(server);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    int port = uvhttp_server_port(server);
    assert_int_equal(pthread_create(&thread, NULL, run_server, server), 0);
    hold_one_far(clients, &count, port);
    assert_int_equal(uvhttp_server_post(server, 0, reload_far, NULL), 0);
    wait_for(&far.passed, 1);
    assert_int_equal(uvhttp_server_post(server, 1, send_far, NULL), 0);
    wait_for(&far.released, 1);
    while (!atomic_load(&far.is_sent))
        sched_yield();
    for (size_t i = 0; i < count; i++)
        raw_client_close(&clients[i], true);
    uvhttp_server_stop(server);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, server);
    uvhttp_server_free(server);
    assert_int_equal(far.released_before_return, 0);
    assert_int_equal(atomic_load(&far.released), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_connection_gets_new_routes),
        cmocka_unit_test(exchange_keeps_its_set_up),
        cmocka_unit_test(kept_object_outlives_reloads),
        cmocka_unit_test(route_stats_begin_again),
        cmocka_unit_test(failed_set_up_changes_nothing),
        cmocka_unit_test(callbacks_change_only_in_a_reload),
        cmocka_unit_test(reload_that_is_not_applied_ends_with_the_server),
        cmocka_unit_test(reload_requires_a_running_server),
        cmocka_unit_test(websocket_keeps_its_set_up),
        cmocka_unit_test(stop_ends_websockets_of_a_replaced_set_up),
        cmocka_unit_test(allocation_failures_leave_the_old_set_up),
        cmocka_unit_test(reloads_of_several_workers_lose_no_request),
        cmocka_unit_test(set_up_outlives_the_call_that_ends_its_last_exchange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
