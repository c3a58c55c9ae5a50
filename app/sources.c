/* See sources.h. */
#include "sources.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uvhttp.h>

#include "sibling.h"

struct walk {
    struct uvh_sources *sources;
    uint64_t min_size;
    FILE *errors;
    char path[PATH_MAX]; /* relative to the directory */
};

static bool add(struct uvh_sources *sources, const char *path, uint64_t size)
{
    if (sources->count == sources->capacity) {
        size_t capacity = sources->capacity == 0 ? 64 : sources->capacity * 2;
        struct uvh_source *items = realloc(sources->items, capacity * sizeof(*items));
        if (items == NULL)
            return false;
        sources->items = items;
        sources->capacity = capacity;
    }
    char *copy = strdup(path);
    if (copy == NULL)
        return false;
    sources->items[sources->count++] = (struct uvh_source){copy, size};
    return true;
}

static void tell(struct walk *walk)
{
    fprintf(walk->errors, "uvhttp precompress: %s: %s\n", walk->path[0] == '\0' ? "." : walk->path,
            strerror(errno));
    walk->sources->failed++;
}

static bool is_hidden(const char *name)
{
    return name[0] == '.' && strcmp(name, ".well-known") != 0;
}

static bool walk_dir(struct walk *walk, int descriptor, size_t length);

/* False if out of memory. */
static bool visit(struct walk *walk, int directory, const char *name, size_t length)
{
    struct stat facts;
    int added = snprintf(walk->path + length, sizeof(walk->path) - length, "%s%s",
                         length > 0 ? "/" : "", name);
    if ((size_t)added >= sizeof(walk->path) - length) {
        errno = ENAMETOOLONG;
        walk->path[length] = '\0';
        tell(walk);
        return true;
    }
    if (fstatat(directory, name, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT) /* removed meanwhile */
            tell(walk);
        return true;
    }
    if (S_ISREG(facts.st_mode)) {
        bool wanted = (uint64_t)facts.st_size >= walk->min_size && uvhttp_compress_suits_file(name);
        return !wanted || add(walk->sources, walk->path, (uint64_t)facts.st_size);
    }
    if (!S_ISDIR(facts.st_mode))
        return true;
    int below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below >= 0)
        return walk_dir(walk, below, length + (size_t)added);
    tell(walk);
    return true;
}

/* Closes the descriptor. */
static bool walk_dir(struct walk *walk, int descriptor, size_t length)
{
    const struct dirent *entry;
    DIR *directory = fdopendir(descriptor);
    bool going = true;
    if (directory == NULL) {
        close(descriptor);
        return false;
    }
    while (going && (errno = 0, entry = readdir(directory)) != NULL) {
        if (is_hidden(entry->d_name)) /* also "." and ".." */
            continue;
        going = visit(walk, descriptor, entry->d_name, length);
        walk->path[length] = '\0';
    }
    if (going && errno != 0)
        tell(walk);
    closedir(directory);
    return going;
}

static int larger_first(const void *a, const void *b)
{
    const struct uvh_source *left = a, *right = b;
    if (left->size != right->size)
        return left->size > right->size ? -1 : 1;
    return strcmp(left->path, right->path);
}

bool uvh_sources_find(struct uvh_sources *sources, int root, uint64_t min_size, FILE *errors)
{
    struct walk walk = {.sources = sources, .min_size = min_size, .errors = errors};
    *sources = (struct uvh_sources){.items = NULL};
    int directory = uvh_sibling_open_directory(root, "");
    if (directory < 0) {
        tell(&walk);
        return true;
    }
    bool found = walk_dir(&walk, directory, 0);
    if (found && sources->count > 0)
        qsort(sources->items, sources->count, sizeof(*sources->items), larger_first);
    return found;
}

void uvh_sources_release(struct uvh_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        free(sources->items[i].path);
    free(sources->items);
}
