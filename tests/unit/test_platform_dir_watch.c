/* platform/dir_watch.c over a real folder: what is told, and what is told to folders below;
 * bounds; lost events. */
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

struct place {
    char path[64];
    struct uvh_file_root root;
    uvhttp_allocator_t allocator;
    _Atomic uint64_t changed;
    struct uvh_dir_watch *watch;
    atomic_long live;
    atomic_long fail_at; /* counts down to the allocation that fails */
    atomic_bool closed;  /* allocations wait */
    atomic_int waiting;  /* so many do */
};

static void *allocate(size_t size, void *context)
{
    struct place *place = context;
    if (atomic_fetch_sub(&place->fail_at, 1) == 1)
        return NULL;
    atomic_fetch_add(&place->waiting, 1);
    while (atomic_load(&place->closed))
        sched_yield();
    atomic_fetch_sub(&place->waiting, 1);
    atomic_fetch_add(&place->live, 1);
    return malloc(size);
}

static void *reallocate(void *memory, size_t size, void *context)
{
    (void)context;
    return realloc(memory, size);
}

static void release(void *memory, void *context)
{
    struct place *place = context;
    atomic_fetch_sub(&place->live, 1);
    free(memory);
}

static void in_place(const struct place *place, const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", place->path, name);
}

static void write_file(const struct place *place, const char *name)
{
    char path[256];
    in_place(place, name, path);
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    assert_int_equal(fputc('x', file), 'x');
    assert_int_equal(fclose(file), 0);
}

static void make_dir(const struct place *place, const char *name)
{
    char path[256];
    in_place(place, name, path);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void move(const struct place *place, const char *from, const char *to)
{
    char paths[2][256];
    in_place(place, from, paths[0]);
    in_place(place, to, paths[1]);
    assert_int_equal(rename(paths[0], paths[1]), 0);
}

static void link_to(const struct place *place, const char *target, const char *name)
{
    char path[256];
    in_place(place, name, path);
    assert_int_equal(symlink(target, path), 0);
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    assert_non_null(place);
    snprintf(place->path, sizeof(place->path), "/tmp/uvhttp-watch-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    assert_int_equal(uvh_file_root_open(&place->root, place->path), 0);
    place->allocator = (uvhttp_allocator_t){allocate, reallocate, release, place};
    make_dir(place, "a");
    make_dir(place, "a/b");
    make_dir(place, "c");
    make_dir(place, "d");
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    char command[128];
    uvh_dir_watch_close(place->watch);
    assert_int_equal(atomic_load(&place->live), 0);
    uvh_file_root_close(&place->root);
    snprintf(command, sizeof(command), "rm -rf '%s'", place->path);
    assert_int_equal(system(command), 0);
    free(place);
    return 0;
}

static void open_watch(struct place *place, size_t most)
{
    assert_int_equal(uvh_dir_watch_open(&place->watch, &place->allocator, most, &place->changed),
                     0);
}

static struct uvh_watched_dir *add(struct place *place, const char *path)
{
    return uvh_dir_watch_add(place->watch, &place->root, (uvhttp_slice_t){path, strlen(path)});
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

/* All that has happened so far has been told, since this is told later than that. Before a folder
 * is added that has just been made: what is told of it later drops it, and whoever added it sees
 * that it has changed. Needs a folder "c" that nothing else happens to. A folder is made in it,
 * since that is one event: of a file that is written the last one could be taken for that of the
 * next call. */
static void settle(struct place *place)
{
    static unsigned marker;
    char name[32];
    snprintf(name, sizeof(name), "c/%u", marker++);
    struct uvh_watched_dir *directory = add(place, "c/x");
    uint64_t before = uvh_dir_watch_changes(directory);
    uint64_t changed = atomic_load(&place->changed);
    make_dir(place, name);
    await_change(directory, before);
    time_t end = seconds() + SAFETY_SECONDS;
    while (atomic_load(&place->changed) == changed)
        assert_true(seconds() < end);
}

static void test_what_happens_in_a_folder(void **state)
{
    struct place *place = *state;
    char path[256];
    open_watch(place, 100);
    struct uvh_watched_dir *directory = add(place, "a/file");
    assert_non_null(directory);
    assert_ptr_equal(add(place, "a/other"), directory);
    assert_ptr_equal(add(place, "a/"), directory);
    assert_ptr_not_equal(add(place, "a"), directory);
    uint64_t before = uvh_dir_watch_changes(directory);
    write_file(place, "a/file"); /* made */
    await_change(directory, before);
    settle(place);
    before = uvh_dir_watch_changes(directory);
    write_file(place, "a/file"); /* written */
    await_change(directory, before);
    settle(place);
    before = uvh_dir_watch_changes(directory);
    in_place(place, "a/file", path);
    assert_int_equal(truncate(path, 0), 0);
    await_change(directory, before);
    settle(place);
    before = uvh_dir_watch_changes(directory);
    assert_int_equal(chmod(path, 0600), 0);
    await_change(directory, before);
    settle(place);
    before = uvh_dir_watch_changes(directory);
    move(place, "a/file", "a/moved");
    await_change(directory, before);
    settle(place);
    before = uvh_dir_watch_changes(directory);
    in_place(place, "a/moved", path);
    assert_int_equal(unlink(path), 0);
    await_change(directory, before);
    settle(place);
    before = uvh_dir_watch_changes(directory);
    write_file(place, "other"); /* beside it, and below it */
    write_file(place, "a/b/file");
    settle(place);
    assert_int_equal(uvh_dir_watch_changes(directory), before);
}

static void test_a_folder_above_is_moved(void **state)
{
    struct place *place = *state;
    open_watch(place, 100);
    struct uvh_watched_dir *deep = add(place, "a/b/file");
    const struct uvh_watched_dir *beside = add(place, "d/file");
    settle(place);
    uint64_t before = uvh_dir_watch_changes(deep);
    uint64_t beside_before = uvh_dir_watch_changes(beside);
    assert_int_equal(uvh_dir_watch_count(place->watch), 5); /* the root, a, a/b, c, d */
    move(place, "a", "away");
    await_change(deep, before);
    settle(place);
    assert_int_equal(uvh_dir_watch_changes(beside), beside_before);
    assert_int_equal(uvh_dir_watch_count(place->watch), 3);
    /* Another one with the name is another folder, and the old one does not count any more. */
    make_dir(place, "a");
    make_dir(place, "a/b");
    settle(place);
    assert_ptr_equal(add(place, "a/b/file"), deep);
    assert_int_equal(uvh_dir_watch_count(place->watch), 5);
    settle(place);
    before = uvh_dir_watch_changes(deep);
    write_file(place, "away/b/file");
    settle(place);
    assert_int_equal(uvh_dir_watch_changes(deep), before);
    write_file(place, "a/b/file");
    await_change(deep, before);
}

/* How new versions of a site are put into place: a link is replaced in one step. */
static void test_a_link_to_a_folder_is_replaced(void **state)
{
    struct place *place = *state;
    link_to(place, "a/b", "current");
    link_to(place, "d", "next");
    open_watch(place, 100);
    struct uvh_watched_dir *current = add(place, "current/file");
    struct uvh_watched_dir *itself = add(place, "a/b/file");
    assert_non_null(current);
    assert_ptr_not_equal(current, itself);
    uint64_t before = uvh_dir_watch_changes(current);
    uint64_t itself_before = uvh_dir_watch_changes(itself);
    write_file(place, "a/b/file"); /* one folder, two paths */
    await_change(current, before);
    await_change(itself, itself_before);
    settle(place);
    before = uvh_dir_watch_changes(current);
    move(place, "next", "current");
    await_change(current, before);
    settle(place);
    before = uvh_dir_watch_changes(current);
    itself_before = uvh_dir_watch_changes(itself);
    write_file(place, "a/b/file");
    await_change(itself, itself_before);
    settle(place);
    assert_int_equal(uvh_dir_watch_changes(current), before);
    assert_ptr_equal(add(place, "current/file"), current);
    write_file(place, "d/file");
    await_change(current, before);
}

static void test_what_is_not_there_yet(void **state)
{
    struct place *place = *state;
    open_watch(place, 100);
    struct uvh_watched_dir *nearest = add(place, "a/new/deep/file");
    assert_ptr_equal(nearest, add(place, "a/x"));
    uint64_t before = uvh_dir_watch_changes(nearest);
    make_dir(place, "a/new");
    await_change(nearest, before);
    assert_ptr_not_equal(add(place, "a/new/deep/file"), nearest);
    assert_ptr_equal(add(place, "a/new/deep/file"), add(place, "a/new/x"));
    write_file(place, "a/plain");
    assert_ptr_equal(add(place, "a/plain/file"), nearest);
}

static void test_a_folder_is_removed_and_made_again(void **state)
{
    struct place *place = *state;
    char path[256];
    open_watch(place, 100);
    struct uvh_watched_dir *directory = add(place, "a/b/file");
    uint64_t before = uvh_dir_watch_changes(directory);
    in_place(place, "a/b", path);
    assert_int_equal(rmdir(path), 0);
    await_change(directory, before);
    settle(place);
    assert_ptr_equal(add(place, "a/b/file"), add(place, "a/x"));
    make_dir(place, "a/b");
    settle(place);
    assert_ptr_equal(add(place, "a/b/file"), directory);
    before = uvh_dir_watch_changes(directory);
    write_file(place, "a/b/file");
    await_change(directory, before);
}

static void test_bounds(void **state)
{
    struct place *place = *state;
    open_watch(place, 2);
    struct uvh_watched_dir *root = add(place, "file");
    assert_non_null(root);
    assert_non_null(add(place, "a/file"));
    assert_null(add(place, "a/b/file"));
    assert_null(add(place, "c/file"));
    assert_ptr_equal(add(place, "file"), root);
    assert_int_equal(uvh_dir_watch_count(place->watch), 2);
    assert_null(add(place, "../secret"));
}

static void *add_deep(void *arg)
{
    return add(arg, "a/b/file");
}

/* The thread that reads events is made to wait until there are more than the system keeps. */
static void test_lost_events(void **state)
{
    struct place *place = *state;
    pthread_t thread;
    void *deep;
    int most = 0;
    FILE *setting = fopen("/proc/sys/fs/inotify/max_queued_events", "r");
    if (setting == NULL || fscanf(setting, "%d", &most) != 1 || most > 1000000)
        skip();
    fclose(setting);
    open_watch(place, 100);
    struct uvh_watched_dir *quiet = add(place, "c/file");
    uint64_t before = uvh_dir_watch_changes(quiet);
    write_file(place, "file");
    atomic_store(&place->closed, true);
    assert_int_equal(pthread_create(&thread, NULL, add_deep, place), 0);
    while (atomic_load(&place->waiting) == 0)
        sched_yield();
    for (int i = 0; i < most; i++) { /* two events each, and no two alike in a row */
        move(place, "file", "file2");
        move(place, "file2", "file");
    }
    assert_int_equal(uvh_dir_watch_changes(quiet), before);
    atomic_store(&place->closed, false);
    assert_int_equal(pthread_join(thread, &deep), 0);
    await_change(quiet, before);
    /* Then everything is watched anew, as it is asked for. */
    settle(place);
    before = uvh_dir_watch_changes(quiet);
    write_file(place, "c/file");
    await_change(quiet, before);
}

static void test_every_allocation_may_fail(void **state)
{
    struct place *place = *state;
    size_t failed = 0;
    for (long fail_at = 1; fail_at <= 10; fail_at++) {
        atomic_store(&place->fail_at, fail_at);
        int err = uvh_dir_watch_open(&place->watch, &place->allocator, 10, &place->changed);
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        failed += err != 0 || add(place, "a/b/file") == NULL;
        uvh_dir_watch_close(place->watch);
        place->watch = NULL;
        assert_int_equal(atomic_load(&place->live), 0);
    }
    /* the watch and three directories; without memory for the tables they only become slower */
    assert_int_equal(failed, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_happens_in_a_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_above_is_moved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_link_to_a_folder_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_not_there_yet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_is_removed_and_made_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lost_events, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
