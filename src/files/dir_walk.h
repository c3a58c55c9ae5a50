/* Walks everything below a directory that may be served, one member after another, each directory
 * before its contents.
 *
 * Invariants: only files and directories below the root, links resolved. A link to a directory
 * being walked is skipped, so the walk ends. Unreadable members are skipped, as they could not be
 * served. At most the allowed number of members. Reads the disk, one directory at a time. */
#ifndef UVH_FILES_DIR_WALK_H
#define UVH_FILES_DIR_WALK_H

#include <limits.h>

#include "files/dir_entries.h"

struct uvh_dir_walk_level;

struct uvh_dir_walk {
    const uvhttp_allocator_t *allocator;
    const struct uvh_file_root *root;
    struct uvh_dir_walk_level *level; /* the directory whose members come next; NULL at the end */
    size_t left;                      /* members still allowed */
    /* Length in `path` of the directory where the walk began. */
    size_t prefix;
    bool hidden;
    const char *const *hide;
    bool enter; /* the last member was a directory: it is read next */
    /* Of the last member, below the root; with a trailing slash for a directory. */
    char path[PATH_MAX];
};

struct uvh_dir_walk_member {
    const char *path; /* below the root; valid until the next call */
    const char *name; /* the same, below the directory where the walk began */
    uint64_t size;
    int64_t modified;
    bool directory;
};

/* `directory`, `hidden` and `hide` as in uvh_dir_query. Returns 0, UVHTTP_ETOOLARGE (it has more
 * than `most` members), UVHTTP_ENOMEM, or a negative errno. The caller releases it whatever the
 * result. */
int uvh_dir_walk_begin(struct uvh_dir_walk *walk, const uvhttp_allocator_t *allocator,
                       const struct uvh_file_root *root, const char *directory, bool hidden,
                       const char *const *hide, size_t most);

/* Returns 1 and the next member; 0 at the end; UVHTTP_ETOOLARGE, UVHTTP_ENOMEM, or a negative errno
 * when the system is out of a resource. */
int uvh_dir_walk_next(struct uvh_dir_walk *walk, struct uvh_dir_walk_member *member);
void uvh_dir_walk_release(struct uvh_dir_walk *walk);

#endif
