/* NULL for each pointer parameter of WebSocket, topics and streams, with an open connection, which
 * must not be NULL itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/topics.h>
#include <uvhttp/websocket.h>

#include "support/null_rows.h"
#include "support/stage.h"

#define HANDSHAKE                                                                  \
    "GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

static struct stage stage;
static struct raw_client client;
static uvhttp_websocket_endpoint_t *endpoint;
static uvhttp_topics_t *topics;
static uvhttp_websocket_t *ws;

static void on_open(uvhttp_websocket_t *opened, void *arg)
{
    (void)arg;
    ws = opened;
}

static void on_message(uvhttp_websocket_t *from, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    (void)from, (void)kind, (void)data, (void)size, (void)arg;
}

static const uvhttp_websocket_options_t options = {
    .events = {.open = on_open, .message = on_message}};

static void begin(void)
{
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    endpoint = NULL;
    topics = NULL;
    ws = NULL;
}

/* ---- before the server listens ---- */

static int publish(void *adapter, const char *topic, uvhttp_websocket_kind_t kind, const void *data,
                   size_t size)
{
    (void)adapter, (void)topic, (void)kind, (void)data, (void)size;
    return 0;
}

static void endpoint_functions_check_null(void **state)
{
    (void)state;
    uvhttp_error_t error;
    const uvhttp_websocket_options_t invalid = {.events = {.message = on_message},
                                                .window_bits = 99};
    begin();
    null_rows_begin();
    NULL_ROW(uvhttp_websocket_check, options,
             uvhttp_websocket_check(NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_websocket_check, error,
             uvhttp_websocket_check(&invalid, NULL) == UVHTTP_ECONFIG);
    NULL_ROW(uvhttp_websocket_endpoint_new, endpoint,
             uvhttp_websocket_endpoint_new(NULL, stage.server, &options, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_websocket_endpoint_new, server,
             uvhttp_websocket_endpoint_new(&endpoint, NULL, &options, &error) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_websocket_endpoint_new, options,
             uvhttp_websocket_endpoint_new(&endpoint, stage.server, NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_websocket_endpoint_new, error,
             uvhttp_websocket_endpoint_new(&endpoint, stage.server, &invalid, NULL) ==
                 UVHTTP_ECONFIG);
    NULL_ROW(uvhttp_websocket_route, server,
             uvhttp_websocket_route(NULL, "/a", &options, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_websocket_route, pattern,
             uvhttp_websocket_route(stage.server, NULL, &options, NULL) == UVHTTP_EINVAL &&
                 uvhttp_websocket_route(stage.server, NULL, &invalid, NULL) != 0);
    NULL_ROW(uvhttp_websocket_route, options,
             uvhttp_websocket_route(stage.server, "/a", NULL, &error) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_websocket_route, error,
             uvhttp_websocket_route(stage.server, "/a", &invalid, NULL) == UVHTTP_ECONFIG);
    NULL_ROW(uvhttp_websocket_handle_request, endpoint,
             uvhttp_websocket_handle_request(NULL, NULL, NULL) == UVHTTP_EINVAL);
    null_rows_end();
    stage_end(&stage);
}

static void topics_functions_check_null(void **state)
{
    (void)state;
    uvhttp_error_t error;
    const uvhttp_topics_adapter_t adapter = {.publish = publish};
    const uvhttp_topics_options_t few = {.max_topic_size = 10};
    begin();
    null_rows_begin();
    NULL_ROW(uvhttp_topics_new, topics,
             uvhttp_topics_new(NULL, stage.server, &few, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_topics_new, server,
             uvhttp_topics_new(&topics, NULL, &few, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_topics_new, options,
             uvhttp_topics_new(&topics, stage.server, NULL, &error) == 0);
    NULL_ROW(uvhttp_topics_new, error, uvhttp_topics_new(&topics, stage.server, NULL, NULL) == 0);
    NULL_CALL(uvhttp_topics_on_presence, topics, uvhttp_topics_on_presence(NULL, NULL, NULL));
    NULL_CALL(uvhttp_topics_on_presence, presence, uvhttp_topics_on_presence(topics, NULL, NULL));
    NULL_ROW(uvhttp_topics_set_adapter, topics,
             uvhttp_topics_set_adapter(NULL, &adapter, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_topics_set_adapter, functions,
             uvhttp_topics_set_adapter(topics, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_topics_count, topics, uvhttp_topics_count(NULL, "a") == 0);
    NULL_ROW(uvhttp_topics_count, pattern, uvhttp_topics_count(topics, NULL) == 0);
    NULL_ROW(uvhttp_topics_publish, topics,
             uvhttp_topics_publish(NULL, "a", UVHTTP_WEBSOCKET_TEXT, "b", 1) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_topics_deliver, topics,
             uvhttp_topics_deliver(NULL, "a", UVHTTP_WEBSOCKET_TEXT, "b", 1) == UVHTTP_ENOMEM);
    null_rows_end();
    stage_end(&stage);
}

/* ---- with a connection ---- */

static bool is_open(void *arg)
{
    (void)arg;
    return ws != NULL;
}

static int accept_without(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    NULL_ROW(uvhttp_websocket_accept, endpoint,
             uvhttp_websocket_accept(NULL, res, NULL, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_websocket_accept, ws, uvhttp_websocket_accept(endpoint, res, NULL, NULL) == 0);
    return 0;
}

static void begin_connected(void)
{
    begin();
    assert_int_equal(uvhttp_websocket_endpoint_new(&endpoint, stage.server, &options, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/ws", accept_without, NULL), 0);
    assert_int_equal(uvhttp_topics_new(&topics, stage.server, NULL, NULL), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, HANDSHAKE);
    null_rows_begin();
    stage_drive(&stage, &client, 1000, is_open, NULL);
}

static void end_connected(void)
{
    null_rows_end();
    raw_client_close(&client, false);
    stage_end(&stage);
}

static void send_functions_check_null(void **state)
{
    (void)state;
    static uvhttp_websocket_message_t *message;
    begin_connected();
    NULL_ROW(uvhttp_websocket_send, data,
             uvhttp_websocket_send(ws, UVHTTP_WEBSOCKET_TEXT, NULL, 1) == UVHTTP_EINVAL &&
                 uvhttp_websocket_send(ws, UVHTTP_WEBSOCKET_BINARY, NULL, 1) == UVHTTP_EINVAL &&
                 uvhttp_websocket_send(ws, UVHTTP_WEBSOCKET_BINARY, NULL, 0) == 0);
    NULL_ROW(uvhttp_websocket_send_text, text,
             uvhttp_websocket_send_text(ws, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_websocket_send_fragment, data,
             uvhttp_websocket_send_fragment(ws, UVHTTP_WEBSOCKET_TEXT, NULL, 1, false) ==
                     UVHTTP_EINVAL &&
                 uvhttp_websocket_send_fragment(ws, UVHTTP_WEBSOCKET_BINARY, NULL, 1, true) ==
                     UVHTTP_EINVAL &&
                 uvhttp_websocket_send_fragment(ws, UVHTTP_WEBSOCKET_BINARY, NULL, 0, true) == 0);
    NULL_ROW(uvhttp_websocket_message_new, endpoint,
             uvhttp_websocket_message_new(NULL, UVHTTP_WEBSOCKET_TEXT, "a", 1) == NULL);
    NULL_ROW(uvhttp_websocket_message_new, data,
             uvhttp_websocket_message_new(endpoint, UVHTTP_WEBSOCKET_BINARY, NULL, 1) == NULL &&
                 (message = uvhttp_websocket_message_new(endpoint, UVHTTP_WEBSOCKET_TEXT, NULL,
                                                         0)) != NULL);
    uvhttp_websocket_message_unref(message);
    NULL_CALL(uvhttp_websocket_message_ref, message, uvhttp_websocket_message_ref(NULL));
    NULL_CALL(uvhttp_websocket_message_unref, message, uvhttp_websocket_message_unref(NULL));
    NULL_ROW(uvhttp_websocket_send_message, message,
             uvhttp_websocket_send_message(ws, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_websocket_ping, data,
             uvhttp_websocket_ping(ws, NULL, 1) == UVHTTP_EINVAL &&
                 uvhttp_websocket_ping(ws, NULL, 0) == 0);
    end_connected();
}

static void subscribe_functions_check_null(void **state)
{
    (void)state;
    begin_connected();
    NULL_ROW(uvhttp_websocket_subscribe, topics,
             uvhttp_websocket_subscribe(ws, NULL, "a") == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_websocket_subscribe, pattern,
             uvhttp_websocket_subscribe(ws, topics, NULL) == UVHTTP_EINVAL);
    assert_int_equal(uvhttp_websocket_subscribe(ws, topics, "a"), 0);
    NULL_ROW(uvhttp_websocket_unsubscribe, topics,
             uvhttp_websocket_unsubscribe(ws, NULL, "a") == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_websocket_unsubscribe, pattern,
             uvhttp_websocket_unsubscribe(ws, topics, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_websocket_publish, topics,
             uvhttp_websocket_publish(ws, NULL, "a", UVHTTP_WEBSOCKET_TEXT, "b", 1) ==
                 UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_websocket_publish, topic,
             uvhttp_websocket_publish(ws, topics, NULL, UVHTTP_WEBSOCKET_TEXT, "b", 1) ==
                 UVHTTP_EINVAL);
    NULL_ROW(uvhttp_websocket_publish, data,
             uvhttp_websocket_publish(ws, topics, "a", UVHTTP_WEBSOCKET_BINARY, NULL, 1) ==
                 UVHTTP_EINVAL);
    NULL_ROW(uvhttp_topics_publish, topic,
             uvhttp_topics_publish(topics, NULL, UVHTTP_WEBSOCKET_TEXT, "b", 1) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_topics_publish, data,
             uvhttp_topics_publish(topics, "a", UVHTTP_WEBSOCKET_TEXT, NULL, 1) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_topics_deliver, topic,
             uvhttp_topics_deliver(topics, NULL, UVHTTP_WEBSOCKET_TEXT, "b", 1) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_topics_deliver, data,
             uvhttp_topics_deliver(topics, "a", UVHTTP_WEBSOCKET_BINARY, NULL, 1) == UVHTTP_EINVAL);
    end_connected();
}

static void stats_connect_and_close_check_null(void **state)
{
    (void)state;
    static uvhttp_websocket_stats_t stats;
    const uvhttp_websocket_target_t target = {.url = "ws://127.0.0.1:1/"};
    const uvhttp_websocket_target_t no_url = {.url = NULL};
    begin_connected();
    stats.connections = 7;
    NULL_ROW(uvhttp_websocket_read_stats, endpoint,
             (uvhttp_websocket_read_stats(NULL, &stats), stats.connections == 0));
    NULL_CALL(uvhttp_websocket_read_stats, stats, uvhttp_websocket_read_stats(endpoint, NULL));
    NULL_ROW(uvhttp_websocket_connect, endpoint,
             uvhttp_websocket_connect(NULL, &target, NULL, NULL, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_websocket_connect, target,
             uvhttp_websocket_connect(endpoint, NULL, NULL, NULL, NULL) == UVHTTP_EINVAL &&
                 uvhttp_websocket_connect(endpoint, &no_url, NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_websocket_connect, error,
             uvhttp_websocket_connect(endpoint, &no_url, NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_websocket_connect, ws,
             uvhttp_websocket_connect(endpoint, &target, NULL, NULL, NULL) == 0);
    NULL_ROW(uvhttp_websocket_close, reason, uvhttp_websocket_close(ws, 1000, NULL) == 0);
    end_connected();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endpoint_functions_check_null),
        cmocka_unit_test(topics_functions_check_null),
        cmocka_unit_test(send_functions_check_null),
        cmocka_unit_test(subscribe_functions_check_null),
        cmocka_unit_test(stats_connect_and_close_check_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
