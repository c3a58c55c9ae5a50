/* platform/file.c: every test of paths runs twice, with the kernel's openat2 and with the checked
 * walk, which must agree. */
#include "platform/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* base/ is the root; base's parent holds what must never be reached. */
struct place {
    char parent[64];
    int directory; /* the parent, opened */
    struct uvh_file_root kernel;
    struct uvh_file_root walk;
};

static void write_file(int directory, const char *path, const char *text)
{
    int descriptor = openat(directory, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(descriptor), 0);
}

static void make_dir(int directory, const char *path)
{
    assert_int_equal(mkdirat(directory, path, 0755), 0);
}

static void make_link(int directory, const char *target, const char *path)
{
    assert_int_equal(symlinkat(target, directory, path), 0);
}

static void make_root(struct place *place)
{
    int directory = place->directory;
    write_file(directory, "secret", "secret");
    make_dir(directory, "root");
    make_dir(directory, "root/a");
    make_dir(directory, "root/a/b");
    write_file(directory, "root/file", "at the root");
    write_file(directory, "root/a/b/deep", "deep");
    make_link(directory, "file", "root/link");
    make_link(directory, "../../file", "root/a/b/up");
    make_link(directory, "a/b", "root/folder-link");
    make_link(directory, "./a//b/./deep", "root/odd");
    make_link(directory, "folder-link/../b/deep", "root/through");
    make_link(directory, "../root/file", "root/out-and-in");
    make_link(directory, "../secret", "root/out");
    make_link(directory, "..", "root/out-folder");
    make_link(directory, "/etc/passwd", "root/absolute");
    make_link(directory, "nowhere", "root/dangling");
    make_link(directory, "loop-b", "root/loop-a");
    make_link(directory, "loop-a", "root/loop-b");
    assert_int_equal(mkfifoat(directory, "root/fifo", 0644), 0);
}

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    assert_non_null(place);
    snprintf(place->parent, sizeof(place->parent), "/tmp/uvhttp-file-XXXXXX");
    assert_non_null(mkdtemp(place->parent));
    place->directory = open(place->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place->directory >= 0);
    make_root(place);
    char path[128];
    snprintf(path, sizeof(path), "%s/root", place->parent);
    assert_int_equal(uvh_file_root_open(&place->kernel, path), 0);
    assert_int_equal(uvh_file_root_open(&place->walk, path), 0);
    place->walk.walk = true;
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    char command[128];
    uvh_file_root_close(&place->kernel);
    uvh_file_root_close(&place->walk);
    close(place->directory);
    snprintf(command, sizeof(command), "rm -rf '%s'", place->parent);
    assert_int_equal(system(command), 0);
    free(place);
    return 0;
}

static int count_descriptors(void)
{
    int count = 0;
    for (int i = 0; i < 256; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* Opens the path both ways; the results must be equal, and the bytes, if `text` is given. */
static void expect(const struct place *place, const char *path, int result, const char *text)
{
    const struct uvh_file_root *roots[] = {&place->kernel, &place->walk};
    int before = count_descriptors();
    for (size_t i = 0; i < 2; i++) {
        struct uvh_file_facts facts;
        struct uvh_file_facts opened_facts;
        char bytes[64] = {0};
        int descriptor;
        print_message("%.80s by %s\n", path, i == 0 ? "kernel" : "walk");
        assert_int_equal(uvh_file_facts_read(roots[i], path, &facts), result);
        assert_int_equal(uvh_file_open(roots[i], path, &descriptor, &opened_facts), result);
        if (result != 0) {
            assert_int_equal(descriptor, -1);
            continue;
        }
        assert_true(uvh_file_facts_equal(&facts, &opened_facts));
        if (text != NULL) {
            assert_int_equal(facts.kind, UVH_FILE_REGULAR);
            assert_int_equal(facts.size, strlen(text));
            assert_int_equal(uvh_file_read(descriptor, bytes, sizeof(bytes), 0),
                             (int64_t)strlen(text));
            assert_string_equal(bytes, text);
        } else {
            assert_int_equal(facts.kind, UVH_FILE_DIRECTORY);
        }
        uvh_file_close(descriptor);
    }
    assert_int_equal(count_descriptors(), before);
}

static void test_paths_below_the_root_open(void **state)
{
    const struct place *place = *state;
    expect(place, "file", 0, "at the root");
    expect(place, "a/b/deep", 0, "deep");
    expect(place, "a//b///deep", 0, "deep");
    expect(place, "a/./b/deep", 0, "deep");
    expect(place, "", 0, NULL);
    expect(place, "a", 0, NULL);
    expect(place, "a/b/", 0, NULL);
}

static void test_links_inside_the_root_are_followed(void **state)
{
    const struct place *place = *state;
    expect(place, "link", 0, "at the root");
    expect(place, "a/b/up", 0, "at the root");
    expect(place, "folder-link/deep", 0, "deep");
    expect(place, "folder-link/up", 0, "at the root");
    expect(place, "odd", 0, "deep");
    expect(place, "through", 0, "deep");
    expect(place, "folder-link", 0, NULL);
    expect(place, "folder-link/", 0, NULL);
}

static void test_nothing_outside_the_root_opens(void **state)
{
    const struct place *place = *state;
    expect(place, "..", -EXDEV, NULL);
    expect(place, "../secret", -EXDEV, NULL);
    expect(place, "a/../../secret", -EXDEV, NULL);
    expect(place, "/etc/passwd", -EXDEV, NULL);
    expect(place, "out", -EXDEV, NULL);
    expect(place, "out-folder", -EXDEV, NULL);
    expect(place, "out-folder/secret", -EXDEV, NULL);
    expect(place, "out-and-in", -EXDEV, NULL);
    expect(place, "absolute", -EXDEV, NULL);
}

static void test_errors_are_those_of_the_system(void **state)
{
    const struct place *place = *state;
    char name[NAME_MAX + 2];
    char path[PATH_MAX + 2];
    memset(name, 'n', NAME_MAX + 1);
    name[NAME_MAX + 1] = '\0';
    memset(path, '/', PATH_MAX + 1);
    memcpy(path, "a", 1);
    path[PATH_MAX + 1] = '\0';
    expect(place, "missing", -ENOENT, NULL);
    expect(place, "missing/file", -ENOENT, NULL);
    expect(place, "file/", -ENOTDIR, NULL);
    expect(place, "file/x", -ENOTDIR, NULL);
    expect(place, "link/", -ENOTDIR, NULL);
    expect(place, "dangling", -ENOENT, NULL);
    expect(place, "loop-a", -ELOOP, NULL);
    expect(place, name, -ENAMETOOLONG, NULL);
    expect(place, path, -ENAMETOOLONG, NULL);
}

/* A link whose target refers to itself by a longer path each time must end, too. */
static void test_growing_link_loop_ends(void **state)
{
    const struct place *place = *state;
    make_link(place->directory, "a/../grow/x", "root/grow");
    struct uvh_file_facts facts;
    assert_int_equal(uvh_file_facts_read(&place->kernel, "grow", &facts), -ELOOP);
    assert_int_equal(uvh_file_facts_read(&place->walk, "grow", &facts), -ELOOP);
}

static void test_magic_links_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct uvh_file_root root;
        struct uvh_file_facts facts;
        assert_int_equal(uvh_file_root_open(&root, "/proc/self"), 0);
        if (i == 1)
            root.walk = true;
        assert_true(uvh_file_facts_read(&root, "root/etc/passwd", &facts) < 0);
        assert_true(uvh_file_facts_read(&root, "cwd", &facts) < 0);
        uvh_file_root_close(&root);
    }
}

static void test_special_files_do_not_block(void **state)
{
    const struct place *place = *state;
    const struct uvh_file_root *roots[] = {&place->kernel, &place->walk};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/root/socket", place->parent);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    for (size_t i = 0; i < 2; i++) {
        struct uvh_file_facts facts;
        int descriptor;
        assert_int_equal(uvh_file_facts_read(roots[i], "fifo", &facts), 0);
        assert_int_equal(facts.kind, UVH_FILE_OTHER);
        assert_int_equal(uvh_file_open(roots[i], "fifo", &descriptor, &facts), 0);
        assert_int_equal(facts.kind, UVH_FILE_OTHER);
        uvh_file_close(descriptor);
        assert_int_equal(uvh_file_facts_read(roots[i], "socket", &facts), 0);
        assert_int_equal(facts.kind, UVH_FILE_OTHER);
        assert_int_equal(uvh_file_open(roots[i], "socket", &descriptor, &facts), -ENXIO);
    }
    close(listener);
}

/* Looking must not open: a writer that waits for a reader of the FIFO would be let in. */
static void test_looking_does_not_open(void **state)
{
    const struct place *place = *state;
    struct uvh_file_facts facts;
    assert_int_equal(uvh_file_facts_read(&place->kernel, "fifo", &facts), 0);
    assert_int_equal(openat(place->directory, "root/fifo", O_WRONLY | O_NONBLOCK), -1);
    assert_int_equal(errno, ENXIO);
}

static void test_descriptors_are_closed_on_exec(void **state)
{
    const struct place *place = *state;
    const struct uvh_file_root *roots[] = {&place->kernel, &place->walk};
    assert_true((fcntl(place->kernel.descriptor, F_GETFD) & FD_CLOEXEC) != 0);
    for (size_t i = 0; i < 2; i++) {
        struct uvh_file_facts facts;
        int descriptor;
        assert_int_equal(uvh_file_open(roots[i], "a/b/deep", &descriptor, &facts), 0);
        assert_true((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
        assert_true((fcntl(descriptor, F_GETFL) & O_NONBLOCK) != 0);
        uvh_file_close(descriptor);
    }
}

static void test_facts_tell_a_changed_file(void **state)
{
    const struct place *place = *state;
    struct uvh_file_facts before;
    struct uvh_file_facts after;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000, .tv_nsec = 5}};
    assert_int_equal(utimensat(place->directory, "root/file", times, 0), 0);
    assert_int_equal(uvh_file_facts_read(&place->kernel, "file", &before), 0);
    assert_int_equal(before.modified_seconds, 1000);
    assert_int_equal(before.modified_nanoseconds, 5);
    assert_int_equal(uvh_file_facts_read(&place->walk, "file", &after), 0);
    assert_true(uvh_file_facts_equal(&before, &after));
    times[1].tv_nsec = 6;
    assert_int_equal(utimensat(place->directory, "root/file", times, 0), 0);
    assert_int_equal(uvh_file_facts_read(&place->kernel, "file", &after), 0);
    assert_false(uvh_file_facts_equal(&before, &after));
    assert_int_equal(uvh_file_facts_read(&place->kernel, "a/b/deep", &after), 0);
    assert_false(uvh_file_facts_equal(&before, &after));
}

static void test_reading_stops_at_the_end(void **state)
{
    const struct place *place = *state;
    struct uvh_file_facts facts;
    int descriptor;
    char bytes[32];
    assert_int_equal(uvh_file_open(&place->kernel, "file", &descriptor, &facts), 0);
    assert_int_equal(uvh_file_read(descriptor, bytes, sizeof(bytes), 7), 4);
    assert_memory_equal(bytes, "root", 4);
    assert_int_equal(uvh_file_read(descriptor, bytes, sizeof(bytes), 100), 0);
    uvh_file_close(descriptor);
    assert_int_equal(uvh_file_read(-1, bytes, sizeof(bytes), 0), -EBADF);
}

static void test_root_that_was_removed(void **state)
{
    struct place *place = *state;
    struct uvh_file_root root;
    struct uvh_file_facts facts;
    char path[128];
    make_dir(place->directory, "gone");
    snprintf(path, sizeof(path), "%s/gone", place->parent);
    assert_int_equal(uvh_file_root_open(&root, path), 0);
    assert_int_equal(rmdir(path), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(uvh_file_facts_read(&root, "", &facts), -ENOENT);
        assert_int_equal(uvh_file_facts_read(&root, "file", &facts), -ENOENT);
        root.walk = true;
    }
    uvh_file_root_close(&root);
}

static void test_bad_roots(void **state)
{
    const struct place *place = *state;
    struct uvh_file_root root;
    char path[128];
    snprintf(path, sizeof(path), "%s/missing", place->parent);
    assert_int_equal(uvh_file_root_open(&root, path), -ENOENT);
    snprintf(path, sizeof(path), "%s/secret", place->parent);
    assert_int_equal(uvh_file_root_open(&root, path), -ENOTDIR);
    uvh_file_root_close(&root);
}

struct names {
    char text[256];
    int limit;
};

static int add_name(const char *name, const struct uvh_file_facts *facts, void *arg)
{
    static const char kinds[] = {[UVH_FILE_REGULAR] = 'r',
                                 [UVH_FILE_DIRECTORY] = 'd',
                                 [UVH_FILE_LINK] = 'l',
                                 [UVH_FILE_OTHER] = 'o'};
    struct names *names = arg;
    size_t length = strlen(names->text);
    snprintf(names->text + length, sizeof(names->text) - length, "%c%s ", kinds[facts->kind], name);
    return --names->limit == 0 ? 7 : 0;
}

static void test_listing_a_folder(void **state)
{
    const struct place *place = *state;
    struct names names = {.limit = 100};
    int before = count_descriptors();
    assert_int_equal(uvh_file_list(&place->kernel, "a", add_name, &names), 0);
    assert_string_equal(names.text, "db ");
    names = (struct names){.limit = 100};
    assert_int_equal(uvh_file_list(&place->walk, "folder-link", add_name, &names), 0);
    assert_true(strcmp(names.text, "rdeep lup ") == 0 || strcmp(names.text, "lup rdeep ") == 0);
    names = (struct names){.limit = 1};
    assert_int_equal(uvh_file_list(&place->kernel, "", add_name, &names), 7);
    assert_int_equal(uvh_file_list(&place->kernel, "file", add_name, &names), -ENOTDIR);
    assert_int_equal(uvh_file_list(&place->walk, "out-folder", add_name, &names), -EXDEV);
    assert_int_equal(uvh_file_list(&place->kernel, "missing", add_name, &names), -ENOENT);
    assert_int_equal(count_descriptors(), before);
}

static void test_running_out_of_descriptors(void **state)
{
    const struct place *place = *state;
    const struct uvh_file_root *roots[] = {&place->kernel, &place->walk};
    struct rlimit limit;
    struct uvh_file_facts facts;
    int descriptor;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(uvh_file_descriptor_limit(),
                     limit.rlim_cur > INT_MAX ? INT_MAX : limit.rlim_cur);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(uvh_file_facts_read(roots[i], "file", &facts), -EMFILE);
        assert_int_equal(uvh_file_open(roots[i], "a/b/deep", &descriptor, &facts), -EMFILE);
        assert_int_equal(uvh_file_list(roots[i], "", add_name, NULL), -EMFILE);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Opens a folder both ways, without making any. */
static void expect_folder(const struct place *place, const char *path, int result)
{
    const struct uvh_file_root *roots[] = {&place->kernel, &place->walk};
    int before = count_descriptors();
    for (size_t i = 0; i < 2; i++) {
        int descriptor;
        assert_int_equal(uvh_file_open_directory(roots[i], path, false, &descriptor), result);
        if (result == 0)
            uvh_file_close(descriptor);
    }
    assert_int_equal(count_descriptors(), before);
}

static void test_opening_folders(void **state)
{
    const struct place *place = *state;
    expect_folder(place, "", 0);
    expect_folder(place, "a/b", 0);
    expect_folder(place, "folder-link", 0);
    expect_folder(place, "nowhere", -ENOENT);
    expect_folder(place, "dangling", -ENOENT);
    expect_folder(place, "file", -ENOTDIR);
    expect_folder(place, "file/x", -ENOTDIR);
    expect_folder(place, "fifo", -ENOTDIR);
    expect_folder(place, "out-folder", -EXDEV);
    expect_folder(place, "../root", -EXDEV);
    expect_folder(place, "loop-a", -ELOOP);
}

static void test_making_folders(void **state)
{
    const struct place *place = *state;
    const struct uvh_file_root *roots[] = {&place->kernel, &place->walk};
    static const char *const paths[2][3] = {{"new", "new/er/still", "folder-link/x/y"},
                                            {"second", "second/er/still", "folder-link/z"}};
    int before = count_descriptors();
    for (size_t i = 0; i < 2; i++) {
        int descriptor;
        struct uvh_file_facts facts;
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(uvh_file_open_directory(roots[i], paths[i][k], true, &descriptor), 0);
            uvh_file_close(descriptor);
            assert_int_equal(uvh_file_facts_read(roots[i], paths[i][k], &facts), 0);
            assert_int_equal(facts.kind, UVH_FILE_DIRECTORY);
        }
        assert_int_equal(uvh_file_open_directory(roots[i], "file/x", true, &descriptor), -ENOTDIR);
        assert_int_equal(uvh_file_open_directory(roots[i], "out-folder/x", true, &descriptor),
                         -EXDEV);
        assert_int_equal(uvh_file_open_directory(roots[i], "absolute/x", true, &descriptor),
                         -EXDEV);
        assert_true(uvh_file_open_directory(roots[i], "dangling/x", true, &descriptor) < 0);
    }
    assert_int_equal(faccessat(place->directory, "x", F_OK, 0), -1);
    assert_int_equal(count_descriptors(), before);
}

static void test_looking_in_a_folder_follows_no_link(void **state)
{
    const struct place *place = *state;
    struct uvh_file_facts facts;
    int directory;
    assert_int_equal(uvh_file_open_directory(&place->kernel, "", false, &directory), 0);
    assert_int_equal(uvh_file_facts_read_in(directory, "file", &facts), 0);
    assert_int_equal(facts.kind, UVH_FILE_REGULAR);
    assert_int_equal(uvh_file_facts_read_in(directory, "link", &facts), 0);
    assert_int_equal(facts.kind, UVH_FILE_LINK);
    assert_int_equal(uvh_file_facts_read_in(directory, "a", &facts), 0);
    assert_int_equal(facts.kind, UVH_FILE_DIRECTORY);
    assert_int_equal(uvh_file_facts_read_in(directory, "nowhere", &facts), -ENOENT);
    uvh_file_close(directory);
}

static void use_policy(struct place *place, enum uvh_file_links links)
{
    place->kernel.links = links;
    place->walk.links = links;
}

static void test_without_links_any_link_is_refused(void **state)
{
    struct place *place = *state;
    use_policy(place, UVH_FILE_LINKS_NONE);
    expect(place, "file", 0, "at the root");
    expect(place, "a//b/./deep", 0, "deep");
    expect(place, "", 0, NULL);
    expect(place, "a/b/", 0, NULL);
    expect(place, "missing", -ENOENT, NULL);
    expect(place, "file/x", -ENOTDIR, NULL);
    expect(place, "../secret", -EXDEV, NULL);
    static const char *const links[] = {"link",         "a/b/up", "folder-link", "folder-link/deep",
                                        "folder-link/", "out",    "odd",         "absolute",
                                        "dangling",     "loop-a", "out-and-in"};
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
        expect(place, links[i], -ELOOP, NULL);
}

static void test_links_may_lead_anywhere(void **state)
{
    struct place *place = *state;
    char path[128];
    snprintf(path, sizeof(path), "%s/secret", place->parent);
    make_link(place->directory, path, "root/far");
    make_link(place->directory, "/", "root/top");
    use_policy(place, UVH_FILE_LINKS_ANYWHERE);
    expect(place, "far", 0, "secret");
    expect(place, "out", 0, "secret");
    expect(place, "out-folder/secret", 0, "secret");
    expect(place, "out-and-in", 0, "at the root");
    expect(place, "folder-link/deep", 0, "deep");
    expect(place, "top/", 0, NULL);
    expect(place, "dangling", -ENOENT, NULL);
    expect(place, "loop-a", -ELOOP, NULL);
    expect(place, "link/", -ENOTDIR, NULL);
    /* The path itself stays inside all the same. */
    expect(place, "..", -EXDEV, NULL);
    expect(place, "../secret", -EXDEV, NULL);
    expect(place, "out-folder/../secret", -EXDEV, NULL);
    expect(place, "a/..", -EXDEV, NULL);
    expect(place, "/etc/passwd", -EXDEV, NULL);
}

static void test_links_to_what_the_same_owner_has(void **state)
{
    struct place *place = *state;
    char path[128];
    snprintf(path, sizeof(path), "%s/secret", place->parent);
    make_link(place->directory, path, "root/far");
    make_link(place->directory, ".", "root/here");
    make_link(place->directory, "a/", "root/with-slash");
    make_link(place->directory, "a/../grow/x", "root/grow");
    use_policy(place, UVH_FILE_LINKS_OWNER);
    expect(place, "file", 0, "at the root");
    expect(place, "link", 0, "at the root");
    expect(place, "far", 0, "secret");
    expect(place, "out", 0, "secret");
    expect(place, "out-folder/secret", 0, "secret");
    expect(place, "out-folder/root/link", 0, "at the root");
    expect(place, "here/here/folder-link/up", 0, "at the root");
    expect(place, "with-slash", 0, NULL);
    expect(place, "with-slash/b/deep", 0, "deep");
    expect(place, "through", 0, "deep");
    expect(place, "odd", 0, "deep");
    expect(place, "folder-link", 0, NULL);
    expect(place, "folder-link/", 0, NULL);
    expect(place, "here//", 0, NULL);
    expect(place, "link/", -ENOTDIR, NULL);
    expect(place, "link/x", -ENOTDIR, NULL);
    expect(place, "dangling", -ENOENT, NULL);
    expect(place, "loop-a", -ELOOP, NULL);
    expect(place, "grow", -ELOOP, NULL);
    expect(place, "here/../secret", -EXDEV, NULL);
    expect(place, "/etc/passwd", -EXDEV, NULL);
}

/* Gives a name, not what it may lead to, to another user. */
static void give_away(const struct place *place, const char *path)
{
    assert_int_equal(fchownat(place->directory, path, 1, (gid_t)-1, AT_SYMLINK_NOFOLLOW), 0);
}

static void test_links_to_what_another_owner_has(void **state)
{
    struct place *place = *state;
    use_policy(place, UVH_FILE_LINKS_OWNER);
    if (geteuid() != 0) { /* nothing can be given away, but there is something of root's */
        expect(place, "absolute", -EACCES, NULL);
        return;
    }
    make_link(place->directory, "link", "root/chain");
    make_link(place->directory, "../secret", "root/theirs");
    make_link(place->directory, "theirs", "root/to-theirs");
    make_link(place->directory, "/", "root/top");
    give_away(place, "root/file");
    give_away(place, "root/theirs");
    give_away(place, "root/folder-link");
    give_away(place, "root/top");
    expect(place, "file", 0, "at the root"); /* no link leads there */
    expect(place, "link", -EACCES, NULL);
    expect(place, "chain", -EACCES, NULL);
    expect(place, "a/b/up", -EACCES, NULL);
    expect(place, "theirs", -EACCES, NULL);
    expect(place, "to-theirs", -EACCES, NULL);
    expect(place, "folder-link", -EACCES, NULL);
    expect(place, "folder-link/", -EACCES, NULL);
    expect(place, "folder-link/deep", -EACCES, NULL); /* a link in the middle counts, too */
    expect(place, "through", -EACCES, NULL);          /* and one that another leads through */
    expect(place, "top", -EACCES, NULL);
    give_away(place, "root/link");
    expect(place, "link", 0, "at the root");
    expect(place, "chain", -EACCES, NULL); /* the first of the chain is not theirs */
    give_away(place, "root/chain");
    expect(place, "chain", 0, "at the root");
    give_away(place, "root/a/b");
    expect(place, "folder-link/deep", 0, "deep");
}

static void test_a_second_root_has_what_the_first_has_not(void **state)
{
    struct place *place = *state;
    struct uvh_file_root second;
    char path[128];
    make_dir(place->directory, "second");
    make_dir(place->directory, "second/c");
    make_dir(place->directory, "second/a");
    write_file(place->directory, "second/file", "never seen");
    write_file(place->directory, "second/other", "other");
    write_file(place->directory, "second/out", "never seen");
    write_file(place->directory, "second/dangling", "found");
    write_file(place->directory, "second/a/more", "more");
    write_file(place->directory, "second/c/d", "d");
    snprintf(path, sizeof(path), "%s/second", place->parent);
    assert_int_equal(uvh_file_root_open(&second, path), 0);
    place->kernel.next = &second;
    place->walk.next = &second;
    expect(place, "file", 0, "at the root");
    expect(place, "other", 0, "other");
    expect(place, "a/b/deep", 0, "deep");
    expect(place, "a/more", 0, "more");
    expect(place, "c/d", 0, "d");
    expect(place, "dangling", 0, "found");
    expect(place, "missing", -ENOENT, NULL);
    expect(place, "../secret", -EXDEV, NULL);
    expect(place, "out", -EXDEV, NULL); /* what the first one refuses is not looked for */
    struct names names = {.limit = 100};
    assert_int_equal(uvh_file_list(&place->kernel, "c", add_name, &names), 0);
    assert_string_equal(names.text, "rd ");
    uvh_file_root_close(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_paths_below_the_root_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_inside_the_root_are_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_outside_the_root_opens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors_are_those_of_the_system, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_growing_link_loop_ends, set_up, tear_down),
        cmocka_unit_test(test_magic_links_are_refused),
        cmocka_unit_test_setup_teardown(test_special_files_do_not_block, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_looking_does_not_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptors_are_closed_on_exec, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_facts_tell_a_changed_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reading_stops_at_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_root_that_was_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_roots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_listing_a_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_opening_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_making_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_looking_in_a_folder_follows_no_link, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_without_links_any_link_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_may_lead_anywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_to_what_the_same_owner_has, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_to_what_another_owner_has, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_second_root_has_what_the_first_has_not, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_running_out_of_descriptors, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
