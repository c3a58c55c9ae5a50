/* Topics with failures of each allocation: messages of successful calls arrive, others do not,
 * subscriber counts stay correct, and nothing leaks. Also connections and servers that end at
 * difficult times: between a message and the end of its loop iteration, in callbacks of the same
 * iteration, and with queued messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/topics.h>

#include "support/stage.h"

enum {
    MEMBERS = 4,
    MANY = 100,
    MAX_ALLOCATIONS = 3000,
    TEXT_SIZE = 4096,
    ITERATIONS = 8,
    LARGE = 30000
};

static const char handshake[] =
    "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

static struct stage stage;
static uvhttp_topics_t *topics;
static struct member {
    struct raw_client client;
    uvhttp_websocket_t *ws; /* NULL unless open */
    bool subscribed;
    char expected[TEXT_SIZE]; /* the texts to receive */
} members[MEMBERS];
static size_t opened;
static void (*close_hook)(struct member *member);
static size_t reported_presence; /* last reported presence */

/* ---- callbacks ---- */

/* Connections open in the order of creation. */
static void on_open(uvhttp_websocket_t *ws, void *arg)
{
    (void)arg;
    assert_true(opened < MEMBERS);
    members[opened].ws = ws;
    uvhttp_websocket_set_data(ws, &members[opened]);
    opened++;
}

static void on_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    (void)ws, (void)kind, (void)data, (void)size, (void)arg;
}

static void on_close(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    struct member *member = uvhttp_websocket_data(ws);
    (void)code, (void)reason, (void)arg;
    member->ws = NULL;
    member->subscribed = false;
    assert_int_equal(uvhttp_websocket_subscribe(ws, topics, "late"), UVHTTP_EDISCONNECTED);
    assert_int_equal(uvhttp_websocket_unsubscribe(ws, topics, "room/+"), UVHTTP_EINVAL);
    if (close_hook != NULL)
        close_hook(member);
}

static void on_presence(uvhttp_topics_t *of, const char *pattern, size_t count, void *arg)
{
    (void)arg;
    assert_int_equal(uvhttp_topics_count(of, pattern), count);
    reported_presence = count;
}

/* ---- actions of a test ---- */

/* Creates the server without listening. */
static void prepare(uvhttp_websocket_slow_t slow)
{
    stage_begin(&stage);
    memset(members, 0, sizeof(members));
    for (size_t i = 0; i < MEMBERS; i++)
        members[i].client.socket = -1;
    opened = 0;
    close_hook = NULL;
    topics = NULL;
    assert_non_null(stage_new_server(&stage));
    const uvhttp_websocket_options_t options = {
        .events = {.open = on_open, .message = on_message, .close = on_close},
        .slow = slow,
        .max_queue_size = 2 * LARGE,
        .allocator = &stage.heap.allocator,
    };
    const uvhttp_topics_options_t sizes = {.allocator = &stage.heap.allocator};
    assert_int_equal(uvhttp_topics_new(&topics, stage.server, &sizes, NULL), 0);
    assert_int_equal(uvhttp_websocket_route(stage.server, "/ws", &options, NULL), 0);
    uvhttp_topics_on_presence(topics, on_presence, NULL);
}

static void begin(uvhttp_websocket_slow_t slow)
{
    prepare(slow);
    stage_listen(&stage);
}

static void run_iterations(void)
{
    for (int i = 0; i < ITERATIONS; i++) {
        stage_iterate(&stage);
        for (size_t k = 0; k < MEMBERS; k++) {
            if (members[k].client.socket >= 0 && !members[k].client.ended)
                (void)raw_client_step(&members[k].client, 1 << 20);
        }
    }
}

static void connect_all(void)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        raw_client_connect(&members[i].client, uvhttp_server_port(stage.server), 0);
        raw_client_send_text(&members[i].client, handshake);
        run_iterations();
        if (opened != i + 1) /* no memory; the next connection uses this slot */
            raw_client_close(&members[i].client, false);
    }
}

static void end(void)
{
    for (size_t i = 0; i < MEMBERS; i++)
        raw_client_close(&members[i].client, false);
    stage_end(&stage);
}

static void subscribe(struct member *member, const char *pattern)
{
    if (member->ws == NULL)
        return;
    size_t before = uvhttp_topics_count(topics, pattern);
    int err = uvhttp_websocket_subscribe(member->ws, topics, pattern);
    assert_true(err == 0 || err == UVHTTP_ENOMEM);
    assert_int_equal(uvhttp_topics_count(topics, pattern), before + (err == 0));
    member->subscribed = member->subscribed || err == 0;
}

static void unsubscribe(struct member *member, const char *pattern)
{
    if (member->ws != NULL)
        (void)uvhttp_websocket_unsubscribe(member->ws, topics, pattern);
}

/* Adds a text that the member must receive. */
static void expect(struct member *member, const char *text)
{
    size_t length = strlen(member->expected);
    (void)snprintf(member->expected + length, TEXT_SIZE - length, "%s", text);
}

/* `from` NULL: no member is excluded. */
static void publish(struct member *from, const char *text)
{
    if (from != NULL && from->ws == NULL)
        return;
    int err = from == NULL ? uvhttp_topics_publish(topics, "room/1", UVHTTP_WEBSOCKET_TEXT, text,
                                                   strlen(text))
                           : uvhttp_websocket_publish(from->ws, topics, "room/1",
                                                      UVHTTP_WEBSOCKET_TEXT, text, strlen(text));
    assert_true(err == 0 || err == UVHTTP_ENOMEM);
    for (size_t i = 0; err == 0 && i < MEMBERS; i++) {
        if (members[i].subscribed && &members[i] != from)
            expect(&members[i], text);
    }
}

/* Appends all texts that a client has received. */
static void read_texts(const struct raw_client *client, char *texts)
{
    const char *at = client->data, *end_of_data = client->data + client->received;
    while (at + 4 <= end_of_data && memcmp(at, "\r\n\r\n", 4) != 0)
        at++;
    for (at += 4; at + 2 <= end_of_data && at[0] == '\x81'; at += 2 + at[1]) {
        assert_true(at + 2 + at[1] <= end_of_data);
        strncat(texts, at + 2, (size_t)at[1]);
    }
}

static void check_texts(void)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        char texts[TEXT_SIZE] = "";
        if (members[i].ws == NULL)
            continue;
        read_texts(&members[i].client, texts);
        assert_string_equal(texts, members[i].expected);
    }
}

/* ---- allocation failures ---- */

static void run_scenario(void)
{
    char text[16];
    connect_all();
    for (size_t i = 0; i < MEMBERS; i++) {
        subscribe(&members[i], "room/+");
        subscribe(&members[i], "room/#");
    }
    publish(&members[0], "<a>");
    publish(&members[1], "<b>");
    publish(NULL, "<c>");
    run_iterations();
    publish(&members[0], "<d>");
    unsubscribe(&members[1], "room/+");
    unsubscribe(&members[1], "room/#");
    members[1].subscribed = false;
    publish(&members[0], "<e>");
    run_iterations();
    check_texts();
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(text, sizeof(text), "<%d>", i);
        publish(&members[2], text);
    }
    run_iterations();
    check_texts();
    publish(&members[0], "<f>");
    if (members[2].ws != NULL)
        uvhttp_websocket_abort(members[2].ws);
    publish(&members[0], "<g>");
    run_iterations();
    check_texts();
    publish(&members[0], "<h>");
    publish(NULL, "<i>");
    uvhttp_server_stop(stage.server);
    run_iterations();
}

static void fail_each_allocation(bool keep_failing)
{
    size_t n = 1;
    for (; n < MAX_ALLOCATIONS; n++) {
        begin(UVHTTP_WEBSOCKET_SLOW_CLOSE);
        fault_heap_arm(&stage.heap, n, keep_failing);
        run_scenario();
        size_t failures = stage.heap.failures;
        fault_heap_arm(&stage.heap, 0, false);
        end();
        if (failures == 0)
            break;
    }
    assert_true(n > 20 && n < MAX_ALLOCATIONS);
}

static void topics_survive_allocation_failure(void **state)
{
    (void)state;
    fail_each_allocation(false);
}

static void topics_survive_permanent_allocation_failure(void **state)
{
    (void)state;
    fail_each_allocation(true);
}

/* ---- closing ---- */

static void publish_left_message(struct member *member)
{
    (void)member;
    publish(NULL, "<left>");
}

static void abort_all_others(struct member *member)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        if (members[i].ws != NULL && &members[i] != member)
            uvhttp_websocket_abort(members[i].ws);
    }
}

static void unsubscribe_all(struct member *member)
{
    (void)member;
    for (size_t i = 0; i < MEMBERS; i++)
        unsubscribe(&members[i], "room/+");
}

static void resubscribe_all(struct member *member)
{
    (void)member;
    for (size_t i = 0; i < MEMBERS; i++) {
        unsubscribe(&members[i], "room/+");
        if (members[i].ws == NULL)
            continue;
        (void)uvhttp_websocket_subscribe(members[i].ws, topics, "room/+");
        (void)uvhttp_websocket_subscribe(members[i].ws, topics, "room/#");
    }
    publish(NULL, "<again>");
}

/* A member that does not read is closed while the messages of an iteration are sent. Its close
 * callback changes members that are still waiting for the same messages. */
static void close_while_sending(void (*hook)(struct member *member))
{
    static char large[LARGE + 1];
    begin(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    stage_shrink_send_buffer(&stage, 4096);
    connect_all();
    for (size_t i = 0; i < MEMBERS; i++)
        subscribe(&members[i], "room/+");
    close_hook = hook;
    memset(large, 'x', LARGE);
    for (int i = 0; i < 2 * MANY && members[0].ws != NULL; i++) {
        assert_int_equal(
            uvhttp_topics_publish(topics, "room/1", UVHTTP_WEBSOCKET_TEXT, large, LARGE), 0);
        stage_iterate(&stage);
    }
    assert_null(members[0].ws);
    close_hook = NULL;
    uvhttp_server_stop(stage.server);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, ITERATIONS);
    end();
}

static void close_while_sending_topic_messages(void **state)
{
    (void)state;
    close_while_sending(NULL);
    close_while_sending(publish_left_message);
    close_while_sending(abort_all_others);
    close_while_sending(unsubscribe_all);
    close_while_sending(resubscribe_all);
}

static void server_free_with_queued_messages(void **state)
{
    (void)state;
    for (int stopped = 0; stopped < 3; stopped++) {
        begin(UVHTTP_WEBSOCKET_SLOW_CLOSE);
        connect_all();
        for (size_t i = 0; i < MEMBERS; i++)
            subscribe(&members[i], "room/+");
        publish(&members[0], "<a>");
        publish(NULL, "<b>");
        if (stopped > 0)
            uvhttp_server_stop(stage.server);
        if (stopped > 1)
            stage_iterate(&stage);
        close_hook = publish_left_message;
        end();
    }
}

static void presence_reported_for_each_change(void **state)
{
    (void)state;
    begin(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    connect_all();
    for (size_t i = 0; i < MEMBERS; i++) {
        subscribe(&members[i], "room/+");
        assert_int_equal(reported_presence, i + 1);
    }
    for (size_t i = 0; i < MEMBERS; i++) {
        uvhttp_websocket_abort(members[i].ws);
        assert_int_equal(reported_presence, MEMBERS - i - 1);
    }
    end();
}

/* ---- adapters ---- */

static char trace[TEXT_SIZE];

static void add_to_trace(const char *action, const char *of)
{
    (void)snprintf(trace + strlen(trace), sizeof(trace) - strlen(trace), "%s %s;", action, of);
}

static int adapter_publish(void *adapter, const char *topic, uvhttp_websocket_kind_t kind,
                           const void *data, size_t size)
{
    assert_ptr_equal(adapter, trace);
    assert_int_equal(kind, UVHTTP_WEBSOCKET_TEXT);
    assert_true(data != NULL && size == 3);
    add_to_trace("publish", topic);
    return UVHTTP_ENOMEM; /* only logged */
}

static void adapter_subscribe(void *adapter, const char *pattern)
{
    (void)adapter;
    add_to_trace("+", pattern);
}

static void adapter_unsubscribe(void *adapter, const char *pattern)
{
    (void)adapter;
    add_to_trace("-", pattern);
}

static void adapter_release(void *adapter)
{
    (void)adapter;
    add_to_trace("release", "");
}

static void adapter_notified_of_first_and_last_subscriber(void **state)
{
    (void)state;
    const uvhttp_topics_adapter_t functions = {adapter_publish, adapter_subscribe,
                                               adapter_unsubscribe, adapter_release},
                                  none = {0};
    trace[0] = '\0';
    prepare(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    assert_int_equal(uvhttp_topics_set_adapter(topics, &none, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_topics_set_adapter(topics, &functions, trace), 0);
    assert_int_equal(uvhttp_server_error(stage.server)->code, 0);
    assert_int_equal(uvhttp_topics_set_adapter(topics, &functions, trace), UVHTTP_EINVAL);
    stage_listen(&stage);
    connect_all();
    publish(NULL, "<0>"); /* no subscriber here, but possibly on other servers */
    subscribe(&members[0], "room/+");
    subscribe(&members[1], "room/+");
    publish(&members[0], "<a>");
    assert_int_equal(uvhttp_topics_deliver(topics, "room/1", UVHTTP_WEBSOCKET_TEXT, "<b>", 3), 0);
    expect(&members[0], "<b>");
    expect(&members[1], "<b>");
    assert_int_equal(uvhttp_topics_deliver(topics, "room/1", UVHTTP_WEBSOCKET_TEXT, "\xff", 1),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_topics_deliver(topics, "room/#", UVHTTP_WEBSOCKET_TEXT, "<c>", 3),
                     UVHTTP_EINVAL);
    run_iterations();
    check_texts();
    unsubscribe(&members[0], "room/+");
    uvhttp_websocket_abort(members[1].ws);
    assert_true(stage.warnings_logged >= 2);
    end();
    assert_string_equal(trace, "publish room/1;+ room/+;publish room/1;- room/+;release ;");
}

/* Objects created after listen would be missing for the first connections. */
static void topics_setup_after_listen_gets_efrozen(void **state)
{
    (void)state;
    const uvhttp_websocket_options_t options = {.events.message = on_message};
    const uvhttp_topics_adapter_t functions = {.publish = adapter_publish};
    uvhttp_websocket_endpoint_t *endpoint;
    begin(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    uvhttp_topics_t *late = topics;
    assert_int_equal(uvhttp_topics_set_adapter(topics, &functions, NULL), UVHTTP_EFROZEN);
    assert_int_equal(uvhttp_topics_new(&late, stage.server, NULL, NULL), UVHTTP_EFROZEN);
    assert_null(late);
    assert_int_equal(uvhttp_websocket_endpoint_new(&endpoint, stage.server, &options, NULL),
                     UVHTTP_EFROZEN);
    assert_null(endpoint);
    assert_int_equal(uvhttp_websocket_route(stage.server, "/late", &options, NULL), UVHTTP_EFROZEN);
    end();
}

/* A part of the handshake request has arrived, so its connection is not idle. */
static void handshake_during_stop_gets_503(void **state)
{
    (void)state;
    const size_t first = 20;
    struct raw_client *client = &members[0].client;
    begin(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    raw_client_connect(client, uvhttp_server_port(stage.server), 0);
    raw_client_send(client, handshake, first);
    run_iterations();
    uvhttp_server_stop(stage.server);
    run_iterations();
    raw_client_send_text(client, handshake + first);
    run_iterations();
    assert_true(client->received > 13);
    assert_memory_equal(client->data, "HTTP/1.1 503 ", 13);
    assert_null(memmem(client->data, client->received, "Sec-WebSocket-", 14));
    assert_int_equal(stage.errors_logged, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics_survive_allocation_failure),
        cmocka_unit_test(topics_survive_permanent_allocation_failure),
        cmocka_unit_test(close_while_sending_topic_messages),
        cmocka_unit_test(server_free_with_queued_messages),
        cmocka_unit_test(presence_reported_for_each_change),
        cmocka_unit_test(adapter_notified_of_first_and_last_subscriber),
        cmocka_unit_test(topics_setup_after_listen_gets_efrozen),
        cmocka_unit_test(handshake_during_stop_gets_503),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
