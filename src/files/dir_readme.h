/* The README of a directory, for its listing: the beginning of README.md, README.txt or README, if
 * it is text.
 *
 * Invariants of a README found: at most UVH_DIR_README_MAX bytes, UTF-8, without NUL, from a
 * regular file below the root that may be served. Reads the disk. */
#ifndef UVH_FILES_DIR_README_H
#define UVH_FILES_DIR_README_H

#include "base/bytes.h"
#include "platform/file.h"

enum { UVH_DIR_README_MAX = 64 * 1024 };

struct uvh_dir_readme {
    const char *name; /* NULL: there is none */
    struct uvh_bytes text;
    bool markdown;
    bool cut; /* the file is longer */
};

/* Returns 0 (also without a README) or UVHTTP_ENOMEM. The caller releases it whatever the result.
 * `directory` and `hide` as in uvh_dir_query. */
int uvh_dir_readme_read(struct uvh_dir_readme *readme, const uvhttp_allocator_t *allocator,
                        const struct uvh_file_root *root, const char *directory,
                        const char *const *hide);
void uvh_dir_readme_release(struct uvh_dir_readme *readme);

#endif
