/* Version numbers of paths below a root. An upload, or the program with uvhttp_static_invalidate,
 * increments those of all paths whose response may have changed; a cached entry made at another
 * version is revalidated. All workers share one set.
 *
 * A path and those derived from it share a number: "about", "about/", "about.html",
 * "about.html.gz". So do paths whose hashes collide, which costs one extra check. */
#ifndef UVH_FILES_PATH_VERSIONS_H
#define UVH_FILES_PATH_VERSIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uvhttp/types.h>

enum { UVH_PATH_VERSIONS = 1024 };

struct uvh_watched_dir;

/* The state a response depends on, read before the disk is accessed. */
struct uvh_path_state {
    struct uvh_watched_dir *directory; /* NULL: not watched */
    uint64_t dir_changes;              /* that directory's count */
    uint64_t version;                  /* of the path, */
    unsigned version_index;            /* and its index */
};

struct uvh_path_versions {
    /* The file of a path may have any name (try_files), so all paths share one number. */
    bool shared;
    _Atomic uint64_t *changed; /* incremented after each change of a version */
    _Atomic uint64_t numbers[UVH_PATH_VERSIONS];
};

/* `versions` is zeroed, `changed` outlives it. */
void uvh_path_versions_init(struct uvh_path_versions *versions, bool shared,
                            _Atomic uint64_t *changed);

/* The index of a path: of a request, below the root, normalized as in static_path.h. Any thread. */
unsigned uvh_path_versions_index(const struct uvh_path_versions *versions, uvhttp_slice_t path);

/* Any thread. Read it before accessing the disk, and `changed` before it. */
static inline uint64_t uvh_path_versions_read(const struct uvh_path_versions *versions,
                                              unsigned index)
{
    return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&versions->numbers[index],
                                memory_order_acquire);
}

/* The file at `path` was replaced: increments the version of all paths derived from it, and of its
 * directory, whose index it may be. Any thread, after the change on the disk. */
void uvh_path_versions_raise(struct uvh_path_versions *versions, uvhttp_slice_t path);

/* Any path may have changed. */
void uvh_path_versions_raise_all(struct uvh_path_versions *versions);

/* A directory was created, perhaps with some of its parents. */
void uvh_path_versions_raise_directories(struct uvh_path_versions *versions,
                                         uvhttp_slice_t directory);

#endif
