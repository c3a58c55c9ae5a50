/* Version numbers of paths below a root: an upload raises those of all paths whose answer it may
 * change, and a cached entry that was made at another version is looked at again. One set serves
 * all workers.
 *
 * A path and what is derived from it share a number: "about", "about/", "about.html",
 * "about.html.gz". So do paths whose hashes meet, which costs one look too many. Called by
 * static_files.c, static_fetch.c and static_publish.c. */
#ifndef UVH_FILES_PATH_VERSIONS_H
#define UVH_FILES_PATH_VERSIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uvhttp/types.h>

enum { UVH_PATH_VERSIONS = 1024 };

struct uvh_watched_folder;

/* What the answer to a path follows from, as it was before the disk was looked at. */
struct uvh_path_state {
    struct uvh_watched_folder *folder; /* NULL: not watched */
    uint64_t folder_changes;           /* that folder's count */
    uint64_t version;                  /* of the path, */
    unsigned version_index;            /* and which one that is */
};

struct uvh_path_versions {
    /* The file of a path may have any name (try_files), so all paths have one number. */
    bool shared;
    _Atomic uint64_t *changed; /* goes up after each change of some version */
    _Atomic uint64_t numbers[UVH_PATH_VERSIONS];
};

/* `versions` is zeroed, `changed` outlives it. */
void uvh_path_versions_init(struct uvh_path_versions *versions, bool shared,
                            _Atomic uint64_t *changed);

/* Which number is that of a path: of a request, below the root, as static_path.h normalizes it. Any
 * thread. */
unsigned uvh_path_versions_index(const struct uvh_path_versions *versions, uvhttp_slice_t path);

/* Any thread. Read it before looking at the disk, and `changed` before it. */
static inline uint64_t uvh_path_versions_read(const struct uvh_path_versions *versions,
                                              unsigned index)
{
    return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&versions->numbers[index],
                                memory_order_acquire);
}

/* There is another file at `path`: raises the version of all that is derived from it, and of its
 * folder, whose index it may be. Any thread, after the change on the disk. */
void uvh_path_versions_raise(struct uvh_path_versions *versions, uvhttp_slice_t path);

/* A folder was made, perhaps with some above it. */
void uvh_path_versions_raise_folders(struct uvh_path_versions *versions, uvhttp_slice_t folder);

#endif
