/* New files: which name has which content when, and which files are removed. */
#include "platform/store.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"

static char directory[32];
static struct uvh_store store;
static char name[UVH_STORE_NAME_SIZE];

static const char *path_of(const char *file)
{
    static char path[320];
    snprintf(path, sizeof(path), "%s/%s", directory, file);
    return path;
}

static void assert_content(const char *file, const char *expected)
{
    char content[64] = "";
    int descriptor = open(path_of(file), O_RDONLY);
    assert_true(descriptor >= 0);
    ssize_t size = read(descriptor, content, sizeof(content));
    close(descriptor);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(content, expected, strlen(expected));
}

static bool exists(const char *file)
{
    return access(path_of(file), F_OK) == 0;
}

static unsigned mode_of(const char *file)
{
    struct stat status;
    assert_int_equal(stat(path_of(file), &status), 0);
    return status.st_mode & 07777;
}

static void write_text(const char *text)
{
    assert_int_equal(uvh_store_write(&store, &(uvhttp_slice_t){text, strlen(text)}, 1), 0);
}

/* A complete file with a hidden name. */
static void make(const char *text)
{
    assert_int_equal(uvh_store_begin(&store, 0, name), 0);
    write_text(text);
    assert_int_equal(uvh_store_end(&store, 0, false), 0);
}

static int set_up(void **state)
{
    (void)state;
    memcpy(directory, "/tmp/uvhttp-store-XXXXXX", sizeof("/tmp/uvhttp-store-XXXXXX"));
    uvh_store_init(&store);
    return mkdtemp(directory) == NULL ? -1 : uvh_store_open(&store, directory, false);
}

/* Fails if a test left a file. */
static int tear_down(void **state)
{
    (void)state;
    static const char *const files[] = {"x", "y"};
    for (size_t i = 0; i < UVH_COUNT_OF(files); i++)
        unlink(path_of(files[i]));
    uvh_store_close(&store);
    return rmdir(directory);
}

static void file_is_hidden_until_published(void **state)
{
    (void)state;
    bool created = false;
    assert_int_equal(uvh_store_begin(&store, 0, name), 0);
    assert_int_equal(strlen(name), strlen(UVH_STORE_PREFIX) + 16 + strlen(".part"));
    write_text("one ");
    assert_content(name, "one ");
    const uvhttp_slice_t chunks[] = {{"two ", 4}, {NULL, 0}, {"four", 4}};
    assert_int_equal(uvh_store_write(&store, chunks, 3), 0);
    assert_int_equal(uvh_store_end(&store, 0, true), 0);
    assert_false(exists("x"));
    assert_int_equal(uvh_store_publish(&store, name, "x", false, true, &created), 0);
    assert_true(created);
    assert_false(exists(name));
    assert_content("x", "one two four");
}

static void publish_replaces_unless_keep(void **state)
{
    (void)state;
    bool created = false;
    make("first");
    assert_int_equal(uvh_store_publish(&store, name, "x", true, false, &created), 0);
    assert_true(created);
    make("second");
    assert_int_equal(uvh_store_publish(&store, name, "x", true, false, &created), -EEXIST);
    assert_false(created);
    assert_content("x", "first");
    assert_int_equal(uvh_store_publish(&store, name, "x", false, false, &created), 0);
    assert_false(created);
    assert_content("x", "second");
}

static void publish_does_not_replace_directory(void **state)
{
    (void)state;
    bool created;
    assert_int_equal(mkdir(path_of("x"), 0700), 0);
    make("text");
    assert_int_equal(uvh_store_publish(&store, name, "x", false, false, &created), -EISDIR);
    uvh_store_remove(&store, name);
    assert_false(exists(name));
    assert_int_equal(rmdir(path_of("x")), 0);
}

static void move_does_not_replace_file(void **state)
{
    (void)state;
    make("first");
    assert_int_equal(uvh_store_move(&store, name, path_of("x")), 0);
    make("second");
    assert_int_equal(uvh_store_move(&store, name, path_of("x")), -EEXIST);
    assert_int_equal(uvh_store_move(&store, name, "/nowhere/at/all"), -ENOENT);
    assert_content("x", "first");
    uvh_store_remove(&store, name);
}

static void permissions_follow_mode_and_umask(void **state)
{
    (void)state;
    bool created;
    mode_t before = umask(027);
    assert_int_equal(uvh_store_begin(&store, 0666, name), 0);
    assert_int_equal(mode_of(name), 0600); /* until it is complete */
    assert_int_equal(uvh_store_end(&store, 0666, false), 0);
    assert_int_equal(uvh_store_publish(&store, name, "x", false, false, &created), 0);
    assert_int_equal(mode_of("x"), 0666);
    make("");
    assert_int_equal(mode_of(name), 0640);
    uvh_store_remove(&store, name);
    assert_int_equal(uvh_store_write_new(path_of("y"), "abc", 3, 0604), 0);
    assert_int_equal(mode_of("y"), 0604);
    umask(before);
}

static void write_new_creates_file_exclusively(void **state)
{
    (void)state;
    assert_int_equal(uvh_store_write_new(path_of("y"), "abc", 3, 0), 0);
    assert_int_equal(uvh_store_write_new(path_of("y"), "def", 3, 0), -EEXIST);
    assert_content("y", "abc");
    assert_int_equal(uvh_store_write_new("/nowhere/at/all", "abc", 3, 0), -ENOENT);
    assert_int_equal(uvh_store_write_new(path_of("x"), NULL, 0, 0), 0);
    assert_content("x", "");
}

static void directory_errors_are_returned(void **state)
{
    (void)state;
    struct uvh_store other;
    uvh_store_init(&other);
    assert_int_equal(uvh_store_open(&other, path_of("nowhere"), false), -ENOENT);
    assert_int_equal(uvh_store_write_new(path_of("y"), "", 0, 0), 0);
    assert_int_equal(uvh_store_open(&other, path_of("y"), false), -ENOTDIR);
    uvh_store_close(&other); /* no effect */
    uvh_store_remove(&other, "x");
    uvh_store_remove(&store, "");
}

static void plain_names_are_recognized(void **state)
{
    (void)state;
    static const char *const good[] = {"a",   "a.txt",    ".htaccess", "...",    "..a",
                                       "a b", "\xc3\xbc", "-rf",       ".uvhttp"};
    static const char *const bad[] = {
        "", ".", "..", "a/b", "/", "a\n", "\t", "\x7f", UVH_STORE_PREFIX, UVH_STORE_PREFIX "x"};
    char longest[UVH_STORE_NAME_MOST + 1];
    for (size_t i = 0; i < UVH_COUNT_OF(good); i++)
        assert_true(uvh_store_name_is_plain((uvhttp_slice_t){good[i], strlen(good[i])}));
    for (size_t i = 0; i < UVH_COUNT_OF(bad); i++)
        assert_false(uvh_store_name_is_plain((uvhttp_slice_t){bad[i], strlen(bad[i])}));
    assert_false(uvh_store_name_is_plain((uvhttp_slice_t){"a\0b", 3}));
    memset(longest, 'n', sizeof(longest));
    assert_true(uvh_store_name_is_plain((uvhttp_slice_t){longest, UVH_STORE_NAME_MOST}));
    assert_false(uvh_store_name_is_plain((uvhttp_slice_t){longest, UVH_STORE_NAME_MOST + 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(file_is_hidden_until_published, set_up, tear_down),
        cmocka_unit_test_setup_teardown(publish_replaces_unless_keep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(publish_does_not_replace_directory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(move_does_not_replace_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(permissions_follow_mode_and_umask, set_up, tear_down),
        cmocka_unit_test_setup_teardown(write_new_creates_file_exclusively, set_up, tear_down),
        cmocka_unit_test_setup_teardown(directory_errors_are_returned, set_up, tear_down),
        cmocka_unit_test(plain_names_are_recognized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
