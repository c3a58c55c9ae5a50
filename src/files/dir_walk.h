/* Everything below a folder that may be served, one member after another, each folder before what
 * is in it.
 *
 * Always true: only files and folders below the root, links resolved; a link to a folder that is
 * being walked already leads nowhere, so a walk ends; what cannot be read is left out, as it could
 * not be served; at most as many members as were allowed. Reads the disk, a folder at a time.
 * Called by tar_stream.c. */
#ifndef UVH_FILES_DIR_WALK_H
#define UVH_FILES_DIR_WALK_H

#include <limits.h>

#include "files/dir_entries.h"

struct uvh_dir_walk_level;

struct uvh_dir_walk {
    const uvhttp_allocator_t *allocator;
    const struct uvh_file_root *root;
    struct uvh_dir_walk_level *level; /* the folder whose members come next; NULL at the end */
    size_t left;                      /* members that may still come */
    /* bytes of `path` that are the folder's the walk began with */
    size_t prefix;
    bool hidden;
    bool enter; /* the last member was a folder: it is read next */
    /* of the last member, below the root; of a folder with a slash at its end */
    char path[PATH_MAX];
};

struct uvh_dir_walk_member {
    const char *path; /* below the root; until the next call */
    const char *name; /* the same below the folder the walk began with */
    uint64_t size;
    int64_t modified;
    bool folder;
};

/* `folder` as in uvh_dir_query. 0, UVHTTP_ETOOLARGE (it has more than `most` members),
 * UVHTTP_ENOMEM, or errno's (negative). To be released, whatever the result. */
int uvh_dir_walk_begin(struct uvh_dir_walk *walk, const uvhttp_allocator_t *allocator,
                       const struct uvh_file_root *root, const char *folder, bool hidden,
                       size_t most);

/* 1 and the next member; 0 at the end; UVHTTP_ETOOLARGE, UVHTTP_ENOMEM, or errno's when the system
 * is short of something. */
int uvh_dir_walk_next(struct uvh_dir_walk *walk, struct uvh_dir_walk_member *member);
void uvh_dir_walk_release(struct uvh_dir_walk *walk);

#endif
