/* Reading configuration files without the file system: what memory that runs out does to it, the suggestions for misspelt keys, and which bytes
 * are characters. What a file means is tested from outside, in tests/wire/test_config_file.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "app/config_file.h"
#include "app/suggest.h"
#include "app/utf8.h"

/* The linker leads every malloc and calloc of the program's code here: `left` of them succeed. */
static size_t left = SIZE_MAX;
static size_t failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool may_allocate(void)
{
    if (left == 0) {
        failed++;
        return false;
    }
    left -= left == SIZE_MAX ? 0 : 1;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

static const char everything[] =
    "server: {max_connections: 5}\n"
    "listen: [127.0.0.1:1, ':2']\n"
    "access_log: {path: logs/a, pattern: '{status}'}\n"
    "metrics: {path: /m, listen: 'unix:m.sock'}\n"
    "sites:\n"
    "  - hosts: [a.example, b.example]\n"
    "    headers: {X-A: '1', X-B: '2'}\n"
    "    routes:\n"
    "      - {path: /a, static: site, prewarm: [/x]}\n"
    "      - {path: /b, redirect: 'https://c.example{target}'}\n"
    "      - {path: /c, respond: {body: '${VALUE}', type: a/b}, methods: [GET]}\n";

static const char *variable(const char *name)
{
    return strcmp(name, "VALUE") == 0 ? "value" : NULL;
}

static void memory_that_runs_out_is_told_and_leaves_nothing(void **state)
{
    (void)state;
    size_t allowed = 0;
    for (;; allowed++) {
        struct uvh_problems problems = {.file = "test"};
        struct uvh_config_file file;
        left = allowed;
        failed = 0;
        bool right =
            uvh_config_file_read(&file, everything, sizeof(everything) - 1, "/srv", variable, &problems);
        left = SIZE_MAX;
        assert_true(right == (failed == 0));
        assert_true(right == (problems.count == 0));
        if (!right)
            assert_non_null(strstr(problems.items[0].text, "out of memory"));
        uvh_config_file_release(&file);
        if (right)
            break;
    }
    assert_true(allowed > 50);
}

static void a_file_that_is_right_is_read_as_it_stands(void **state)
{
    (void)state;
    struct uvh_problems problems = {.file = "test"};
    struct uvh_config_file file;
    assert_true(uvh_config_file_read(&file, everything, sizeof(everything) - 1, "/srv", variable, &problems));
    const struct uvh_setup *setup = &file.setup;
    assert_int_equal(setup->config.max_connections, 5);
    assert_int_equal(setup->listen_count, 2);
    assert_string_equal(setup->access_path.text, "/srv/logs/a");
    assert_string_equal(setup->metrics.path.text, "/m");
    assert_true(setup->metrics.has_listen);
    assert_string_equal(setup->metrics.listen.host, "unix:/srv/m.sock");
    assert_int_equal(setup->site_count, 1);
    assert_int_equal(setup->sites[0].hosts.count, 2);
    assert_int_equal(setup->sites[0].route_count, 3);
    const struct uvh_setup_route *routes = setup->sites[0].routes;
    assert_string_equal(routes[0].root.text, "/srv/site");
    assert_string_equal(routes[1].location, "https://c.example");
    assert_true(routes[1].with_target);
    assert_string_equal(routes[2].body, "value");
    assert_int_equal(routes[2].path.mark.line, 11);
    assert_int_equal(routes[2].path.mark.column, 16);
    uvh_config_file_release(&file);
}

static const char *const names[] = {"path", "static", "listing", "max_connections", "max_body_size", NULL};

static const char *name_at(size_t index, const void *arg)
{
    (void)arg;
    return names[index];
}

static void the_nearest_name_is_suggested(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"pth",             "path"           },
        {"paht",            "path"           },
        {"Path",            "path"           },
        {"max_conections",  "max_connections"},
        {"max-connections", "max_connections"},
        {"max_body_siez",   "max_body_size"  },
        {"lisitng",         "listing"        },
        {"x",               NULL             },
        {"",                NULL             },
        {"redirect",        NULL             },
        {"statistics",      NULL             },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *found = uvh_suggest(cases[i][0], name_at, NULL);
        if (cases[i][1] == NULL)
            assert_null(found);
        else
            assert_string_equal(found, cases[i][1]);
    }
    char longest[200];
    memset(longest, 'p', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    assert_null(uvh_suggest(longest, name_at, NULL));
}

static void characters_are_those_of_rfc_3629(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        uint32_t character;
    } good[] = {
        {"a",                0x61    },
        {"\x7f",             0x7f    },
        {"\xc2\x80",         0x80    },
        {"\xdf\xbf",         0x7ff   },
        {"\xe0\xa0\x80",     0x800   },
        {"\xed\x9f\xbf",     0xd7ff  },
        {"\xee\x80\x80",     0xe000  },
        {"\xef\xbf\xbf",     0xffff  },
        {"\xf0\x90\x80\x80", 0x10000 },
        {"\xf4\x8f\xbf\xbf", 0x10ffff},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        uint32_t character = 0;
        assert_int_equal(uvh_utf8_next(good[i].bytes, &character), strlen(good[i].bytes));
        assert_int_equal(character, good[i].character);
        assert_true(uvh_utf8_valid(good[i].bytes));
    }
    static const char *const bad[] = {
        "\x80",         "\xc0\x80",         "\xc1\xbf",         "\xc2",
        "\xc2\x41",     "\xe0\x9f\xbf",     "\xe0\xa0",         "\xed\xa0\x80",
        "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xff",         "\xf0\x90\x80"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint32_t character;
        assert_int_equal(uvh_utf8_next(bad[i], &character), 0);
        assert_false(uvh_utf8_valid(bad[i]));
    }
    assert_true(uvh_utf8_valid(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_runs_out_is_told_and_leaves_nothing),
        cmocka_unit_test(a_file_that_is_right_is_read_as_it_stands),
        cmocka_unit_test(the_nearest_name_is_suggested),
        cmocka_unit_test(characters_are_those_of_rfc_3629),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
