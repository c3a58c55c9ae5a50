/* files/static_map.c and static_resolve.c: checks of options, and which file a path is mapped to,
 * without a server. Each path is resolved with openat2 of the kernel and with the checked walk. */
#include "files/static_resolve.h"

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

#include "base/alloc.h"
#include "files/static_path.h"

struct fixture {
    char root[64];
    int directory;
};

static void make_file(const struct fixture *fixture, const char *path)
{
    int descriptor = openat(fixture->directory, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(descriptor >= 0);
    assert_int_equal(close(descriptor), 0);
}

static void make_dir(const struct fixture *fixture, const char *path)
{
    assert_int_equal(mkdirat(fixture->directory, path, 0755), 0);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    snprintf(fixture->root, sizeof(fixture->root), "/tmp/uvhttp-mapping-XXXXXX");
    assert_non_null(mkdtemp(fixture->root));
    fixture->directory = open(fixture->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fixture->directory >= 0);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    char command[128];
    close(fixture->directory);
    snprintf(command, sizeof(command), "rm -rf '%s'", fixture->root);
    assert_int_equal(system(command), 0);
    free(fixture);
    return 0;
}

/* The result as text: the file's path, "+/" and similar for redirects, "[]" for a listing, the
 * number of an error or status, "=path" for a page and "?path" for a fallback. */
static void describe(const struct uvh_static_settings *settings,
                     const struct uvh_static_found *found, char *text, size_t size)
{
    static const char *const redirects[] = {
        [UVH_STATIC_ADD_SLASH] = "+/",
        [UVH_STATIC_DROP_SLASH] = "-/",
        [UVH_STATIC_DROP_NAME] = "-name",
        [UVH_STATIC_DROP_EXTENSION] = "-.html",
    };
    switch (found->kind) {
    case UVH_STATIC_FOUND_ERROR:
        snprintf(text, size, "%d", found->error);
        return;
    case UVH_STATIC_FOUND_FILE:
        snprintf(text, size, "%s", found->path);
        return;
    case UVH_STATIC_FOUND_DIRECTORY:
        snprintf(text, size, "[]");
        return;
    case UVH_STATIC_FOUND_REDIRECT:
        snprintf(text, size, "%s", redirects[found->redirect]);
        return;
    case UVH_STATIC_FOUND_PAGE:
        snprintf(text, size, "=%s", uvh_static_map_page_path(&settings->map, found->page));
        return;
    case UVH_STATIC_FOUND_FALLBACK:
        snprintf(text, size, "?%s %d", uvh_static_map_page_path(&settings->map, found->page),
                 found->error);
        return;
    case UVH_STATIC_FOUND_STATUS:
        snprintf(text, size, "%d", found->status);
        return;
    }
}

struct expected {
    const char *path;
    const char *result;
};

static void expect(const struct fixture *fixture, uvhttp_static_options_t config,
                   const struct expected *all, size_t count)
{
    struct uvh_static_settings settings;
    config.root = fixture->root;
    assert_int_equal(uvh_static_settings_open(&settings, &config, NULL), 0);
    for (int walk = 0; walk < 2; walk++) {
        if (walk == 1)
            settings.root.walk = true;
        for (size_t i = 0; i < count; i++) {
            struct uvh_static_found found;
            char text[PATH_MAX + 16];
            uvh_static_resolve(&settings, (uvhttp_slice_t){all[i].path, strlen(all[i].path)},
                               &found);
            describe(&settings, &found, text, sizeof(text));
            print_message("'%s'\n", all[i].path);
            assert_string_equal(text, all[i].result);
        }
    }
    uvh_static_settings_release(&settings);
}

#define EXPECT(fixture, config, ...)                                   \
    do {                                                               \
        static const struct expected all_[] = {__VA_ARGS__};           \
        expect(fixture, config, all_, sizeof(all_) / sizeof(all_[0])); \
    } while (0)

static void make_site(const struct fixture *fixture)
{
    make_file(fixture, "about.html");
    make_file(fixture, "both");
    make_file(fixture, "both.html");
    make_dir(fixture, "docs");
    make_file(fixture, "docs/index.html");
    make_file(fixture, "docs/more.html");
    make_dir(fixture, "bare");
    make_file(fixture, "bare/x");
    make_file(fixture, "bare.html");
    make_dir(fixture, "only");
    make_file(fixture, "app.html");
    make_file(fixture, ".html");
    make_file(fixture, "bare/.html");
    assert_int_equal(mkfifoat(fixture->directory, "pipe", 0644), 0);
    make_file(fixture, "pipe.html");
    assert_int_equal(symlinkat("../../etc/passwd", fixture->directory, "out.html"), 0);
}

static void test_default_options_map_paths(void **state)
{
    struct fixture *fixture = *state;
    make_site(fixture);
    const uvhttp_static_options_t config = {.root = ""};
    EXPECT(fixture, config, {"about.html", "about.html"}, {"about", "-2"}, {"docs", "+/"},
           {"docs/", "docs/index.html"}, {"bare", "+/"}, {"bare/", "-21"}, {"", "-21"},
           {"pipe", "-10012"}, {"both/", "-20"}, {"both/x", "-20"}, {"no/", "-2"},
           {"docs/index.html", "docs/index.html"}, {"out.html", "-18"});
}

static void test_clean_urls_map_and_redirect(void **state)
{
    struct fixture *fixture = *state;
    make_site(fixture);
    uvhttp_static_options_t config = {.clean_urls = true};
    EXPECT(fixture, config, {"about", "about.html"}, {"about.html", "-.html"}, {"about/", "-/"},
           {"both", "both"}, {"both.html", "both.html"}, {"both/", "-20"}, {"docs", "+/"},
           {"docs/", "docs/index.html"}, {"docs/index.html", "-name"}, {"docs/index", "-name"},
           {"docs/index/", "-name"}, {"docs/more", "docs/more.html"}, {"docs/more.html", "-.html"},
           {"bare", "bare.html"}, {"bare/", "-/"}, {"bare.html", "-.html"}, {"only", "+/"},
           {"only/", "-21"}, {"none", "-2"}, {"none.html", "-2"}, {"pipe", "-10012"},
           {"pipe.html", "pipe.html"}, {"out", "-18"}, {"", "-21"});
    config.listing = true;
    EXPECT(fixture, config, {"bare", "+/"}, {"bare/", "[]"}, {"bare.html", "bare.html"}, {"", "[]"},
           {"only", "+/"});
    /* a file named ".html" is not mapped to its directory */
    config.hidden = true;
    EXPECT(fixture, config, {"bare/", "[]"}, {".html", ".html"}, {"bare/.html", "bare/.html"});
    config = (uvhttp_static_options_t){.clean_urls = true, .index = " more.html index.html"};
    EXPECT(fixture, config, {"docs/", "docs/more.html"}, {"docs/more.html", "-name"},
           {"docs/more", "-name"}, {"docs/index.html", "-.html"}, {"docs/index", "docs/index.html"},
           {"docs/index/", "-/"});
}

static void test_fallback_serves_unknown_paths(void **state)
{
    struct fixture *fixture = *state;
    make_site(fixture);
    uvhttp_static_options_t config = {.fallback = "/app.html"};
    EXPECT(fixture, config, {"", "?app.html -21"}, {"a/b", "?app.html -2"},
           {"a/b/", "?app.html -2"}, {"a/b.png", "?app.html -2"}, {"a.b/c", "?app.html -2"},
           {"a.b/", "?app.html -2"}, {"docs", "+/"}, {"bare", "?app.html -21"},
           {"bare/", "?app.html -21"}, {"both/x", "?app.html -20"}, {"pipe", "-10012"},
           {"about.html", "about.html"});
    config =
        (uvhttp_static_options_t){.spa = true, .index = "app.html index.html", .listing = true};
    EXPECT(fixture, config, {"", "app.html"}, {"bare", "+/"}, {"bare/", "[]"},
           {"x", "?app.html -2"});
}

static void test_try_files_are_tried_in_order(void **state)
{
    struct fixture *fixture = *state;
    make_site(fixture);
    uvhttp_static_options_t config = {
        .try_files = "{path} /{path}.html  docs/{path}.html {path}/index.html /app.html =410"};
    EXPECT(fixture, config, {"both", "both"}, {"about", "about.html"}, {"more", "docs/more.html"},
           {"docs", "docs/index.html"}, {"docs/", "docs/index.html"}, {"bare", "bare.html"},
           {"bare/", "=app.html"}, {"", "=app.html"}, {"pipe", "-10012"}, {"out", "-18"});
    config.try_files = "/missing {path}/ =410";
    EXPECT(fixture, config, {"both", "410"}, {"docs", "+/"}, {"docs/", "docs/index.html"},
           {"bare/", "410"}, {"bare", "410"});
    config.try_files = "{path}{path}";
    make_file(fixture, "abab");
    EXPECT(fixture, config, {"ab", "abab"}, {"a", "-2"}, {"abab", "-2"});
    config.try_files = "{path}.html";
    EXPECT(fixture, config, {"", "-2"}, {"bare/", "-2"}, {"docs", "-2"});
    config.hidden = true;
    EXPECT(fixture, config, {"", ".html"}, {"bare/", "bare/.html"});
}

static void test_long_paths_are_missing(void **state)
{
    struct fixture *fixture = *state;
    static char path[2 * PATH_MAX];
    for (size_t length = PATH_MAX - 20; length < PATH_MAX + 20; length++) {
        memset(path, 'a', length);
        for (size_t i = 100; i < length; i += 100)
            path[i] = '/';
        path[length] = '\0';
        if (path[length - 1] == '/')
            continue;
        struct expected one = {path, "-2"};
        expect(fixture, (uvhttp_static_options_t){.clean_urls = true}, &one, 1);
        one.result = "404";
        expect(fixture,
               (uvhttp_static_options_t){.try_files = "{path} {path}.html {path}{path} =404"}, &one,
               1);
    }
}

static void test_invalid_options_are_refused(void **state)
{
    (void)state;
    uvhttp_error_t error;
    uvhttp_static_options_t config = {.try_files = "{path} {uri}"};
    assert_int_equal(uvhttp_static_check(&config, &error), UVHTTP_ECONFIG);
    assert_string_equal(error.text,
                        "try_files: '{uri}' contains a brace; the only variable is {path}");
    assert_string_equal(error.field, "try_files");
    assert_int_equal(uvhttp_static_check(&config, NULL), UVHTTP_ECONFIG);
    config = (uvhttp_static_options_t){.symlinks = (uvhttp_static_symlinks_t)4};
    assert_int_equal(uvhttp_static_check(&config, &error), UVHTTP_ECONFIG);
    assert_string_equal(error.text, "symlinks is 4; allowed are 0 to 3");
    assert_int_equal(uvhttp_static_check(NULL, &error), UVHTTP_EINVAL);
    config = (uvhttp_static_options_t){.file = "x y{}", .error_pages = "404,5xx=/.a 403=/.b"};
    assert_int_equal(uvhttp_static_check(&config, &error), 0);
    assert_string_equal(error.text, "");
    config.root = "/";
    config.symlinks = (uvhttp_static_symlinks_t)4;
    uvhttp_static_t *files;
    assert_int_equal(uvhttp_static_new(&files, &config, NULL), UVHTTP_ECONFIG);
}

static void test_error_pages_are_found_by_status(void **state)
{
    (void)state;
    struct uvh_static_map map;
    const uvhttp_static_options_t config = {
        .error_pages = "404,403=/a.html 4xx=/b.html 500=b.html 429=//a.html 410=/a.html",
        .try_files = "{path} =410"};
    uvhttp_error_t why = {0};
    assert_int_equal(uvh_static_map_open(&map, uvh_alloc_default(), &config, &why), 0);
    assert_int_equal(map.page_count, 2);
    const struct {
        int status;
        const char *path;
    } cases[] = {{404, "a.html"}, {403, "a.html"}, {401, "b.html"}, {499, "b.html"},
                 {500, "b.html"}, {410, "a.html"}, {429, "a.html"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(
            uvh_static_map_page_path(&map, uvh_static_map_error_page(&map, cases[i].status)),
            cases[i].path);
    assert_int_equal(uvh_static_map_error_page(&map, 501), UVH_STATIC_NO_PAGE);
    assert_int_equal(uvh_static_map_error_page(&map, 200), UVH_STATIC_NO_PAGE);
    assert_int_equal(uvh_static_map_error_page(&map, 600), UVH_STATIC_NO_PAGE);
    uvh_static_map_release(&map);
}

static void test_paths_are_normalized_and_classified(void **state)
{
    (void)state;
    char path[] = "//a///b/";
    assert_int_equal(uvh_static_path_normalize(path, strlen(path), path), 4);
    assert_string_equal(path, "a/b/");
    assert_false(uvh_static_path_is_hidden("a/b.c/d"));
    assert_true(uvh_static_path_is_hidden("a/.b/c"));
    assert_true(uvh_static_path_is_hidden(".a"));
    assert_false(uvh_static_path_is_hidden(".well-known/x"));
    assert_true(uvh_static_path_is_hidden(".well-knownx"));
    assert_true(uvh_static_path_is_hidden("a/.well-known"));
    assert_true(uvh_static_path_has_dots("a/.."));
    assert_true(uvh_static_path_has_dots("./a"));
    assert_false(uvh_static_path_has_dots("a/...//.b/c."));
    assert_false(uvh_static_path_has_dots(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_default_options_map_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_clean_urls_map_and_redirect, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fallback_serves_unknown_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_try_files_are_tried_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_paths_are_missing, set_up, tear_down),
        cmocka_unit_test(test_invalid_options_are_refused),
        cmocka_unit_test(test_error_pages_are_found_by_status),
        cmocka_unit_test(test_paths_are_normalized_and_classified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
