/* The handshake of a server: refused requests with their responses, negotiated options, and the
 * fields of the response. The handler responds with 200 instead of upgrading, so that the fields
 * can be read from an ordinary response. */
#include "websocket/accept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/stage.h"

#define KEY       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define ACCEPT    "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
#define UPGRADE   "Host: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
#define VERSION   "Sec-WebSocket-Version: 13\r\n"
#define GOOD      "GET / HTTP/1.1\r\n" UPGRADE KEY VERSION
#define PROTOCOL  "Sec-WebSocket-Protocol: "
#define EXTENSION "Sec-WebSocket-Extensions: "

static struct stage stage;
static struct raw_client client;
static struct uvh_ws_accept_rules rules;

static int handle(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    struct uvh_ws_accepted accepted;
    struct uvh_ws_refusal refusal;
    (void)arg;
    assert_int_equal(
        uvhttp_response_set_header(response, "Sec-WebSocket-Protocol", "of somebody else"), 0);
    int err = uvh_ws_accept_check(request, &rules, &accepted, &refusal);
    if (err != 0) {
        assert_int_equal(err, UVHTTP_EINVAL);
        return uvh_ws_accept_refuse(response, &refusal);
    }
    err = uvh_ws_accept_fields(response, &accepted);
    return err != 0 ? err : uvhttp_response_send_text(response, 200, "agreed");
}

static int set_up(void **state)
{
    (void)state;
    rules = (struct uvh_ws_accept_rules){0};
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server),
                                       &(uvhttp_route_t){.pattern = "/", .handler = handle}),
                     0);
    stage_listen(&stage);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    uvhttp_server_free(stage.server);
    stage.server = NULL;
    stage_iterations(&stage, 20);
    stage_end(&stage);
    return 0;
}

static void send_request(const char *request, struct raw_response *reply)
{
    size_t offset = 0;
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, request);
    raw_client_send_text(&client, "\r\n");
    for (int iteration = 0; iteration < STAGE_MAX_ITERATIONS && !client.ended; iteration++) {
        raw_client_step(&client, 10000);
        if (raw_client_response(&client, &offset, false, reply))
            return;
        stage_iterate(&stage);
    }
    fail_msg("no response to %s", request);
}

static void disconnect(void)
{
    raw_client_close(&client, false);
    stage_iterations(&stage, 5);
}

static void assert_field(const struct raw_response *reply, const char *name, const char *expected)
{
    char value[256];
    bool found = raw_response_field(reply, name, value, sizeof(value));
    assert_int_equal(found, expected != NULL);
    if (found)
        assert_string_equal(value, expected);
}

/* The body is the status, and a line that contains `text`. */
static void expect_refused(const char *request, int status, const char *text)
{
    struct raw_response reply;
    char body[512];
    send_request(request, &reply);
    assert_int_equal(reply.status, status);
    snprintf(body, sizeof(body), "%.*s", (int)reply.body_length, reply.body);
    const char *reason = strchr(body, '\n');
    if (reason == NULL || strstr(reason, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, body);
    assert_ptr_equal(strchr(reason + 1, '\n'), body + strlen(body) - 1);
    assert_field(&reply, "Sec-WebSocket-Accept", NULL);
    assert_field(&reply, "Upgrade", status == 426 ? "websocket" : NULL);
    assert_field(&reply, "Sec-WebSocket-Version", status == 426 ? "13" : NULL);
    assert_field(&reply, "Allow", status == 405 ? "GET" : NULL);
    disconnect();
}

static void expect_agreed(const char *request, const char *protocol, const char *extensions)
{
    struct raw_response reply;
    send_request(request, &reply);
    if (reply.status != 200)
        fail_msg("%d: %.*s", reply.status, (int)reply.body_length, reply.body);
    assert_field(&reply, "Sec-WebSocket-Accept", ACCEPT);
    assert_field(&reply, "Sec-WebSocket-Protocol", protocol);
    assert_field(&reply, "Sec-WebSocket-Extensions", extensions);
    disconnect();
}

static void non_websocket_requests_are_refused(void **state)
{
    (void)state;
    expect_agreed(GOOD, NULL, NULL);
    expect_refused("POST / HTTP/1.1\r\nContent-Length: 0\r\n" UPGRADE KEY VERSION, 405, "POST");
    expect_refused("GET / HTTP/1.1\r\nHost: h\r\n" KEY VERSION, 426, "Upgrade: websocket");
    expect_refused("GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n" KEY VERSION, 426,
                   "Connection: Upgrade");
    expect_refused("GET / HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\n" KEY VERSION, 426,
                   "Upgrade");
    expect_refused(
        "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n" KEY VERSION, 426,
        "Upgrade: websocket");
    expect_refused("GET / HTTP/1.0\r\n" UPGRADE KEY VERSION, 426, "HTTP/1.0");
    expect_agreed("GET / HTTP/1.1\r\nHost: h\r\nUpgrade: h2c, WebSocket\r\nConnection: keep-alive, "
                  "uPGRADE\r\n" KEY VERSION,
                  NULL, NULL);
}

static void unsupported_versions_get_426(void **state)
{
    (void)state;
    expect_refused("GET / HTTP/1.1\r\n" UPGRADE KEY, 426, "is missing");
    expect_refused("GET / HTTP/1.1\r\n" UPGRADE KEY "Sec-WebSocket-Version: 8\r\n", 426, "\"8\"");
    expect_refused("GET / HTTP/1.1\r\n" UPGRADE KEY "Sec-WebSocket-Version: 013\r\n", 426,
                   "\"013\"");
    expect_refused("GET / HTTP/1.1\r\n" UPGRADE KEY "Sec-WebSocket-Version: 130\r\n", 426,
                   "\"130\"");
    expect_refused("GET / HTTP/1.1\r\n" UPGRADE KEY "Sec-WebSocket-Version: 13, 8\r\n", 426,
                   "\"13, 8\"");
    expect_refused("GET / HTTP/1.1\r\n" UPGRADE KEY "Sec-WebSocket-Version:\r\n", 426, "\"\"");
    expect_refused(GOOD VERSION, 426, "repeated");
    /* An unsupported version may have other keys. */
    expect_refused("GET / HTTP/1.1\r\n" UPGRADE "Sec-WebSocket-Version: 7\r\n", 426, "\"7\"");
}

static void invalid_keys_get_400(void **state)
{
    (void)state;
    expect_refused("GET / HTTP/1.1\r\n" UPGRADE VERSION, 400, "missing");
    expect_refused(GOOD KEY, 400, "repeated");
    expect_refused("GET / HTTP/1.1\r\n" UPGRADE VERSION "Sec-WebSocket-Key:\r\n", 400, "\"\"");
    expect_refused("GET / HTTP/1.1\r\n" UPGRADE VERSION "Sec-WebSocket-Key: SGVsbG8=\r\n", 400,
                   "\"SGVsbG8=\"");
    /* A long key is truncated, and bytes other than visible ASCII are replaced. */
    expect_refused(
        "GET / HTTP/1.1\r\n" UPGRADE VERSION
        "Sec-WebSocket-Key: \xc3\xa4 456789012345678901234567890123456789012345678901234567890\r\n",
        400, "\"?? 456789012345678901234567890123456789012345678...\"");
}

static void disallowed_origins_get_403(void **state)
{
    (void)state;
    static const char *const listed[] = {"https://example.org", "http://localhost:8080", NULL};
    static const char *const no_origins[] = {NULL};
    static const char *const with_null[] = {"https://example.org", "null", NULL};
    expect_agreed(GOOD "Origin: https://evil.example\r\n", NULL, NULL);
    rules.origins = listed;
    expect_agreed(GOOD, NULL, NULL); /* not a browser */
    expect_agreed(GOOD "Origin: https://example.org\r\n", NULL, NULL);
    expect_agreed(GOOD "Origin: HTTPS://Example.ORG:443\r\n", NULL, NULL);
    expect_agreed(GOOD "Origin: http://localhost:8080\r\n", NULL, NULL);
    expect_refused(GOOD "Origin: http://localhost\r\n", 403, "\"http://localhost\"");
    expect_refused(GOOD "Origin: https://example.org.evil.example\r\n", 403, "evil");
    expect_refused(GOOD "Origin: null\r\n", 403, "\"null\"");
    expect_refused(GOOD "Origin: https://example.org https://example.org\r\n", 403,
                   "scheme://host");
    expect_refused(GOOD "Origin: https://example.org/\r\n", 403, "scheme://host");
    expect_refused(GOOD "Origin:\r\n", 403, "\"\"");
    expect_refused(GOOD "Origin: https://example.org\r\nOrigin: https://example.org\r\n", 403,
                   "repeated");
    rules.origins = with_null;
    expect_agreed(GOOD "Origin: null\r\n", NULL, NULL);
    rules.origins = no_origins;
    expect_agreed(GOOD, NULL, NULL);
    expect_refused(GOOD "Origin: https://example.org\r\n", 403, "example.org");
}

static void subprotocol_is_negotiated(void **state)
{
    (void)state;
    static const char *const supported[] = {"v2.chat", "v1.chat", NULL};
    expect_agreed(GOOD PROTOCOL "v1.chat\r\n", NULL, NULL);
    expect_refused(GOOD PROTOCOL "a b\r\n", 400, "tokens");
    rules.protocols = supported;
    expect_agreed(GOOD, NULL, NULL);
    expect_agreed(GOOD PROTOCOL "soap\r\n", NULL, NULL);
    expect_agreed(GOOD PROTOCOL "v1.chat, v2.chat\r\n", "v2.chat", NULL);
    expect_agreed(GOOD PROTOCOL "v1.chat\r\n" PROTOCOL "soap\r\n", "v1.chat", NULL);
    expect_agreed(GOOD PROTOCOL "v1.chat\r\n" PROTOCOL "v2.chat\r\n", "v2.chat", NULL);
    expect_refused(GOOD PROTOCOL "v1.chat\r\n" PROTOCOL "(\r\n", 400, "tokens");
    expect_refused(GOOD PROTOCOL "(\r\n" PROTOCOL "v1.chat\r\n", 400, "tokens");
    expect_refused(GOOD PROTOCOL "\r\n", 400, "tokens");
    rules.protocol_required = true;
    expect_agreed(GOOD PROTOCOL "v2.chat\r\n", "v2.chat", NULL);
    expect_refused(GOOD, 400, "v2.chat, v1.chat.");
    expect_refused(GOOD PROTOCOL "V2.CHAT\r\n", 400, "v2.chat, v1.chat.");
}

/* The list in the response is truncated between two names. */
static void long_subprotocol_list_is_truncated(void **state)
{
    (void)state;
    static const char *const supported[] = {"a-name-of-thirty-two-characters-",
                                            "another-name-of-thirty-two-chars",
                                            "a-third-name-of-thirty-two-chars",
                                            "a-fourth-name-of-thirty-two-char",
                                            "x",
                                            NULL};
    static char very_long[300];
    static const char *const one[] = {very_long, NULL};
    rules.protocols = supported;
    rules.protocol_required = true;
    expect_refused(GOOD, 400,
                   "another-name-of-thirty-two-chars, a-third-name-of-thirty-two-chars, ....");
    rules.protocols = one;
    /* Of each length: whole or not at all. */
    for (size_t length = 1; length < sizeof(very_long); length++) {
        char expected[sizeof(very_long) + 16];
        very_long[length - 1] = 'x';
        snprintf(expected, sizeof(expected), "protocols: %s.\n", length <= 120 ? very_long : "...");
        expect_refused(GOOD, 400, expected);
    }
}

static void permessage_deflate_is_negotiated(void **state)
{
    (void)state;
    static const struct uvh_ws_deflate_preferences preferences = {false, 15, 15};
    expect_agreed(GOOD EXTENSION "permessage-deflate\r\n", NULL, NULL);
    expect_refused(GOOD EXTENSION "permessage-deflate;\r\n", 400, "malformed");
    rules.deflate = &preferences;
    expect_agreed(GOOD, NULL, NULL);
    expect_agreed(GOOD EXTENSION "permessage-deflate; client_max_window_bits\r\n", NULL,
                  "permessage-deflate");
    expect_agreed(GOOD EXTENSION "x-unknown\r\n" EXTENSION
                                 "permessage-deflate; server_max_window_bits=8\r\n" EXTENSION
                                 "permessage-deflate; server_max_window_bits=10\r\n" EXTENSION
                                 "permessage-deflate\r\n",
                  NULL, "permessage-deflate; server_max_window_bits=10");
    expect_agreed(GOOD EXTENSION "permessage-deflate; unknown\r\n", NULL, NULL);
    expect_refused(GOOD EXTENSION "permessage-deflate\r\n" EXTENSION "=\r\n", 400, "malformed");
    expect_refused(GOOD EXTENSION "=\r\n" EXTENSION "permessage-deflate\r\n", 400, "malformed");
    expect_refused(GOOD EXTENSION "\r\n", 400, "malformed");
}

/* A handshake with all options. */
static void full_handshake_is_accepted(void **state)
{
    (void)state;
    static const char *const supported[] = {"chat", NULL};
    static const char *const listed[] = {"https://example.org", NULL};
    static const struct uvh_ws_deflate_preferences preferences = {true, 15, 15};
    rules = (struct uvh_ws_accept_rules){supported, true, listed, &preferences};
    expect_agreed(GOOD "Origin: https://example.org\r\n" PROTOCOL "chat\r\n" EXTENSION
                       "permessage-deflate\r\n",
                  "chat",
                  "permessage-deflate; server_no_context_takeover; client_no_context_takeover");
}

static void accept_rules_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *protocols[3];
        bool protocol_required;
        const char *origins[3];
        const char *message; /* its beginning; NULL: valid */
    } rows[] = {
        {{"a", "b"}, true, {NULL}, NULL},
        {{"a", "a"}, false, {NULL}, "protocols is \"a\""},
        {{NULL}, false, {NULL}, NULL},
        {{"v2.chat", "x"}, true, {"https://example.org:1", "null"}, NULL},
        {{NULL}, true, {NULL}, "protocols is \"\""},
        {{"v2.chat", "a b"}, false, {NULL}, "protocols is \"a b\""},
        {{""}, false, {NULL}, "protocols is \"\""},
        {{"a,b"}, false, {NULL}, "protocols is \"a,b\""},
        {{NULL}, false, {"https://example.org/"}, "origins is \"https://example.org/"},
        {{NULL}, false, {"null", "example.org"}, "origins is \"example.org\""},
        {{NULL}, false, {"*"}, "origins is \"*\""},
        {{NULL}, false, {"https://*.example.org"}, "origins is \"https://*.example"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        uvhttp_error_t error;
        const struct uvh_ws_accept_rules some = {.protocols = rows[i].protocols,
                                                 .protocol_required = rows[i].protocol_required,
                                                 .origins = rows[i].origins};
        int err = uvh_ws_accept_check_rules(&some, &error);
        assert_int_equal(err, rows[i].message != NULL ? UVHTTP_ECONFIG : 0);
        if (rows[i].message != NULL &&
            strncmp(error.text, rows[i].message, strlen(rows[i].message)) != 0)
            fail_msg("%s", error.text);
    }
    assert_int_equal(uvh_ws_accept_check_rules(&(struct uvh_ws_accept_rules){0}, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(non_websocket_requests_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unsupported_versions_get_426, set_up, tear_down),
        cmocka_unit_test_setup_teardown(invalid_keys_get_400, set_up, tear_down),
        cmocka_unit_test_setup_teardown(disallowed_origins_get_403, set_up, tear_down),
        cmocka_unit_test_setup_teardown(subprotocol_is_negotiated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_subprotocol_list_is_truncated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(permessage_deflate_is_negotiated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_handshake_is_accepted, set_up, tear_down),
        cmocka_unit_test(accept_rules_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
