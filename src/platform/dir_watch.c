/* One inotify descriptor, a thread that reads it, and a table of directories under a lock. inotify
 * identifies a directory by a watch descriptor; two paths to the same directory get the same one. A
 * directory that is moved, replaced or removed is dropped together with all below it: another
 * directory may have its path, which is watched at the next lookup. */
#include "platform/dir_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "platform/lock.h"
#include "platform/thread.h"

enum {
    NOT_WATCHED = -1,
    ROOT_CHECK_MS = 100,
    EVENTS_SIZE = 16 * 1024,
    /* the name refers to another file now */
    PLACE_CHANGES = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO,
    SELF_CHANGES = IN_DELETE_SELF | IN_MOVE_SELF,
    WANTED = PLACE_CHANGES | SELF_CHANGES | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_ONLYDIR,
};

struct uvh_watched_dir {
    _Atomic uint64_t changes;
    struct uvh_hash_link by_path;
    struct uvh_hash_link by_number; /* while watched */
    int number;                     /* inotify's watch descriptor, or NOT_WATCHED */
    size_t length;
    char path[]; /* without a slash at either end; NUL-terminated */
};

struct uvh_dir_watch {
    const uvhttp_allocator_t *allocator;
    const struct uvh_file_root *root;
    _Atomic uint64_t *changed;
    size_t most;
    int events; /* inotify descriptor */
    int wake;   /* readable: the thread must end */
    /* POLLPRI after a mount or unmount; -1: there is no /proc */
    int mounts;
    uint64_t moves; /* of the root, at the last reset */
    pthread_t thread;
    atomic_size_t watched;

    struct uvh_lock lock; /* protects the following members */
    struct uvh_hash_table by_path;
    struct uvh_hash_table by_number; /* the hash is the number */
};

/* ---- the table; with the lock held ---- */

static struct uvh_watched_dir *find(struct uvh_dir_watch *watch, uvhttp_slice_t path)
{
    struct uvh_hash_link *link =
        uvh_hash_table_find(&watch->by_path, uvh_hash(path.base, path.length, 0));
    for (; link != NULL; link = uvh_hash_table_next(link)) {
        struct uvh_watched_dir *directory = UVH_CONTAINER_OF(link, struct uvh_watched_dir, by_path);
        if (directory->length == path.length &&
            memcmp(directory->path, path.base, path.length) == 0)
            return directory;
    }
    return NULL;
}

static struct uvh_watched_dir *new_dir(struct uvh_dir_watch *watch, uvhttp_slice_t path)
{
    if (watch->by_path.count >= watch->most)
        return NULL;
    struct uvh_watched_dir *directory =
        uvh_alloc_zero(watch->allocator, sizeof(*directory) + path.length + 1);
    if (directory == NULL)
        return NULL;
    directory->number = NOT_WATCHED;
    directory->length = path.length;
    if (path.length > 0)
        memcpy(directory->path, path.base, path.length);
    uvh_hash_table_add(&watch->by_path, &directory->by_path, uvh_hash(path.base, path.length, 0));
    return directory;
}

static void tell(struct uvh_watched_dir *directory)
{
    atomic_fetch_add_explicit(&directory->changes, 1, memory_order_release);
}

/* Stops watching; events still queued for it are ignored. */
static void drop(struct uvh_dir_watch *watch, struct uvh_watched_dir *directory)
{
    if (directory->number == NOT_WATCHED)
        return;
    int number = directory->number;
    uvh_hash_table_remove(&watch->by_number, &directory->by_number);
    directory->number = NOT_WATCHED;
    atomic_fetch_sub_explicit(&watch->watched, 1, memory_order_relaxed);
    /* unless it is also reached by another path */
    if (uvh_hash_table_find(&watch->by_number, (unsigned)number) == NULL)
        inotify_rm_watch(watch->events, number);
}

static bool lies_in(const struct uvh_watched_dir *directory, const struct uvh_watched_dir *top)
{
    if (directory->length < top->length || memcmp(directory->path, top->path, top->length) != 0)
        return false;
    return top->length == 0 || directory->length == top->length ||
           directory->path[top->length] == '/';
}

/* A directory and all below it have changed, or all when `top` is NULL; `moved`: their paths refer
 * to other files now. */
static void tell_below(struct uvh_dir_watch *watch, const struct uvh_watched_dir *top, bool moved)
{
    struct uvh_hash_link *link = NULL;
    while ((link = uvh_hash_table_walk(&watch->by_path, link)) != NULL) {
        struct uvh_watched_dir *directory = UVH_CONTAINER_OF(link, struct uvh_watched_dir, by_path);
        if (top != NULL && !lies_in(directory, top))
            continue;
        tell(directory);
        if (moved)
            drop(watch, directory);
    }
}

/* ---- events ---- */

/* Something that is or was a directory, perhaps a watched one, or a link to one. */
static void tell_child(struct uvh_dir_watch *watch, const struct uvh_watched_dir *directory,
                       const char *name, bool moved)
{
    char path[PATH_MAX];
    size_t length = strlen(name);
    size_t slash = directory->length > 0 ? 1 : 0;
    if (directory->length + slash + length >= sizeof(path))
        return;
    memcpy(path, directory->path, directory->length);
    memcpy(path + directory->length, "/", slash);
    memcpy(path + directory->length + slash, name, length);
    const struct uvh_watched_dir *child =
        find(watch, (uvhttp_slice_t){path, directory->length + slash + length});
    if (child != NULL)
        tell_below(watch, child, moved);
}

static void handle_for(struct uvh_dir_watch *watch, struct uvh_watched_dir *directory,
                       const struct inotify_event *event)
{
    if ((event->mask & (SELF_CHANGES | IN_IGNORED | IN_UNMOUNT)) != 0) {
        tell_below(watch, directory, true);
        return;
    }
    tell(directory);
    if (event->len > 0 && (event->mask & PLACE_CHANGES) != 0)
        tell_child(watch, directory, event->name, true);
    else if ((event->mask & IN_ATTRIB) != 0 && event->len == 0)
        tell_below(watch, directory, false);
}

static void handle(struct uvh_dir_watch *watch, const struct inotify_event *event)
{
    if ((event->mask & IN_Q_OVERFLOW) != 0) { /* events were lost */
        tell_below(watch, NULL, true);
        return;
    }
    struct uvh_hash_link *link = uvh_hash_table_find(&watch->by_number, (unsigned)event->wd);
    while (link != NULL) {
        struct uvh_watched_dir *directory =
            UVH_CONTAINER_OF(link, struct uvh_watched_dir, by_number);
        handle_for(watch, directory, event);
        /* Handling may have dropped directories and changed the chain; those already notified are
         * not notified again. */
        link = directory->number == NOT_WATCHED
                   ? uvh_hash_table_find(&watch->by_number, (unsigned)event->wd)
                   : uvh_hash_table_next(link);
    }
}

static void read_events(struct uvh_dir_watch *watch)
{
    _Alignas(struct inotify_event) char events[EVENTS_SIZE];
    ssize_t size = read(watch->events, events, sizeof(events));
    if (size <= 0)
        return;
    uvh_lock_acquire(&watch->lock);
    for (const char *at = events; at < events + size;) {
        const struct inotify_event *event = (const void *)at;
        handle(watch, event);
        at += sizeof(*event) + event->len;
    }
    uvh_lock_release(&watch->lock);
    atomic_fetch_add_explicit(watch->changed, 1, memory_order_release);
}

/* Other directories may be at all paths. */
static void reset(struct uvh_dir_watch *watch)
{
    uvh_lock_acquire(&watch->lock);
    tell_below(watch, NULL, true);
    uvh_lock_release(&watch->lock);
    atomic_fetch_add_explicit(watch->changed, 1, memory_order_release);
}

static void *run(void *arg)
{
    struct uvh_dir_watch *watch = arg;
    struct pollfd descriptors[] = {
        {.fd = watch->events, .events = POLLIN},
        {.fd = watch->wake, .events = POLLIN},
        {.fd = watch->mounts, .events = POLLPRI}, /* poll ignores negative descriptors */
    };
    for (;;) {
        if (poll(descriptors, UVH_COUNT_OF(descriptors), ROOT_CHECK_MS) < 0)
            continue;
        if (descriptors[1].revents != 0)
            return NULL;
        if (descriptors[0].revents != 0)
            read_events(watch);
        uvh_file_root_follow(watch->root);
        uint64_t moves = uvh_file_root_moves(watch->root);
        /* inotify does not report a mount to watches of directories below it. */
        if (moves != watch->moves || (descriptors[2].revents & POLLPRI) != 0)
            reset(watch);
        /* poll fails for this descriptor; keeping it would busy-loop */
        else if (descriptors[2].revents != 0)
            descriptors[2].fd = -1;
        watch->moves = moves;
    }
}

/* ---- adding ---- */

/* Adds an inotify watch for a directory of the table or a new one. Returns 0 or a negative
 * errno. */
static int begin(struct uvh_dir_watch *watch, uvhttp_slice_t path,
                 struct uvh_watched_dir **directory)
{
    char name[PATH_MAX];
    char link[32];
    int descriptor;
    if (path.length >= sizeof(name))
        return -ENAMETOOLONG;
    if (path.length > 0)
        memcpy(name, path.base, path.length);
    name[path.length] = '\0';
    int err = uvh_file_open_directory(watch->root, name, false, &descriptor);
    if (err != 0)
        return err;
    /* By descriptor, so that it is the directory found beneath the root, even if the path has
     * changed. */
    snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
    if (*directory == NULL)
        *directory = new_dir(watch, path);
    int number = *directory == NULL ? -1 : inotify_add_watch(watch->events, link, WANTED);
    err = *directory == NULL ? -ENOSPC : number < 0 ? -errno : 0;
    uvh_file_close(descriptor);
    if (err != 0)
        return err == -ENOENT ? -ENOSYS : err; /* there is no /proc */
    (*directory)->number = number;
    uvh_hash_table_add(&watch->by_number, &(*directory)->by_number, (unsigned)number);
    atomic_fetch_add_explicit(&watch->watched, 1, memory_order_relaxed);
    return 0;
}

static struct uvh_watched_dir *add(struct uvh_dir_watch *watch, uvhttp_slice_t path)
{
    struct uvh_watched_dir *nearest = NULL;
    size_t end = 0;
    for (;;) {
        uvhttp_slice_t above = {path.base, end};
        struct uvh_watched_dir *directory = find(watch, above);
        if (directory == NULL || directory->number == NOT_WATCHED) {
            int err = begin(watch, above, &directory);
            /* While there is no root, its entry is not watched, and a reset counts as a change. */
            if ((err == -ENOENT || err == -ENOTDIR) && end == 0 && directory == NULL)
                directory = new_dir(watch, above);
            if (err == -ENOENT || err == -ENOTDIR)
                return end == 0 ? directory : nearest; /* the one in which it would appear */
            if (err != 0)
                return NULL;
        }
        nearest = directory;
        size_t start = end == 0 ? 0 : end + 1;
        const char *slash =
            start < path.length ? memchr(path.base + start, '/', path.length - start) : NULL;
        if (slash == NULL)
            return nearest;
        end = (size_t)(slash - path.base);
    }
}

struct uvh_watched_dir *uvh_dir_watch_add(struct uvh_dir_watch *watch, uvhttp_slice_t path)
{
    uvh_lock_acquire(&watch->lock);
    struct uvh_watched_dir *directory = add(watch, path);
    uvh_lock_release(&watch->lock);
    return directory;
}

uint64_t uvh_dir_watch_changes(const struct uvh_watched_dir *directory)
{
    return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&directory->changes,
                                memory_order_acquire);
}

size_t uvh_dir_watch_count(const struct uvh_dir_watch *watch)
{
    return atomic_load_explicit((atomic_size_t *)(uintptr_t)&watch->watched, memory_order_relaxed);
}

/* ---- open and close ---- */

static void release(struct uvh_dir_watch *watch)
{
    struct uvh_hash_link *link = uvh_hash_table_walk(&watch->by_path, NULL);
    while (link != NULL) {
        struct uvh_watched_dir *directory = UVH_CONTAINER_OF(link, struct uvh_watched_dir, by_path);
        link = uvh_hash_table_walk(&watch->by_path, link);
        uvh_free(watch->allocator, directory);
    }
    uvh_hash_table_release(&watch->by_path);
    uvh_hash_table_release(&watch->by_number);
    uvh_file_close(watch->events);
    uvh_file_close(watch->wake);
    uvh_file_close(watch->mounts);
    uvh_lock_destroy(&watch->lock);
    uvh_free(watch->allocator, watch);
}

int uvh_dir_watch_open(struct uvh_dir_watch **watch, const uvhttp_allocator_t *allocator,
                       const struct uvh_file_root *root, size_t most, _Atomic uint64_t *changed)
{
    *watch = NULL;
    struct uvh_dir_watch *made = uvh_alloc_zero(allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    made->allocator = allocator;
    made->root = root;
    made->moves = uvh_file_root_moves(root);
    made->changed = changed;
    made->most = most;
    uvh_lock_init(&made->lock);
    uvh_hash_table_init(&made->by_path, allocator);
    uvh_hash_table_init(&made->by_number, allocator);
    made->wake = -1;
    made->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    made->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int err = made->events < 0 ? -errno : 0;
    if (err == 0) {
        made->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        err = made->wake < 0 ? -errno : uvh_thread_start(&made->thread, run, made);
    }
    if (err != 0) {
        release(made);
        return err;
    }
    *watch = made;
    return 0;
}

void uvh_dir_watch_close(struct uvh_dir_watch *watch)
{
    const uint64_t one = 1;
    if (watch == NULL)
        return;
    while (write(watch->wake, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
    pthread_join(watch->thread, NULL);
    release(watch);
}
