/* Files below a directory, opened by beneath.c: stat, open, read and list. The directories of an
 * overlay are tried in order. */
#include "platform/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "platform/beneath.h"

enum {
    CHECK_FLAGS = O_PATH | O_CLOEXEC,
    READ_FLAGS = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
};

bool uvh_file_is_missing(int error)
{
    /* Some file systems return the last two for names they cannot store. */
    return error == -ENOENT || error == -ENOTDIR || error == -ENAMETOOLONG || error == -EINVAL ||
           error == -EILSEQ;
}

/* The first directory that has the name decides, also with an error. */
static int open_beneath(const struct uvh_file_root *root, const char *path, int flags)
{
    for (;;) {
        int result = uvh_beneath_open(root->descriptor, path, flags, root->links, root->walk);
        if (root->next == NULL || !uvh_file_is_missing(result))
            return result;
        root = root->next;
    }
}

static enum uvh_file_kind kind_of(mode_t mode)
{
    if (S_ISREG(mode))
        return UVH_FILE_REGULAR;
    if (S_ISDIR(mode))
        return UVH_FILE_DIRECTORY;
    return S_ISLNK(mode) ? UVH_FILE_LINK : UVH_FILE_OTHER;
}

static void facts_from(const struct stat *status, struct uvh_file_facts *facts)
{
    *facts = (struct uvh_file_facts){
        .size = status->st_size > 0 ? (uint64_t)status->st_size : 0,
        .inode = (uint64_t)status->st_ino,
        .device = (uint64_t)status->st_dev,
        .modified_seconds = (int64_t)status->st_mtim.tv_sec,
        .changed_seconds = (int64_t)status->st_ctim.tv_sec,
        .modified_nanoseconds = (uint32_t)status->st_mtim.tv_nsec,
        .changed_nanoseconds = (uint32_t)status->st_ctim.tv_nsec,
        .kind = kind_of(status->st_mode),
    };
}

int uvh_file_facts_of(int descriptor, struct uvh_file_facts *facts)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return -errno;
    facts_from(&status, facts);
    if (facts->kind == UVH_FILE_DIRECTORY && status.st_nlink == 0)
        return -ENOENT;
    return 0;
}

int uvh_file_facts_read_anywhere(const char *path, struct uvh_file_facts *facts)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return -errno;
    facts_from(&status, facts);
    return 0;
}

bool uvh_file_facts_equal(const struct uvh_file_facts *a, const struct uvh_file_facts *b)
{
    return a->size == b->size && a->inode == b->inode && a->device == b->device &&
           a->kind == b->kind && a->modified_seconds == b->modified_seconds &&
           a->modified_nanoseconds == b->modified_nanoseconds &&
           a->changed_seconds == b->changed_seconds &&
           a->changed_nanoseconds == b->changed_nanoseconds;
}

int uvh_file_root_open(struct uvh_file_root *root, const char *path)
{
    *root = (struct uvh_file_root){.descriptor = -1};
    int descriptor = open(path, CHECK_FLAGS | O_DIRECTORY);
    if (descriptor < 0)
        return -errno;
    root->descriptor = descriptor;
    root->walk = !uvh_beneath_in_kernel(descriptor);
    return 0;
}

void uvh_file_root_follow(const struct uvh_file_root *root)
{
    struct stat there;
    struct stat held;
    if (root->path == NULL || fstat(root->descriptor, &held) != 0)
        return;
    int error = stat(root->path, &there) == 0 ? 0 : errno;
    bool is_missing =
        error == 0 ? !S_ISDIR(there.st_mode) : uvh_file_is_missing(-error) || error == ELOOP;
    bool is_same = error == 0 && there.st_dev == held.st_dev && there.st_ino == held.st_ino;
    if (is_missing ? !S_ISDIR(held.st_mode) : error != 0 || is_same)
        return;
    /* Every path below a descriptor that is no directory is missing: ENOTDIR. */
    int descriptor =
        is_missing ? eventfd(0, EFD_CLOEXEC) : open(root->path, CHECK_FLAGS | O_DIRECTORY);
    if (descriptor < 0)
        return; /* the next call tries again */
    if (dup3(descriptor, root->descriptor, O_CLOEXEC) >= 0)
        atomic_fetch_add((_Atomic uint64_t *)(uintptr_t)&root->moves, 1);
    close(descriptor);
}

uint64_t uvh_file_root_moves(const struct uvh_file_root *root)
{
    return atomic_load((_Atomic uint64_t *)(uintptr_t)&root->moves);
}

int uvh_file_roots_copy(const struct uvh_file_root *root, const uvhttp_allocator_t *allocator,
                        struct uvh_file_root **copies)
{
    size_t count = 0;
    for (const struct uvh_file_root *one = root; one != NULL; one = one->next)
        count++;
    struct uvh_file_root *made = uvh_alloc_zero(allocator, count * sizeof(*made));
    *copies = NULL;
    if (made == NULL)
        return UVHTTP_ENOMEM;
    for (size_t i = 0; i < count; i++, root = root->next) {
        made[i].descriptor = uvh_file_duplicate(root->descriptor);
        made[i].walk = root->walk;
        made[i].links = root->links;
        if (i > 0)
            made[i - 1].next = &made[i];
        if (made[i].descriptor < 0) {
            int err = made[i].descriptor;
            uvh_file_roots_free(made, allocator);
            return err;
        }
    }
    *copies = made;
    return 0;
}

void uvh_file_roots_free(struct uvh_file_root *copies, const uvhttp_allocator_t *allocator)
{
    for (const struct uvh_file_root *one = copies; one != NULL; one = one->next)
        uvh_file_close(one->descriptor);
    uvh_free(allocator, copies);
}

int uvh_file_make_absolute(const char *path, char *absolute, size_t size)
{
    char directory[PATH_MAX];
    if (*path == '/')
        *directory = '\0';
    else if (getcwd(directory, sizeof(directory)) == NULL)
        return -errno;
    int length = snprintf(absolute, size, "%s%s%s", directory, *directory == '\0' ? "" : "/", path);
    return length >= 0 && (size_t)length < size ? 0 : -ENAMETOOLONG;
}

void uvh_file_root_close(struct uvh_file_root *root)
{
    if (root->descriptor >= 0)
        close(root->descriptor);
    root->descriptor = -1;
}

int uvh_file_facts_read(const struct uvh_file_root *root, const char *path,
                        struct uvh_file_facts *facts)
{
    int descriptor = open_beneath(root, path, CHECK_FLAGS);
    if (descriptor < 0)
        return descriptor;
    int result = uvh_file_facts_of(descriptor, facts);
    close(descriptor);
    return result;
}

/* Takes over `opened` or fails with its error. */
static int finish_open(int opened, int *descriptor, struct uvh_file_facts *facts)
{
    *descriptor = -1;
    if (opened < 0)
        return opened;
    int result = uvh_file_facts_of(opened, facts);
    if (result != 0) {
        close(opened);
        return result;
    }
    *descriptor = opened;
    return 0;
}

int uvh_file_open(const struct uvh_file_root *root, const char *path, int *descriptor,
                  struct uvh_file_facts *facts)
{
    return finish_open(open_beneath(root, path, READ_FLAGS), descriptor, facts);
}

int uvh_file_open_anywhere(const char *path, int *descriptor, struct uvh_file_facts *facts)
{
    int opened = open(path, READ_FLAGS);
    return finish_open(opened < 0 ? -errno : opened, descriptor, facts);
}

int uvh_file_append(const char *path, const void *data, size_t size)
{
    int opened = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
    if (opened < 0)
        return -errno;
    ssize_t written = write(opened, data, size);
    int err = written == (ssize_t)size ? 0 : written < 0 ? -errno : -ENOSPC;
    close(opened);
    return err;
}

/* Creates the last directory of `path` in its parent. An existing one is OK. */
static int make_dir(const struct uvh_file_root *root, const char *path)
{
    char above[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - path);
    memcpy(above, path, length);
    above[length] = '\0';
    int directory = open_beneath(root, above, CHECK_FLAGS | O_DIRECTORY);
    if (directory < 0)
        return directory;
    int result = mkdirat(directory, slash == NULL ? path : slash + 1, 0777) != 0 && errno != EEXIST
                     ? -errno
                     : 0;
    close(directory);
    return result;
}

int uvh_file_open_directory(const struct uvh_file_root *root, const char *path, bool make,
                            int *descriptor)
{
    *descriptor = open_beneath(root, path, CHECK_FLAGS | O_DIRECTORY);
    if (*descriptor != -ENOENT || !make)
        return *descriptor < 0 ? *descriptor : 0;
    char part[PATH_MAX];
    size_t length = strlen(path);
    if (length >= sizeof(part))
        return -ENAMETOOLONG;
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        int result = make_dir(root, part);
        if (result != 0)
            return result;
    }
    *descriptor = open_beneath(root, path, CHECK_FLAGS | O_DIRECTORY);
    return *descriptor < 0 ? *descriptor : 0;
}

int uvh_file_facts_read_in(int directory, const char *name, struct uvh_file_facts *facts)
{
    struct stat status;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return -errno;
    facts_from(&status, facts);
    return 0;
}

void uvh_file_close(int descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
}

int uvh_file_duplicate(int descriptor)
{
    int duplicate = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    return duplicate < 0 ? -errno : duplicate;
}

int64_t uvh_file_read(int descriptor, void *data, size_t size, uint64_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t count = pread(descriptor, (char *)data + done, size - done, (off_t)(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -errno;
        if (count == 0)
            break;
        done += (size_t)count;
    }
    return (int64_t)done;
}

/* The next name except "." and "..", or NULL with `*error` 0 at the end. */
static const struct dirent *next_name(DIR *directory, int *error)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        *error = entry == NULL ? -errno : 0;
        if (entry == NULL || (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0))
            return entry;
    }
}

/* Takes over the descriptor, or fails with its error. */
static int open_stream(int descriptor, DIR **stream)
{
    if (descriptor < 0)
        return descriptor;
    *stream = fdopendir(descriptor);
    if (*stream != NULL)
        return 0;
    int result = -errno;
    close(descriptor);
    return result;
}

int uvh_file_list(const struct uvh_file_root *root, const char *directory, uvh_file_name_cb each,
                  void *arg)
{
    DIR *stream;
    const struct dirent *entry;
    int result = open_stream(open_beneath(root, directory, READ_FLAGS | O_DIRECTORY), &stream);
    if (result != 0)
        return result;
    while (result == 0 && (entry = next_name(stream, &result)) != NULL) {
        struct uvh_file_facts facts;
        if (uvh_file_facts_read_in(dirfd(stream), entry->d_name, &facts) == 0)
            result = each(entry->d_name, &facts, arg);
    }
    closedir(stream);
    return result;
}

static enum uvh_file_kind kind_of_type(unsigned char type)
{
    return type == DT_UNKNOWN ? UVH_FILE_UNKNOWN : kind_of((mode_t)DTTOIF(type));
}

int uvh_file_list_in(int directory, uvh_file_kind_cb each, void *arg)
{
    DIR *stream;
    const struct dirent *entry;
    int descriptor = openat(directory, ".", READ_FLAGS | O_DIRECTORY);
    int result = open_stream(descriptor < 0 ? -errno : descriptor, &stream);
    if (result != 0)
        return result;
    while (result == 0 && (entry = next_name(stream, &result)) != NULL)
        result = each(entry->d_name, kind_of_type(entry->d_type), arg);
    closedir(stream);
    return result;
}

size_t uvh_file_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1024; /* the usual soft limit */
    return limit.rlim_cur > INT_MAX ? INT_MAX : (size_t)limit.rlim_cur;
}

int uvh_file_lowest_free_descriptor(void)
{
    int descriptor = open("/", O_PATH | O_CLOEXEC);
    if (descriptor < 0)
        return INT_MAX;
    close(descriptor);
    return descriptor;
}
