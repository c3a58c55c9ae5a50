/* An event hub on several workers: threads publish while clients connect, reconnect and leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <uvhttp.h>

#include "support/fault_heap.h"
#include "support/stage.h"

enum { WORKERS = 3, CLIENTS = 6, PUBLISHERS = 2, EVENTS = 300, KEEP = PUBLISHERS * EVENTS };

static struct fault_heap heap;
static uvhttp_server_t *server;
static uvhttp_event_hub_t *hub;
static pthread_t runner;

struct client {
    int socket;
    char text[1 << 18]; /* received */
    size_t length;
};

static struct client clients[CLIENTS];

static int subscribe(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_event_hub_subscribe(hub, response);
}

static void *run(void *arg)
{
    (void)arg;
    return (void *)(intptr_t)uvhttp_server_run(server);
}

static void begin(size_t keep)
{
    fault_heap_init(&heap);
    uvhttp_config_t *config = uvhttp_config_new();
    assert_non_null(config);
    config->workers = WORKERS;
    config->allocator = &heap.allocator;
    config->drain_timeout = 0;
    server = uvhttp_server_new_with(NULL, config);
    uvhttp_config_free(config);
    const uvhttp_event_hub_options_t options = {.keep = keep, .allocator = &heap.allocator};
    assert_int_equal(uvhttp_event_hub_new(&hub, &options, NULL), 0);
    assert_int_equal(uvhttp_server_route(server, "GET", "/", subscribe, NULL), 0);
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    assert_int_equal(pthread_create(&runner, NULL, run, NULL), 0);
}

/* `before`: the hub is freed first. */
static void end(bool before)
{
    void *result;
    if (before)
        uvhttp_event_hub_free(hub);
    uvhttp_server_stop(server);
    assert_int_equal(pthread_join(runner, &result), 0);
    assert_null(result);
    uvhttp_server_free(server);
    if (!before)
        uvhttp_event_hub_free(hub);
    assert_int_equal(atomic_load(&heap.live), 0);
}

static void connect_client(struct client *client, const char *last_id)
{
    char request[256];
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)uvhttp_server_port(server)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    client->length = 0;
    client->text[0] = '\0';
    client->socket = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client->socket, (struct sockaddr *)&address, sizeof(address)), 0);
    int length =
        snprintf(request, sizeof(request), "GET / HTTP/1.1\r\nHost: h\r\n%s%s\r\n\r\n",
                 last_id == NULL ? "X-None: " : "Last-Event-ID: ", last_id == NULL ? "" : last_id);
    assert_int_equal(write(client->socket, request, (size_t)length), length);
}

/* False at the end of the connection. */
static bool receive(struct client *client)
{
    ssize_t size = read(client->socket, client->text + client->length,
                        sizeof(client->text) - 1 - client->length);
    if (size <= 0)
        return false;
    client->length += (size_t)size;
    client->text[client->length] = '\0';
    return true;
}

static void receive_until(struct client *client, const char *wanted)
{
    while (strstr(client->text, wanted) == NULL)
        assert_true(receive(client));
}

static void wait_for_count(size_t count)
{
    while (uvhttp_event_hub_count(hub) != count)
        sched_yield();
}

/* The only stream. */
static void end_stream_of(struct client *client)
{
    uvhttp_event_hub_end(hub);
    receive_until(client, "\r\n0\r\n\r\n");
    close(client->socket);
}

static void *publish_all(void *name)
{
    for (int i = 1; i <= EVENTS; i++) {
        char text[64];
        int length = snprintf(text, sizeof(text), "%s%d.", (const char *)name, i);
        const uvhttp_sse_event_t event = {.data = {text, (size_t)length}};
        if (uvhttp_event_hub_publish(hub, &event) != 0)
            return name;
    }
    return NULL;
}

static void publish_from_threads(void)
{
    static char names[PUBLISHERS][2] = {"a", "b"};
    pthread_t threads[PUBLISHERS];
    for (int i = 0; i < PUBLISHERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, publish_all, names[i]), 0);
    for (int i = 0; i < PUBLISHERS; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_null(result);
    }
}

/* The number in the next id after `*at`, which moves past it; 0: none. The id is copied. */
static unsigned long next_id(const char **at, char *id, size_t size)
{
    const char *found = strstr(*at, "id: ");
    if (found == NULL)
        return 0;
    *at = found + 4;
    size_t length = strcspn(*at, "\n");
    assert_true(length < size);
    memcpy(id, *at, length);
    id[length] = '\0';
    return strtoul(strchr(id, '-') + 1, NULL, 10);
}

/* Each event once, numbered without a gap, in the order of each publisher. */
static void check_events(const struct client *client, unsigned long first, unsigned long last)
{
    const char *at = client->text;
    int seen[256] = {0};
    char id[64];
    for (unsigned long number = first; number <= last; number++) {
        assert_int_equal(next_id(&at, id, sizeof(id)), number);
        const char *data = strstr(at, "data: ");
        assert_non_null(data);
        unsigned char name = (unsigned char)data[6];
        int event = (int)strtol(data + 7, NULL, 10);
        assert_true(seen[name] == 0 ? event > 0 : event == seen[name] + 1);
        seen[name] = event;
    }
    assert_int_equal(next_id(&at, id, sizeof(id)), 0);
}

static void threads_publish_to_all_workers(void **state)
{
    (void)state;
    begin(KEEP);
    for (int i = 0; i < CLIENTS; i++)
        connect_client(&clients[i], NULL);
    wait_for_count(CLIENTS);
    publish_from_threads();
    uvhttp_event_hub_end(hub); /* after all events */
    for (int i = 0; i < CLIENTS; i++) {
        receive_until(&clients[i], "\r\n0\r\n\r\n");
        check_events(&clients[i], 1, KEEP);
        close(clients[i].socket);
    }
    wait_for_count(0);
    assert_int_equal(uvhttp_event_hub_dropped(hub), 0);
    end(true);
}

static void reconnecting_client_gets_missed_events(void **state)
{
    static const unsigned long seen[] = {1, KEEP / 2, KEEP - 1, KEEP};
    char id[64], wanted[64], last[64];
    (void)state;
    begin(KEEP);
    connect_client(&clients[0], NULL);
    wait_for_count(1);
    publish_from_threads();
    snprintf(wanted, sizeof(wanted), "-%d\n", KEEP);
    receive_until(&clients[0], wanted);
    end_stream_of(&clients[0]);
    const char *at = clients[0].text;
    next_id(&at, last, sizeof(last));
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        snprintf(id, sizeof(id), "%.*s-%lu", (int)strcspn(last, "-"), last, seen[i]);
        connect_client(&clients[1], id);
        wait_for_count(1);
        end_stream_of(&clients[1]);
        check_events(&clients[1], seen[i] + 1, KEEP);
    }
    end(false);
}

static void only_last_events_are_kept(void **state)
{
    static const char *const ids[] = {"1", "0123456789abcdef-600", "x-", ""};
    (void)state;
    begin(10);
    publish_from_threads();
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        connect_client(&clients[0], ids[i]);
        wait_for_count(1);
        end_stream_of(&clients[0]);
        check_events(&clients[0], KEEP - 9, KEEP);
    }
    connect_client(&clients[0], NULL); /* a new client gets none */
    wait_for_count(1);
    end_stream_of(&clients[0]);
    check_events(&clients[0], 1, 0);
    end(true);
}

static void clients_come_and_go_while_threads_publish(void **state)
{
    pthread_t thread;
    void *result;
    (void)state;
    begin(20);
    assert_int_equal(pthread_create(&thread, NULL, publish_all, (char[]){"a"}), 0);
    for (int round = 0; round < 50; round++) {
        struct client *client = &clients[round % CLIENTS];
        if (round >= CLIENTS)
            close(client->socket);
        connect_client(client, "1");
    }
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    end(false); /* with open streams */
    for (int i = 0; i < CLIENTS; i++) {
        while (receive(&clients[i]))
            ;
        close(clients[i].socket);
    }
}

/* ---- on one thread ---- */

static struct stage stage;
static struct raw_client watcher, other;

static void begin_stage(const char *pattern, uvhttp_handler_cb handler, uvhttp_log_cb log)
{
    const uvhttp_event_hub_options_t options = {.keep = 10};
    watcher.socket = other.socket = -1;
    stage_begin(&stage);
    if (log != NULL)
        stage.config->log = log;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_event_hub_new(&hub, &options, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", pattern, handler, NULL), 0);
    stage_listen(&stage);
    raw_client_connect(&watcher, uvhttp_server_port(stage.server), 0);
}

static void end_stage(void)
{
    raw_client_close(&watcher, false);
    raw_client_close(&other, false);
    uvhttp_event_hub_free(hub);
    stage_end(&stage);
}

static void publish_text(const char *text)
{
    const uvhttp_sse_event_t event = {.data = {text, strlen(text)}};
    assert_int_equal(uvhttp_event_hub_publish(hub, &event), 0);
}

static bool has_count(void *count)
{
    return uvhttp_event_hub_count(hub) == *(size_t *)count;
}

static void drive_to_count(size_t count)
{
    stage_drive(&stage, &watcher, 1 << 16, has_count, &count);
}

static bool has_text(void *text)
{
    return watcher.received > 0 &&
           memmem(watcher.data, watcher.received, text, strlen(text)) != NULL;
}

static void publish_without_memory(const char *text)
{
    fault_heap_arm(&stage.heap, 1, true);
    publish_text(text);
    fault_heap_arm(&stage.heap, 0, false);
}

/* The first event cannot be posted. */
static void hub_outlives_server_after_failed_post(void **state)
{
    (void)state;
    begin_stage("/", subscribe, NULL);
    raw_client_send_text(&watcher, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    drive_to_count(1);
    publish_without_memory("first");
    assert_int_equal(stage.errors_logged, 1);
    raw_client_close(&watcher, true);
    while (uvhttp_event_hub_count(hub) > 0)
        stage_wait(&stage);
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    stage_iterations(&stage, 10);
    publish_text("second");
    end_stage();
}

static void publish_line(uvhttp_log_level_t level, const char *message, void *arg)
{
    (void)message, (void)arg;
    fault_heap_arm(&stage.heap, 0, false);
    if (level == UVHTTP_LOG_ERROR)
        publish_text("line");
}

static void log_callback_may_publish(void **state)
{
    (void)state;
    begin_stage("/", subscribe, publish_line);
    raw_client_send_text(&watcher, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    drive_to_count(1);
    publish_without_memory("first");
    stage_drive(&stage, &watcher, 1 << 16, has_text, "data: line");
    assert_true(has_text("data: first"));
    end_stage();
}

/* The worker gets everything at once. */
static void ended_stream_gets_no_later_event(void **state)
{
    (void)state;
    begin_stage("/", subscribe, NULL);
    raw_client_send_text(&watcher, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    drive_to_count(1);
    publish_text("first");
    uvhttp_event_hub_end(hub);
    publish_text("second");
    uvhttp_event_hub_end(hub);
    stage_drive(&stage, &watcher, 1 << 16, has_text, "\r\n0\r\n\r\n");
    assert_true(has_text("data: first"));
    assert_false(has_text("data: second"));
    end_stage();
}

static uvhttp_response_t *pending;
static bool ends_while_sending;

/* Subscribes the other response while an event is sent to this one. */
static int subscribe_pending(uvhttp_response_t *response, uvhttp_filter_event_t event,
                             const void *data, size_t size, uvhttp_filter_output_t *output,
                             void *arg)
{
    bool is_first = size > 0 && memmem(data, size, "data: first", 11) != NULL;
    uvhttp_response_t *one = is_first ? pending : NULL;
    (void)response, (void)event, (void)arg;
    if (one != NULL) {
        pending = NULL;
        if (ends_while_sending) {
            publish_text("second");
            uvhttp_event_hub_end(hub);
        }
        assert_int_equal(uvhttp_event_hub_subscribe(hub, one), 0);
    }
    return size == 0 ? 0 : uvhttp_filter_output_append(output, data, size);
}

static int add_filter(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_filter(response, subscribe_pending, NULL, NULL);
}

static int subscribe_after_pending(uvhttp_request_t *request, uvhttp_response_t *response,
                                   void *arg)
{
    if (strcmp(uvhttp_request_path(request), "/pending") == 0) {
        pending = response;
        return 0;
    }
    int err = uvhttp_response_on_send(response, add_filter, NULL);
    return err != 0 ? err : subscribe(request, response, arg);
}

static bool has_pending(void *arg)
{
    (void)arg;
    return pending != NULL;
}

static void subscribing_while_sending_loses_no_event(void **state)
{
    (void)state;
    begin_stage("/*path", subscribe_after_pending, NULL);
    for (int i = 1; i <= 3; i++)
        publish_text((const char *[]){"first", "second", "third"}[i - 1]);
    raw_client_connect(&other, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&other, "GET /pending HTTP/1.1\r\nHost: h\r\n\r\n");
    stage_drive(&stage, &other, 1 << 16, has_pending, NULL);
    raw_client_send_text(&watcher, "GET /all HTTP/1.1\r\nHost: h\r\nLast-Event-ID: none\r\n\r\n");
    drive_to_count(2);
    publish_text("last");
    stage_drive(&stage, &watcher, 1 << 16, has_text, "data: last");
    assert_true(has_text("data: first"));
    assert_true(has_text("data: second"));
    assert_true(has_text("data: third"));
    end_stage();
}

static void ending_while_sending_loses_no_event(void **state)
{
    (void)state;
    begin_stage("/*path", subscribe_after_pending, NULL);
    raw_client_connect(&other, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&other, "GET /pending HTTP/1.1\r\nHost: h\r\n\r\n");
    stage_drive(&stage, &other, 1 << 16, has_pending, NULL);
    raw_client_send_text(&watcher, "GET /all HTTP/1.1\r\nHost: h\r\n\r\n");
    drive_to_count(1);
    ends_while_sending = true;
    publish_text("first");
    stage_drive(&stage, &watcher, 1 << 16, has_text, "\r\n0\r\n\r\n");
    ends_while_sending = false;
    assert_true(has_text("data: first"));
    assert_true(has_text("data: second"));
    assert_int_equal(uvhttp_event_hub_count(hub), 1);
    end_stage();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_publish_to_all_workers),
        cmocka_unit_test(reconnecting_client_gets_missed_events),
        cmocka_unit_test(only_last_events_are_kept),
        cmocka_unit_test(clients_come_and_go_while_threads_publish),
        cmocka_unit_test(hub_outlives_server_after_failed_post),
        cmocka_unit_test(log_callback_may_publish),
        cmocka_unit_test(ended_stream_gets_no_later_event),
        cmocka_unit_test(subscribing_while_sending_loses_no_event),
        cmocka_unit_test(ending_while_sending_loses_no_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
