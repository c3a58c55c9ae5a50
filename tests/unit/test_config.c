/* The configuration: defaults, every limit at and beyond both ends of its range, and that the page
 * docs/limits.md matches the table in src/server/limits.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/config.h>
#include <uvhttp/server.h>

#include "server/limits.h"

struct limit {
    const char *name;
    size_t offset;
    unsigned long long preset, min, max;
    const char *unit;
    int status;
};

#define LIMIT(field, preset, min, max, unit, status, help) \
    {#field, offsetof(uvhttp_config_t, field), preset, min, max, unit, status},
static const struct limit limits[] = {UVH_LIMITS(LIMIT)};
enum { LIMITS = sizeof(limits) / sizeof(limits[0]) };

static size_t *value_of(uvhttp_config_t *config, const struct limit *limit)
{
    return (size_t *)(void *)((char *)config + limit->offset);
}

static void defaults_match_table_and_are_valid(void **state)
{
    (void)state;
    uvhttp_error_t error;
    uvhttp_config_t *config = uvhttp_config_new();
    assert_non_null(config);
    for (size_t i = 0; i < LIMITS; i++) {
        assert_int_equal(*value_of(config, &limits[i]), limits[i].preset);
        assert_true(limits[i].min <= limits[i].preset && limits[i].preset <= limits[i].max);
    }
    assert_null(config->allocator);
    assert_non_null(config->log); /* warnings and errors to standard error */
    assert_null(config->log_arg);
    assert_int_equal(uvhttp_config_check(config, &error), 0);
    assert_string_equal(error.text, "");
    assert_true(config->handler_timeout > 0); /* a handler that never responds is reported */
    uvhttp_config_free(config);
    uvhttp_config_free(NULL);
}

static void null_config_is_refused(void **state)
{
    (void)state;
    assert_int_equal(uvhttp_config_check(NULL, NULL), UVHTTP_EINVAL);
}

static void assert_refused(uvhttp_config_t *config, const struct limit *limit,
                           unsigned long long value)
{
    uvhttp_error_t error;
    char expected[256];
    *value_of(config, limit) = (size_t)value;
    snprintf(expected, sizeof(expected), "%s is %llu; allowed are %llu to %llu %s", limit->name,
             value, limit->min, limit->max, limit->unit);
    assert_int_equal(uvhttp_config_check(config, &error), UVHTTP_ECONFIG);
    assert_string_equal(error.text, expected);
}

static void values_out_of_range_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < LIMITS; i++) {
        uvhttp_error_t error;
        uvhttp_config_t *config = uvhttp_config_new();
        if (limits[i].min > 0)
            assert_refused(config, &limits[i], limits[i].min - 1);
        assert_refused(config, &limits[i], limits[i].max + 1);
        assert_refused(config, &limits[i], SIZE_MAX);
        /* Both ends of the range are allowed, in a configuration whose other limits permit them. */
        config->buffer_size = 16777216;
        config->max_header_size = config->max_trailer_size = 128;
        *value_of(config, &limits[i]) = (size_t)limits[i].min;
        assert_int_equal(uvhttp_config_check(config, &error), 0);
        *value_of(config, &limits[i]) = (size_t)limits[i].max;
        assert_int_equal(uvhttp_config_check(config, &error), 0);
        uvhttp_config_free(config);
    }
}

static void buffer_size_covers_two_heads_and_trailers(void **state)
{
    (void)state;
    uvhttp_error_t error;
    uvhttp_config_t *config = uvhttp_config_new();
    config->buffer_size = 8192;
    config->max_header_size = config->max_trailer_size = 4096;
    assert_int_equal(uvhttp_config_check(config, &error), 0);
    config->max_header_size = 4097;
    assert_int_equal(uvhttp_config_check(config, &error), UVHTTP_ECONFIG);
    assert_string_equal(error.text,
                        "buffer_size is 8192; it must be at least twice max_header_size (4097) and "
                        "max_trailer_size (4096)");
    config->max_header_size = 4096;
    config->max_trailer_size = 4097;
    assert_int_equal(uvhttp_config_check(config, &error), UVHTTP_ECONFIG);
    uvhttp_config_free(config);
}

static void limit_table_can_be_listed(void **state)
{
    (void)state;
    uvhttp_config_t *config = uvhttp_config_new();
    size_t count = 0;
    for (const uvhttp_limit_t *row; (row = uvhttp_config_limit(count)) != NULL; count++) {
        assert_string_equal(row->name, limits[count].name);
        assert_string_equal(row->unit, limits[count].unit);
        assert_int_equal(row->preset, limits[count].preset);
        assert_int_equal(row->min, limits[count].min);
        assert_int_equal(row->max, limits[count].max);
        assert_int_equal(row->status, limits[count].status);
        assert_true(strlen(row->help) > 10);
        size_t value;
        *value_of(config, &limits[count]) = 1000 + count;
        assert_int_equal(uvhttp_config_get(config, row->name, &value), 0);
        assert_int_equal(value, 1000 + count);
    }
    assert_int_equal(count, LIMITS);
    assert_null(uvhttp_config_limit(SIZE_MAX));
    size_t untouched = 7;
    assert_int_equal(uvhttp_config_get(config, "max_connection", &untouched), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_config_get(config, "", &untouched), UVHTTP_EINVAL);
    assert_int_equal(untouched, 7);
    uvhttp_config_free(config);
}

static void workers_auto_is_core_count(void **state)
{
    (void)state;
    uvhttp_error_t error;
    uvhttp_config_t *config = uvhttp_config_new();
    const char *texts[] = {"0", "auto"};
    for (size_t i = 0; i < 2; i++) {
        config->workers = 1000;
        assert_int_equal(uvhttp_config_set(config, "workers", texts[i], &error), 0);
        assert_int_equal(config->workers, uvhttp_core_count());
    }
    assert_int_equal(uvhttp_config_set(config, "max_connections", "auto", &error), UVHTTP_ECONFIG);
    uvhttp_config_free(config);
}

static void heavy_threads_auto_is_zero(void **state)
{
    (void)state;
    uvhttp_error_t error;
    uvhttp_config_t *config = uvhttp_config_new();
    config->heavy_threads = 7;
    assert_int_equal(uvhttp_config_set(config, "heavy_threads", "auto", &error), 0);
    assert_int_equal(config->heavy_threads, 0);
    assert_int_equal(uvhttp_config_set(config, "quick_threads", "auto", &error), UVHTTP_ECONFIG);
    uvhttp_config_free(config);
}

static void limits_are_set_by_name_within_range(void **state)
{
    (void)state;
    uvhttp_config_t *config = uvhttp_config_new();
    for (size_t i = 0; i < LIMITS; i++) {
        uvhttp_error_t error;
        char text[32];
        const unsigned long long ends[] = {limits[i].min, limits[i].max};
        for (size_t end = 0; end < 2; end++) {
            snprintf(text, sizeof(text), "%llu", ends[end]);
            assert_int_equal(uvhttp_config_set(config, limits[i].name, text, &error), 0);
            assert_int_equal(*value_of(config, &limits[i]), ends[end]);
        }
        assert_string_equal(error.text, "");
        const char *beyond[] = {text, "99999999999999999999999"};
        bool zero_is_automatic = strcmp(limits[i].name, "workers") == 0;
        bool below = limits[i].min > 0 && !zero_is_automatic;
        snprintf(text, sizeof(text), "%llu", below ? limits[i].min - 1 : limits[i].max + 1);
        for (size_t k = 0; k < 2; k++) {
            char expected[256];
            if (strcmp(limits[i].unit, "boolean") == 0)
                snprintf(expected, sizeof(expected), "%s is '%s'; allowed are true and false",
                         limits[i].name, beyond[k]);
            else
                snprintf(expected, sizeof(expected), "%s is %s; allowed are %llu to %llu %s",
                         limits[i].name, beyond[k], limits[i].min, limits[i].max, limits[i].unit);
            assert_int_equal(uvhttp_config_set(config, limits[i].name, beyond[k], &error),
                             UVHTTP_ECONFIG);
            assert_string_equal(error.text, expected);
            assert_int_equal(*value_of(config, &limits[i]), limits[i].max);
        }
    }
    uvhttp_config_free(config);
}

static void numbers_are_parsed_with_units(void **state)
{
    (void)state;
    static const struct {
        const char *text, *unit;
        size_t value;
    } good[] = {
        {"0", "bytes", 0},
        {"65536", "bytes", 65536},
        {"007", "bytes", 7},
        {"12b", "bytes", 12},
        {"64K", "bytes", 65536},
        {"64k", "bytes", 65536},
        {"64KiB", "bytes", 65536},
        {"64 KiB", "bytes", 65536},
        {"3mib", "bytes", 3 << 20},
        {"3M", "bytes", 3 << 20},
        {"2G", "bytes", (size_t)2 << 30},
        {"2GIB", "bytes", (size_t)2 << 30},
        {"18446744073709551615", "bytes", SIZE_MAX},
        {"18446744073709551616", "bytes", SIZE_MAX},
        {"17179869184G", "bytes", SIZE_MAX},
        {"17179869183G", "bytes", 17179869183u << 30u},
        {"90", "seconds", 90},
        {"90s", "seconds", 90},
        {"2min", "seconds", 120},
        {"2m", "seconds", 120},
        {"2 h", "seconds", 7200},
        {"1d", "seconds", 86400},
        {"1500ms", "milliseconds", 1500},
        {"5", "milliseconds", 5},
        {"5s", "milliseconds", 5000},
        {"1min", "milliseconds", 60000},
        {"1m", "milliseconds", 60000},
        {"1h", "milliseconds", 3600000},
        {"1d", "milliseconds", 86400000},
        {"12", "fields", 12},
        {"1", "boolean", 1},
        {"true", "boolean", 1},
        {"yes", "boolean", 1},
        {"on", "boolean", 1},
        {"0", "boolean", 0},
        {"false", "boolean", 0},
        {"no", "boolean", 0},
        {"off", "boolean", 0},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        size_t value = 1;
        assert_int_equal(uvhttp_config_parse(good[i].text, good[i].unit, &value), 0);
        assert_true(value == good[i].value);
    }
    static const char *const bad[][2] = {
        {"", "bytes"},         {" 1", "bytes"},         {"1 ", "bytes"},
        {"1  K", "bytes"},     {"+1", "bytes"},         {"-1", "bytes"},
        {"0x10", "bytes"},     {"1.5K", "bytes"},       {"1KB", "bytes"},
        {"1T", "bytes"},       {"1s", "bytes"},         {"1Ki", "bytes"},
        {"1Kib1", "bytes"},    {"K", "bytes"},          {"1M", "seconds"},
        {"1ms", "seconds"},    {"1S", "seconds"},       {"1K", "seconds"},
        {"1min 1", "seconds"}, {"1MS", "milliseconds"}, {"10k", "connections"},
        {"1s", "connections"}, {"1\n", "fields"},       {"2", "boolean"},
        {"", "boolean"},       {"True", "boolean"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t value = 4711;
        assert_int_equal(uvhttp_config_parse(bad[i][0], bad[i][1], &value), UVHTTP_EINVAL);
        assert_int_equal(value, 4711);
    }
}

static void assert_not_set(const char *name, const char *text, int err, const char *expected)
{
    uvhttp_error_t error;
    uvhttp_config_t *config = uvhttp_config_new();
    uvhttp_config_t before = *config;
    assert_int_equal(uvhttp_config_set(config, name, text, &error), err);
    assert_string_equal(error.text, expected);
    assert_memory_equal(config, &before, sizeof(before));
    uvhttp_config_free(config);
}

static void invalid_values_are_refused_with_allowed_range(void **state)
{
    (void)state;
    assert_not_set("max_conections", "1", UVHTTP_EINVAL, "unknown limit 'max_conections'");
    assert_not_set("max_connections", "10k", UVHTTP_ECONFIG,
                   "max_connections: '10k' is not a number; allowed are 1 to 10000000 connections");
    assert_not_set(
        "body_timeout", "1ms", UVHTTP_ECONFIG,
        "body_timeout: '1ms' is not a time (such as 90, 90s or 2min); allowed are 1 to 86400 "
        "seconds");
    assert_not_set("body_timeout", "2d", UVHTTP_ECONFIG,
                   "body_timeout is 2d; allowed are 1 to 86400 seconds");
    assert_not_set("max_target_size", "", UVHTTP_ECONFIG,
                   "max_target_size: '' is not a size (such as 65536, 64K or 64KiB); allowed are "
                   "16 to 1048576 "
                   "bytes");
    assert_not_set("http2", "2", UVHTTP_ECONFIG, "http2 is '2'; allowed are true and false");
    char longest[1000];
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    uvhttp_error_t error;
    uvhttp_config_t *config = uvhttp_config_new();
    assert_int_equal(uvhttp_config_set(config, "write_backlog", longest, &error), UVHTTP_ECONFIG);
    assert_true(strlen(error.text) < sizeof(error.text) - 1);
    assert_non_null(strstr(error.text, "; allowed are 1024 to 1073741824 bytes"));
    uvhttp_config_free(config);
}

static void environment_variables_set_limits(void **state)
{
    (void)state;
    uvhttp_error_t error;
    uvhttp_config_t *config = uvhttp_config_new();
    assert_int_equal(uvhttp_config_from_env(config, "SHOP_", &error), 0);
    assert_int_equal(config->max_connections, 10000);
    setenv("SHOP_MAX_CONNECTIONS", "12", 1);
    setenv("SHOP_BUFFER_SIZE", "128KiB", 1);
    setenv("SHOP_BODY_TIMEOUT", "", 1); /* like an unset variable */
    setenv("SHOP_max_target_size", "20", 1);
    assert_int_equal(uvhttp_config_from_env(config, "SHOP_", &error), 0);
    assert_string_equal(error.text, "");
    assert_int_equal(config->max_connections, 12);
    assert_int_equal(config->buffer_size, 131072);
    assert_int_equal(config->body_timeout, 30);
    assert_int_equal(config->max_target_size, 8192);
    assert_int_equal(uvhttp_config_from_env(config, "OTHER_", &error), 0);
    setenv("SHOP_BODY_TIMEOUT", "0", 1);
    assert_int_equal(uvhttp_config_from_env(config, "SHOP_", &error), UVHTTP_ECONFIG);
    assert_string_equal(error.text,
                        "SHOP_BODY_TIMEOUT: body_timeout is 0; allowed are 1 to 86400 seconds");
    char prefix[66];
    memset(prefix, 'A', sizeof(prefix));
    prefix[65] = '\0';
    assert_int_equal(uvhttp_config_from_env(config, prefix, &error), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_config_from_env(config, prefix + 1, &error), 0);
    static const char *const names[] = {"SHOP_MAX_CONNECTIONS", "SHOP_BUFFER_SIZE",
                                        "SHOP_BODY_TIMEOUT", "SHOP_max_target_size"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
    uvhttp_config_free(config);
}

static char *read_page(void)
{
    FILE *file = fopen(UVHTTP_TESTS_DIR "/../docs/limits.md", "rb");
    assert_non_null(file);
    char *text = calloc(1, 65536);
    assert_non_null(text);
    assert_true(fread(text, 1, 65535, file) > 0);
    fclose(file);
    return text;
}

/* Each limit has a row "| `name` | default | minimum | maximum | unit | status | ..." in the order
 * of the table, and there are no other rows. */
static void limits_page_matches_table(void **state)
{
    (void)state;
    char *page = read_page();
    const char *at = page;
    for (size_t i = 0; i < LIMITS; i++) {
        char row[256], status[16] = "none";
        if (limits[i].status != 0)
            snprintf(status, sizeof(status), "%d", limits[i].status);
        snprintf(row, sizeof(row), "\n| `%s` | %llu | %llu | %llu | %s | %s | ", limits[i].name,
                 limits[i].preset, limits[i].min, limits[i].max, limits[i].unit, status);
        const char *found = strstr(page, row);
        if (found == NULL)
            fail_msg("docs/limits.md has no row:%s", row);
        assert_true(found >= at);
        at = found;
    }
    size_t rows = 0;
    for (const char *row = page; (row = strstr(row, "\n| `")) != NULL; row++)
        rows++;
    assert_int_equal(rows, LIMITS);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_config_is_refused),
        cmocka_unit_test(defaults_match_table_and_are_valid),
        cmocka_unit_test(values_out_of_range_are_refused),
        cmocka_unit_test(buffer_size_covers_two_heads_and_trailers),
        cmocka_unit_test(limit_table_can_be_listed),
        cmocka_unit_test(workers_auto_is_core_count),
        cmocka_unit_test(heavy_threads_auto_is_zero),
        cmocka_unit_test(limits_are_set_by_name_within_range),
        cmocka_unit_test(numbers_are_parsed_with_units),
        cmocka_unit_test(invalid_values_are_refused_with_allowed_range),
        cmocka_unit_test(environment_variables_set_limits),
        cmocka_unit_test(limits_page_matches_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
