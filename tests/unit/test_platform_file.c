/* platform/file.c: every test of paths runs twice, with openat2 of the kernel and with the checked
 * walk, which must give the same results. */
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

/* root/ is the root; its parent contains files that must never be reached. */
struct fixture {
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

static void make_root(struct fixture *fixture)
{
    int directory = fixture->directory;
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
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    snprintf(fixture->parent, sizeof(fixture->parent), "/tmp/uvhttp-file-XXXXXX");
    assert_non_null(mkdtemp(fixture->parent));
    fixture->directory = open(fixture->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fixture->directory >= 0);
    make_root(fixture);
    char path[128];
    snprintf(path, sizeof(path), "%s/root", fixture->parent);
    assert_int_equal(uvh_file_root_open(&fixture->kernel, path), 0);
    assert_int_equal(uvh_file_root_open(&fixture->walk, path), 0);
    fixture->walk.walk = true;
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    char command[128];
    uvh_file_root_close(&fixture->kernel);
    uvh_file_root_close(&fixture->walk);
    close(fixture->directory);
    snprintf(command, sizeof(command), "rm -rf '%s'", fixture->parent);
    assert_int_equal(system(command), 0);
    free(fixture);
    return 0;
}

static int count_descriptors(void)
{
    int count = 0;
    for (int i = 0; i < 256; i++)
        count += fcntl(i, F_GETFD) >= 0;
    return count;
}

/* Opens the path both ways; the results must be equal, and so must the content, if `text` is
 * given. */
static void expect(const struct fixture *fixture, const char *path, int result, const char *text)
{
    const struct uvh_file_root *roots[] = {&fixture->kernel, &fixture->walk};
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

static void test_paths_below_root_open(void **state)
{
    const struct fixture *fixture = *state;
    expect(fixture, "file", 0, "at the root");
    expect(fixture, "a/b/deep", 0, "deep");
    expect(fixture, "a//b///deep", 0, "deep");
    expect(fixture, "a/./b/deep", 0, "deep");
    expect(fixture, "", 0, NULL);
    expect(fixture, "a", 0, NULL);
    expect(fixture, "a/b/", 0, NULL);
}

static void test_links_inside_root_are_followed(void **state)
{
    const struct fixture *fixture = *state;
    expect(fixture, "link", 0, "at the root");
    expect(fixture, "a/b/up", 0, "at the root");
    expect(fixture, "folder-link/deep", 0, "deep");
    expect(fixture, "folder-link/up", 0, "at the root");
    expect(fixture, "odd", 0, "deep");
    expect(fixture, "through", 0, "deep");
    expect(fixture, "folder-link", 0, NULL);
    expect(fixture, "folder-link/", 0, NULL);
}

static void test_paths_outside_root_are_refused(void **state)
{
    const struct fixture *fixture = *state;
    expect(fixture, "..", -EXDEV, NULL);
    expect(fixture, "../secret", -EXDEV, NULL);
    expect(fixture, "a/../../secret", -EXDEV, NULL);
    expect(fixture, "/etc/passwd", -EXDEV, NULL);
    expect(fixture, "out", -EXDEV, NULL);
    expect(fixture, "out-folder", -EXDEV, NULL);
    expect(fixture, "out-folder/secret", -EXDEV, NULL);
    expect(fixture, "out-and-in", -EXDEV, NULL);
    expect(fixture, "absolute", -EXDEV, NULL);
}

static void test_errors_match_system_errors(void **state)
{
    const struct fixture *fixture = *state;
    char name[NAME_MAX + 2];
    char path[PATH_MAX + 2];
    memset(name, 'n', NAME_MAX + 1);
    name[NAME_MAX + 1] = '\0';
    memset(path, '/', PATH_MAX + 1);
    memcpy(path, "a", 1);
    path[PATH_MAX + 1] = '\0';
    expect(fixture, "missing", -ENOENT, NULL);
    expect(fixture, "missing/file", -ENOENT, NULL);
    expect(fixture, "file/", -ENOTDIR, NULL);
    expect(fixture, "file/x", -ENOTDIR, NULL);
    expect(fixture, "link/", -ENOTDIR, NULL);
    expect(fixture, "dangling", -ENOENT, NULL);
    expect(fixture, "loop-a", -ELOOP, NULL);
    expect(fixture, name, -ENAMETOOLONG, NULL);
    expect(fixture, path, -ENAMETOOLONG, NULL);
}

/* A link whose target refers to itself by a longer path each time must end as well. */
static void test_growing_link_loop_ends(void **state)
{
    const struct fixture *fixture = *state;
    make_link(fixture->directory, "a/../grow/x", "root/grow");
    struct uvh_file_facts facts;
    assert_int_equal(uvh_file_facts_read(&fixture->kernel, "grow", &facts), -ELOOP);
    assert_int_equal(uvh_file_facts_read(&fixture->walk, "grow", &facts), -ELOOP);
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
    const struct fixture *fixture = *state;
    const struct uvh_file_root *roots[] = {&fixture->kernel, &fixture->walk};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/root/socket", fixture->parent);
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

/* Reading facts must not open the file: a writer waiting for a reader of the FIFO would
 * continue. */
static void test_facts_read_does_not_open_file(void **state)
{
    const struct fixture *fixture = *state;
    struct uvh_file_facts facts;
    assert_int_equal(uvh_file_facts_read(&fixture->kernel, "fifo", &facts), 0);
    assert_int_equal(openat(fixture->directory, "root/fifo", O_WRONLY | O_NONBLOCK), -1);
    assert_int_equal(errno, ENXIO);
}

static void test_descriptors_are_closed_on_exec(void **state)
{
    const struct fixture *fixture = *state;
    const struct uvh_file_root *roots[] = {&fixture->kernel, &fixture->walk};
    assert_true((fcntl(fixture->kernel.descriptor, F_GETFD) & FD_CLOEXEC) != 0);
    for (size_t i = 0; i < 2; i++) {
        struct uvh_file_facts facts;
        int descriptor;
        assert_int_equal(uvh_file_open(roots[i], "a/b/deep", &descriptor, &facts), 0);
        assert_true((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
        assert_true((fcntl(descriptor, F_GETFL) & O_NONBLOCK) != 0);
        uvh_file_close(descriptor);
    }
}

static void test_facts_differ_for_changed_file(void **state)
{
    const struct fixture *fixture = *state;
    struct uvh_file_facts before;
    struct uvh_file_facts after;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000, .tv_nsec = 5}};
    assert_int_equal(utimensat(fixture->directory, "root/file", times, 0), 0);
    assert_int_equal(uvh_file_facts_read(&fixture->kernel, "file", &before), 0);
    assert_int_equal(before.modified_seconds, 1000);
    assert_int_equal(before.modified_nanoseconds, 5);
    assert_int_equal(uvh_file_facts_read(&fixture->walk, "file", &after), 0);
    assert_true(uvh_file_facts_equal(&before, &after));
    times[1].tv_nsec = 6;
    assert_int_equal(utimensat(fixture->directory, "root/file", times, 0), 0);
    assert_int_equal(uvh_file_facts_read(&fixture->kernel, "file", &after), 0);
    assert_false(uvh_file_facts_equal(&before, &after));
    assert_int_equal(uvh_file_facts_read(&fixture->kernel, "a/b/deep", &after), 0);
    assert_false(uvh_file_facts_equal(&before, &after));
}

static void test_read_stops_at_end(void **state)
{
    const struct fixture *fixture = *state;
    struct uvh_file_facts facts;
    int descriptor;
    char bytes[32];
    assert_int_equal(uvh_file_open(&fixture->kernel, "file", &descriptor, &facts), 0);
    assert_int_equal(uvh_file_read(descriptor, bytes, sizeof(bytes), 7), 4);
    assert_memory_equal(bytes, "root", 4);
    assert_int_equal(uvh_file_read(descriptor, bytes, sizeof(bytes), 100), 0);
    uvh_file_close(descriptor);
    assert_int_equal(uvh_file_read(-1, bytes, sizeof(bytes), 0), -EBADF);
}

static void test_removed_root_has_no_files(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_file_root root;
    struct uvh_file_facts facts;
    char path[128];
    make_dir(fixture->directory, "gone");
    snprintf(path, sizeof(path), "%s/gone", fixture->parent);
    assert_int_equal(uvh_file_root_open(&root, path), 0);
    assert_int_equal(rmdir(path), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(uvh_file_facts_read(&root, "", &facts), -ENOENT);
        assert_int_equal(uvh_file_facts_read(&root, "file", &facts), -ENOENT);
        root.walk = true;
    }
    uvh_file_root_close(&root);
}

static void make_file(int directory, const char *name)
{
    int file = openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
}

static void test_root_follows_its_path(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_file_root root;
    struct uvh_file_facts facts;
    char path[128];
    char other[128];
    make_dir(fixture->directory, "site");
    make_dir(fixture->directory, "next");
    snprintf(path, sizeof(path), "%s/site", fixture->parent);
    snprintf(other, sizeof(other), "%s/next", fixture->parent);
    assert_int_equal(uvh_file_root_open(&root, other), 0);
    make_file(root.descriptor, "new");
    uvh_file_root_close(&root);
    assert_int_equal(uvh_file_root_open(&root, path), 0);
    uvh_file_root_follow(&root); /* no path */
    root.path = path;
    int number = root.descriptor;
    assert_int_equal(rmdir(path), 0);
    for (int i = 0; i < 2; i++) {
        uvh_file_root_follow(&root);
        assert_true(uvh_file_is_missing(uvh_file_facts_read(&root, "", &facts)));
        assert_true(uvh_file_is_missing(uvh_file_facts_read(&root, "new", &facts)));
    }
    assert_int_equal(rename(other, path), 0);
    uvh_file_root_follow(&root);
    assert_int_equal(uvh_file_facts_read(&root, "new", &facts), 0);
    assert_int_equal(root.descriptor, number);
    assert_int_equal(fcntl(number, F_GETFD), FD_CLOEXEC);
    uvh_file_root_close(&root);
}

static void test_relative_path_becomes_absolute(void **state)
{
    (void)state;
    char directory[PATH_MAX];
    char absolute[PATH_MAX];
    assert_non_null(getcwd(directory, sizeof(directory)));
    assert_int_equal(uvh_file_make_absolute("a/b", absolute, sizeof(absolute)), 0);
    assert_true(strncmp(absolute, directory, strlen(directory)) == 0);
    assert_string_equal(absolute + strlen(directory), "/a/b");
    assert_int_equal(uvh_file_make_absolute("/a/b", absolute, 5), 0);
    assert_string_equal(absolute, "/a/b");
    assert_int_equal(uvh_file_make_absolute("/a/b", absolute, 4), -ENAMETOOLONG);
}

static void test_invalid_roots_are_refused(void **state)
{
    const struct fixture *fixture = *state;
    struct uvh_file_root root;
    char path[128];
    snprintf(path, sizeof(path), "%s/missing", fixture->parent);
    assert_int_equal(uvh_file_root_open(&root, path), -ENOENT);
    snprintf(path, sizeof(path), "%s/secret", fixture->parent);
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

static void test_directory_is_listed(void **state)
{
    const struct fixture *fixture = *state;
    struct names names = {.limit = 100};
    int before = count_descriptors();
    assert_int_equal(uvh_file_list(&fixture->kernel, "a", add_name, &names), 0);
    assert_string_equal(names.text, "db ");
    names = (struct names){.limit = 100};
    assert_int_equal(uvh_file_list(&fixture->walk, "folder-link", add_name, &names), 0);
    assert_true(strcmp(names.text, "rdeep lup ") == 0 || strcmp(names.text, "lup rdeep ") == 0);
    names = (struct names){.limit = 1};
    assert_int_equal(uvh_file_list(&fixture->kernel, "", add_name, &names), 7);
    assert_int_equal(uvh_file_list(&fixture->kernel, "file", add_name, &names), -ENOTDIR);
    assert_int_equal(uvh_file_list(&fixture->walk, "out-folder", add_name, &names), -EXDEV);
    assert_int_equal(uvh_file_list(&fixture->kernel, "missing", add_name, &names), -ENOENT);
    assert_int_equal(count_descriptors(), before);
}

static void test_descriptor_limit_gives_emfile(void **state)
{
    const struct fixture *fixture = *state;
    const struct uvh_file_root *roots[] = {&fixture->kernel, &fixture->walk};
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

/* Opens a directory both ways without creating it. */
static void expect_directory(const struct fixture *fixture, const char *path, int result)
{
    const struct uvh_file_root *roots[] = {&fixture->kernel, &fixture->walk};
    int before = count_descriptors();
    for (size_t i = 0; i < 2; i++) {
        int descriptor;
        assert_int_equal(uvh_file_open_directory(roots[i], path, false, &descriptor), result);
        if (result == 0)
            uvh_file_close(descriptor);
    }
    assert_int_equal(count_descriptors(), before);
}

static void test_directories_are_opened(void **state)
{
    const struct fixture *fixture = *state;
    expect_directory(fixture, "", 0);
    expect_directory(fixture, "a/b", 0);
    expect_directory(fixture, "folder-link", 0);
    expect_directory(fixture, "nowhere", -ENOENT);
    expect_directory(fixture, "dangling", -ENOENT);
    expect_directory(fixture, "file", -ENOTDIR);
    expect_directory(fixture, "file/x", -ENOTDIR);
    expect_directory(fixture, "fifo", -ENOTDIR);
    expect_directory(fixture, "out-folder", -EXDEV);
    expect_directory(fixture, "../root", -EXDEV);
    expect_directory(fixture, "loop-a", -ELOOP);
}

static void test_directories_are_created(void **state)
{
    const struct fixture *fixture = *state;
    const struct uvh_file_root *roots[] = {&fixture->kernel, &fixture->walk};
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
    assert_int_equal(faccessat(fixture->directory, "x", F_OK, 0), -1);
    assert_int_equal(count_descriptors(), before);
}

static void test_facts_read_in_follows_no_link(void **state)
{
    const struct fixture *fixture = *state;
    struct uvh_file_facts facts;
    int directory;
    assert_int_equal(uvh_file_open_directory(&fixture->kernel, "", false, &directory), 0);
    assert_int_equal(uvh_file_facts_read_in(directory, "file", &facts), 0);
    assert_int_equal(facts.kind, UVH_FILE_REGULAR);
    assert_int_equal(uvh_file_facts_read_in(directory, "link", &facts), 0);
    assert_int_equal(facts.kind, UVH_FILE_LINK);
    assert_int_equal(uvh_file_facts_read_in(directory, "a", &facts), 0);
    assert_int_equal(facts.kind, UVH_FILE_DIRECTORY);
    assert_int_equal(uvh_file_facts_read_in(directory, "nowhere", &facts), -ENOENT);
    uvh_file_close(directory);
}

static void use_policy(struct fixture *fixture, enum uvh_file_links links)
{
    fixture->kernel.links = links;
    fixture->walk.links = links;
}

static void test_links_none_refuses_any_link(void **state)
{
    struct fixture *fixture = *state;
    use_policy(fixture, UVH_FILE_LINKS_NONE);
    expect(fixture, "file", 0, "at the root");
    expect(fixture, "a//b/./deep", 0, "deep");
    expect(fixture, "", 0, NULL);
    expect(fixture, "a/b/", 0, NULL);
    expect(fixture, "missing", -ENOENT, NULL);
    expect(fixture, "file/x", -ENOTDIR, NULL);
    expect(fixture, "../secret", -EXDEV, NULL);
    static const char *const links[] = {"link",         "a/b/up", "folder-link", "folder-link/deep",
                                        "folder-link/", "out",    "odd",         "absolute",
                                        "dangling",     "loop-a", "out-and-in"};
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
        expect(fixture, links[i], -ELOOP, NULL);
}

static void test_links_anywhere_follows_all_links(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    snprintf(path, sizeof(path), "%s/secret", fixture->parent);
    make_link(fixture->directory, path, "root/far");
    make_link(fixture->directory, "/", "root/top");
    use_policy(fixture, UVH_FILE_LINKS_ANYWHERE);
    expect(fixture, "far", 0, "secret");
    expect(fixture, "out", 0, "secret");
    expect(fixture, "out-folder/secret", 0, "secret");
    expect(fixture, "out-and-in", 0, "at the root");
    expect(fixture, "folder-link/deep", 0, "deep");
    expect(fixture, "top/", 0, NULL);
    expect(fixture, "dangling", -ENOENT, NULL);
    expect(fixture, "loop-a", -ELOOP, NULL);
    expect(fixture, "link/", -ENOTDIR, NULL);
    /* The path itself is still confined to the root. */
    expect(fixture, "..", -EXDEV, NULL);
    expect(fixture, "../secret", -EXDEV, NULL);
    expect(fixture, "out-folder/../secret", -EXDEV, NULL);
    expect(fixture, "a/..", -EXDEV, NULL);
    expect(fixture, "/etc/passwd", -EXDEV, NULL);
}

static void test_links_owner_follows_same_owner(void **state)
{
    struct fixture *fixture = *state;
    char path[128];
    snprintf(path, sizeof(path), "%s/secret", fixture->parent);
    make_link(fixture->directory, path, "root/far");
    make_link(fixture->directory, ".", "root/here");
    make_link(fixture->directory, "a/", "root/with-slash");
    make_link(fixture->directory, "a/../grow/x", "root/grow");
    use_policy(fixture, UVH_FILE_LINKS_OWNER);
    expect(fixture, "file", 0, "at the root");
    expect(fixture, "link", 0, "at the root");
    expect(fixture, "far", 0, "secret");
    expect(fixture, "out", 0, "secret");
    expect(fixture, "out-folder/secret", 0, "secret");
    expect(fixture, "out-folder/root/link", 0, "at the root");
    expect(fixture, "here/here/folder-link/up", 0, "at the root");
    expect(fixture, "with-slash", 0, NULL);
    expect(fixture, "with-slash/b/deep", 0, "deep");
    expect(fixture, "through", 0, "deep");
    expect(fixture, "odd", 0, "deep");
    expect(fixture, "folder-link", 0, NULL);
    expect(fixture, "folder-link/", 0, NULL);
    expect(fixture, "here//", 0, NULL);
    expect(fixture, "link/", -ENOTDIR, NULL);
    expect(fixture, "link/x", -ENOTDIR, NULL);
    expect(fixture, "dangling", -ENOENT, NULL);
    expect(fixture, "loop-a", -ELOOP, NULL);
    expect(fixture, "grow", -ELOOP, NULL);
    expect(fixture, "here/../secret", -EXDEV, NULL);
    expect(fixture, "/etc/passwd", -EXDEV, NULL);
}

/* Gives a name itself, not the target of a link, to another user. */
static void change_owner(const struct fixture *fixture, const char *path)
{
    assert_int_equal(fchownat(fixture->directory, path, 1, (gid_t)-1, AT_SYMLINK_NOFOLLOW), 0);
}

static void test_links_owner_refuses_other_owner(void **state)
{
    struct fixture *fixture = *state;
    use_policy(fixture, UVH_FILE_LINKS_OWNER);
    if (geteuid() != 0) { /* the owner cannot be changed, but root has files */
        expect(fixture, "absolute", -EACCES, NULL);
        return;
    }
    make_link(fixture->directory, "link", "root/chain");
    make_link(fixture->directory, "../secret", "root/theirs");
    make_link(fixture->directory, "theirs", "root/to-theirs");
    make_link(fixture->directory, "/", "root/top");
    change_owner(fixture, "root/file");
    change_owner(fixture, "root/theirs");
    change_owner(fixture, "root/folder-link");
    change_owner(fixture, "root/top");
    expect(fixture, "file", 0, "at the root"); /* not reached by a link */
    expect(fixture, "link", -EACCES, NULL);
    expect(fixture, "chain", -EACCES, NULL);
    expect(fixture, "a/b/up", -EACCES, NULL);
    expect(fixture, "theirs", -EACCES, NULL);
    expect(fixture, "to-theirs", -EACCES, NULL);
    expect(fixture, "folder-link", -EACCES, NULL);
    expect(fixture, "folder-link/", -EACCES, NULL);
    expect(fixture, "folder-link/deep", -EACCES, NULL); /* a link in the middle counts, too */
    expect(fixture, "through", -EACCES, NULL);          /* and one in the target of another link */
    expect(fixture, "top", -EACCES, NULL);
    change_owner(fixture, "root/link");
    expect(fixture, "link", 0, "at the root");
    expect(fixture, "chain", -EACCES, NULL); /* the first link of the chain has another owner */
    change_owner(fixture, "root/chain");
    expect(fixture, "chain", 0, "at the root");
    change_owner(fixture, "root/a/b");
    expect(fixture, "folder-link/deep", 0, "deep");
}

static void test_second_root_is_fallback(void **state)
{
    struct fixture *fixture = *state;
    struct uvh_file_root second;
    char path[128];
    make_dir(fixture->directory, "second");
    make_dir(fixture->directory, "second/c");
    make_dir(fixture->directory, "second/a");
    write_file(fixture->directory, "second/file", "never seen");
    write_file(fixture->directory, "second/other", "other");
    write_file(fixture->directory, "second/out", "never seen");
    write_file(fixture->directory, "second/dangling", "found");
    write_file(fixture->directory, "second/a/more", "more");
    write_file(fixture->directory, "second/c/d", "d");
    snprintf(path, sizeof(path), "%s/second", fixture->parent);
    assert_int_equal(uvh_file_root_open(&second, path), 0);
    fixture->kernel.next = &second;
    fixture->walk.next = &second;
    expect(fixture, "file", 0, "at the root");
    expect(fixture, "other", 0, "other");
    expect(fixture, "a/b/deep", 0, "deep");
    expect(fixture, "a/more", 0, "more");
    expect(fixture, "c/d", 0, "d");
    expect(fixture, "dangling", 0, "found");
    expect(fixture, "missing", -ENOENT, NULL);
    expect(fixture, "../secret", -EXDEV, NULL);
    /* paths refused by the first root are not looked up in the second */
    expect(fixture, "out", -EXDEV, NULL);
    struct names names = {.limit = 100};
    assert_int_equal(uvh_file_list(&fixture->kernel, "c", add_name, &names), 0);
    assert_string_equal(names.text, "rd ");
    uvh_file_root_close(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_paths_below_root_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_inside_root_are_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_paths_outside_root_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors_match_system_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_growing_link_loop_ends, set_up, tear_down),
        cmocka_unit_test(test_magic_links_are_refused),
        cmocka_unit_test_setup_teardown(test_special_files_do_not_block, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_facts_read_does_not_open_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptors_are_closed_on_exec, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_facts_differ_for_changed_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read_stops_at_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_removed_root_has_no_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_root_follows_its_path, set_up, tear_down),
        cmocka_unit_test(test_relative_path_becomes_absolute),
        cmocka_unit_test_setup_teardown(test_invalid_roots_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directory_is_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directories_are_opened, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_directories_are_created, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_facts_read_in_follows_no_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_none_refuses_any_link, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_anywhere_follows_all_links, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_owner_follows_same_owner, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_links_owner_refuses_other_owner, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_second_root_is_fallback, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descriptor_limit_gives_emfile, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
