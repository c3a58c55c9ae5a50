/* Reloads with what belongs to no exchange: topics, which outlive them, and outgoing WebSocket
 * connections, which keep the set-up of their endpoint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <uvhttp.h>

#include <uvhttp/topics.h>

#include "support/stage.h"

enum { ITERATIONS = 10, FIRST_BYTE = 0x81, COMPRESSED = 0x40 };

/* What a set-up makes. */
struct version {
    int released;
    uvhttp_websocket_endpoint_t *endpoint; /* of outgoing connections */
};

static struct stage stage;
static struct version one, two;

static void count_release(void *arg)
{
    ((struct version *)arg)->released++;
}

static void add_version(struct version *version)
{
    *version = (struct version){.released = 0};
    assert_int_equal(uvhttp_server_own(stage.server, count_release, version), 0);
}

/* ---- topics ---- */

static uvhttp_topics_t *topics;
static struct raw_client client;

static void subscribe(uvhttp_websocket_t *ws, void *arg)
{
    (void)arg;
    assert_int_equal(uvhttp_websocket_subscribe(ws, topics, "topic"), 0);
}

static void echo(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                 size_t size, void *arg)
{
    (void)arg;
    (void)uvhttp_websocket_send(ws, kind, data, size);
}

static void set_up_topics(struct version *version)
{
    const uvhttp_websocket_options_t options = {.events = {.open = subscribe, .message = echo},
                                                .compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED,
                                                .allocator = &stage.heap.allocator};
    add_version(version);
    assert_int_equal(uvhttp_websocket_route(stage.server, "/ws", &options, NULL), 0);
}

static void begin_topics(void)
{
    const uvhttp_topics_options_t options = {.allocator = &stage.heap.allocator};
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_topics_new(&topics, stage.server, &options, NULL), 0);
    set_up_topics(&one);
    stage_listen(&stage);
}

static bool has_head(void *arg)
{
    (void)arg;
    return client.received > 4 && memcmp(client.data + client.received - 4, "\r\n\r\n", 4) == 0;
}

static void open_websocket(void)
{
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, "GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n"
                                  "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Extensions: permessage-deflate\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    stage_drive(&stage, &client, 1000, has_head, NULL);
}

static void reload_topics(void)
{
    assert_int_equal(uvhttp_server_begin_reload(stage.server), 0);
    set_up_topics(&two);
    assert_int_equal(uvhttp_server_apply_reload(stage.server), 0);
    stage_iterations(&stage, ITERATIONS);
}

static bool has_more(void *arg)
{
    const size_t *before = arg;
    return client.received > *before;
}

static void topics_compress_after_a_reload(void **state)
{
    const char text[100] = "";
    (void)state;
    begin_topics();
    open_websocket();
    raw_client_close(&client, false);
    stage_iterations(&stage, ITERATIONS);
    reload_topics();
    assert_int_equal(one.released, 1);
    open_websocket();
    bool compresses = strstr(client.data, "permessage-deflate") != NULL;
    size_t before = client.received;
    assert_int_equal(
        uvhttp_topics_publish(topics, "topic", UVHTTP_WEBSOCKET_TEXT, text, sizeof(text)), 0);
    stage_drive(&stage, &client, 1000, has_more, &before);
    assert_int_equal((unsigned char)client.data[before],
                     FIRST_BYTE | (compresses ? COMPRESSED : 0));
    raw_client_close(&client, false);
    stage_end(&stage);
}

static int publish_nowhere(void *adapter, const char *topic, uvhttp_websocket_kind_t kind,
                           const void *data, size_t size)
{
    (void)adapter, (void)topic, (void)kind, (void)data, (void)size;
    return 0;
}

static void fail_on_presence(uvhttp_topics_t *of, const char *pattern, size_t count, void *arg)
{
    (void)of, (void)pattern, (void)count, (void)arg;
    fail();
}

/* Workers use the topics meanwhile. */
static void topics_keep_callbacks_in_a_reload(void **state)
{
    const uvhttp_topics_adapter_t functions = {.publish = publish_nowhere};
    (void)state;
    begin_topics();
    assert_int_equal(uvhttp_server_begin_reload(stage.server), 0);
    set_up_topics(&two);
    assert_int_equal(uvhttp_topics_set_adapter(topics, &functions, NULL), UVHTTP_EFROZEN);
    assert_int_equal(stage.errors_logged, 0);
    uvhttp_topics_on_presence(topics, fail_on_presence, NULL);
    assert_int_equal(stage.errors_logged, 1);
    assert_int_equal(uvhttp_server_apply_reload(stage.server), 0);
    stage_iterations(&stage, ITERATIONS);
    open_websocket();
    assert_int_equal(uvhttp_topics_count(topics, "topic"), 1);
    raw_client_close(&client, false);
    stage_end(&stage);
}

/* ---- outgoing connections ---- */

static uvhttp_server_t *peer;
static uvhttp_websocket_t *outgoing; /* NULL: not open */
static size_t messages;
static uvhttp_response_t *held;

static void note_open(uvhttp_websocket_t *ws, void *arg)
{
    assert_int_equal(((struct version *)arg)->released, 0);
    outgoing = ws;
}

static void note_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                         size_t size, void *arg)
{
    (void)ws, (void)kind, (void)data, (void)size;
    assert_int_equal(((struct version *)arg)->released, 0);
    messages++;
}

static void note_closed(uvhttp_websocket_t *ws, unsigned code, const char *reason, void *arg)
{
    (void)ws, (void)code, (void)reason;
    assert_int_equal(((struct version *)arg)->released, 0);
    outgoing = NULL;
}

static int hold(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    held = response;
    return 0;
}

static void set_up(struct version *version)
{
    const uvhttp_websocket_options_t options = {
        .events = {.open = note_open, .message = note_message, .close = note_closed},
        .allocator = &stage.heap.allocator,
        .arg = version};
    add_version(version);
    assert_int_equal(
        uvhttp_websocket_endpoint_new(&version->endpoint, stage.server, &options, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/hold", hold, NULL), 0);
}

static void begin(void)
{
    const uvhttp_websocket_options_t options = {.events.message = echo};
    outgoing = NULL;
    held = NULL;
    messages = 0;
    stage_begin(&stage);
    peer = uvhttp_server_new_with(&stage.loop, stage.config);
    assert_int_equal(uvhttp_websocket_route(peer, "/", &options, NULL), 0);
    assert_int_equal(uvhttp_server_listen(peer, "127.0.0.1", 0), 0);
    assert_non_null(stage_new_server(&stage));
    set_up(&one);
    stage_listen(&stage);
}

static void end(void)
{
    uvhttp_server_free(peer);
    stage_end(&stage);
}

static void reload(void)
{
    assert_int_equal(uvhttp_server_begin_reload(stage.server), 0);
    set_up(&two);
    assert_int_equal(uvhttp_server_apply_reload(stage.server), 0);
    stage_iterations(&stage, ITERATIONS);
}

static void connect_from(const struct version *version)
{
    char url[64];
    snprintf(url, sizeof(url), "ws://127.0.0.1:%d/", uvhttp_server_port(peer));
    const uvhttp_websocket_target_t target = {.url = url};
    assert_int_equal(uvhttp_websocket_connect(version->endpoint, &target, NULL, NULL, NULL), 0);
}

static void assert_echo(void)
{
    size_t before = messages;
    while (outgoing == NULL)
        stage_wait(&stage);
    assert_int_equal(uvhttp_websocket_send_text(outgoing, "text"), 0);
    while (messages == before)
        stage_wait(&stage);
}

static void assert_ends_with_connection(const struct version *version)
{
    assert_int_equal(version->released, 0);
    assert_int_equal(uvhttp_websocket_close(outgoing, UVHTTP_WEBSOCKET_NORMAL, NULL), 0);
    while (version->released == 0)
        stage_wait(&stage);
    assert_null(outgoing);
}

static void outgoing_websocket_keeps_its_set_up(void **state)
{
    (void)state;
    begin();
    connect_from(&one);
    assert_echo();
    reload();
    assert_echo();
    assert_ends_with_connection(&one);
    assert_int_equal(two.released, 0);
    end();
}

/* The handler of an old exchange has the old endpoint. */
static void outgoing_websocket_of_a_replaced_set_up_opens(void **state)
{
    size_t before = 0;
    (void)state;
    begin();
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    while (held == NULL) {
        (void)raw_client_step(&client, 1000);
        stage_wait(&stage);
    }
    reload();
    connect_from(&one);
    assert_int_equal(uvhttp_response_send_text(held, 200, "late"), 0);
    stage_drive(&stage, &client, 1000, has_more, &before);
    raw_client_close(&client, false);
    stage_iterations(&stage, ITERATIONS);
    assert_echo();
    assert_ends_with_connection(&one);
    end();
}

static void outgoing_websocket_of_a_cancelled_set_up_opens(void **state)
{
    (void)state;
    begin();
    assert_int_equal(uvhttp_server_begin_reload(stage.server), 0);
    set_up(&two);
    connect_from(&two);
    uvhttp_server_cancel_reload(stage.server);
    stage_iterations(&stage, ITERATIONS);
    assert_echo();
    assert_ends_with_connection(&two);
    assert_int_equal(one.released, 0);
    end();
}

static void failed_connection_releases_its_set_up(void **state)
{
    (void)state;
    begin();
    uvhttp_server_stop(peer);
    uvhttp_server_stop(peer); /* immediately */
    connect_from(&one);
    reload();
    while (one.released == 0)
        stage_wait(&stage);
    assert_null(outgoing);
    end();
}

static void stop_ends_outgoing_websockets_of_a_replaced_set_up(void **state)
{
    (void)state;
    begin();
    connect_from(&one);
    assert_echo();
    reload();
    uvhttp_server_stop(stage.server);
    uvhttp_drain_result_t result;
    while (uvhttp_server_drain_result(stage.server, &result) != 0)
        stage_wait(&stage);
    assert_null(outgoing);
    assert_int_equal(result.connections + result.streams, 0); /* those of clients */
    end();
    assert_int_equal(one.released, 1);
    assert_int_equal(two.released, 1);
}

static void free_ends_outgoing_websockets_of_a_replaced_set_up(void **state)
{
    (void)state;
    begin();
    connect_from(&one);
    assert_echo();
    reload();
    end();
    assert_null(outgoing);
    assert_int_equal(one.released, 1);
    assert_int_equal(two.released, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics_compress_after_a_reload),
        cmocka_unit_test(topics_keep_callbacks_in_a_reload),
        cmocka_unit_test(outgoing_websocket_keeps_its_set_up),
        cmocka_unit_test(outgoing_websocket_of_a_replaced_set_up_opens),
        cmocka_unit_test(outgoing_websocket_of_a_cancelled_set_up_opens),
        cmocka_unit_test(failed_connection_releases_its_set_up),
        cmocka_unit_test(stop_ends_outgoing_websockets_of_a_replaced_set_up),
        cmocka_unit_test(free_ends_outgoing_websockets_of_a_replaced_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
