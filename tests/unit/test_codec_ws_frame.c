/* codec/websocket/frame.c: frame headers with the layout of RFC 6455 section 5.2, and the codes of
 * close frames. */
#include "codec/websocket/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_head(struct uvh_ws_frame frame, const char *bytes, size_t size)
{
    char out[UVH_WS_HEAD_MAX + 1];
    memset(out, 0x5a, sizeof out);
    assert_int_equal(uvh_ws_frame_head(&frame, out), size);
    assert_memory_equal(out, bytes, size);
    assert_int_equal(out[UVH_WS_HEAD_MAX], 0x5a);
}

#define HEAD(bytes, ...) assert_head((struct uvh_ws_frame){__VA_ARGS__}, bytes, sizeof bytes - 1)

/* The frame headers of the examples in section 5.7. */
static void rfc6455_examples_match(void **state)
{
    (void)state;
    HEAD("\x81\x05", .opcode = UVH_WS_TEXT, .last = true, .length = 5);
    HEAD("\x81\x85\x37\xfa\x21\x3d", .opcode = UVH_WS_TEXT, .last = true, .length = 5,
         .masked = true, .mask = {0x37, 0xfa, 0x21, 0x3d});
    HEAD("\x01\x03", .opcode = UVH_WS_TEXT, .length = 3);
    HEAD("\x80\x02", .opcode = UVH_WS_CONTINUATION, .last = true, .length = 2);
    HEAD("\x89\x05", .opcode = UVH_WS_PING, .last = true, .length = 5);
    HEAD("\x8a\x85\x37\xfa\x21\x3d", .opcode = UVH_WS_PONG, .last = true, .length = 5,
         .masked = true, .mask = {0x37, 0xfa, 0x21, 0x3d});
    HEAD("\x82\x7e\x01\x00", .opcode = UVH_WS_BINARY, .last = true, .length = 256);
    HEAD("\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00", .opcode = UVH_WS_BINARY, .last = true,
         .length = 65536);
}

static void lengths_use_shortest_form(void **state)
{
    (void)state;
    HEAD("\x82\x00", .opcode = UVH_WS_BINARY, .last = true, .length = 0);
    HEAD("\x82\x7d", .opcode = UVH_WS_BINARY, .last = true, .length = 125);
    HEAD("\x82\x7e\x00\x7e", .opcode = UVH_WS_BINARY, .last = true, .length = 126);
    HEAD("\x82\x7e\xff\xff", .opcode = UVH_WS_BINARY, .last = true, .length = 65535);
    HEAD("\xc2\xff\x12\x34\x56\x78\x9a\xbc\xde\xf0wxyz", .opcode = UVH_WS_BINARY, .last = true,
         .compressed = true, .length = 0x123456789abcdef0, .masked = true,
         .mask = {'w', 'x', 'y', 'z'});
}

/* Section 7.4: reserved codes, unknown ones of the protocol's range, and codes out of range. */
static void close_codes_are_checked(void **state)
{
    (void)state;
    for (unsigned code = 0; code < 70000; code++) {
        bool protocol = code >= 1000 && code < 1015 && code != 1004 && code != 1005 && code != 1006;
        bool other = code >= 3000 && code < 5000;
        assert_int_equal(uvh_ws_close_code_valid(code), protocol || other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc6455_examples_match),
        cmocka_unit_test(lengths_use_shortest_form),
        cmocka_unit_test(close_codes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
