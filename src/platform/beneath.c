/* openat2 if the kernel has it. Otherwise a path walk opens one component at a time without
 * following links and resolves each link in the text of the path. The policy "link owner = target
 * owner" uses it for each path with a link, because no system call compares owners. */
#include "platform/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(SYS_openat2)
#include <linux/openat2.h>
#endif

enum {
    CHECK_FLAGS = O_PATH | O_CLOEXEC,
    MAX_LINKS = 40,    /* as in the kernel */
    MAX_CLIMBS = 256,  /* ".." in link targets; each restarts the walk */
    BENEATH_TRIES = 4, /* openat2 fails with EAGAIN after a concurrent rename */
};

/* A result of a walk besides descriptors and errors: the path was rewritten, restart. */
enum { WALK_AGAIN = INT_MIN };

/* State of a walk. Every component before the current one is a real directory, not a link, in the
 * current pass. */
struct walk {
    char path[PATH_MAX];
    size_t length;
    int links;
    int climbs;
    bool no_links; /* any link is an error */
};

static int open_in_kernel(int root, const char *path, int flags, bool no_links)
{
#if defined(SYS_openat2)
    struct open_how how;
    memset(&how, 0, sizeof(how));
    how.flags = (uint64_t)(unsigned)flags;
    how.resolve = RESOLVE_BENEATH | (no_links ? RESOLVE_NO_SYMLINKS : RESOLVE_NO_MAGICLINKS);
    int descriptor;
    do
        descriptor = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
    while (descriptor < 0 && errno == EINTR);
    return descriptor < 0 ? -errno : descriptor;
#else
    (void)root, (void)path, (void)flags, (void)no_links;
    return -ENOSYS;
#endif
}

/* Replaces path[from, to) by `size` bytes. */
static int walk_splice(struct walk *walk, size_t from, size_t to, const char *text, size_t size)
{
    if (walk->length - (to - from) + size >= sizeof(walk->path))
        return -ENAMETOOLONG;
    memmove(walk->path + from + size, walk->path + to, walk->length - to + 1);
    memcpy(walk->path + from, text, size);
    walk->length = walk->length - (to - from) + size;
    return WALK_AGAIN;
}

/* path[from, to) is "..": removes it and the component before it. Done in the text, because ".." of
 * a directory that is moved concurrently may lead anywhere. */
static int walk_climb(struct walk *walk, size_t from, size_t to)
{
    while (from > 0 && walk->path[from - 1] == '/')
        from--;
    if (from == 0)
        return -EXDEV;
    if (++walk->climbs > MAX_CLIMBS)
        return -ELOOP;
    while (from > 0 && walk->path[from - 1] != '/')
        from--;
    while (walk->path[to] == '/')
        to++;
    return walk_splice(walk, from, to, "", 0);
}

/* Opens `name`, which must not be a link. */
static int open_step(int directory, const char *name, int flags)
{
    int descriptor;
    do
        descriptor = openat(directory, name, flags | O_NOFOLLOW);
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0)
        return -errno;
    struct stat status;
    /* O_PATH opens a link itself; a link here was created after readlinkat. */
    if ((flags & O_PATH) != 0 && (fstat(descriptor, &status) != 0 || S_ISLNK(status.st_mode))) {
        close(descriptor);
        return -ELOOP;
    }
    return descriptor;
}

/* One component, path[from, to), in `directory`. Returns the opened descriptor, WALK_AGAIN or an
 * error. */
static int walk_step(struct walk *walk, int directory, size_t from, size_t to, int flags)
{
    char name[NAME_MAX + 1];
    char target[PATH_MAX];
    if (to - from > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(name, walk->path + from, to - from);
    name[to - from] = '\0';
    if (strcmp(name, ".") == 0)
        return walk_splice(walk, from, walk->path[to] == '/' ? to + 1 : to, "", 0);
    if (strcmp(name, "..") == 0)
        return walk_climb(walk, from, to);
    ssize_t size = readlinkat(directory, name, target, sizeof(target));
    if (size >= 0) {
        if (walk->no_links || ++walk->links > MAX_LINKS)
            return -ELOOP;
        if (size == 0)
            return -ENOENT;
        if (target[0] == '/')
            return -EXDEV;
        return walk_splice(walk, from, to, target, (size_t)size);
    }
    if (errno != EINVAL) /* EINVAL: not a link */
        return -errno;
    bool last = walk->path[to] == '\0';
    return open_step(directory, name, last ? flags : CHECK_FLAGS | O_DIRECTORY);
}

/* Walks the whole path once; holds one directory descriptor at a time. */
static int walk_once(struct walk *walk, int root, int flags)
{
    int directory = root;
    size_t from = 0;
    int result;
    for (;;) {
        while (walk->path[from] == '/')
            from++;
        size_t to = from;
        while (walk->path[to] != '\0' && walk->path[to] != '/')
            to++;
        if (to == from) { /* the path is empty or ends with a slash: the directory itself */
            result = open_step(directory, ".", flags);
            break;
        }
        result = walk_step(walk, directory, from, to, flags);
        if (result < 0 || walk->path[to] == '\0')
            break;
        if (directory != root)
            close(directory);
        directory = result;
        from = to;
    }
    if (directory != root)
        close(directory);
    return result;
}

static int open_by_walk(int root, const char *path, int flags, bool no_links)
{
    struct walk walk = {.length = strlen(path), .no_links = no_links};
    if (walk.length >= sizeof(walk.path))
        return -ENAMETOOLONG;
    if (path[0] == '/')
        return -EXDEV;
    memcpy(walk.path, path, walk.length + 1);
    int result;
    do
        result = walk_once(&walk, root, flags);
    while (result == WALK_AGAIN);
    return result;
}

/* A followed link: its target is reached when at most `rest` bytes of the path remain, and must
 * belong to this owner. */
struct mark {
    size_t rest;
    uid_t owner;
};

/* A walk that follows links anywhere. It keeps the current directory open, so it never restarts.
 * Target text and owner of a link are read through one descriptor, and so are owner and content of
 * the target: there is no race between check and use. */
struct chase {
    char path[PATH_MAX]; /* the rest of the path, relative to `directory` */
    size_t length;
    int root;
    int directory;
    int links;
    size_t mark_count; /* the last one has the largest `rest` */
    struct mark marks[MAX_LINKS];
};

static size_t skip_slashes(const char *path, size_t at)
{
    while (path[at] == '/')
        at++;
    return at;
}

static void chase_leave(struct chase *chase)
{
    if (chase->directory != chase->root)
        close(chase->directory);
    chase->directory = chase->root;
}

/* `descriptor` is the target of the path up to `at`. */
static int chase_check(struct chase *chase, int descriptor, size_t at)
{
    struct stat status;
    size_t left = chase->length - skip_slashes(chase->path, at);
    if (chase->mark_count == 0 || chase->marks[chase->mark_count - 1].rest < left)
        return 0;
    if (fstat(descriptor, &status) != 0)
        return -errno;
    while (chase->mark_count > 0 && chase->marks[chase->mark_count - 1].rest >= left) {
        if (chase->marks[--chase->mark_count].owner != status.st_uid)
            return -EACCES;
    }
    return 0;
}

/* Takes over `directory`, the target of path[0, to), and removes that part from the path. */
static int chase_enter(struct chase *chase, int directory, size_t to)
{
    int result = chase_check(chase, directory, to);
    if (result != 0) {
        close(directory);
        return result;
    }
    chase_leave(chase);
    chase->directory = directory;
    chase->length -= to;
    memmove(chase->path, chase->path + to, chase->length + 1);
    return 0;
}

/* `link` is the link path[0, to); its target replaces it in the path. */
static int chase_follow(struct chase *chase, int link, uid_t owner, size_t to)
{
    char target[PATH_MAX];
    ssize_t size = readlinkat(link, "", target, sizeof(target));
    size_t rest = chase->length - to;
    if (size < 0)
        return -errno;
    if (size == 0)
        return -ENOENT;
    if (++chase->links > MAX_LINKS)
        return -ELOOP;
    if ((size_t)size + rest >= sizeof(chase->path))
        return -ENAMETOOLONG;
    memmove(chase->path + size, chase->path + to, rest + 1);
    memcpy(chase->path, target, (size_t)size);
    chase->length = (size_t)size + rest;
    chase->marks[chase->mark_count++] = (struct mark){rest, owner};
    if (target[0] != '/')
        return 0;
    int top = open("/", CHECK_FLAGS | O_DIRECTORY);
    return top < 0 ? -errno : chase_enter(chase, top, 0);
}

/* Opens the last component, path[0, to), which is not a link, with the requested flags; `checked`
 * is its earlier descriptor. */
static int chase_finish(struct chase *chase, const char *name, int checked, size_t to, int flags)
{
    int opened = checked;
    if ((flags & O_PATH) == 0) {
        close(checked);
        opened = open_step(chase->directory, name, flags);
        if (opened < 0)
            return opened;
    }
    int result = chase_check(chase, opened, to);
    if (result == 0)
        return opened;
    close(opened);
    return result;
}

/* One component. 0 if the walk continues; otherwise `*result` is a descriptor or an error. */
static int chase_step(struct chase *chase, int flags, int *result)
{
    char name[NAME_MAX + 1];
    struct stat status;
    size_t from = skip_slashes(chase->path, 0);
    size_t to = from + strcspn(chase->path + from, "/");
    if (to == from) { /* nothing or only slashes remain: the directory itself */
        *result = open_step(chase->directory, ".", flags);
        return 1;
    }
    *result = -ENAMETOOLONG;
    if (to - from > NAME_MAX)
        return 1;
    memcpy(name, chase->path + from, to - from);
    name[to - from] = '\0';
    int checked = openat(chase->directory, name, CHECK_FLAGS | O_NOFOLLOW);
    if (checked < 0 || fstat(checked, &status) != 0) {
        *result = -errno;
        if (checked >= 0)
            close(checked);
        return 1;
    }
    if (S_ISLNK(status.st_mode)) {
        *result = chase_follow(chase, checked, status.st_uid, to);
        close(checked);
        return *result != 0;
    }
    if (chase->path[to] == '\0') {
        *result = chase_finish(chase, name, checked, to, flags);
        return 1;
    }
    *result = chase_enter(chase, checked, to);
    return *result != 0;
}

static int open_by_owner(int root, const char *path, int flags)
{
    struct chase chase = {.length = strlen(path), .root = root, .directory = root};
    if (chase.length >= sizeof(chase.path))
        return -ENAMETOOLONG;
    memcpy(chase.path, path, chase.length + 1);
    int result;
    while (chase_step(&chase, flags, &result) == 0)
        continue;
    chase_leave(&chase);
    return result;
}

/* Without openat2, a path that leaves the directory without a link is detected in the text. */
static bool climbs(const char *path)
{
    for (const char *name = path; *name != '\0'; name += strspn(name, "/")) {
        size_t length = strcspn(name, "/");
        if (length == 0 || (length == 2 && memcmp(name, "..", 2) == 0))
            return true;
        name += length;
    }
    return false;
}

static int open_anywhere(int root, const char *path, int flags)
{
    int descriptor;
    do
        descriptor = openat(root, path[0] == '\0' ? "." : path, flags);
    while (descriptor < 0 && errno == EINTR);
    return descriptor < 0 ? -errno : descriptor;
}

static int open_confined(int root, const char *path, int flags, bool no_links, bool walk)
{
    for (int i = 0; i < BENEATH_TRIES && !walk; i++) {
        int result = open_in_kernel(root, path[0] == '\0' ? "." : path, flags, no_links);
        if (result != -EAGAIN)
            return result;
    }
    return open_by_walk(root, path, flags, no_links);
}

int uvh_beneath_open(int root, const char *path, int flags, enum uvh_file_links links, bool walk)
{
    int result;
    switch (links) {
    case UVH_FILE_LINKS_ANYWHERE:
        return climbs(path) ? -EXDEV : open_anywhere(root, path, flags);
    case UVH_FILE_LINKS_OWNER:
        if (climbs(path))
            return -EXDEV;
        /* Most paths have no link; one call finds that out. */
        result = open_confined(root, path, flags, true, walk);
        return result == -ELOOP ? open_by_owner(root, path, flags) : result;
    case UVH_FILE_LINKS_NONE:
        return open_confined(root, path, flags, true, walk);
    case UVH_FILE_LINKS_INSIDE:
        break;
    }
    return open_confined(root, path, flags, false, walk);
}

bool uvh_beneath_in_kernel(int root)
{
    int probe = open_in_kernel(root, ".", CHECK_FLAGS, false);
    if (probe >= 0)
        close(probe);
    /* Some sandboxes fail unknown system calls with EPERM. */
    return probe != -ENOSYS && probe != -EPERM;
}
