/* Reloads with topics, which outlive them. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics_compress_after_a_reload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
