/* files/tar_stream.c and dir_walk.c: what an archive holds, its bounds, and files that change while
 * they are read. tests/wire/test_static_archive.py has real programs read archives. */
#include "files/tar_stream.h"

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

struct place {
    char path[64];
    int directory;
    struct uvh_file_root root;
    struct fault_heap heap;
    struct uvh_bytes archive;
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    assert_non_null(place);
    snprintf(place->path, sizeof(place->path), "/tmp/uvhttp-archive-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    place->directory = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place->directory >= 0);
    assert_int_equal(uvh_file_root_open(&place->root, place->path), 0);
    fault_heap_init(&place->heap);
    uvh_bytes_init(&place->archive, &place->heap.allocator, 64 * 1024 * 1024);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    char command[128];
    uvh_bytes_release(&place->archive);
    assert_int_equal(place->heap.live, 0);
    uvh_file_root_close(&place->root);
    close(place->directory);
    snprintf(command, sizeof(command), "rm -rf '%s'", place->path);
    assert_int_equal(system(command), 0);
    free(place);
    return 0;
}

static void make_file(struct place *place, const char *name, off_t size)
{
    int descriptor = openat(place->directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, size), 0);
    close(descriptor);
}

static void make_dir(struct place *place, const char *name)
{
    assert_int_equal(mkdirat(place->directory, name, 0755), 0);
}

static struct uvh_tar_stream_options order_of(struct place *place)
{
    return (struct uvh_tar_stream_options){.root = &place->root,
                                           .directory = "",
                                           .name = "top",
                                           .most_entries = 1000,
                                           .most_bytes = 100 * 1024 * 1024};
}

/* Makes all slices. The result of the last one. */
static int make_all(struct place *place, struct uvh_tar_stream *stream)
{
    struct uvh_bytes slice;
    uvh_bytes_init(&slice, &place->heap.allocator, UVH_TAR_STREAM_SLICE_MAX);
    int result;
    do {
        slice.length = 0;
        result = uvh_tar_stream_make(stream, &slice);
        if (result >= 0 && uvh_bytes_append(&place->archive, slice.data, slice.length) != 0)
            result = UVHTTP_ENOMEM;
    } while (result == 0);
    uvh_bytes_release(&slice);
    return result;
}

static int archive(struct place *place, const struct uvh_tar_stream_options *order)
{
    struct uvh_tar_stream stream;
    uvh_bytes_release(&place->archive);
    int result = uvh_tar_stream_open(&stream, &place->heap.allocator, order);
    if (result != 0)
        return result;
    result = make_all(place, &stream);
    uvh_tar_stream_close(&stream);
    return result;
}

/* The members' paths, in one line. Only short names of ASCII. */
static const char *members(struct place *place)
{
    static char text[4096];
    size_t length = 0, at = 0;
    const struct uvh_bytes *bytes = &place->archive;
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

static void test_what_is_in_it(void **state)
{
    struct place *place = *state;
    struct uvh_tar_stream_options order = order_of(place);
    make_file(place, "b", 1000000); /* several slices */
    make_file(place, "a", 512);
    make_file(place, ".hidden", 1);
    make_dir(place, "sub");
    make_dir(place, "sub/empty");
    make_file(place, "sub/c", 0);
    make_dir(place, ".git");
    make_file(place, ".git/key", 1);
    assert_int_equal(mkfifoat(place->directory, "fifo", 0644), 0);
    assert_int_equal(symlinkat("sub/c", place->directory, "link"), 0);
    assert_int_equal(symlinkat("/etc/passwd", place->directory, "outside"), 0);
    assert_int_equal(symlinkat("nowhere", place->directory, "dangling"), 0);
    assert_int_equal(archive(place, &order), 1);
    assert_string_equal(members(place),
                        "top/ top/sub/ top/sub/empty/ top/sub/c top/a top/b top/link ");
    order.hidden = true;
    assert_int_equal(archive(place, &order), 1);
    assert_string_equal(members(place),
                        "top/ top/.git/ top/.git/key top/sub/ top/sub/empty/ top/sub/c "
                        "top/.hidden top/a top/b top/link ");
    order.directory = "sub/";
    order.name = "sub";
    assert_int_equal(archive(place, &order), 1);
    assert_string_equal(members(place), "sub/ sub/empty/ sub/c ");
    order.directory = "missing/";
    assert_int_equal(archive(place, &order), -ENOENT);
}

static void test_links_in_a_circle_end(void **state)
{
    struct place *place = *state;
    struct uvh_tar_stream_options order = order_of(place);
    make_dir(place, "sub");
    make_file(place, "sub/file", 1);
    assert_int_equal(symlinkat("..", place->directory, "sub/up"), 0);
    assert_int_equal(symlinkat("sub", place->directory, "again"), 0);
    assert_int_equal(archive(place, &order), 1);
    assert_string_equal(
        members(place),
        "top/ top/again/ top/again/up/ top/again/file top/sub/ top/sub/up/ top/sub/file ");
}

static void test_bounds(void **state)
{
    struct place *place = *state;
    struct uvh_tar_stream_options order = order_of(place);
    make_dir(place, "sub");
    make_file(place, "sub/a", 600);
    make_file(place, "sub/b", 400);
    make_file(place, "c", 24);
    order.most_entries = 4;
    order.most_bytes = 1024;
    assert_int_equal(archive(place, &order), 1);
    order.most_entries = 3;
    assert_int_equal(archive(place, &order), UVHTTP_ETOOLARGE);
    order.most_entries = 1;
    assert_int_equal(archive(place, &order), UVHTTP_ETOOLARGE);
    order.most_entries = 4;
    order.most_bytes = 1023;
    assert_int_equal(archive(place, &order), UVHTTP_ETOOLARGE);
}

static void test_files_that_change_meanwhile(void **state)
{
    struct place *place = *state;
    struct uvh_tar_stream_options order = order_of(place);
    struct uvh_tar_stream stream;
    make_file(place, "a", 2 * UVH_TAR_STREAM_SLICE);
    make_file(place, "gone", 1);
    make_dir(place, "sub");
    make_file(place, "sub/inner", 1);

    /* Gone or larger before they are reached: they are as they are then. */
    assert_int_equal(uvh_tar_stream_open(&stream, &place->heap.allocator, &order), 0);
    assert_int_equal(unlinkat(place->directory, "gone", 0), 0);
    assert_int_equal(unlinkat(place->directory, "sub/inner", 0), 0);
    assert_int_equal(unlinkat(place->directory, "sub", AT_REMOVEDIR), 0);
    make_file(place, "a", 3 * UVH_TAR_STREAM_SLICE);
    assert_int_equal(make_all(place, &stream), 1);
    assert_string_equal(members(place), "top/ top/sub/ top/a ");
    uvh_tar_stream_close(&stream);

    /* Shorter while it is read: no archive. */
    struct uvh_bytes slice;
    uvh_bytes_init(&slice, &place->heap.allocator, UVH_TAR_STREAM_SLICE_MAX);
    assert_int_equal(uvh_tar_stream_open(&stream, &place->heap.allocator, &order), 0);
    assert_int_equal(uvh_tar_stream_make(&stream, &slice), 0);
    make_file(place, "a", UVH_TAR_STREAM_SLICE + 1);
    slice.length = 0;
    assert_int_equal(uvh_tar_stream_make(&stream, &slice), UVHTTP_ELENGTH);
    uvh_tar_stream_close(&stream);
    uvh_bytes_release(&slice);

    /* More than is allowed by now. */
    order.most_bytes = UVH_TAR_STREAM_SLICE + 1;
    assert_int_equal(uvh_tar_stream_open(&stream, &place->heap.allocator, &order), 0);
    make_file(place, "a", UVH_TAR_STREAM_SLICE + 2);
    assert_int_equal(make_all(place, &stream), UVHTTP_ETOOLARGE);
    uvh_tar_stream_close(&stream);
}

static void test_every_allocation_may_fail(void **state)
{
    struct place *place = *state;
    struct uvh_tar_stream_options order = order_of(place);
    make_dir(place, "sub");
    make_dir(place, "sub/deeper");
    make_file(place, "sub/deeper/file", 100000);
    make_file(place, "file", 1);
    int result = UVHTTP_ENOMEM;
    size_t fail_at = 0;
    while (result != 1) {
        fault_heap_arm(&place->heap, ++fail_at, false);
        result = archive(place, &order);
        assert_true(result == 1 || result == UVHTTP_ENOMEM);
        uvh_bytes_release(&place->archive);
        assert_int_equal(place->heap.live, 0);
    }
    fault_heap_arm(&place->heap, 0, false);
    assert_true(fail_at > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_in_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_in_a_circle_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_that_change_meanwhile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
