/* platform/dir_watch.c with a real directory: reported changes, also those of parent directories;
 * limits; lost events. */
#include "platform/dir_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <uvhttp/error.h>

enum { SAFETY_SECONDS = 60 };

struct fixture {
    char path[64];
    struct uvh_file_root root;
    uvhttp_allocator_t allocator;
    _Atomic uint64_t changed;
    struct uvh_dir_watch *watch;
    atomic_long live;
    atomic_long fail_at;      /* counts down to the allocation that fails */
    atomic_bool blocked;      /* allocations block */
    atomic_int blocked_count; /* number of blocked allocations */
};

static void *allocate(size_t size, void *context)
{
    struct fixture *fixture = context;
    if (atomic_fetch_sub(&fixture->fail_at, 1) == 1)
        return NULL;
    atomic_fetch_add(&fixture->blocked_count, 1);
    while (atomic_load(&fixture->blocked))
        sched_yield();
    atomic_fetch_sub(&fixture->blocked_count, 1);
    atomic_fetch_add(&fixture->live, 1);
    return malloc(size);
}

static void *reallocate(void *memory, size_t size, void *context)
{
    (void)context;
    return realloc(memory, size);
}

static void release(void *memory, void *context)
{
    struct fixture *fixture = context;
    atomic_fetch_sub(&fixture->live, 1);
    free(memory);
}

static void path_in(const struct fixture *fixture, const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", fixture->path, name);
}

static void write_file(const struct fixture *fixture, const char *name)
{
    char path[256];
    path_in(fixture, name, path);
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    assert_int_equal(fputc('x', file), 'x');
    assert_int_equal(fclose(file), 0);
}

static void make_dir(const struct fixture *fixture, const char *name)
{
    char path[256];
    path_in(fixture, name, path);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void move(const struct fixture *fixture, const char *from, const char *to)
{
    char paths[2][256];
    path_in(fixture, from, paths[0]);
    path_in(fixture, to, paths[1]);
    assert_int_equal(rename(paths[0], paths[1]), 0);
}

static void link_to(const struct fixture *fixture, const char *target, const char *name)
{
    char path[256];
    path_in(fixture, name, path);
    assert_int_equal(symlink(target, path), 0);
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    snprintf(fixture->path, sizeof(fixture->path), "/tmp/uvhttp-watch-XXXXXX");
    assert_non_null(mkdtemp(fixture->path));
    assert_int_equal(uvh_file_root_open(&fixture->root, fixture->path), 0);
    fixture->allocator = (uvhttp_allocator_t){allocate, reallocate, release, fixture};
    make_dir(fixture, "a");
    make_dir(fixture, "a/b");
    make_dir(fixture, "c");
    make_dir(fixture, "d");
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    char command[128];
    uvh_dir_watch_close(fixture->watch);
    assert_int_equal(atomic_load(&fixture->live), 0);
    uvh_file_root_close(&fixture->root);
    snprintf(command, sizeof(command), "rm -rf '%s'", fixture->path);
    assert_int_equal(system(command), 0);
    free(fixture);
    return 0;
}

static void open_watch(struct fixture *fixture, size_t most)
{
    assert_int_equal(uvh_dir_watch_open(&fixture->watch, &fixture->allocator, &fixture->root, most,
                                        &fixture->changed),
                     0);
}

static struct uvh_watched_dir *add(struct fixture *fixture, const char *path)
{
    return uvh_dir_watch_add(fixture->watch, (uvhttp_slice_t){path, strlen(path)});
}

static time_t seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void await_change(const struct uvh_watched_dir *directory, uint64_t before)
{
    time_t end = seconds() + SAFETY_SECONDS;
    while (uvh_dir_watch_changes(directory) == before) {
        assert_true(seconds() < end);
        sched_yield();
    }
}

/* The caller's counter goes up after an event has been handled for all directories. */
static void await_end_of_event(struct fixture *fixture, uint64_t changed)
{
    time_t end = seconds() + SAFETY_SECONDS;
    while (atomic_load(&fixture->changed) == changed) {
        assert_true(seconds() < end);
        sched_yield();
    }
}

/* Waits until all earlier events have been handled, since events are handled in order. Required
 * before a directory is added that was just created: a late event of its creation would remove it,
 * and the caller would see a change. Needs a directory "c" without other events. It creates a
 * directory in it, since that is one event: the last event of a written file could be taken for one
 * of the next call. */
static void settle(struct fixture *fixture)
{
    static unsigned marker;
    char name[32];
    snprintf(name, sizeof(name), "c/%u", marker++);
    struct uvh_watched_dir *directory = add(fixture, "c/x");
    uint64_t before = uvh_dir_watch_changes(directory);
    uint64_t changed = atomic_load(&fixture->changed);
    make_dir(fixture, name);
    await_change(directory, before);
    await_end_of_event(fixture, changed);
}

/* The path of the root is a link; nothing below its old or new target changes. */
static void test_switched_root_changes_all_directories(void **state)
{
    struct fixture *fixture = *state;
    char link[256];
    char next[256];
    char target[256];
    snprintf(link, sizeof(link), "%s.link", fixture->path);
    snprintf(next, sizeof(next), "%s.next", fixture->path);
    path_in(fixture, "d", target);
    assert_int_equal(symlink(fixture->path, link), 0);
    assert_int_equal(symlink(target, next), 0);
    fixture->root.path = link;
    open_watch(fixture, 10);
    const struct uvh_watched_dir *directory = add(fixture, "a/b/file");
    uint64_t before = uvh_dir_watch_changes(directory);
    uint64_t changed = atomic_load(&fixture->changed);
    assert_int_equal(rename(next, link), 0);
    await_change(directory, before);
    await_end_of_event(fixture, changed);
    assert_int_equal(uvh_dir_watch_count(fixture->watch), 0);

    /* The thread has followed the root, so the new directory is watched, also without a lookup. */
    directory = add(fixture, "file");
    before = uvh_dir_watch_changes(directory);
    write_file(fixture, "d/file");
    await_change(directory, before);
    uvh_dir_watch_close(fixture->watch);
    fixture->watch = NULL;
    assert_int_equal(unlink(link), 0);
}

static void test_directory_changes_are_counted(void **state)
{
    struct fixture *fixture = *state;
    char path[256];
    open_watch(fixture, 100);
    struct uvh_watched_dir *directory = add(fixture, "a/file");
    assert_non_null(directory);
    assert_ptr_equal(add(fixture, "a/other"), directory);
    assert_ptr_equal(add(fixture, "a/"), directory);
    assert_ptr_not_equal(add(fixture, "a"), directory);
    uint64_t before = uvh_dir_watch_changes(directory);
    write_file(fixture, "a/file"); /* created */
    await_change(directory, before);
    settle(fixture);
    before = uvh_dir_watch_changes(directory);
    write_file(fixture, "a/file"); /* written */
    await_change(directory, before);
    settle(fixture);
    before = uvh_dir_watch_changes(directory);
    path_in(fixture, "a/file", path);
    assert_int_equal(truncate(path, 0), 0);
    await_change(directory, before);
    settle(fixture);
    before = uvh_dir_watch_changes(directory);
    assert_int_equal(chmod(path, 0600), 0);
    await_change(directory, before);
    settle(fixture);
    before = uvh_dir_watch_changes(directory);
    move(fixture, "a/file", "a/moved");
    await_change(directory, before);
    settle(fixture);
    before = uvh_dir_watch_changes(directory);
    path_in(fixture, "a/moved", path);
    assert_int_equal(unlink(path), 0);
    await_change(directory, before);
    settle(fixture);
    before = uvh_dir_watch_changes(directory);
    write_file(fixture, "other"); /* in the parent and in a child directory */
    write_file(fixture, "a/b/file");
    settle(fixture);
    assert_int_equal(uvh_dir_watch_changes(directory), before);
}

static void test_moved_parent_is_detected(void **state)
{
    struct fixture *fixture = *state;
    open_watch(fixture, 100);
    struct uvh_watched_dir *deep = add(fixture, "a/b/file");
    const struct uvh_watched_dir *sibling = add(fixture, "d/file");
    settle(fixture);
    uint64_t before = uvh_dir_watch_changes(deep);
    uint64_t sibling_before = uvh_dir_watch_changes(sibling);
    assert_int_equal(uvh_dir_watch_count(fixture->watch), 5); /* the root, a, a/b, c, d */
    move(fixture, "a", "away");
    await_change(deep, before);
    settle(fixture);
    assert_int_equal(uvh_dir_watch_changes(sibling), sibling_before);
    assert_int_equal(uvh_dir_watch_count(fixture->watch), 3);
    /* A new directory of the same name is a different directory, and the old one no longer
     * counts. */
    make_dir(fixture, "a");
    make_dir(fixture, "a/b");
    settle(fixture);
    assert_ptr_equal(add(fixture, "a/b/file"), deep);
    assert_int_equal(uvh_dir_watch_count(fixture->watch), 5);
    settle(fixture);
    before = uvh_dir_watch_changes(deep);
    write_file(fixture, "away/b/file");
    settle(fixture);
    assert_int_equal(uvh_dir_watch_changes(deep), before);
    write_file(fixture, "a/b/file");
    await_change(deep, before);
}

/* As deployments do: a link is replaced atomically. */
static void test_replaced_link_is_followed(void **state)
{
    struct fixture *fixture = *state;
    link_to(fixture, "a/b", "current");
    link_to(fixture, "d", "next");
    open_watch(fixture, 100);
    struct uvh_watched_dir *current = add(fixture, "current/file");
    struct uvh_watched_dir *direct = add(fixture, "a/b/file");
    assert_non_null(current);
    assert_ptr_not_equal(current, direct);
    uint64_t before = uvh_dir_watch_changes(current);
    uint64_t direct_before = uvh_dir_watch_changes(direct);
    write_file(fixture, "a/b/file"); /* one directory, two paths */
    await_change(current, before);
    await_change(direct, direct_before);
    settle(fixture);
    before = uvh_dir_watch_changes(current);
    move(fixture, "next", "current");
    await_change(current, before);
    settle(fixture);
    before = uvh_dir_watch_changes(current);
    direct_before = uvh_dir_watch_changes(direct);
    write_file(fixture, "a/b/file");
    await_change(direct, direct_before);
    settle(fixture);
    assert_int_equal(uvh_dir_watch_changes(current), before);
    assert_ptr_equal(add(fixture, "current/file"), current);
    write_file(fixture, "d/file");
    await_change(current, before);
}

static void test_missing_directory_watches_parent(void **state)
{
    struct fixture *fixture = *state;
    open_watch(fixture, 100);
    struct uvh_watched_dir *nearest = add(fixture, "a/new/deep/file");
    assert_ptr_equal(nearest, add(fixture, "a/x"));
    uint64_t before = uvh_dir_watch_changes(nearest);
    make_dir(fixture, "a/new");
    await_change(nearest, before);
    assert_ptr_not_equal(add(fixture, "a/new/deep/file"), nearest);
    assert_ptr_equal(add(fixture, "a/new/deep/file"), add(fixture, "a/new/x"));
    write_file(fixture, "a/plain");
    assert_ptr_equal(add(fixture, "a/plain/file"), nearest);
}

static void test_recreated_directory_is_watched(void **state)
{
    struct fixture *fixture = *state;
    char path[256];
    open_watch(fixture, 100);
    struct uvh_watched_dir *directory = add(fixture, "a/b/file");
    uint64_t before = uvh_dir_watch_changes(directory);
    path_in(fixture, "a/b", path);
    assert_int_equal(rmdir(path), 0);
    await_change(directory, before);
    settle(fixture);
    assert_ptr_equal(add(fixture, "a/b/file"), add(fixture, "a/x"));
    make_dir(fixture, "a/b");
    settle(fixture);
    assert_ptr_equal(add(fixture, "a/b/file"), directory);
    before = uvh_dir_watch_changes(directory);
    write_file(fixture, "a/b/file");
    await_change(directory, before);
}

static void test_directory_limit_is_enforced(void **state)
{
    struct fixture *fixture = *state;
    open_watch(fixture, 2);
    struct uvh_watched_dir *root = add(fixture, "file");
    assert_non_null(root);
    assert_non_null(add(fixture, "a/file"));
    assert_null(add(fixture, "a/b/file"));
    assert_null(add(fixture, "c/file"));
    assert_ptr_equal(add(fixture, "file"), root);
    assert_int_equal(uvh_dir_watch_count(fixture->watch), 2);
    assert_null(add(fixture, "../secret"));
}

static void *add_deep(void *arg)
{
    return add(arg, "a/b/file");
}

/* Blocks the thread that reads events until the queue of the kernel overflows. */
static void test_event_overflow_changes_everything(void **state)
{
    struct fixture *fixture = *state;
    pthread_t thread;
    void *deep;
    int most = 0;
    FILE *setting = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    if (setting == NULL || fscanf(setting, "%d", &most) != 1 || most > 1000000)
        skip();
    fclose(setting);
    open_watch(fixture, 100);
    struct uvh_watched_dir *quiet = add(fixture, "c/file");
    uint64_t before = uvh_dir_watch_changes(quiet);
    write_file(fixture, "file");
    atomic_store(&fixture->blocked, true);
    assert_int_equal(pthread_create(&thread, NULL, add_deep, fixture), 0);
    while (atomic_load(&fixture->blocked_count) == 0)
        sched_yield();
    for (int i = 0; i < most; i++) { /* two events each, never two equal ones in a row */
        move(fixture, "file", "file2");
        move(fixture, "file2", "file");
    }
    assert_int_equal(uvh_dir_watch_changes(quiet), before);
    atomic_store(&fixture->blocked, false);
    assert_int_equal(pthread_join(thread, &deep), 0);
    await_change(quiet, before);
    /* Afterwards all directories are watched again on request. */
    settle(fixture);
    before = uvh_dir_watch_changes(quiet);
    write_file(fixture, "c/file");
    await_change(quiet, before);
}

static void test_every_failed_allocation_is_reported(void **state)
{
    struct fixture *fixture = *state;
    size_t failed = 0;
    for (long fail_at = 1; fail_at <= 10; fail_at++) {
        atomic_store(&fixture->fail_at, fail_at);
        int err = uvh_dir_watch_open(&fixture->watch, &fixture->allocator, &fixture->root, 10,
                                     &fixture->changed);
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        failed += err != 0 || add(fixture, "a/b/file") == NULL;
        uvh_dir_watch_close(fixture->watch);
        fixture->watch = NULL;
        assert_int_equal(atomic_load(&fixture->live), 0);
    }
    /* the watch and three directories; without memory for the tables they only become slower */
    assert_int_equal(failed, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_switched_root_changes_all_directories, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_directory_changes_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_moved_parent_is_detected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_replaced_link_is_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_directory_watches_parent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_recreated_directory_is_watched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directory_limit_is_enforced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_event_overflow_changes_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_failed_allocation_is_reported, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
