/* The configuration: defaults, every limit at and beyond both ends of its range, and the page docs/limits.md, which has to say what
 * the table in src/server/limits.h says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/config.h>

#include "server/limits.h"

struct limit {
    const char *name;
    size_t offset;
    unsigned long long preset, min, max;
    const char *unit;
    int status;
};

#define LIMIT(field, preset, min, max, unit, status) \
    {#field, offsetof(uvhttp_config_t, field), preset, min, max, unit, status},
static const struct limit limits[] = {UVH_LIMITS(LIMIT)};
enum { LIMITS = sizeof(limits) / sizeof(limits[0]) };

static size_t *value_of(uvhttp_config_t *config, const struct limit *limit)
{
    return (size_t *)(void *)((char *)config + limit->offset);
}

static void the_defaults_are_those_of_the_table_and_valid(void **state)
{
    (void)state;
    char message[256] = "untouched";
    uvhttp_config_t *config = uvhttp_config_new();
    assert_non_null(config);
    for (size_t i = 0; i < LIMITS; i++) {
        assert_int_equal(*value_of(config, &limits[i]), limits[i].preset);
        assert_true(limits[i].min <= limits[i].preset && limits[i].preset <= limits[i].max);
    }
    assert_null(config->allocator);
    assert_null(config->log);
    assert_null(config->log_arg);
    assert_int_equal(uvhttp_config_check(config, message, sizeof(message)), 0);
    assert_string_equal(message, "untouched");
    uvhttp_config_free(config);
    uvhttp_config_free(NULL);
}

static void assert_refused(uvhttp_config_t *config, const struct limit *limit, unsigned long long value)
{
    char message[256], expected[256];
    *value_of(config, limit) = (size_t)value;
    snprintf(expected, sizeof(expected), "%s is %llu; allowed are %llu to %llu %s", limit->name, value,
             limit->min, limit->max, limit->unit);
    assert_int_equal(uvhttp_config_check(config, message, sizeof(message)), UVHTTP_ECONFIG);
    assert_string_equal(message, expected);
}

static void every_value_beyond_its_range_is_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < LIMITS; i++) {
        char message[256];
        uvhttp_config_t *config = uvhttp_config_new();
        if (limits[i].min > 0)
            assert_refused(config, &limits[i], limits[i].min - 1);
        assert_refused(config, &limits[i], limits[i].max + 1);
        assert_refused(config, &limits[i], SIZE_MAX);
        /* The ends themselves are allowed, in a configuration that otherwise has room for them. */
        config->buffer_size = 16777216;
        config->max_header_size = config->max_trailer_size = 128;
        *value_of(config, &limits[i]) = (size_t)limits[i].min;
        assert_int_equal(uvhttp_config_check(config, message, sizeof(message)), 0);
        *value_of(config, &limits[i]) = (size_t)limits[i].max;
        assert_int_equal(uvhttp_config_check(config, message, sizeof(message)), 0);
        uvhttp_config_free(config);
    }
}

static void a_buffer_holds_two_heads_and_two_trailer_sections(void **state)
{
    (void)state;
    char message[256];
    uvhttp_config_t *config = uvhttp_config_new();
    config->buffer_size = 8192;
    config->max_header_size = config->max_trailer_size = 4096;
    assert_int_equal(uvhttp_config_check(config, message, sizeof(message)), 0);
    config->max_header_size = 4097;
    assert_int_equal(uvhttp_config_check(config, message, sizeof(message)), UVHTTP_ECONFIG);
    assert_string_equal(message, "buffer_size is 8192; it must be at least twice max_header_size (4097) and "
                                 "max_trailer_size (4096)");
    config->max_header_size = 4096;
    config->max_trailer_size = 4097;
    assert_int_equal(uvhttp_config_check(config, message, sizeof(message)), UVHTTP_ECONFIG);
    uvhttp_config_free(config);
}

static void a_message_is_cut_to_the_room_there_is(void **state)
{
    (void)state;
    char message[12];
    memset(message, '!', sizeof(message));
    uvhttp_config_t *config = uvhttp_config_new();
    config->max_connections = 0;
    assert_int_equal(uvhttp_config_check(config, message, 10), UVHTTP_ECONFIG);
    assert_string_equal(message, "max_conne");
    assert_int_equal(message[10], '!');
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

/* Each limit has a row "| `name` | default | minimum | maximum | unit | status | ..." in the order of the table, and there is
 * no row for anything else. */
static void the_page_about_limits_says_what_the_table_says(void **state)
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
        cmocka_unit_test(the_defaults_are_those_of_the_table_and_valid),
        cmocka_unit_test(every_value_beyond_its_range_is_refused_by_name),
        cmocka_unit_test(a_buffer_holds_two_heads_and_two_trailer_sections),
        cmocka_unit_test(a_message_is_cut_to_the_room_there_is),
        cmocka_unit_test(the_page_about_limits_says_what_the_table_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
