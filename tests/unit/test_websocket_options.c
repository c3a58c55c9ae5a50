/* Options of a WebSocket endpoint: ranges, combinations, and that the error has the option, its
 * value and the allowed values. */
#include <uvhttp/websocket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/error.h>

static void on_message(uvhttp_websocket_t *ws, uvhttp_websocket_kind_t kind, const char *data,
                       size_t size, void *arg)
{
    (void)ws, (void)kind, (void)data, (void)size, (void)arg;
}

/* `message` NULL: the options are valid. */
static void expect(uvhttp_websocket_options_t options, const char *message)
{
    uvhttp_error_t error;
    options.events.message = on_message;
    int err = uvhttp_websocket_check(&options, &error);
    assert_string_equal(error.text, message == NULL ? "" : message);
    assert_int_equal(err, message == NULL ? 0 : UVHTTP_ECONFIG);
    assert_int_equal(uvhttp_websocket_check(&options, NULL), err);
}

#define EXPECT(message, ...) expect((uvhttp_websocket_options_t){__VA_ARGS__}, message)

static void option_ranges_are_checked(void **state)
{
    (void)state;
    EXPECT(NULL, .arg = NULL);
    EXPECT("max_message_size is 2000000000; allowed are 0 to 1073741824 bytes",
           .max_message_size = 2000000000);
    EXPECT("ping_interval_ms is 86400001; allowed are 0 to 86400000 milliseconds and UVHTTP_NEVER",
           .ping_interval_ms = 86400001);
    EXPECT(NULL, .ping_interval_ms = UVHTTP_NEVER, .idle_timeout_ms = UVHTTP_NEVER);
    EXPECT("close_timeout_ms is 4294967295; allowed are 0 to 86400000 milliseconds",
           .close_timeout_ms = UVHTTP_NEVER);
    EXPECT("window_bits is 8; allowed are 9 to 15 bits", .window_bits = 8);
}

static void negative_values_are_reported_as_given(void **state)
{
    (void)state;
    EXPECT("compression_level is -2147483648; allowed are 0 to 9 (zlib's)",
           .compression_level = INT32_MIN);
    EXPECT("window_bits is -9; allowed are 9 to 15 bits", .window_bits = -9);
    EXPECT("compression is -1; allowed are 0 to 2 (a kind)",
           .compression = (uvhttp_websocket_compression_t)-1);
}

static void dependent_options_are_checked(void **state)
{
    (void)state;
    EXPECT("low_watermark is 65537; allowed are 0 to 65536 bytes (high_watermark)",
           .low_watermark = 65537);
    EXPECT("low_watermark is 11; allowed are 0 to 10 bytes (high_watermark)", .low_watermark = 11,
           .high_watermark = 10);
    EXPECT(NULL, .low_watermark = 10, .high_watermark = 10, .max_queue_size = 10);
    EXPECT("high_watermark is 1048577; allowed are 0 to 1048576 bytes (max_queue_size)",
           .high_watermark = 1048577);
    EXPECT(NULL, .max_queue_size = 1000); /* the default of high_watermark follows */
    EXPECT("memory is 1; allowed are 1048576 bytes (max_message_size) and more", .memory = 1);
    EXPECT(NULL, .memory = 1000, .max_message_size = 1000);
    EXPECT(NULL, .memory = SIZE_MAX);
#if UVHTTP_TESTS_COMPRESSION
    EXPECT("memory_per_connection is 1; allowed are 18016 bytes (windows of 9 bits) and more",
           .compression = UVHTTP_WEBSOCKET_COMPRESS_DEDICATED, .memory_per_connection = 1);
#endif
    EXPECT(NULL, .compression = UVHTTP_WEBSOCKET_COMPRESS_DEDICATED,
           .memory_per_connection = 18016);
    EXPECT(NULL, .compression = UVHTTP_WEBSOCKET_COMPRESS_SHARED, .memory_per_connection = 1);
    EXPECT(NULL,
           /* an incompressible message is longer when compressed */
           .max_frame_size = 1100000);
}

static void origin_list_is_checked(void **state)
{
    (void)state;
    EXPECT(NULL, .origins = (const char *const[]){NULL}); /* not a browser */
    EXPECT(NULL, .origins = (const char *const[]){"https://example.org", "null", NULL});
    EXPECT("origins is \"https://*.example.org\"; allowed are scheme://host[:port] without '*' and "
           "trailing slash, and \"null\"; to allow any origin set the list to NULL",
           .origins = (const char *const[]){"https://*.example.org", NULL});
}

static void one_message_callback_is_required(void **state)
{
    (void)state;
    uvhttp_error_t error;
    assert_int_equal(uvhttp_websocket_check(NULL, &error), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_websocket_check(&(uvhttp_websocket_options_t){0}, &error),
                     UVHTTP_EINVAL);
    assert_string_equal(error.text, "exactly one of events.message and events.chunk must be set");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(option_ranges_are_checked),
        cmocka_unit_test(negative_values_are_reported_as_given),
        cmocka_unit_test(dependent_options_are_checked),
        cmocka_unit_test(origin_list_is_checked),
        cmocka_unit_test(one_message_callback_is_required),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
