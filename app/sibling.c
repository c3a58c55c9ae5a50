/* See sibling.h. */
#include "sibling.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_SIZE = NAME_MAX + 1, MOST_SIZE = 1 << 30 };

const struct uvh_sibling_coding uvh_sibling_codings[UVH_SIBLING_CODINGS] = {
    {UVHTTP_CODING_BROTLI, "br", ".br", 11},
    {UVHTTP_CODING_ZSTD, "zstd", ".zst", 22},
    {UVHTTP_CODING_GZIP, "gzip", ".gz", 9},
};

/* The paths of a source and its sibling. */
struct place {
    int directory;
    const char *name; /* of the source, in `directory` */
    char sibling[NAME_SIZE];
};

static enum uvh_sibling_outcome fail(struct uvh_sibling *sibling, const char *what)
{
    snprintf(sibling->error, sizeof(sibling->error), "%s", what);
    return UVH_SIBLING_FAILED;
}

static enum uvh_sibling_outcome fail_with(struct uvh_sibling *sibling, int err)
{
    return fail(sibling, strerror(err));
}

int uvh_sibling_open_directory(int root, const char *path)
{
    int directory = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (directory >= 0 && *path != '\0') {
        char name[NAME_SIZE];
        size_t length = strcspn(path, "/");
        int below = -1;
        if (length < sizeof(name)) {
            memcpy(name, path, length);
            name[length] = '\0';
            below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        } else {
            errno = ENAMETOOLONG;
        }
        int err = errno;
        close(directory);
        errno = err;
        directory = below;
        path += length;
        path += *path == '/';
    }
    return directory;
}

/* Returns 0, or an errno. */
static int find_place(const struct uvh_sibling *sibling, struct place *place)
{
    char directory[PATH_MAX];
    const char *slash = strrchr(sibling->path, '/');
    place->name = slash == NULL ? sibling->path : slash + 1;
    int length = snprintf(place->sibling, sizeof(place->sibling), "%s%s", place->name,
                          sibling->coding->suffix);
    int dir_length = slash == NULL ? 0 : (int)(slash - sibling->path);
    if (length >= (int)sizeof(place->sibling) || dir_length >= (int)sizeof(directory))
        return ENAMETOOLONG;
    snprintf(directory, sizeof(directory), "%.*s", dir_length, sibling->path);
    place->directory = uvh_sibling_open_directory(sibling->root, directory);
    return place->directory < 0 ? errno : 0;
}

static bool is_before(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/* True if the sibling exists and is up to date. Links are not. */
static bool is_fresh(const struct place *place, const struct stat *source)
{
    struct stat facts;
    return fstatat(place->directory, place->sibling, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(facts.st_mode) && !is_before(facts.st_mtim, source->st_mtim);
}

/* All bytes of an open file; NULL with errno. `*size` receives the bytes read. */
static char *read_all(int file, size_t *size)
{
    size_t space = *size + 1; /* one more byte detects growth */
    char *data = malloc(space);
    size_t length = 0;
    while (data != NULL && length < space) {
        ssize_t count = read(file, data + length, space - length);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            int err = errno;
            free(data);
            errno = err;
            return NULL;
        }
        if (count == 0)
            break;
        length += (size_t)count;
    }
    *size = length;
    return data;
}

static int write_all(int file, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t count = write(file, data, size);
        if (count < 0 && errno != EINTR)
            return errno;
        if (count > 0) {
            data += count;
            size -= (size_t)count;
        }
    }
    return 0;
}

/* Writes content, permissions and time to a temporary file. Returns 0, or an errno. */
static int fill(int file, const void *data, size_t size, const struct stat *source)
{
    const struct timespec times[2] = {source->st_mtim, source->st_mtim};
    int err = write_all(file, data, size);
    if (err == 0 && fchmod(file, source->st_mode & 0777) != 0)
        err = errno;
    if (err == 0 && futimens(file, times) != 0)
        err = errno;
    /* otherwise a crash could leave an empty file that counts as up to date */
    if (err == 0 && fsync(file) != 0)
        err = errno;
    return err;
}

/* Writes a temporary file and renames it to the sibling. Returns 0, or an errno with nothing
 * changed. */
static int publish(const struct place *place, const void *data, size_t size,
                   const struct stat *source)
{
    char hidden[64];
    int file = -1;
    for (unsigned number = 0; file < 0; number++) {
        snprintf(hidden, sizeof(hidden), ".uvhttp-%ld-%u.part", (long)getpid(), number);
        file = openat(place->directory, hidden,
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0 && errno != EEXIST)
            return errno;
    }
    int err = fill(file, data, size, source);
    if (close(file) != 0 && err == 0)
        err = errno;
    if (err == 0 && renameat(place->directory, hidden, place->directory, place->sibling) != 0)
        err = errno;
    if (err != 0)
        unlinkat(place->directory, hidden, 0);
    return err;
}

/* Removes an outdated sibling, which would be sent instead of its source. */
static enum uvh_sibling_outcome drop(struct uvh_sibling *sibling, const struct place *place,
                                     enum uvh_sibling_outcome absent,
                                     enum uvh_sibling_outcome removed)
{
    struct stat facts;
    if (fstatat(place->directory, place->sibling, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? absent : fail_with(sibling, errno);
    if (!S_ISREG(facts.st_mode)) /* not ours, and never served */
        return absent;
    if (!sibling->only_say && unlinkat(place->directory, place->sibling, 0) != 0)
        return fail_with(sibling, errno);
    return removed;
}

static bool has_changed(int file, const struct stat *before, size_t size)
{
    struct stat now;
    return fstat(file, &now) != 0 || (uint64_t)before->st_size != size ||
           now.st_size != before->st_size || is_before(before->st_mtim, now.st_mtim) ||
           is_before(now.st_mtim, before->st_mtim);
}

static enum uvh_sibling_outcome compress_file(struct uvh_sibling *sibling,
                                              const struct place *place, int file,
                                              const struct stat *source)
{
    size_t size = (size_t)source->st_size;
    char *data = read_all(file, &size);
    void *coded = NULL;
    size_t coded_size = 0;
    if (data == NULL)
        return fail_with(sibling, errno);
    enum uvh_sibling_outcome outcome;
    int err = uvhttp_compress_bytes(NULL, sibling->coding->coding, sibling->level, data, size,
                                    size > 0 ? size - 1 : 0, &coded, &coded_size);
    free(data);
    if (err != 0 && err != UVHTTP_ETOOLARGE)
        return fail(sibling, uvhttp_strerror(err));
    if (has_changed(file, source, size))
        outcome = fail(sibling, "the file changed while it was compressed");
    else if (err == UVHTTP_ETOOLARGE)
        outcome = drop(sibling, place, UVH_SIBLING_USELESS, UVH_SIBLING_USELESS);
    else if ((err = publish(place, coded, coded_size, source)) != 0)
        outcome = fail_with(sibling, err);
    else
        outcome = UVH_SIBLING_MADE;
    uvhttp_compress_release(NULL, coded);
    sibling->size = size;
    sibling->coded_size = coded_size;
    return outcome;
}

static enum uvh_sibling_outcome make_from(struct uvh_sibling *sibling, const struct place *place,
                                          int file)
{
    struct stat source;
    if (fstat(file, &source) != 0)
        return fail_with(sibling, errno);
    if (!S_ISREG(source.st_mode))
        return fail(sibling, "no longer a regular file");
    if (!sibling->force && is_fresh(place, &source))
        return UVH_SIBLING_FRESH;
    if (source.st_size > MOST_SIZE)
        return fail(sibling, "larger than 1 GiB, the limit for compression in memory");
    return sibling->only_say ? UVH_SIBLING_MADE : compress_file(sibling, place, file, &source);
}

enum uvh_sibling_outcome uvh_sibling_make(struct uvh_sibling *sibling)
{
    struct place place;
    int err = find_place(sibling, &place);
    if (err != 0)
        return fail_with(sibling, err);
    int file = openat(place.directory, place.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    enum uvh_sibling_outcome outcome =
        file < 0 ? fail_with(sibling, errno) : make_from(sibling, &place, file);
    if (file >= 0)
        close(file);
    close(place.directory);
    return outcome;
}

enum uvh_sibling_outcome uvh_sibling_remove(struct uvh_sibling *sibling)
{
    struct place place;
    int err = find_place(sibling, &place);
    if (err != 0)
        return fail_with(sibling, err);
    enum uvh_sibling_outcome outcome =
        drop(sibling, &place, UVH_SIBLING_ABSENT, UVH_SIBLING_REMOVED);
    close(place.directory);
    return outcome;
}
