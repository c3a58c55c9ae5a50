/* modules/dir_listing.c: what the page shows, and that names of any bytes stay text there. tests/wire/test_static.py reads pages back with
 * a real HTML parser. */
#include "modules/dir_listing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uvhttp/error.h>

/* Counts what is allocated, and fails one call. */
struct counter {
    long live;
    long calls;
    long fail_at; /* 1-based; 0: never */
};

static void *counted_reallocate(void *memory, size_t size, void *context)
{
    struct counter *counter = context;
    if (++counter->calls == counter->fail_at)
        return NULL;
    void *moved = realloc(memory, size);
    if (memory == NULL && moved != NULL)
        counter->live++;
    return moved;
}

static void *counted_allocate(size_t size, void *context)
{
    return counted_reallocate(NULL, size, context);
}

static void counted_release(void *memory, void *context)
{
    struct counter *counter = context;
    counter->live--;
    free(memory);
}

struct place {
    char path[64];
    int folder;
    struct uvh_file_root root;
    struct counter counter;
    uvhttp_allocator_t allocator;
    struct uvh_bytes page;
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    assert_non_null(place);
    snprintf(place->path, sizeof(place->path), "/tmp/uvhttp-listing-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    place->folder = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place->folder >= 0);
    assert_int_equal(uvh_file_root_open(&place->root, place->path), 0);
    place->allocator =
        (uvhttp_allocator_t){counted_allocate, counted_reallocate, counted_release, &place->counter};
    uvh_bytes_init(&place->page, &place->allocator, UVH_DIR_LISTING_MAX_SIZE);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    char command[128];
    uvh_bytes_release(&place->page);
    assert_int_equal(place->counter.live, 0);
    uvh_file_root_close(&place->root);
    close(place->folder);
    snprintf(command, sizeof(command), "rm -rf '%s'", place->path);
    assert_int_equal(system(command), 0);
    free(place);
    return 0;
}

static void make_file(struct place *place, const char *name, off_t size)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 784111777}};
    int descriptor = openat(place->folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, size), 0);
    assert_int_equal(futimens(descriptor, times), 0);
    close(descriptor);
}

/* Lists `folder` and gives the page as a string. */
static const char *list(struct place *place, const char *folder, bool hidden)
{
    struct uvh_dir_listing_order order = {
        .root = &place->root, .folder = folder, .title = "/<shown>/", .hidden = hidden};
    uvh_bytes_release(&place->page);
    assert_int_equal(uvh_dir_listing_write(&order, &place->page), 0);
    assert_int_equal(uvh_bytes_append(&place->page, "", 1), 0);
    assert_int_equal(strlen(place->page.data), place->page.length - 1);
    return place->page.data;
}

static size_t count(const char *text, const char *part)
{
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        found++;
    return found;
}

static void assert_has(const char *page, const char *part)
{
    if (strstr(page, part) == NULL)
        fail_msg("the page lacks: %s\n%s", part, strstr(page, "<tbody>"));
}

static void test_folders_come_first_and_names_are_sorted(void **state)
{
    struct place *place = *state;
    static const char *const order[] = {"./Alpha/\"", "./beta/\"", "./a\"", "./B\"", "./c\"", "./z\""};
    make_file(place, "z", 0);
    make_file(place, "B", 0);
    make_file(place, "c", 0);
    make_file(place, "a", 0);
    assert_int_equal(mkdirat(place->folder, "beta", 0755), 0);
    assert_int_equal(mkdirat(place->folder, "Alpha", 0755), 0);
    const char *at = list(place, "", false);
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        at = strstr(at, order[i]);
        assert_non_null(at);
    }
}

static void test_sizes_and_dates(void **state)
{
    struct place *place = *state;
    static const struct {
        off_t size;
        const char *shown;
    } cases[] = {
        {0,               "<data value=\"0\">0 B</data>"             },
        {1023,            "<data value=\"1023\">1023 B</data>"       },
        {1024,            "<data value=\"1024\">1.0 KiB</data>"      },
        {1536,            "<data value=\"1536\">1.5 KiB</data>"      },
        {10 * 1024 - 1,   "<data value=\"10239\">9.9 KiB</data>"     },
        {10 * 1024,       "<data value=\"10240\">10 KiB</data>"      },
        {1024 * 1024 - 1, "<data value=\"1048575\">1023 KiB</data>"  },
        {1024 * 1024,     "<data value=\"1048576\">1.0 MiB</data>"   },
        {(off_t)5 << 30,  "<data value=\"5368709120\">5.0 GiB</data>"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make_file(place, "sized", cases[i].size);
        const char *page = list(place, "", false);
        assert_has(page, cases[i].shown);
        assert_has(page, "<td>06 Nov 1994 08:49</td>");
    }
}

static void test_names_stay_names(void **state)
{
    struct place *place = *state;
    static const struct {
        const char *name;
        const char *link;
        const char *shown;
    } cases[] = {
        {"a b",                 "./a%20b",            "a b"                                                },
        {"100%",                "./100%25",           "100%"                                               },
        {"%41",                 "./%2541",            "%41"                                                },
        {"what?",               "./what%3F",          "what?"                                              },
        {"#1",                  "./%231",             "#1"                                                 },
        {"a:b",                 "./a%3Ab",            "a:b"                                                },
        {"<b>&\"'",             "./%3Cb%3E%26%22%27", "&lt;b&gt;&amp;&quot;&#39;"                          },
        {"back\\slash",         "./back%5Cslash",     "back\\slash"                                        },
        {"new\nline",           "./new%0Aline",       "new\xE2\x90\x8Aline"                                },
        {"del\x7F",             "./del%7F",           "del\xE2\x90\xA1"                                    },
        {"gr\xC3\xBC\xC3\x9F",  "./gr%C3%BC%C3%9F",   "gr\xC3\xBC\xC3\x9F"                                 },
        {"\xF0\x9F\x90\x99",    "./%F0%9F%90%99",     "\xF0\x9F\x90\x99"                                   },
        {"bad\xFF",             "./bad%FF",           "bad\xEF\xBF\xBD"                                    },
        {"cut\xC3",             "./cut%C3",           "cut\xEF\xBF\xBD"                                    },
        {"long\xC0\xAF",        "./long%C0%AF",       "long\xEF\xBF\xBD\xEF\xBF\xBD"                       },
        {"half\xED\xA0\x80",    "./half%ED%A0%80",    "half\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"           },
        {"far\xF4\x90\x80\x80", "./far%F4%90%80%80",  "far\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"c1\xC2\x85",          "./c1%C2%85",         "c1\xEF\xBF\xBD"                                     },
        {"~_-.",                "./~_-.",             "~_-."                                               },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        make_file(place, cases[i].name, 1);
    const char *page = list(place, "", false);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char row[256];
        snprintf(row, sizeof(row), "<a href=\"%s\"><bdi>%s</bdi></a>", cases[i].link, cases[i].shown);
        assert_has(page, row);
    }
    assert_int_equal(count(page, "<tr><td><a "), sizeof(cases) / sizeof(cases[0]));
}

static void test_title_is_escaped(void **state)
{
    struct place *place = *state;
    const char *page = list(place, "", false);
    assert_has(page, "<title>/&lt;shown&gt;/</title>");
    assert_has(page, "<h1>/&lt;shown&gt;/</h1>");
    assert_null(strstr(page, "<shown>"));
    assert_has(page, "This folder is empty.");
    assert_null(strstr(page, "<script"));
}

static void test_hidden_names_only_when_wanted(void **state)
{
    struct place *place = *state;
    make_file(place, ".hidden", 1);
    assert_null(strstr(list(place, "", false), "hidden"));
    assert_has(list(place, "", true), "./.hidden");
}

static void test_only_what_could_be_served_is_shown(void **state)
{
    struct place *place = *state;
    make_file(place, "file", 77);
    assert_int_equal(mkdirat(place->folder, "sub", 0755), 0);
    make_file(place, "sub/inner", 1);
    assert_int_equal(symlinkat("../file", place->folder, "sub/link"), 0);
    assert_int_equal(symlinkat("../sub", place->folder, "sub/round"), 0);
    assert_int_equal(symlinkat("../../etc", place->folder, "sub/outside"), 0);
    assert_int_equal(symlinkat("/etc/passwd", place->folder, "sub/absolute"), 0);
    assert_int_equal(symlinkat("nowhere", place->folder, "sub/dangling"), 0);
    assert_int_equal(mkfifoat(place->folder, "sub/fifo", 0644), 0);
    const char *page = list(place, "sub/", false);
    assert_has(page, "\"./inner\"");
    assert_has(page, "\"./link\"");
    assert_has(page, "<data value=\"77\">");
    assert_has(page, "\"./round/\"");
    assert_has(page, "href=\"../\"");
    assert_int_equal(count(page, "href="), 4);
    assert_null(strstr(list(place, "", false), "href=\"../\""));
}

static void test_long_folders_are_cut(void **state)
{
    struct place *place = *state;
    char name[32];
    for (int i = 0; i < UVH_DIR_LISTING_MAX_ENTRIES; i++) {
        snprintf(name, sizeof(name), "%d", i);
        int descriptor = openat(place->folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        assert_true(descriptor >= 0);
        close(descriptor);
    }
    const char *page = list(place, "", false);
    assert_null(strstr(page, "There is more"));
    assert_int_equal(count(page, "<tr><td>"), UVH_DIR_LISTING_MAX_ENTRIES);
    make_file(place, "one more", 0);
    page = list(place, "", false);
    assert_has(page, "There is more in this folder: 10000 entries are shown.");
    assert_int_equal(count(page, "<tr><td>"), UVH_DIR_LISTING_MAX_ENTRIES);
}

static void test_errors_of_the_folder(void **state)
{
    struct place *place = *state;
    struct uvh_dir_listing_order order = {.root = &place->root, .folder = "missing/", .title = "/"};
    assert_int_equal(uvh_dir_listing_write(&order, &place->page), -ENOENT);
    make_file(place, "file", 1);
    order.folder = "file";
    assert_int_equal(uvh_dir_listing_write(&order, &place->page), -ENOTDIR);
}

static void test_every_allocation_may_fail(void **state)
{
    struct place *place = *state;
    struct uvh_dir_listing_order order = {.root = &place->root, .folder = "", .title = "/"};
    for (int i = 0; i < 70; i++) {
        char name[16];
        snprintf(name, sizeof(name), "file %d", i);
        make_file(place, name, 1);
    }
    int result = UVHTTP_ENOMEM;
    long fail_at = 0;
    while (result != 0) {
        place->counter = (struct counter){.fail_at = ++fail_at};
        result = uvh_dir_listing_write(&order, &place->page);
        assert_true(result == 0 || result == UVHTTP_ENOMEM);
        uvh_bytes_release(&place->page);
        assert_int_equal(place->counter.live, 0);
    }
    assert_true(fail_at > 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_folders_come_first_and_names_are_sorted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sizes_and_dates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_stay_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_title_is_escaped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hidden_names_only_when_wanted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_what_could_be_served_is_shown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_folders_are_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors_of_the_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
