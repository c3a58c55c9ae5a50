/* files/dir_listing.c and its parts: the content of pages, JSON and text, and that names of any
 * bytes stay text. tests/wire/test_static_listing.py parses pages with an HTML parser. */
#include "files/dir_listing.h"
#include "support/fault_heap.h"

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

struct fixture {
    char path[64];
    int directory;
    struct uvh_file_root root;
    struct fault_heap heap;
    struct uvh_bytes page;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    snprintf(fixture->path, sizeof(fixture->path), "/tmp/uvhttp-listing-XXXXXX");
    assert_non_null(mkdtemp(fixture->path));
    fixture->directory = open(fixture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fixture->directory >= 0);
    assert_int_equal(uvh_file_root_open(&fixture->root, fixture->path), 0);
    fault_heap_init(&fixture->heap);
    uvh_bytes_init(&fixture->page, &fixture->heap.allocator, 64 * 1024 * 1024);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    char command[128];
    uvh_bytes_release(&fixture->page);
    assert_int_equal(fixture->heap.live, 0);
    uvh_file_root_close(&fixture->root);
    close(fixture->directory);
    snprintf(command, sizeof(command), "rm -rf '%s'", fixture->path);
    assert_int_equal(system(command), 0);
    free(fixture);
    return 0;
}

static void make_file(struct fixture *fixture, const char *name, off_t size)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 784111777}};
    int descriptor = openat(fixture->directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, size), 0);
    assert_int_equal(futimens(descriptor, times), 0);
    close(descriptor);
}

/* The whole listing, generated slice by slice, as a string. */
static const char *list_as(struct fixture *fixture, const struct uvh_dir_listing_options *options)
{
    struct uvh_dir_listing listing;
    struct uvh_bytes slice;
    uvh_bytes_release(&fixture->page);
    uvh_bytes_init(&slice, &fixture->heap.allocator, UVH_DIR_LISTING_SLICE_MAX);
    assert_int_equal(uvh_dir_listing_open(&listing, &fixture->heap.allocator, options), 0);
    int result;
    do {
        slice.length = 0;
        result = uvh_dir_listing_make(&listing, &slice);
        assert_in_range(slice.length, result, UVH_DIR_LISTING_SLICE + 8192);
        assert_int_equal(uvh_bytes_append(&fixture->page, slice.data, slice.length), 0);
    } while (result == 0);
    assert_int_equal(result, 1);
    uvh_dir_listing_close(&listing);
    uvh_bytes_release(&slice);
    assert_int_equal(uvh_bytes_append(&fixture->page, "", 1), 0);
    assert_int_equal(strlen(fixture->page.data), fixture->page.length - 1);
    return fixture->page.data;
}

/* Lists `directory` as a page. */
static const char *list(struct fixture *fixture, const char *directory, bool hidden)
{
    struct uvh_dir_listing_options options = {
        .query = {.root = &fixture->root, .directory = directory, .hidden = hidden, .most = 10000},
        .title = directory[0] == '\0' ? "/<shown>/" : "/<shown>/sub/"};
    return list_as(fixture, &options);
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
        fail_msg("the page lacks: %s\n%s", part, page);
}

static void test_directories_are_first_and_names_sorted(void **state)
{
    struct fixture *fixture = *state;
    static const char *const expected[] = {"./Alpha/\"", "./beta/\"", "./a\"",
                                           "./B\"",      "./c\"",     "./z\""};
    make_file(fixture, "z", 0);
    make_file(fixture, "B", 0);
    make_file(fixture, "c", 0);
    make_file(fixture, "a", 0);
    assert_int_equal(mkdirat(fixture->directory, "beta", 0755), 0);
    assert_int_equal(mkdirat(fixture->directory, "Alpha", 0755), 0);
    const char *at = list(fixture, "", false);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        at = strstr(at, expected[i]);
        assert_non_null(at);
    }
}

static void test_sizes_and_dates_are_formatted(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        off_t size;
        const char *shown;
    } cases[] = {
        {0, "<data value=\"0\">0 B</data>"},
        {1023, "<data value=\"1023\">1023 B</data>"},
        {1024, "<data value=\"1024\">1.0 KiB</data>"},
        {1536, "<data value=\"1536\">1.5 KiB</data>"},
        {10 * 1024 - 1, "<data value=\"10239\">9.9 KiB</data>"},
        {10 * 1024, "<data value=\"10240\">10 KiB</data>"},
        {1024 * 1024 - 1, "<data value=\"1048575\">1023 KiB</data>"},
        {1024 * 1024, "<data value=\"1048576\">1.0 MiB</data>"},
        {(off_t)5 << 30, "<data value=\"5368709120\">5.0 GiB</data>"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make_file(fixture, "sized", cases[i].size);
        const char *page = list(fixture, "", false);
        assert_has(page, cases[i].shown);
        assert_has(page, "<td><time datetime=\"1994-11-06T08:49:37Z\">1994-11-06<span> "
                         "08:49</span></time></td>");
    }
}

static void test_names_are_escaped(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *name;
        const char *link;
        const char *shown;
    } cases[] = {
        {"a b", "./a%20b", "a b"},
        {"100%", "./100%25", "100%"},
        {"%41", "./%2541", "%41"},
        {"what?", "./what%3F", "what?"},
        {"#1", "./%231", "#1"},
        {"a:b", "./a%3Ab", "a:b"},
        {"<b>&\"'", "./%3Cb%3E%26%22%27", "&lt;b&gt;&amp;&quot;&#39;"},
        {"back\\slash", "./back%5Cslash", "back\\slash"},
        {"new\nline", "./new%0Aline", "new\xE2\x90\x8Aline"},
        {"del\x7F", "./del%7F", "del\xE2\x90\xA1"},
        {"gr\xC3\xBC\xC3\x9F", "./gr%C3%BC%C3%9F", "gr\xC3\xBC\xC3\x9F"},
        {"\xF0\x9F\x90\x99", "./%F0%9F%90%99", "\xF0\x9F\x90\x99"},
        {"bad\xFF", "./bad%FF", "bad\xEF\xBF\xBD"},
        {"cut\xC3", "./cut%C3", "cut\xEF\xBF\xBD"},
        {"long\xC0\xAF", "./long%C0%AF", "long\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"half\xED\xA0\x80", "./half%ED%A0%80", "half\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"far\xF4\x90\x80\x80", "./far%F4%90%80%80",
         "far\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"c1\xC2\x85", "./c1%C2%85", "c1\xEF\xBF\xBD"},
        {"\xE2\x80\xAEgpj.exe", "./%E2%80%AEgpj.exe", "[U+202E]gpj.exe"},
        {"\xE2\x81\xA9\xE2\x80\x8F\xD8\x9C", "./%E2%81%A9%E2%80%8F%D8%9C",
         "[U+2069][U+200F][U+061C]"},
        {"~_-.", "./~_-.", "~_-."},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        make_file(fixture, cases[i].name, 1);
    const char *page = list(fixture, "", false);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char row[256];
        snprintf(row, sizeof(row), "<a href=\"%s\"><bdi>%s</bdi></a>", cases[i].link,
                 cases[i].shown);
        assert_has(page, row);
    }
    assert_int_equal(count(page, "<tr><td>"), sizeof(cases) / sizeof(cases[0]));
}

static void test_title_is_escaped(void **state)
{
    struct fixture *fixture = *state;
    const char *page = list(fixture, "", false);
    assert_has(page, "<title>&lt;shown&gt; \xE2\x80\x93 /&lt;shown&gt;/</title>");
    assert_has(page, "<h1><bdi>&lt;shown&gt;</bdi></h1>");
    assert_null(strstr(page, "<shown>"));
}

static void test_root_of_the_site_has_a_heading(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_dir_listing_options options = {
        .query = {.root = &fixture->root, .directory = "", .most = 1}, .title = "/"};
    const char *page = list_as(fixture, &options);
    assert_has(page, "<title>Index of /</title>");
    assert_has(page, "<h1><bdi>Index of /</bdi></h1>");
    assert_null(strstr(page, "<nav"));
}

static void test_empty_directory_has_one_sentence(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_dir_listing_options options = {
        .query = {.root = &fixture->root, .directory = "", .most = 1},
        .title = "/",
        .archive = true};
    const char *page = list_as(fixture, &options);
    assert_has(page, "<p>This directory is empty.</p>");
    assert_null(strstr(page, "<table"));
    assert_null(strstr(page, "tar"));
}

static void test_filter_selects_names(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_dir_listing_options options = {
        .query = {.root = &fixture->root, .directory = "", .most = 10, .read = 10, .filter = "A<"},
        .title = "/",
        .archive = true};
    make_file(fixture, "a<b", 1);
    make_file(fixture, "x\xC3\xA4<", 1);
    make_file(fixture, "ab", 1);
    const char *page = list_as(fixture, &options);
    assert_int_equal(count(page, "<tr><td>"), 2);
    assert_has(page,
               "<p>Names that contain \xE2\x80\x9C<bdi>A&lt;</bdi>\xE2\x80\x9D: 2 files, <data "
               "value=\"2\">2 B</data> <a href=\"./\">Show all</a></p>");
    assert_has(page, " value=\"A&lt;\"><button>");
    assert_has(page, "href=\"?sort=size&amp;order=desc&amp;filter=A%3C\"");
    options.query.filter = "nothing";
    options.query.descending = true;
    page = list_as(fixture, &options);
    assert_has(
        page, "<p>No name contains \xE2\x80\x9C<bdi>nothing</bdi>\xE2\x80\x9D. <a rel=\"nofollow\" "
              "href=\"./?sort=name&amp;order=desc\">Show all</a></p>");
    assert_has(page, "<input type=\"hidden\" name=\"order\" value=\"desc\">");
    assert_null(strstr(page, "<table"));
}

static void test_icons_depend_on_the_type(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *name;
        int icon;
    } rows[] = {{"a", 1},     {"a.txt", 2}, {"a.json", 2},   {"a.pdf", 2}, {"a.PNG", 3},
                {"a.mp3", 4}, {"a.mp4", 5}, {"a.tar.gz", 6}, {"a.zip", 6}, {"a.exe", 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        make_file(fixture, rows[i].name, 1);
    assert_int_equal(mkdirat(fixture->directory, "a.d", 0755), 0);
    const char *page = list(fixture, "", false);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char row[128];
        snprintf(row, sizeof(row), "<use href=\"#i%d\"/></svg><a href=\"./%s\">", rows[i].icon,
                 rows[i].name);
        assert_has(page, row);
    }
    assert_has(page, "<use href=\"#i0\"/></svg><a href=\"./a.d/\">");
    assert_has(page, "<symbol id=\"i6\" ");
    assert_int_equal(count(page, "<symbol "), 7);
}

static void test_hidden_names_are_listed_on_request(void **state)
{
    struct fixture *fixture = *state;
    make_file(fixture, ".hidden", 1);
    assert_null(strstr(list(fixture, "", false), "hidden"));
    assert_has(list(fixture, "", true), "./.hidden");
}

static void test_only_servable_entries_are_listed(void **state)
{
    struct fixture *fixture = *state;
    make_file(fixture, "file", 77);
    assert_int_equal(mkdirat(fixture->directory, "sub", 0755), 0);
    make_file(fixture, "sub/inner", 1);
    assert_int_equal(symlinkat("../file", fixture->directory, "sub/link"), 0);
    assert_int_equal(symlinkat("../sub", fixture->directory, "sub/round"), 0);
    assert_int_equal(symlinkat("../../etc", fixture->directory, "sub/outside"), 0);
    assert_int_equal(symlinkat("/etc/passwd", fixture->directory, "sub/absolute"), 0);
    assert_int_equal(symlinkat("nowhere", fixture->directory, "sub/dangling"), 0);
    assert_int_equal(mkfifoat(fixture->directory, "sub/fifo", 0644), 0);
    const char *page = list(fixture, "sub/", false);
    assert_has(page, "\"./inner\"");
    assert_has(page, "\"./link\"");
    assert_has(page, "<data value=\"77\">");
    assert_has(page, "\"./round/\"");
    assert_has(page, "href=\"../\"");
    assert_int_equal(count(page, "<a href=\"./"), 3);
    assert_has(page, "<a href=\"../\"><bdi>/&lt;shown&gt;/</bdi></a><span "
                     "aria-current=\"page\"><bdi>sub</bdi></span>/");
    assert_null(strstr(list(fixture, "", false), "href=\"../\""));
}

static void test_long_directories_are_truncated(void **state)
{
    struct fixture *fixture = *state;
    char name[32];
    struct uvh_dir_listing_options options = {
        .query = {.root = &fixture->root, .directory = "", .most = 500}, .title = "/"};
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "%d", i);
        make_file(fixture, name, 1);
    }
    const char *page = list_as(fixture, &options);
    assert_null(strstr(page, "Only the first"));
    assert_has(page, "<p>500 files, <data value=\"500\">500 B</data></p>");
    assert_int_equal(count(page, "<tr><td>"), 500);
    make_file(fixture, "one more", 0);
    page = list_as(fixture, &options);
    assert_has(page, "Only the first 500 entries of this directory are shown.");
    assert_int_equal(count(page, "<tr><td>"), 500);
}

/* The names of a text listing in one line: `most` of them, of `read` entries. */
static const char *list_names(struct fixture *fixture, enum uvh_dir_sort sort, bool descending,
                              size_t most, size_t read)
{
    struct uvh_dir_listing_options options = {.query = {.root = &fixture->root,
                                                        .directory = "",
                                                        .most = most,
                                                        .read = read,
                                                        .sort = sort,
                                                        .descending = descending},
                                              .title = "/",
                                              .format = UVH_DIR_TEXT};
    list_as(fixture, &options);
    for (char *at = fixture->page.data; *at != '\0'; at++)
        *at = *at == '\n' ? ' ' : *at;
    return fixture->page.data;
}

static const char *list_sorted(struct fixture *fixture, enum uvh_dir_sort sort, bool descending)
{
    return list_names(fixture, sort, descending, 100, 100);
}

static void test_sort_orders_are_applied(void **state)
{
    struct fixture *fixture = *state;
    struct timespec newer[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1784111777}};
    make_file(fixture, "b", 5);
    make_file(fixture, "A", 5);
    make_file(fixture, "c", 1);
    make_file(fixture, "d", 9);
    assert_int_equal(utimensat(fixture->directory, "c", newer, 0), 0);
    assert_int_equal(mkdirat(fixture->directory, "y", 0755), 0);
    assert_int_equal(mkdirat(fixture->directory, "z", 0755), 0);
    newer[1].tv_sec = 5;
    assert_int_equal(utimensat(fixture->directory, "z", newer, 0), 0);
    assert_string_equal(list_sorted(fixture, UVH_DIR_SORT_NAME, false), "y/ z/ A b c d ");
    assert_string_equal(list_sorted(fixture, UVH_DIR_SORT_NAME, true), "z/ y/ d c b A ");
    assert_string_equal(list_sorted(fixture, UVH_DIR_SORT_SIZE, false), "y/ z/ c A b d ");
    assert_string_equal(list_sorted(fixture, UVH_DIR_SORT_SIZE, true), "y/ z/ d A b c ");
    assert_string_equal(list_sorted(fixture, UVH_DIR_SORT_DATE, false), "z/ y/ A b d c ");
    assert_string_equal(list_sorted(fixture, UVH_DIR_SORT_DATE, true), "y/ z/ c A b d ");
}

/* A truncated listing has the first entries of the sort order, whatever order the system returns
 * them in. */
static void test_truncated_listing_keeps_first_of_order(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 300; i++) {
        char name[300];
        /* Names of all lengths, so that longer and shorter names reuse slots. */
        snprintf(name, sizeof(name), "%03d%0*d", i * 7 % 300, 1 + i * 11 % 250, 0);
        make_file(fixture, name, i * 13 % 300);
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000 + i * 17 % 300}};
        assert_int_equal(utimensat(fixture->directory, name, times, 0), 0);
    }
    assert_int_equal(mkdirat(fixture->directory, "a directory", 0755), 0);
    assert_int_equal(symlinkat("a directory", fixture->directory, "zz link"), 0);
    assert_int_equal(symlinkat("nowhere", fixture->directory, "000 broken"), 0);
    for (int sort = UVH_DIR_SORT_NAME; sort <= UVH_DIR_SORT_DATE; sort++) {
        for (int down = 0; down < 2; down++) {
            char *all = strdup(list_names(fixture, (enum uvh_dir_sort)sort, down == 1, 1000, 1000));
            assert_non_null(all);
            static const size_t limits[] = {1, 2, 3, 10, 150, 301, 302};
            for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
                const char *some =
                    list_names(fixture, (enum uvh_dir_sort)sort, down == 1, limits[i], 1000);
                assert_memory_equal(some, all, strlen(some));
                assert_int_equal(count(some, "/ ") + count(some, "0 "), limits[i]);
            }
            free(all);
        }
    }
}

static void test_read_limit_is_enforced(void **state)
{
    struct fixture *fixture = *state;
    char name[32];
    struct uvh_dir_listing_options options = {
        .query = {.root = &fixture->root, .directory = "", .most = 5, .read = 30}, .title = "/"};
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "file %02d", i);
        make_file(fixture, name, 1);
    }
    const char *page = list_as(fixture, &options);
    assert_has(page, "Only the first 5 entries of this directory are shown. ");
    assert_has(page, "file 04<");
    assert_int_equal(count(page, "<tr><td>"), 5);
    make_file(fixture, "one more", 1);
    page = list_as(fixture, &options);
    assert_has(page, "Only the first 5 entries of this directory are shown, of 30 read. ");
    options.query.read = 0; /* the sixth entry is only read to know that there are more */
    page = list_as(fixture, &options);
    assert_has(page, "Only the first 5 entries of this directory are shown. ");
    assert_int_equal(count(page, "<tr><td>"), 5);
}

static void test_links_keep_sort_order(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_dir_listing_options options = {.query = {.root = &fixture->root,
                                                        .directory = "a/",
                                                        .most = 100,
                                                        .sort = UVH_DIR_SORT_SIZE,
                                                        .descending = true},
                                              .title = "/files/a/",
                                              .archive = true};
    assert_int_equal(mkdirat(fixture->directory, "a", 0755), 0);
    assert_int_equal(mkdirat(fixture->directory, "a/b", 0755), 0);
    const char *page = list_as(fixture, &options);
    assert_has(page,
               "<a rel=\"nofollow\" href=\"../?sort=size&amp;order=desc\"><bdi>/files/</bdi>");
    assert_has(page,
               "href=\"../?sort=size&amp;order=desc\" aria-label=\"Parent directory\">../</a>");
    assert_has(page, "<a href=\"./b/?sort=size&amp;order=desc\" rel=\"nofollow\">");
    assert_has(page, "<th scope=\"col\" aria-sort=\"descending\"><a rel=\"nofollow\" "
                     "href=\"?sort=size&amp;order=asc\">Size</a>");
    assert_has(page,
               "<th scope=\"col\"><a rel=\"nofollow\" href=\"?sort=name&amp;order=asc\">Name</a>");
    assert_has(page, "<a rel=\"nofollow\" href=\"?format=tar\" download>");
    options.format_given = true;
    options.archive = false;
    page = list_as(fixture, &options);
    assert_has(page, "<a href=\"./b/?format=html&amp;sort=size&amp;order=desc\" rel=\"nofollow\">");
    assert_has(page, "<a rel=\"nofollow\" href=\"?format=html&amp;sort=date&amp;order=desc\">");
    assert_null(strstr(page, "tar"));
    options.query.sort = UVH_DIR_SORT_NAME;
    options.query.descending = false;
    assert_has(list_as(fixture, &options), "<a href=\"./b/?format=html\" rel=\"nofollow\">");
}

static void test_breadcrumbs_link_parent_directories(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *title;
        const char *shown;
    } cases[] = {
        {"/a/b/c/",
         "<a href=\"../../../\"><bdi>/</bdi></a><a href=\"../../\"><bdi>a</bdi></a>/"
         "<a href=\"../\"><bdi>b</bdi></a>/<span aria-current=\"page\"><bdi>c</bdi></span>/"},
        {"/x y/a/b/c/",
         "<a href=\"../../../\"><bdi>/x y/</bdi></a><a href=\"../../\"><bdi>a</bdi></a>/"},
        /* A browser goes up by slashes, not by names. */
        {"/x///a//b/c//",
         "<a href=\"../../../../../\"><bdi>/x///</bdi></a><a href=\"../../../\"><bdi>a</bdi></a>/"
         "<a href=\"../../\"><bdi>b</bdi></a>/<span aria-current=\"page\"><bdi>c</bdi></span>/"},
        {"/x///a//b/c//", "<a href=\"../../\" aria-label=\"Parent directory\">"},
    };
    assert_int_equal(mkdirat(fixture->directory, "a", 0755), 0);
    assert_int_equal(mkdirat(fixture->directory, "a/b", 0755), 0);
    assert_int_equal(mkdirat(fixture->directory, "a/b/c", 0755), 0);
    make_file(fixture, "a/b/c/file", 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct uvh_dir_listing_options options = {
            .query = {.root = &fixture->root, .directory = "a/b/c/", .most = 10},
            .title = cases[i].title};
        assert_has(list_as(fixture, &options), cases[i].shown);
    }
}

static void write_file(struct fixture *fixture, const char *name, const char *text, size_t length)
{
    int descriptor =
        openat(fixture->directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, length), (ssize_t)length);
    close(descriptor);
}

static void test_readme_is_shown_as_text(void **state)
{
    struct fixture *fixture = *state;
    static const char text[] = "\n# <script>&\r\nsecond\rthird\tx\x01\xC2\x85\xEF\xBF\xBE\n";
    write_file(fixture, "README.txt", text, sizeof(text) - 1);
    assert_has(
        list(fixture, "", false),
        "<h2 id=\"readme\"><a href=\"./README.txt\">README.txt</a></h2>\n<article>\n<pre>\n\n# "
        "&lt;script&gt;&amp;\n"
        "second\nthird\tx\xE2\x90\x81\xEF\xBF\xBD\xEF\xBF\xBD\n</pre>\n</article>\n</section>");
    write_file(fixture, "README.md", "first", 5);
    assert_has(list(fixture, "", false), "README.md</a></h2>\n<article>\n");
    /* For other encodings, binary files and empty files the next name is tried. */
    write_file(fixture, "README.md", "caf\xE9", 4);
    assert_has(list(fixture, "", false), "README.txt</a></h2>");
    write_file(fixture, "README.md", "a\0b", 3);
    assert_has(list(fixture, "", false), "README.txt</a></h2>");
    write_file(fixture, "README.md", "", 0);
    assert_has(list(fixture, "", false), "README.txt</a></h2>");
    assert_int_equal(unlinkat(fixture->directory, "README.txt", 0), 0);
    assert_null(strstr(list(fixture, "", false), "<section"));
    assert_int_equal(unlinkat(fixture->directory, "README.md", 0), 0);
    assert_int_equal(symlinkat("/etc/passwd", fixture->directory, "README"), 0);
    assert_null(strstr(list(fixture, "", false), "<section"));
    assert_int_equal(mkfifoat(fixture->directory, "README.md", 0644), 0);
    assert_null(strstr(list(fixture, "", false), "<section"));
}

static void test_long_readme_is_truncated_between_characters(void **state)
{
    struct fixture *fixture = *state;
    for (size_t shift = 0; shift < 4; shift++) {
        static char text[UVH_DIR_README_MAX + 8];
        memset(text, 'x', sizeof(text));
        memcpy(text + UVH_DIR_README_MAX - shift, "\xF0\x9F\x90\x99", 4);
        write_file(fixture, "README", text, sizeof(text));
        const char *page = list(fixture, "", false);
        const char *begin = strstr(page, "<pre>\n"), *end = strstr(page, "</pre>");
        assert_non_null(begin);
        assert_int_equal(end - begin - 6, UVH_DIR_README_MAX - shift);
        assert_has(page, "<p>This is the beginning of the file.</p>");
    }
}

static void test_json_lists_entries(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_dir_listing_options options = {
        .query = {.root = &fixture->root, .directory = "", .most = 100},
        .title = "/",
        .format = UVH_DIR_JSON};
    assert_string_equal(list_as(fixture, &options), "[\n]\n");
    make_file(fixture, "a\"\\\n\xC3\xBC\xFF", 7);
    assert_int_equal(mkdirat(fixture->directory, "b:c", 0755), 0);
    assert_int_equal(utimensat(fixture->directory, "b:c",
                               (struct timespec[2]){{.tv_nsec = UTIME_OMIT}, {.tv_sec = 0}}, 0),
                     0);
    assert_string_equal(list_as(fixture, &options),
                        "[\n{\"name\":\"b:c\",\"href\":\"./b%3Ac/"
                        "\",\"type\":\"directory\",\"mtime\":\"1970-01-01T00:00:00Z\"},\n"
                        "{\"name\":\"a\\\"\\\\\\u000a\xC3\xBC\\ufffd\",\"href\":\"./"
                        "a%22%5C%0A%C3%BC%FF\",\"type\":\"file\","
                        "\"size\":7,\"mtime\":\"1994-11-06T08:49:37Z\"}\n]\n");
}

static void test_text_lists_names(void **state)
{
    struct fixture *fixture = *state;
    make_file(fixture, "two\nlines", 1);
    make_file(fixture, "bad\xFF", 1);
    assert_int_equal(mkdirat(fixture->directory, "sub", 0755), 0);
    assert_string_equal(list_sorted(fixture, UVH_DIR_SORT_NAME, false),
                        "sub/ bad\xEF\xBF\xBD two\xE2\x90\x8Alines ");
}

static void test_directory_errors_are_returned(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_dir_listing listing;
    struct uvh_dir_listing_options options = {
        .query = {.root = &fixture->root, .directory = "missing/", .most = 1}, .title = "/"};
    assert_int_equal(uvh_dir_listing_open(&listing, &fixture->heap.allocator, &options), -ENOENT);
    make_file(fixture, "file", 1);
    options.query.directory = "file";
    assert_int_equal(uvh_dir_listing_open(&listing, &fixture->heap.allocator, &options), -ENOTDIR);
}

/* Opens a listing and makes its first slice, which holds all of it. */
static int list_once(struct fixture *fixture, const struct uvh_dir_listing_options *options)
{
    struct uvh_dir_listing listing;
    struct uvh_bytes slice;
    uvh_bytes_init(&slice, &fixture->heap.allocator, UVH_DIR_LISTING_SLICE_MAX);
    int result = uvh_dir_listing_open(&listing, &fixture->heap.allocator, options);
    if (result == 0) {
        result = uvh_dir_listing_make(&listing, &slice);
        uvh_dir_listing_close(&listing);
    }
    uvh_bytes_release(&slice);
    return result;
}

static void test_every_failed_allocation_is_reported(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_dir_listing_options options = {
        .query = {.root = &fixture->root, .directory = "", .most = 1000}, .title = "/"};
    for (int i = 0; i < 200; i++) {
        char name[32];
        snprintf(name, sizeof(name), "a file with number %d", i);
        make_file(fixture, name, 1);
    }
    write_file(fixture, "README", "text", 4);
    int result = UVHTTP_ENOMEM;
    size_t fail_at = 0;
    while (result != 1) {
        fault_heap_arm(&fixture->heap, ++fail_at, false);
        result = list_once(fixture, &options);
        assert_true(result == 1 || result == UVHTTP_ENOMEM);
        assert_int_equal(fixture->heap.live, 0);
    }
    assert_true(fail_at > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_directories_are_first_and_names_sorted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_sizes_and_dates_are_formatted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_are_escaped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_title_is_escaped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_root_of_the_site_has_a_heading, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty_directory_has_one_sentence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_filter_selects_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_icons_depend_on_the_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hidden_names_are_listed_on_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_servable_entries_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_directories_are_truncated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sort_orders_are_applied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truncated_listing_keeps_first_of_order, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_read_limit_is_enforced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_keep_sort_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_breadcrumbs_link_parent_directories, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_readme_is_shown_as_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_readme_is_truncated_between_characters, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_json_lists_entries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_text_lists_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directory_errors_are_returned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_failed_allocation_is_reported, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
