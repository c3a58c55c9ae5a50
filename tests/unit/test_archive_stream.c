/* files/archive_stream.c and dir_walk.c: the members of an archive, its limits, and files that
 * change while they are read. tests/wire/test_static_archive.py reads archives with tar programs.
 */
#include "files/archive_stream.h"

#include <setjmp.h>
#include <stdarg.h>
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

#include "support/fault_heap.h"

struct fixture {
    char path[64];
    int directory;
    struct uvh_file_root root;
    struct fault_heap heap;
    struct uvh_bytes archive;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    snprintf(fixture->path, sizeof(fixture->path), "/tmp/uvhttp-archive-XXXXXX");
    assert_non_null(mkdtemp(fixture->path));
    fixture->directory = open(fixture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fixture->directory >= 0);
    assert_int_equal(uvh_file_root_open(&fixture->root, fixture->path), 0);
    fault_heap_init(&fixture->heap);
    uvh_bytes_init(&fixture->archive, &fixture->heap.allocator, 64 * 1024 * 1024);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    char command[128];
    uvh_bytes_release(&fixture->archive);
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
    int descriptor = openat(fixture->directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, size), 0);
    close(descriptor);
}

static void make_dir(struct fixture *fixture, const char *name)
{
    assert_int_equal(mkdirat(fixture->directory, name, 0755), 0);
}

static struct uvh_archive_stream_options options_of(struct fixture *fixture)
{
    return (struct uvh_archive_stream_options){.root = &fixture->root,
                                               .directory = "",
                                               .name = "top",
                                               .most_entries = 1000,
                                               .most_bytes = 100 * 1024 * 1024};
}

/* Makes all slices. Returns the result of the last one. */
static int make_all(struct fixture *fixture, struct uvh_archive_stream *stream)
{
    struct uvh_bytes slice;
    uvh_bytes_init(&slice, &fixture->heap.allocator, UVH_ARCHIVE_STREAM_SLICE_MAX);
    int result;
    do {
        slice.length = 0;
        result = uvh_archive_stream_make(stream, &slice);
        if (result >= 0 && uvh_bytes_append(&fixture->archive, slice.data, slice.length) != 0)
            result = UVHTTP_ENOMEM;
    } while (result == 0);
    uvh_bytes_release(&slice);
    return result;
}

static int archive(struct fixture *fixture, const struct uvh_archive_stream_options *options)
{
    struct uvh_archive_stream stream;
    uvh_bytes_release(&fixture->archive);
    int result = uvh_archive_stream_open(&stream, &fixture->heap.allocator, options);
    if (result != 0)
        return result;
    result = make_all(fixture, &stream);
    uvh_archive_stream_close(&stream);
    return result;
}

/* The paths of the members, in one line. Only for short ASCII names. */
static const char *members(struct fixture *fixture)
{
    static char text[4096];
    size_t length = 0, at = 0;
    const struct uvh_bytes *bytes = &fixture->archive;
    assert_int_equal(bytes->length % UVH_TAR_BLOCK, 0);
    for (; at < bytes->length && bytes->data[at] != '\0'; length = strlen(text)) {
        snprintf(text + length, sizeof(text) - length, "%s ", bytes->data + at);
        uint64_t size = strtoull(bytes->data + at + 124, NULL, 8);
        at += UVH_TAR_BLOCK + size + uvh_tar_padding(size);
    }
    text[length] = '\0';
    assert_int_equal(bytes->length - at, UVH_TAR_END);
    return text;
}

static void test_archive_has_servable_entries(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_archive_stream_options options = options_of(fixture);
    make_file(fixture, "b", 1000000); /* several slices */
    make_file(fixture, "a", 512);
    make_file(fixture, ".hidden", 1);
    make_dir(fixture, "sub");
    make_dir(fixture, "sub/empty");
    make_file(fixture, "sub/c", 0);
    make_dir(fixture, ".git");
    make_file(fixture, ".git/key", 1);
    assert_int_equal(mkfifoat(fixture->directory, "fifo", 0644), 0);
    assert_int_equal(symlinkat("sub/c", fixture->directory, "link"), 0);
    assert_int_equal(symlinkat("/etc/passwd", fixture->directory, "outside"), 0);
    assert_int_equal(symlinkat("nowhere", fixture->directory, "dangling"), 0);
    assert_int_equal(archive(fixture, &options), 1);
    assert_string_equal(members(fixture),
                        "top/ top/sub/ top/sub/empty/ top/sub/c top/a top/b top/link ");
    options.hidden = true;
    assert_int_equal(archive(fixture, &options), 1);
    assert_string_equal(members(fixture),
                        "top/ top/.git/ top/.git/key top/sub/ top/sub/empty/ top/sub/c "
                        "top/.hidden top/a top/b top/link ");
    options.directory = "sub/";
    options.name = "sub";
    assert_int_equal(archive(fixture, &options), 1);
    assert_string_equal(members(fixture), "sub/ sub/empty/ sub/c ");
    options.directory = "missing/";
    assert_int_equal(archive(fixture, &options), -ENOENT);
}

static void test_link_loops_end(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_archive_stream_options options = options_of(fixture);
    make_dir(fixture, "sub");
    make_file(fixture, "sub/file", 1);
    assert_int_equal(symlinkat("..", fixture->directory, "sub/up"), 0);
    assert_int_equal(symlinkat("sub", fixture->directory, "again"), 0);
    assert_int_equal(archive(fixture, &options), 1);
    assert_string_equal(
        members(fixture),
        "top/ top/again/ top/again/up/ top/again/file top/sub/ top/sub/up/ top/sub/file ");
}

static void test_limits_are_enforced(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_archive_stream_options options = options_of(fixture);
    make_dir(fixture, "sub");
    make_file(fixture, "sub/a", 600);
    make_file(fixture, "sub/b", 400);
    make_file(fixture, "c", 24);
    options.most_entries = 4;
    options.most_bytes = 1024;
    assert_int_equal(archive(fixture, &options), 1);
    options.most_entries = 3;
    assert_int_equal(archive(fixture, &options), UVHTTP_ETOOLARGE);
    options.most_entries = 1;
    assert_int_equal(archive(fixture, &options), UVHTTP_ETOOLARGE);
    options.most_entries = 4;
    options.most_bytes = 1023;
    assert_int_equal(archive(fixture, &options), UVHTTP_ETOOLARGE);
}

static void test_changing_files_are_detected(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_archive_stream_options options = options_of(fixture);
    struct uvh_archive_stream stream;
    make_file(fixture, "a", 2 * UVH_ARCHIVE_STREAM_SLICE);
    make_file(fixture, "gone", 1);
    make_dir(fixture, "sub");
    make_file(fixture, "sub/inner", 1);

    /* Removed or grown before they are read: the archive has their new state. */
    assert_int_equal(uvh_archive_stream_open(&stream, &fixture->heap.allocator, &options), 0);
    assert_int_equal(unlinkat(fixture->directory, "gone", 0), 0);
    assert_int_equal(unlinkat(fixture->directory, "sub/inner", 0), 0);
    assert_int_equal(unlinkat(fixture->directory, "sub", AT_REMOVEDIR), 0);
    make_file(fixture, "a", 3 * UVH_ARCHIVE_STREAM_SLICE);
    assert_int_equal(make_all(fixture, &stream), 1);
    assert_string_equal(members(fixture), "top/ top/sub/ top/a ");
    uvh_archive_stream_close(&stream);

    /* Truncated while it is read: the archive fails. */
    struct uvh_bytes slice;
    uvh_bytes_init(&slice, &fixture->heap.allocator, UVH_ARCHIVE_STREAM_SLICE_MAX);
    assert_int_equal(uvh_archive_stream_open(&stream, &fixture->heap.allocator, &options), 0);
    assert_int_equal(uvh_archive_stream_make(&stream, &slice), 0);
    make_file(fixture, "a", UVH_ARCHIVE_STREAM_SLICE + 1);
    slice.length = 0;
    assert_int_equal(uvh_archive_stream_make(&stream, &slice), UVHTTP_ELENGTH);
    uvh_archive_stream_close(&stream);
    uvh_bytes_release(&slice);

    /* Grown beyond the limit. */
    options.most_bytes = UVH_ARCHIVE_STREAM_SLICE + 1;
    assert_int_equal(uvh_archive_stream_open(&stream, &fixture->heap.allocator, &options), 0);
    make_file(fixture, "a", UVH_ARCHIVE_STREAM_SLICE + 2);
    assert_int_equal(make_all(fixture, &stream), UVHTTP_ETOOLARGE);
    uvh_archive_stream_close(&stream);
}

static void test_every_failed_allocation_is_reported(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_archive_stream_options options = options_of(fixture);
    make_dir(fixture, "sub");
    make_dir(fixture, "sub/deeper");
    make_file(fixture, "sub/deeper/file", 100000);
    make_file(fixture, "file", 1);
    int result = UVHTTP_ENOMEM;
    size_t fail_at = 0;
    while (result != 1) {
        fault_heap_arm(&fixture->heap, ++fail_at, false);
        result = archive(fixture, &options);
        assert_true(result == 1 || result == UVHTTP_ENOMEM);
        uvh_bytes_release(&fixture->archive);
        assert_int_equal(fixture->heap.live, 0);
    }
    fault_heap_arm(&fixture->heap, 0, false);
    assert_true(fail_at > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_archive_has_servable_entries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_link_loops_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits_are_enforced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_changing_files_are_detected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_failed_allocation_is_reported, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
