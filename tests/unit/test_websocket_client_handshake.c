/* The handshake of a client: the bytes of the request, and responses split at every offset. Neither
 * the result nor the start of the frames depends on the split. */
#include "websocket/client_handshake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/error.h>

#include "base/compiler.h"
#include "support/guarded.h"

#define SWITCH                                                   \
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n" \
    "Connection: Upgrade\r\n"
#define ACCEPT     "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
#define PROTOCOL   "Sec-WebSocket-Protocol: "
#define EXTENSIONS "Sec-WebSocket-Extensions: "

static struct guarded memory;
static struct uvh_ws_reply reply;
static const uint8_t nonce[] = "the sample nonce";
static const char *const offered[] = {"v2.chat", "v1.chat", NULL};
static const struct uvh_ws_deflate_preferences preferences = {false, 15, 12};

/* ---- the request ---- */

static void expect_written(struct uvh_ws_client_handshake *handshake, const char *url,
                           const char *expected)
{
    struct uvh_ws_url parsed;
    assert_true(uvh_ws_url_parse(url, &parsed));
    handshake->url = &parsed;
    size_t length = strlen(expected);
    assert_true(uvh_ws_client_handshake_size(handshake) >= length);
    assert_int_equal(uvh_ws_client_handshake_write(handshake, nonce, memory.end - length, length),
                     length);
    assert_memory_equal(memory.end - length, expected, length);
    for (size_t less = 0; less < length; less++)
        assert_int_equal(uvh_ws_client_handshake_write(handshake, nonce, memory.end - less, less),
                         UVHTTP_EFULL);
    handshake->url = NULL;
}

#define HEAD(target, host)                                                                       \
    "GET " target " HTTP/1.1\r\nHost: " host "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"

static void request_head_is_serialized(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    struct uvh_ws_client_handshake handshake = {0};
    expect_written(&handshake, "ws://example.org/chat?room=1",
                   HEAD("/chat?room=1", "example.org") "\r\n");
    assert_memory_equal(handshake.key, "dGhlIHNhbXBsZSBub25jZQ==", UVH_WS_KEY_SIZE);
    expect_written(&handshake, "ws://example.org:8080", HEAD("/", "example.org:8080") "\r\n");
    expect_written(&handshake, "ws://[::1]:80?a=b", HEAD("/?a=b", "[::1]") "\r\n");
    handshake.protocols = none;
    expect_written(&handshake, "ws://a/", HEAD("/", "a") "\r\n");
    handshake.protocols = offered;
    expect_written(&handshake, "ws://a/", HEAD("/", "a") PROTOCOL "v2.chat, v1.chat\r\n\r\n");
    handshake.deflate = &preferences;
    handshake.fields = "Origin: https://example.org\r\nX-Empty:\r\nAuthorization:Basic eDp5\r\n";
    expect_written(&handshake, "ws://a/",
                   HEAD("/", "a") PROTOCOL
                   "v2.chat, v1.chat\r\n" EXTENSIONS
                   "permessage-deflate; server_max_window_bits=12; client_max_window_bits\r\n"
                   "Origin: https://example.org\r\nX-Empty: \r\nAuthorization: Basic eDp5\r\n\r\n");
}

/* The returned size is sufficient for the worst case: lines that become longer. */
static void handshake_size_is_sufficient(void **state)
{
    (void)state;
    enum { LINES = 500 }; /* more than the spare part of the size */
    char fields[4 * LINES + 1] = "";
    char out[8192];
    struct uvh_ws_url url;
    assert_true(uvh_ws_url_parse("ws://a", &url));
    for (size_t i = 0; i < LINES; i++)
        memcpy(fields + 4 * i, "a:\r\n", 5);
    struct uvh_ws_client_handshake handshake = {
        .url = &url, .protocols = offered, .deflate = &preferences, .fields = fields};
    size_t size = uvh_ws_client_handshake_size(&handshake);
    assert_in_range(size, 1, sizeof(out));
    assert_true(uvh_ws_client_handshake_write(&handshake, nonce, out, size) > 0);
}

static void invalid_fields_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {"Origin: x",
                                       "Origin: x\n",
                                       "Origin: x\r",
                                       "Origin: x\r\n\r\n",
                                       "\r\n",
                                       "Origin\r\n",
                                       ": x\r\n",
                                       "Ori gin: x\r\n",
                                       "Origin : x\r\n",
                                       "Origin: x\r\n folded\r\n",
                                       "Origin: a\nHost: b\r\n",
                                       "Origin: a\rb\r\n",
                                       "Origin: \x01\r\n",
                                       "Origin: \x7f\r\n",
                                       "Cookie: a\r\nHost: b\r\n",
                                       "host: b\r\n",
                                       "Connection: close\r\n",
                                       "Upgrade: h2c\r\n",
                                       "Content-Length: 5\r\n",
                                       "Transfer-Encoding: chunked\r\n",
                                       "TE: trailers\r\n",
                                       "Trailer: a\r\n",
                                       "Expect: 100-continue\r\n",
                                       "Sec-WebSocket-Key: a\r\n",
                                       "Sec-WebSocket-Version: 8\r\n",
                                       "Sec-WebSocket-Protocol: a\r\n",
                                       "Sec-WebSocket-Extensions: a\r\n",
                                       "SEC-WEBSOCKET-ACCEPT: a\r\n"};
    char out[1024];
    struct uvh_ws_url url;
    assert_true(uvh_ws_url_parse("ws://a", &url));
    struct uvh_ws_client_handshake handshake = {.url = &url};
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        assert_false(uvh_ws_client_handshake_fields_valid(rows[i]));
        handshake.fields = rows[i];
        assert_int_equal(uvh_ws_client_handshake_write(&handshake, nonce, out, sizeof(out)),
                         UVHTTP_EINVAL);
    }
    assert_true(uvh_ws_client_handshake_fields_valid(NULL));
    assert_true(uvh_ws_client_handshake_fields_valid(""));
    assert_true(uvh_ws_client_handshake_fields_valid("Cookie: a=b\r\nUser-Agent: \xc3\xa4\tx\r\n"));
    static const char *const no_token[] = {"fine", "a b", NULL};
    static const char *const empty[] = {"", NULL};
    handshake.fields = NULL;
    handshake.protocols = no_token;
    assert_int_equal(uvh_ws_client_handshake_write(&handshake, nonce, out, sizeof(out)),
                     UVHTTP_EINVAL);
    handshake.protocols = empty;
    assert_int_equal(uvh_ws_client_handshake_write(&handshake, nonce, out, sizeof(out)),
                     UVHTTP_EINVAL);
}

/* ---- the response ---- */

static struct uvh_ws_client_handshake
make_handshake(const char *const *protocols, const struct uvh_ws_deflate_preferences *deflate)
{
    struct uvh_ws_client_handshake handshake = {.protocols = protocols, .deflate = deflate};
    uvh_ws_key_make(nonce, handshake.key);
    return handshake;
}

/* Reads the bytes in chunks of at most `step`, each at the end of its memory, the first one of
 * `first`. Returns the size of the head in `head`. */
static uvhttp_parse_result_t feed(const struct uvh_ws_client_handshake *handshake,
                                  const char *bytes, size_t length, size_t first, size_t step,
                                  size_t *head, struct uvh_ws_accepted *accepted)
{
    uvhttp_parse_result_t result = UVHTTP_PARSE_MORE;
    uvh_ws_reply_init(&reply);
    *head = 0;
    for (size_t at = 0, size = first; at < length && result == UVHTTP_PARSE_MORE; size = step) {
        size_t used;
        size = size < length - at ? size : length - at;
        result = uvh_ws_reply_read(&reply, handshake, guarded_copy(&memory, bytes + at, size), size,
                                   &used, accepted);
        assert_true(used <= size);
        if (result == UVHTTP_PARSE_MORE)
            assert_int_equal(used, size);
        *head += used;
        at += used;
    }
    return result;
}

/* The response, followed by frames, at every split and byte by byte. */
static void expect_accepted(const struct uvh_ws_client_handshake *handshake, const char *response,
                            const char *protocol, bool compressed)
{
    char bytes[2048];
    struct uvh_ws_accepted accepted;
    size_t size = strlen(response), head;
    int length = snprintf(bytes, sizeof(bytes), "%s\x81\x02hiHTTP/1.1 101 no\r\n\r\n", response);
    for (size_t first = 0; first <= (size_t)length; first++) {
        if (feed(handshake, bytes, (size_t)length, first, sizeof(bytes), &head, &accepted) !=
            UVHTTP_PARSE_DONE)
            fail_msg("%s: %s", response, reply.reason);
        assert_int_equal(head, size);
        assert_int_equal(reply.status, 101);
        assert_string_equal(accepted.protocol, protocol);
        assert_int_equal(accepted.compressed, compressed);
        assert_int_equal(accepted.reserved, 0);
    }
    assert_int_equal(feed(handshake, bytes, (size_t)length, 1, 1, &head, &accepted),
                     UVHTTP_PARSE_DONE);
    assert_int_equal(head, size);
    for (size_t less = 0; less < size; less++)
        assert_int_equal(feed(handshake, bytes, less, less, 1, &head, &accepted),
                         UVHTTP_PARSE_MORE);
}

static void expect_refused(const struct uvh_ws_client_handshake *handshake, const char *response,
                           int status, const char *reason)
{
    struct uvh_ws_accepted accepted;
    size_t size = strlen(response), head;
    for (size_t first = 0; first <= size; first++) {
        assert_int_equal(feed(handshake, response, size, first, size, &head, &accepted),
                         UVHTTP_PARSE_BAD);
        if (strstr(reply.reason, reason) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", reason, reply.reason);
        assert_int_equal(reply.status, status);
    }
    assert_int_equal(feed(handshake, response, size, 1, 1, &head, &accepted), UVHTTP_PARSE_BAD);
}

static void valid_responses_are_accepted(void **state)
{
    (void)state;
    struct uvh_ws_client_handshake plain = make_handshake(NULL, NULL);
    struct uvh_ws_client_handshake all = make_handshake(offered, &preferences);
    expect_accepted(&plain, SWITCH ACCEPT "\r\n", "", false);
    expect_accepted(&all, SWITCH ACCEPT "\r\n", "", false);
    expect_accepted(&plain,
                    "HTTP/1.1 101\x20\r\nServer: x\r\nconnection: keep-alive, UPGRADE\r\nupgrade: "
                    "WebSocket\r\n" ACCEPT "Content-Length: 5\r\n\r\n",
                    "", false);
    expect_accepted(&plain,
                    "HTTP/1.1 101 x\r\nConnection: keep-alive\r\nConnection: upgrade\r\nUpgrade: "
                    "websocket\r\n" ACCEPT "\r\n",
                    "", false);
    expect_accepted(&all, SWITCH ACCEPT PROTOCOL "v1.chat\r\n\r\n", "v1.chat", false);
    expect_accepted(&all,
                    SWITCH PROTOCOL "v2.chat\r\n" EXTENSIONS
                                    "permessage-deflate; server_max_window_bits=10\r\n" ACCEPT
                                    "\r\n",
                    "v2.chat", true);
    assert_int_equal(reply.interim, 0);
    expect_accepted(
        &plain,
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nLink: </a>\r\n\r\n" SWITCH ACCEPT "\r\n",
        "", false);
}

static void other_responses_are_refused(void **state)
{
    (void)state;
    struct uvh_ws_client_handshake plain = make_handshake(NULL, NULL);
    expect_refused(&plain, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone", 404,
                   "the server responded with 404 Not Found");
    expect_refused(&plain, "HTTP/1.1 302 Found\r\nLocation: ws://b/\r\n\r\n", 302, "302 Found");
    expect_refused(&plain, "HTTP/1.1 200 \r\n" ACCEPT "\r\n", 200, "the server responded with 200");
    expect_refused(&plain, "HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 8\r\n\r\n", 426,
                   "426");
    expect_refused(&plain,
                   "HTTP/1.1 503 "
                   "0123456789012345678901234567890123456789012345678901234567890123456789\r\n\r\n",
                   503, "503 0123456789012345678901234567890123456789012345678901234567890123");
    assert_true(strlen(reply.reason) < 100);
    expect_refused(&plain, "HTTP/1.1 403 Verb\xf6ten\t\xff\r\n\r\n", 403,
                   "the server responded with 403 Verb?ten??"); /* invalid bytes are replaced */
    expect_refused(&plain, "\x81\x02hi and more than a status line has\r\n\r\n", 0, "malformed");
    expect_refused(&plain, "HTTP/2.0 101 x\r\n\r\n", 0, "");
    expect_refused(&plain, SWITCH " folded: x\r\n\r\n", 0, "folding");
}

static void invalid_switching_responses_are_refused(void **state)
{
    (void)state;
    struct uvh_ws_client_handshake plain = make_handshake(NULL, NULL);
    expect_refused(&plain, "HTTP/1.1 101 x\r\nConnection: Upgrade\r\n" ACCEPT "\r\n", 101,
                   "websocket");
    expect_refused(&plain, "HTTP/1.1 101 x\r\nUpgrade: websocket\r\n" ACCEPT "\r\n", 101,
                   "websocket");
    expect_refused(&plain,
                   "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: close\r\n" ACCEPT "\r\n",
                   101, "websocket");
    expect_refused(&plain,
                   "HTTP/1.1 101 x\r\nUpgrade: h2c\r\nConnection: upgrade\r\n" ACCEPT "\r\n", 101,
                   "websocket");
    expect_refused(&plain,
                   "HTTP/1.1 101 x\r\nUpgrade: h2c, websocket\r\nConnection: upgrade\r\n" ACCEPT
                   "\r\n",
                   101, "websocket");
    expect_refused(&plain, SWITCH "Upgrade: websocket\r\n" ACCEPT "\r\n", 101, "repeated");
    expect_refused(&plain,
                   "HTTP/1.0 101 x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n" ACCEPT "\r\n",
                   101, "websocket");
    expect_refused(&plain, SWITCH "\r\n", 101, "Sec-WebSocket-Accept is missing");
    expect_refused(&plain, SWITCH ACCEPT ACCEPT "\r\n", 101, "repeated");
    expect_refused(&plain, SWITCH "Sec-WebSocket-Accept: S3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n", 101,
                   "does not match the key");
    expect_refused(&plain, SWITCH "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo\r\n\r\n", 101,
                   "does not match the key");
    expect_refused(&plain, SWITCH "Sec-WebSocket-Accept: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", 101,
                   "does not match the key");
}

static void unoffered_options_are_refused(void **state)
{
    (void)state;
    struct uvh_ws_client_handshake plain = make_handshake(NULL, NULL);
    struct uvh_ws_client_handshake all = make_handshake(offered, &preferences);
    expect_refused(&plain, SWITCH ACCEPT PROTOCOL "v2.chat\r\n\r\n", 101, "not offered");
    expect_refused(&all, SWITCH ACCEPT PROTOCOL "V2.chat\r\n\r\n", 101, "not offered");
    expect_refused(&all, SWITCH ACCEPT PROTOCOL "v2.chat, v1.chat\r\n\r\n", 101, "not offered");
    expect_refused(&all, SWITCH ACCEPT PROTOCOL "\r\n\r\n", 101, "not offered");
    expect_refused(&all, SWITCH ACCEPT PROTOCOL "v2.chat\r\n" PROTOCOL "v2.chat\r\n\r\n", 101,
                   "repeated");
    expect_refused(&plain, SWITCH ACCEPT EXTENSIONS "permessage-deflate\r\n\r\n", 101,
                   "does not match");
    expect_refused(&all, SWITCH ACCEPT EXTENSIONS "permessage-deflate\r\n\r\n", 101,
                   "does not match");
    expect_refused(&all, SWITCH ACCEPT EXTENSIONS "x-other\r\n\r\n", 101, "does not match");
    expect_refused(&all, SWITCH ACCEPT EXTENSIONS "\r\n\r\n", 101, "does not match");
    expect_refused(&all,
                   SWITCH ACCEPT EXTENSIONS
                   "permessage-deflate; server_max_window_bits=9\r\n" EXTENSIONS
                   "permessage-deflate; server_max_window_bits=9\r\n\r\n",
                   101, "repeated");
    all.protocol_required = true;
    expect_refused(&all, SWITCH ACCEPT "\r\n", 101, "none of our subprotocols");
    expect_accepted(&all, SWITCH ACCEPT PROTOCOL "v2.chat\r\n\r\n", "v2.chat", false);
}

/* A response without end. */
static void response_head_limits_are_enforced(void **state)
{
    (void)state;
    struct uvh_ws_client_handshake plain = make_handshake(NULL, NULL);
    struct uvh_ws_accepted accepted;
    enum { BUFFER_SIZE = 3 * UVH_WS_REPLY_MAX };
    size_t head, length = 0;
    char *bytes = malloc(BUFFER_SIZE);
    assert_non_null(bytes);
    memset(bytes, 'x', BUFFER_SIZE);
    memcpy(bytes, SWITCH "X: ", sizeof(SWITCH "X: ") - 1);
    static const size_t steps[] = {1, 1000, BUFFER_SIZE};
    for (size_t i = 0; i < UVH_COUNT_OF(steps); i++) {
        assert_int_equal(feed(&plain, bytes, BUFFER_SIZE, steps[i], steps[i], &head, &accepted),
                         UVHTTP_PARSE_BAD);
        assert_non_null(strstr(reply.reason, "too large"));
        assert_true(head <= UVH_WS_REPLY_MAX);
    }
    /* The largest allowed head, and one byte more. */
    for (size_t more = 0; more < 2; more++) {
        size_t end = UVH_WS_REPLY_MAX + more;
        memset(bytes, 'x', BUFFER_SIZE);
        memcpy(bytes, SWITCH ACCEPT "X: ", sizeof(SWITCH ACCEPT "X: ") - 1);
        memcpy(bytes + end - 4, "\r\n\r\n", 4);
        for (size_t i = 0; i < UVH_COUNT_OF(steps); i++)
            assert_int_equal(feed(&plain, bytes, BUFFER_SIZE, steps[i], steps[i], &head, &accepted),
                             more == 0 ? UVHTTP_PARSE_DONE : UVHTTP_PARSE_BAD);
    }
    for (size_t i = 0; i <= UVH_WS_REPLY_FIELDS; i++)
        length += (size_t)snprintf(bytes + length, BUFFER_SIZE - length, "%s",
                                   i == 0 ? SWITCH : "X: y\r\n");
    length += (size_t)snprintf(bytes + length, BUFFER_SIZE - length, "\r\n");
    expect_refused(&plain, bytes, 0, "too many");
    for (length = 0; length < 4000;)
        length += (size_t)snprintf(bytes + length, BUFFER_SIZE - length, "HTTP/1.1 102 x\r\n\r\n");
    assert_int_equal(feed(&plain, bytes, length, 1, 1, &head, &accepted), UVHTTP_PARSE_BAD);
    assert_non_null(strstr(reply.reason, "interim responses (102)"));
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_head_is_serialized),
        cmocka_unit_test(handshake_size_is_sufficient),
        cmocka_unit_test(invalid_fields_are_refused),
        cmocka_unit_test(valid_responses_are_accepted),
        cmocka_unit_test(other_responses_are_refused),
        cmocka_unit_test(invalid_switching_responses_are_refused),
        cmocka_unit_test(unoffered_options_are_refused),
        cmocka_unit_test(response_head_limits_are_enforced),
    };
    memory = guarded_make(4 * UVH_WS_REPLY_MAX);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
