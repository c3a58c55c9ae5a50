/* Out of memory at every single allocation of topics: what was said to be subscribed and published
 * arrives, what failed does not, numbers of subscribers stay true, and nothing is left behind. Also
 * the moments at which connections and servers go: between a message and the end of its turn, in
 * callbacks of the same turn, with letters on their way. */
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
    MOST_ALLOCATIONS = 3000,
    TEXT_SIZE = 4096,
    TURNS = 8,
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
    char expected[TEXT_SIZE]; /* what it has to get */
} members[MEMBERS];
static size_t opened;
static void (*at_close)(struct member *member);
static size_t told; /* of presence, last */

/* ---- callbacks ---- */

/* Connections open in the order in which they were made. */
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
    if (at_close != NULL)
        at_close(member);
}

static void on_presence(uvhttp_topics_t *of, const char *pattern, size_t count, void *arg)
{
    (void)arg;
    assert_int_equal(uvhttp_topics_count(of, pattern), count);
    told = count;
}

/* ---- what a test does ---- */

/* The server does not listen yet. */
static void prepare(uvhttp_websocket_slow_t slow)
{
    stage_begin(&stage);
    memset(members, 0, sizeof(members));
    for (size_t i = 0; i < MEMBERS; i++)
        members[i].client.socket = -1;
    opened = 0;
    at_close = NULL;
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

static void turns(void)
{
    for (int i = 0; i < TURNS; i++) {
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
        turns();
        if (opened != i + 1) /* for want of memory: the others take its place */
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

/* A member has to get this as well. */
static void expect(struct member *member, const char *text)
{
    size_t length = strlen(member->expected);
    (void)snprintf(member->expected + length, TEXT_SIZE - length, "%s", text);
}

/* `from` NULL: nobody is left out. */
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

/* All texts that a client has got, one behind the other. */
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

/* ---- memory ---- */

static void live_with_failures(void)
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
    turns();
    publish(&members[0], "<d>");
    unsubscribe(&members[1], "room/+");
    unsubscribe(&members[1], "room/#");
    members[1].subscribed = false;
    publish(&members[0], "<e>");
    turns();
    check_texts();
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(text, sizeof(text), "<%d>", i);
        publish(&members[2], text);
    }
    turns();
    check_texts();
    publish(&members[0], "<f>");
    if (members[2].ws != NULL)
        uvhttp_websocket_abort(members[2].ws);
    publish(&members[0], "<g>");
    turns();
    check_texts();
    publish(&members[0], "<h>");
    publish(NULL, "<i>");
    uvhttp_server_stop(stage.server);
    turns();
}

static void every_allocation_may_fail(bool keep_failing)
{
    size_t n = 1;
    for (; n < MOST_ALLOCATIONS; n++) {
        begin(UVHTTP_WEBSOCKET_SLOW_CLOSE);
        fault_heap_arm(&stage.heap, n, keep_failing);
        live_with_failures();
        size_t failures = stage.heap.failures;
        fault_heap_arm(&stage.heap, 0, false);
        end();
        if (failures == 0)
            break;
    }
    assert_true(n > 20 && n < MOST_ALLOCATIONS);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    every_allocation_may_fail(false);
}

static void any_allocation_and_all_behind_it_may_fail(void **state)
{
    (void)state;
    every_allocation_may_fail(true);
}

/* ---- ends ---- */

static void publish_that_it_left(struct member *member)
{
    (void)member;
    publish(NULL, "<left>");
}

static void end_all_others(struct member *member)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        if (members[i].ws != NULL && &members[i] != member)
            uvhttp_websocket_abort(members[i].ws);
    }
}

static void take_all_others_out(struct member *member)
{
    (void)member;
    for (size_t i = 0; i < MEMBERS; i++)
        unsubscribe(&members[i], "room/+");
}

static void subscribe_all_others_again(struct member *member)
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

/* A member that does not read is closed while the messages of a turn go out, and what it does in
 * `close` falls on those that wait in the same turn. */
static void close_in_the_middle(void (*then)(struct member *member))
{
    static char large[LARGE + 1];
    begin(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    stage_shrink_send_buffer(&stage, 4096);
    connect_all();
    for (size_t i = 0; i < MEMBERS; i++)
        subscribe(&members[i], "room/+");
    at_close = then;
    memset(large, 'x', LARGE);
    for (int i = 0; i < 2 * MANY && members[0].ws != NULL; i++) {
        assert_int_equal(
            uvhttp_topics_publish(topics, "room/1", UVHTTP_WEBSOCKET_TEXT, large, LARGE), 0);
        stage_iterate(&stage);
    }
    assert_null(members[0].ws);
    at_close = NULL;
    uvhttp_server_stop(stage.server);
    uvhttp_server_stop(stage.server);
    stage_iterations(&stage, TURNS);
    end();
}

static void closing_in_the_middle_of_a_turn(void **state)
{
    (void)state;
    close_in_the_middle(NULL);
    close_in_the_middle(publish_that_it_left);
    close_in_the_middle(end_all_others);
    close_in_the_middle(take_all_others_out);
    close_in_the_middle(subscribe_all_others_again);
}

static void a_server_that_is_freed_with_messages_on_their_way(void **state)
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
        at_close = publish_that_it_left;
        end();
    }
}

static void presence_is_told_to_the_last(void **state)
{
    (void)state;
    begin(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    connect_all();
    for (size_t i = 0; i < MEMBERS; i++) {
        subscribe(&members[i], "room/+");
        assert_int_equal(told, i + 1);
    }
    for (size_t i = 0; i < MEMBERS; i++) {
        uvhttp_websocket_abort(members[i].ws);
        assert_int_equal(told, MEMBERS - i - 1);
    }
    end();
}

/* ---- adapters ---- */

static char carried[TEXT_SIZE];

static void note(const char *what, const char *of)
{
    (void)snprintf(carried + strlen(carried), sizeof(carried) - strlen(carried), "%s %s;", what,
                   of);
}

static int carry(void *adapter, const char *topic, uvhttp_websocket_kind_t kind, const void *data,
                 size_t size)
{
    assert_ptr_equal(adapter, carried);
    assert_int_equal(kind, UVHTTP_WEBSOCKET_TEXT);
    assert_true(data != NULL && size == 3);
    note("publish", topic);
    return UVHTTP_ENOMEM; /* for the log only */
}

static void needed(void *adapter, const char *pattern)
{
    (void)adapter;
    note("+", pattern);
}

static void not_needed(void *adapter, const char *pattern)
{
    (void)adapter;
    note("-", pattern);
}

static void adapter_gone(void *adapter)
{
    (void)adapter;
    note("release", "");
}

static void an_adapter_is_told_of_the_first_and_the_last(void **state)
{
    (void)state;
    const uvhttp_topics_adapter_t functions = {carry, needed, not_needed, adapter_gone}, none = {0};
    carried[0] = '\0';
    prepare(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    assert_int_equal(uvhttp_topics_set_adapter(topics, &none, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_topics_set_adapter(topics, &functions, carried), 0);
    assert_int_equal(uvhttp_server_error(stage.server)->code, 0);
    assert_int_equal(uvhttp_topics_set_adapter(topics, &functions, carried), UVHTTP_EINVAL);
    stage_listen(&stage);
    connect_all();
    publish(NULL, "<0>"); /* nobody is here, and others may be elsewhere */
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
    turns();
    check_texts();
    unsubscribe(&members[0], "room/+");
    uvhttp_websocket_abort(members[1].ws);
    assert_true(stage.warnings_logged >= 2);
    end();
    assert_string_equal(carried, "publish room/1;+ room/+;publish room/1;- room/+;release ;");
}

/* Nothing of theirs would be there when the first connection comes. */
static void nothing_is_made_once_the_server_listens(void **state)
{
    (void)state;
    const uvhttp_websocket_options_t options = {.events.message = on_message};
    const uvhttp_topics_adapter_t functions = {.publish = carry};
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

/* One request of the handshake is there in part, so its connection is not idle. */
static void a_handshake_while_the_server_stops(void **state)
{
    (void)state;
    const size_t first = 20;
    struct raw_client *client = &members[0].client;
    begin(UVHTTP_WEBSOCKET_SLOW_CLOSE);
    raw_client_connect(client, uvhttp_server_port(stage.server), 0);
    raw_client_send(client, handshake, first);
    turns();
    uvhttp_server_stop(stage.server);
    turns();
    raw_client_send_text(client, handshake + first);
    turns();
    assert_true(client->received > 13);
    assert_memory_equal(client->data, "HTTP/1.1 503 ", 13);
    assert_null(memmem(client->data, client->received, "Sec-WebSocket-", 14));
    assert_int_equal(stage.errors_logged, 0);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(any_allocation_and_all_behind_it_may_fail),
        cmocka_unit_test(closing_in_the_middle_of_a_turn),
        cmocka_unit_test(a_server_that_is_freed_with_messages_on_their_way),
        cmocka_unit_test(presence_is_told_to_the_last),
        cmocka_unit_test(an_adapter_is_told_of_the_first_and_the_last),
        cmocka_unit_test(nothing_is_made_once_the_server_listens),
        cmocka_unit_test(a_handshake_while_the_server_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
