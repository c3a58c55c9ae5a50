/* Frames of HTTP/2: the rules of RFC 9113 section 6 on sizes and streams, payloads, writers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "codec/http2/frame.h"

/* Kinds of results. */
enum { VALID, PROTOCOL, SIZE, STREAM_SIZE };

static int check(unsigned type, unsigned flags, uint32_t stream, uint32_t length, uint32_t block)
{
    struct uvh_h2_frame frame = {
        .length = length, .stream = stream, .type = (uint8_t)type, .flags = (uint8_t)flags};
    struct uvh_h2_violation found = uvh_h2_frame_check(&frame, UVH_H2_FRAME_SIZE, block);
    switch (found.error) {
    case UVH_H2_NO_ERROR:
        assert_false(found.of_stream);
        return VALID;
    case UVH_H2_PROTOCOL_ERROR:
        assert_false(found.of_stream);
        return PROTOCOL;
    default:
        assert_int_equal(found.error, UVH_H2_FRAME_SIZE_ERROR);
        return found.of_stream ? STREAM_SIZE : SIZE;
    }
}

static void header_is_read_and_written(void **state)
{
    (void)state;
    static const char head[] = {1, 2, 3, 4, 5, (char)0x86, 7, 8, 9};
    char out[UVH_H2_HEAD_SIZE];
    struct uvh_h2_frame frame = uvh_h2_frame_read(head);
    assert_int_equal(frame.length, 0x010203);
    assert_int_equal(frame.type, 4);
    assert_int_equal(frame.flags, 5);
    assert_int_equal(frame.stream, 0x06070809); /* without the reserved bit */
    assert_int_equal(uvh_h2_write_head(out, &frame), UVH_H2_HEAD_SIZE);
    assert_memory_equal(out, "\x01\x02\x03\x04\x05\x06\x07\x08\x09", sizeof out);
}

static void streams_of_frames_are_checked(void **state)
{
    (void)state;
    static const struct {
        uint8_t type;
        uint32_t length;
        int on_zero, on_odd, on_even;
    } cases[] = {
        {UVH_H2_DATA, 0, PROTOCOL, VALID, PROTOCOL},
        {UVH_H2_HEADERS, 0, PROTOCOL, VALID, PROTOCOL},
        {UVH_H2_PRIORITY, 5, PROTOCOL, VALID, VALID},
        {UVH_H2_RST_STREAM, 4, PROTOCOL, VALID, PROTOCOL},
        {UVH_H2_SETTINGS, 0, VALID, PROTOCOL, PROTOCOL},
        {UVH_H2_PUSH_PROMISE, 4, PROTOCOL, PROTOCOL, PROTOCOL},
        {UVH_H2_PING, 8, VALID, PROTOCOL, PROTOCOL},
        {UVH_H2_GOAWAY, 8, VALID, PROTOCOL, PROTOCOL},
        {UVH_H2_WINDOW_UPDATE, 4, VALID, VALID, PROTOCOL},
        {UVH_H2_PRIORITY_UPDATE, 4, VALID, PROTOCOL, PROTOCOL},
        {10, 3, VALID, VALID, VALID},
        {255, 3, VALID, VALID, VALID},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        assert_int_equal(check(cases[i].type, 0, 0, cases[i].length, 0), cases[i].on_zero);
        assert_int_equal(check(cases[i].type, 0, 1, cases[i].length, 0), cases[i].on_odd);
        assert_int_equal(check(cases[i].type, 0, UVH_H2_STREAM_MAX, cases[i].length, 0),
                         cases[i].on_odd);
        assert_int_equal(check(cases[i].type, 0, 2, cases[i].length, 0), cases[i].on_even);
    }
}

static void sizes_of_frames_are_checked(void **state)
{
    (void)state;
    static const struct {
        uint8_t type, flags;
        uint32_t stream, smallest, largest, multiple;
        int wrong;
    } cases[] = {
        {UVH_H2_DATA, 0, 1, 0, UVH_H2_FRAME_SIZE, 1, SIZE},
        {UVH_H2_DATA, UVH_H2_PADDED, 1, 1, UVH_H2_FRAME_SIZE, 1, SIZE},
        {UVH_H2_DATA, UVH_H2_PRIORITIZED, 1, 0, UVH_H2_FRAME_SIZE, 1, SIZE},
        {UVH_H2_HEADERS, 0, 1, 0, UVH_H2_FRAME_SIZE, 1, SIZE},
        {UVH_H2_HEADERS, UVH_H2_PADDED, 1, 1, UVH_H2_FRAME_SIZE, 1, SIZE},
        {UVH_H2_HEADERS, UVH_H2_PRIORITIZED, 1, 5, UVH_H2_FRAME_SIZE, 1, SIZE},
        {UVH_H2_HEADERS, UVH_H2_PADDED | UVH_H2_PRIORITIZED, 1, 6, UVH_H2_FRAME_SIZE, 1, SIZE},
        {UVH_H2_PRIORITY, 0, 1, 5, 5, 1, STREAM_SIZE},
        {UVH_H2_RST_STREAM, 0, 1, 4, 4, 1, SIZE},
        {UVH_H2_SETTINGS, 0, 0, 0, UVH_H2_FRAME_SIZE, 6, SIZE},
        {UVH_H2_SETTINGS, UVH_H2_ACK, 0, 0, 0, 1, SIZE},
        {UVH_H2_PING, 0, 0, 8, 8, 1, SIZE},
        {UVH_H2_GOAWAY, 0, 0, 8, UVH_H2_FRAME_SIZE, 1, SIZE},
        {UVH_H2_WINDOW_UPDATE, 0, 0, 4, 4, 1, SIZE},
        {UVH_H2_WINDOW_UPDATE, 0, 1, 4, 4, 1, SIZE},
        {UVH_H2_PRIORITY_UPDATE, 0, 0, 4, UVH_H2_FRAME_SIZE, 1, SIZE},
        {77, 0, 1, 0, UVH_H2_FRAME_SIZE, 1, SIZE},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        for (uint32_t length = 0; length <= UVH_H2_FRAME_SIZE; length++) {
            bool valid = length >= cases[i].smallest && length <= cases[i].largest &&
                         length % cases[i].multiple == 0;
            if (check(cases[i].type, cases[i].flags, cases[i].stream, length, 0) !=
                (valid ? VALID : cases[i].wrong))
                fail_msg("type %u, flags %u, length %u", cases[i].type, cases[i].flags, length);
        }
        assert_int_equal(
            check(cases[i].type, cases[i].flags, cases[i].stream, UVH_H2_FRAME_SIZE + 1, 0), SIZE);
    }
}

static void field_block_is_not_interrupted(void **state)
{
    (void)state;
    assert_int_equal(check(UVH_H2_CONTINUATION, 0, 3, 0, 3), VALID);
    assert_int_equal(check(UVH_H2_CONTINUATION, 0, 3, UVH_H2_FRAME_SIZE, 3), VALID);
    assert_int_equal(check(UVH_H2_CONTINUATION, 0, 5, 0, 3), PROTOCOL);
    assert_int_equal(check(UVH_H2_CONTINUATION, 0, 0, 0, 0), PROTOCOL);
    assert_int_equal(check(UVH_H2_CONTINUATION, 0, 3, 0, 0), PROTOCOL);
    for (unsigned type = 0; type < 256; type++) {
        if (type != UVH_H2_CONTINUATION)
            assert_int_equal(check(type, 0, 3, 0, 3), PROTOCOL);
    }
}

static void padding_is_removed(void **state)
{
    (void)state;
    struct uvh_h2_frame frame = {.type = UVH_H2_DATA, .length = 10, .flags = 0, .stream = 1};
    uint32_t length;
    assert_int_equal(uvh_h2_content_offset(&frame), 0);
    assert_int_equal(uvh_h2_content_length(&frame, NULL, &length), UVH_H2_NO_ERROR);
    assert_int_equal(length, 10);
    frame.flags = UVH_H2_PADDED | UVH_H2_PRIORITIZED; /* no priority in DATA */
    assert_int_equal(uvh_h2_content_offset(&frame), 1);
    assert_int_equal(uvh_h2_content_length(&frame, "\x00", &length), UVH_H2_NO_ERROR);
    assert_int_equal(length, 9);
    assert_int_equal(uvh_h2_content_length(&frame, "\x09", &length), UVH_H2_NO_ERROR);
    assert_int_equal(length, 0);
    assert_int_equal(uvh_h2_content_length(&frame, "\x0a", &length), UVH_H2_PROTOCOL_ERROR);
    frame.type = UVH_H2_HEADERS;
    assert_int_equal(uvh_h2_content_offset(&frame), 6);
    assert_int_equal(uvh_h2_content_length(&frame, "\x04", &length), UVH_H2_NO_ERROR);
    assert_int_equal(length, 0);
    assert_int_equal(uvh_h2_content_length(&frame, "\x05", &length), UVH_H2_PROTOCOL_ERROR);
    frame.flags = UVH_H2_PRIORITIZED;
    assert_int_equal(uvh_h2_content_offset(&frame), 5);
    assert_int_equal(uvh_h2_content_length(&frame, NULL, &length), UVH_H2_NO_ERROR);
    assert_int_equal(length, 5);
}

static void dependency_on_itself_is_found(void **state)
{
    (void)state;
    static const char dependency[] = {9, (char)0x80, 0, 0, 3, 16};
    struct uvh_h2_frame frame = {.type = UVH_H2_PRIORITY, .length = 5, .stream = 3};
    assert_true(uvh_h2_depends_on_itself(&frame, dependency + 1));
    frame.type = UVH_H2_HEADERS;
    frame.flags = UVH_H2_PRIORITIZED;
    assert_true(uvh_h2_depends_on_itself(&frame, dependency + 1));
    frame.flags |= UVH_H2_PADDED;
    assert_true(uvh_h2_depends_on_itself(&frame, dependency));
    frame.stream = 5;
    assert_false(uvh_h2_depends_on_itself(&frame, dependency));
    frame = (struct uvh_h2_frame){.type = UVH_H2_HEADERS, .length = 0, .stream = 3};
    assert_false(uvh_h2_depends_on_itself(&frame, NULL));
}

static void settings_are_applied(void **state)
{
    (void)state;
    static const char payload[] = {0, 1, 0, 0, 0, 9, 0, 4, 0,    0,    0, 1, 0, 4,
                                   0, 0, 0, 2, 0, 5, 0, 0, 0x40, 1,    0, 6, 0, 0,
                                   1, 0, 0, 3, 0, 0, 0, 7, 0,    0x7f, 1, 2, 3, 4};
    struct uvh_h2_settings settings = UVH_H2_SETTINGS_INITIAL;
    assert_int_equal(settings.initial_window_size, 65535);
    assert_int_equal(settings.max_frame_size, 16384);
    assert_int_equal(uvh_h2_settings_read(&settings, payload, sizeof payload), UVH_H2_NO_ERROR);
    assert_int_equal(settings.header_table_size, 9);
    assert_int_equal(settings.initial_window_size, 2); /* the last one */
    assert_int_equal(settings.max_frame_size, 16385);
    assert_int_equal(settings.max_header_list_size, 256);
}

static void values_of_settings_are_checked(void **state)
{
    (void)state;
    static const struct {
        uint16_t setting;
        uint32_t smallest, largest;
        enum uvh_h2_error error;
    } cases[] = {
        {UVH_H2_HEADER_TABLE_SIZE, 0, UINT32_MAX, UVH_H2_NO_ERROR},
        {UVH_H2_ENABLE_PUSH, 0, 1, UVH_H2_PROTOCOL_ERROR},
        {UVH_H2_MAX_CONCURRENT_STREAMS, 0, UINT32_MAX, UVH_H2_NO_ERROR},
        {UVH_H2_INITIAL_WINDOW_SIZE, 0, 0x7fffffff, UVH_H2_FLOW_CONTROL_ERROR},
        {UVH_H2_MAX_FRAME_SIZE, 16384, 0xffffff, UVH_H2_PROTOCOL_ERROR},
        {UVH_H2_MAX_HEADER_LIST_SIZE, 0, UINT32_MAX, UVH_H2_NO_ERROR},
        {UVH_H2_ENABLE_CONNECT_PROTOCOL, 0, 1, UVH_H2_PROTOCOL_ERROR},
        {UVH_H2_NO_RFC7540_PRIORITIES, 0, 1, UVH_H2_PROTOCOL_ERROR},
        {0, 0, UINT32_MAX, UVH_H2_NO_ERROR},
        {7, 0, UINT32_MAX, UVH_H2_NO_ERROR},
        {0x0104, 0, UINT32_MAX, UVH_H2_NO_ERROR},
    };
    static const uint32_t values[] = {0,        1,          2,          16383,    16384,
                                      0xffffff, 0x01000000, 0x7fffffff, 1u << 31, UINT32_MAX};
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        for (size_t j = 0; j < UVH_COUNT_OF(values); j++) {
            char frame[UVH_H2_HEAD_SIZE + UVH_H2_SETTING_SIZE];
            struct uvh_h2_entry entry = {cases[i].setting, values[j]};
            struct uvh_h2_settings settings = UVH_H2_SETTINGS_INITIAL;
            bool valid = values[j] >= cases[i].smallest && values[j] <= cases[i].largest;
            assert_int_equal(uvh_h2_write_settings(frame, &entry, 1), sizeof frame);
            assert_int_equal(
                uvh_h2_settings_read(&settings, frame + UVH_H2_HEAD_SIZE, UVH_H2_SETTING_SIZE),
                valid ? UVH_H2_NO_ERROR : cases[i].error);
        }
    }
}

static void window_does_not_overflow(void **state)
{
    (void)state;
    int32_t window = UVH_H2_WINDOW;
    assert_true(uvh_h2_window_add(&window, UVH_H2_WINDOW_MAX - UVH_H2_WINDOW));
    assert_int_equal(window, UVH_H2_WINDOW_MAX);
    assert_false(uvh_h2_window_add(&window, 1));
    assert_int_equal(window, UVH_H2_WINDOW_MAX);
    assert_true(uvh_h2_window_add(&window, -UVH_H2_WINDOW_MAX));
    assert_true(uvh_h2_window_add(&window, -UVH_H2_WINDOW_MAX));
    assert_int_equal(window, -UVH_H2_WINDOW_MAX);
    assert_false(uvh_h2_window_add(&window, -1));
    assert_int_equal(uvh_h2_window_increment("\x80\x00\x00\x00"), 0); /* a reserved bit */
    assert_int_equal(uvh_h2_window_increment("\xff\xff\xff\xff"), UVH_H2_WINDOW_MAX);
}

static void priority_update_has_a_stream_and_a_value(void **state)
{
    (void)state;
    struct uvh_h2_frame frame = {.type = UVH_H2_PRIORITY_UPDATE, .length = 7};
    uint32_t stream;
    uvhttp_slice_t value;
    assert_int_equal(uvh_h2_priority_update_read(&frame, "\x80\0\0\x05u=1", &stream, &value),
                     UVH_H2_NO_ERROR);
    assert_int_equal(stream, 5);
    assert_int_equal(value.length, 3);
    assert_memory_equal(value.base, "u=1", 3);
    frame.length = 4;
    assert_int_equal(uvh_h2_priority_update_read(&frame, "\0\0\0\x05", &stream, &value),
                     UVH_H2_NO_ERROR);
    assert_int_equal(value.length, 0);
    assert_int_equal(uvh_h2_priority_update_read(&frame, "\x80\0\0\0", &stream, &value),
                     UVH_H2_PROTOCOL_ERROR);
    assert_int_equal(uvh_h2_priority_update_read(&frame, "\0\0\0\x02", &stream, &value),
                     UVH_H2_PROTOCOL_ERROR);
}

/* The frame is written as these bytes. */
#define CHECK_FRAME(call, bytes)                            \
    do {                                                    \
        char out[64];                                       \
        assert_int_equal(call, sizeof(bytes) - 1);          \
        assert_memory_equal(out, bytes, sizeof(bytes) - 1); \
    } while (0)

static void frames_of_a_server_are_written(void **state)
{
    (void)state;
    static const struct uvh_h2_entry entries[] = {{UVH_H2_MAX_CONCURRENT_STREAMS, 100},
                                                  {UVH_H2_INITIAL_WINDOW_SIZE, 0x01020304}};
    CHECK_FRAME(uvh_h2_write_settings(out, entries, 2),
                "\0\0\x0c\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\x04\x01\x02\x03\x04");
    CHECK_FRAME(uvh_h2_write_settings(out, NULL, 0), "\0\0\0\x04\0\0\0\0\0");
    CHECK_FRAME(uvh_h2_write_settings_ack(out), "\0\0\0\x04\x01\0\0\0\0");
    CHECK_FRAME(uvh_h2_write_ping(out, "12345678", UVH_H2_ACK),
                "\0\0\x08\x06\x01\0\0\0\0\x31\x32\x33\x34\x35\x36\x37\x38");
    CHECK_FRAME(uvh_h2_write_rst_stream(out, 0x01020305, UVH_H2_CANCEL),
                "\0\0\x04\x03\0\x01\x02\x03\x05\0\0\0\x08");
    CHECK_FRAME(uvh_h2_write_window_update(out, 0, UVH_H2_WINDOW_MAX),
                "\0\0\x04\x08\0\0\0\0\0\x7f\xff\xff\xff");
    CHECK_FRAME(uvh_h2_write_goaway(out, UVH_H2_STREAM_MAX, UVH_H2_ENHANCE_YOUR_CALM, ""),
                "\0\0\x08\x07\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\x0b");
    CHECK_FRAME(uvh_h2_write_goaway(out, 1, UVH_H2_NO_ERROR, "bye"),
                "\0\0\x0b\x07\0\0\0\0\0\0\0\0\x01\0\0\0\0\x62ye");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_is_read_and_written),
        cmocka_unit_test(streams_of_frames_are_checked),
        cmocka_unit_test(sizes_of_frames_are_checked),
        cmocka_unit_test(field_block_is_not_interrupted),
        cmocka_unit_test(padding_is_removed),
        cmocka_unit_test(dependency_on_itself_is_found),
        cmocka_unit_test(settings_are_applied),
        cmocka_unit_test(values_of_settings_are_checked),
        cmocka_unit_test(window_does_not_overflow),
        cmocka_unit_test(priority_update_has_a_stream_and_a_value),
        cmocka_unit_test(frames_of_a_server_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
