/* The fields of a WebSocket handshake: keys (with the example of RFC 6455 section 1.3),
 * subprotocols, origins, URLs. */
#include "codec/websocket/handshake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/guarded.h"

static struct guarded memory;

static uvhttp_slice_t slice_of(const char *text)
{
    return (uvhttp_slice_t){guarded_copy(&memory, text, strlen(text)), strlen(text)};
}

static void assert_slice(uvhttp_slice_t slice, const char *expected)
{
    assert_int_equal(slice.length, strlen(expected));
    assert_memory_equal(slice.base, expected, slice.length);
}

/* ---- keys ---- */

static void accept_matches_rfc6455_example(void **state)
{
    (void)state;
    char key[UVH_WS_KEY_SIZE];
    char accept[UVH_WS_ACCEPT_SIZE];
    uvh_ws_key_make((const uint8_t *)"the sample nonce", key);
    assert_memory_equal(key, "dGhlIHNhbXBsZSBub25jZQ==", sizeof key);
    uvh_ws_accept_make(key, accept);
    assert_memory_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", sizeof accept);
}

/* The key of section 4.1: the bytes 1 to 16. */
static void key_syntax_is_checked(void **state)
{
    (void)state;
    uint8_t nonce[16];
    char key[UVH_WS_KEY_SIZE + 1] = {0};
    for (uint8_t i = 0; i < 16; i++)
        nonce[i] = (uint8_t)(i + 1);
    uvh_ws_key_make(nonce, key);
    assert_string_equal(key, "AQIDBAUGBwgJCgsMDQ4PEA==");
    static const char *const valid[] = {"AQIDBAUGBwgJCgsMDQ4PEA==", "dGhlIHNhbXBsZSBub25jZQ==",
                                        "++++++++++++++++++++/w==", "dGhlIHNhbXBsZSBub25jZZ=="};
    static const char *const invalid[] = {"",
                                          "dGhlIHNhbXBsZSBub25jZQ",
                                          "dGhlIHNhbXBsZSBub25jZQ=",
                                          "dGhlIHNhbXBsZSBub25jZQ=a",
                                          "dGhlIHNhbXBsZSBub25jZWE=",
                                          "dGhlIHNhbXBsZSBub25jZWFi",
                                          "dGhlIHNhbXBsZSBub25jZQ===",
                                          "dGhlIHNhbXBsZSBub25jZ===",
                                          "-----------------------=",
                                          "dGhlIHNhbXBsZSBub25j Q==",
                                          "dGhlIHNhbXBsZSBub25j_Q==",
                                          "dGhlIHNhbXBsZSBub25jZQ==, dGhlIHNhbXBsZSBub25jZQ==",
                                          "SGVsbG8sIHdvcmxkIQ=="};
    for (size_t i = 0; i < UVH_COUNT_OF(valid); i++)
        assert_true(uvh_ws_key_valid(slice_of(valid[i])));
    for (size_t i = 0; i < UVH_COUNT_OF(invalid); i++)
        assert_false(uvh_ws_key_valid(slice_of(invalid[i])));
    assert_false(uvh_ws_key_valid((uvhttp_slice_t){NULL, 0}));
}

/* Each byte of a key must be a base64 digit. */
static void key_bytes_are_base64_digits(void **state)
{
    (void)state;
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t at = 0; at < UVH_WS_KEY_SIZE; at++) {
        for (int byte = 0; byte < 256; byte++) {
            char key[] = "dGhlIHNhbXBsZSBub25jZQ==";
            key[at] = (char)byte;
            bool fits = at < 22 ? byte != 0 && strchr(digits, byte) != NULL : byte == '=';
            assert_int_equal(uvh_ws_key_valid((uvhttp_slice_t){key, UVH_WS_KEY_SIZE}), fits);
        }
    }
}

/* ---- subprotocols ---- */

static const char *const supported[] = {"v2.chat", "v1.chat", "Log", NULL};

static int choose(const char *offered)
{
    return uvh_ws_protocol_choose(slice_of(offered), supported, -1);
}

static void subprotocol_of_server_order_is_chosen(void **state)
{
    (void)state;
    assert_int_equal(choose("v2.chat"), 0);
    assert_int_equal(choose("v1.chat, v2.chat"), 0); /* the server's order decides */
    assert_int_equal(choose("v3.chat,v1.chat"), 1);
    assert_int_equal(choose(" ,, Log , "), 2);
    assert_int_equal(choose("log"), -1);
    assert_int_equal(choose("V1.CHAT"), -1);
    assert_int_equal(choose("v1.cha"), -1);
    assert_int_equal(choose("v1.chats"), -1);
    assert_int_equal(choose("soap"), -1);
    static const char *const malformed[] = {
        "",   " ", ",", "v1.chat;q=1", "a b", "\"a\"", "a, \"b\"", "v1.chat, (x)", "v1.chat, \"",
        "a=b"};
    for (size_t i = 0; i < UVH_COUNT_OF(malformed); i++)
        assert_int_equal(choose(malformed[i]), -2);
}

static void subprotocol_lines_are_combined(void **state)
{
    (void)state;
    assert_int_equal(uvh_ws_protocol_choose(slice_of("v2.chat"), supported, 1), 0);
    assert_int_equal(uvh_ws_protocol_choose(slice_of("v1.chat"), supported, 0), 0);
    assert_int_equal(uvh_ws_protocol_choose(slice_of("soap"), supported, 2), 2);
    assert_int_equal(uvh_ws_protocol_choose(slice_of("a b"), supported, 2), -2);
    assert_int_equal(uvh_ws_protocol_choose(slice_of("v2.chat"), NULL, -1), -1);
    assert_int_equal(uvh_ws_protocol_choose(slice_of("a b"), NULL, -1), -2);
    assert_int_equal(uvh_ws_protocol_choose((uvhttp_slice_t){NULL, 0}, supported, -1), -2);
}

/* ---- origins ---- */

static bool same(const char *a, const char *b)
{
    uvhttp_slice_t left = slice_of(a);
    uvhttp_slice_t right = {b, strlen(b)};
    bool found = uvh_ws_origin_equal(left, right);
    assert_int_equal(uvh_ws_origin_equal(right, left), found);
    return found;
}

static void origins_are_compared(void **state)
{
    (void)state;
    static const char *const equal[][2] = {
        {"https://example.org", "https://example.org"},
        {"https://example.org", "HTTPS://Example.ORG:443"},
        {"http://example.org:80", "http://example.org"},
        {"http://example.org:080", "http://example.org"},
        {"http://[::1]:8080", "http://[::1]:8080"},
        {"http://[2001:DB8::1]", "http://[2001:db8::1]:80"},
        {"null", "null"},
        {"app://local", "app://local"},
        {"ws://a", "ws://a:80"},
        {"moz-extension://a-b_c", "moz-extension://a-b_c"},
    };
    static const char *const different[][2] = {
        {"https://example.org", "http://example.org"},
        {"https://example.org", "https://example.org.evil.example"},
        {"https://example.org", "https://evil-example.org"},
        {"https://example.org", "https://www.example.org"},
        {"https://example.org", "https://example.org:444"},
        {"https://example.org:80", "https://example.org"},
        {"app://local", "app://local:80"},
        {"https://example.org", "null"},
        {"https://example.org", "https://example.org/"},
        {"https://example.org", "https://example.org?"},
        {"https://example.org", "https://example.org#"},
        {"https://example.org", "https://user@example.org"},
        {"https://example.org", "https://example.org@evil.example"},
        {"https://example.org", "https://example.org https://evil.example"},
        {"https://example.org", "https://example.org, https://example.org"},
        {"https://example.org", "example.org"},
        {"https://example.org", "//example.org"},
        {"https://example.org", "https:/example.org"},
        {"https://example.org", ""},
        {"https://example.org", "https://example.org:65979"},
        {"https://example.org/", "https://example.org/"},
        {"null", "NULL"},
        {"http://a:0", "http://a:0"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(equal); i++)
        assert_true(same(equal[i][0], equal[i][1]));
    for (size_t i = 0; i < UVH_COUNT_OF(different); i++)
        assert_false(same(different[i][0], different[i][1]));
    assert_true(uvh_ws_origin_valid(slice_of("null")));
    assert_true(uvh_ws_origin_valid(slice_of("https://example.org:8443")));
    assert_false(uvh_ws_origin_valid(slice_of("https://example.org:8443/chat")));
    assert_false(uvh_ws_origin_valid(slice_of("https://")));
    assert_false(uvh_ws_origin_valid(slice_of("1s://a")));
    assert_false(uvh_ws_origin_valid((uvhttp_slice_t){NULL, 0}));
}

/* ---- URLs ---- */

struct url_row {
    const char *url;
    const char *host;
    const char *authority;
    const char *target;
    int port;
    bool secure;
};

static void websocket_urls_are_parsed(void **state)
{
    (void)state;
    static const struct url_row rows[] = {
        {"ws://example.org/chat?room=1", "example.org", "example.org", "/chat?room=1", 80, false},
        {"wss://example.org", "example.org", "example.org", "", 443, true},
        {"WSS://Example.org/", "Example.org", "Example.org", "/", 443, true},
        {"ws://example.org?x", "example.org", "example.org", "?x", 80, false},
        {"ws://example.org:80/", "example.org", "example.org", "/", 80, false},
        {"ws://example.org:/", "example.org", "example.org", "/", 80, false},
        {"ws://example.org:443/", "example.org", "example.org:443", "/", 443, false},
        {"wss://example.org:65535/a%20b", "example.org", "example.org:65535", "/a%20b", 65535,
         true},
        {"ws://[::1]:9001/x", "::1", "[::1]:9001", "/x", 9001, false},
        {"ws://[2001:db8::1]", "2001:db8::1", "[2001:db8::1]", "", 80, false},
        {"ws://127.0.0.1:1//a/../b", "127.0.0.1", "127.0.0.1:1", "//a/../b", 1, false},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        struct uvh_ws_url url;
        assert_true(uvh_ws_url_parse(rows[i].url, &url));
        assert_slice(url.host, rows[i].host);
        assert_slice(url.authority, rows[i].authority);
        assert_slice(url.target, rows[i].target);
        assert_int_equal(url.port, rows[i].port);
        assert_int_equal(url.secure, rows[i].secure);
    }
}

static void invalid_urls_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "ws",
        "ws:",
        "ws:/",
        "ws://",
        "ws:///path",
        "ws://:80/",
        "http://example.org/",
        "https://example.org/",
        "wsss://example.org/",
        "//example.org/",
        "example.org",
        "ws:example.org",
        "ws://user@example.org/",
        "ws://user:secret@example.org/",
        "ws://example.org/#top",
        "ws://example.org#",
        "ws://example.org/a b",
        "ws://example.org/\r\nX: y",
        "ws://example.org/\x7f",
        "ws://example.org/\xc3\xa4",
        "ws://ex\xc3\xa4mple.org/",
        "ws://exam ple.org/",
        "ws://example.org:0/",
        "ws://example.org:65536/",
        "ws://example.org:8a/",
        "ws://example.org:-1/",
        "ws://[::1/",
        "ws://[::1]x/",
        "ws://[fe80::1%25eth0]/",
        " ws://example.org/",
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        struct uvh_ws_url url;
        assert_false(uvh_ws_url_parse(rows[i], &url));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accept_matches_rfc6455_example),
        cmocka_unit_test(key_syntax_is_checked),
        cmocka_unit_test(key_bytes_are_base64_digits),
        cmocka_unit_test(subprotocol_of_server_order_is_chosen),
        cmocka_unit_test(subprotocol_lines_are_combined),
        cmocka_unit_test(origins_are_compared),
        cmocka_unit_test(websocket_urls_are_parsed),
        cmocka_unit_test(invalid_urls_are_refused),
    };
    memory = guarded_make(4096);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
