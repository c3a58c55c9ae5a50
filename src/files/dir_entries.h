/* Reads a directory in order: the names that may be served, with the facts a listing shows.
 *
 * Of a directory with more entries than wanted, only the first ones in the order are kept while
 * reading, so memory is bounded by the entries kept. Sorted by name, only these and links (which
 * may lead to directories) need a stat; sorted by size or date, every entry does.
 *
 * Invariants: only files and directories below the root, links resolved; at most the requested
 * number. Directories come before files, and the order is deterministic. Reads the disk, so it
 * belongs in a job. */
#ifndef UVH_FILES_DIR_ENTRIES_H
#define UVH_FILES_DIR_ENTRIES_H

#include <stdbool.h>

#include "base/arena.h"
#include "platform/file.h"

enum uvh_dir_sort {
    UVH_DIR_SORT_NAME = 0,
    UVH_DIR_SORT_SIZE,
    UVH_DIR_SORT_DATE,
};

struct uvh_dir_query {
    const struct uvh_file_root *root;
    const char *directory;   /* below the root; "" is the root itself; else ends with '/' */
    bool hidden;             /* include names that begin with a dot */
    const char *const *hide; /* omit names whose path matches a pattern (static_path.h); or NULL */
    bool no_siblings;        /* omit "app.js.gz" next to the file "app.js" */
    const char *filter;      /* only names that contain it (name_order.h); NULL: all */
    /* Further names, of a directory with a slash at the end; NULL-terminated; NULL: none. */
    const char *const *listed;
    size_t most; /* entries; of a larger directory, the first ones in the order below */
    /* Entries to select from, at least `most`: of a larger directory, those the system returns
     * first. 0: end at the first entry above the limit. */
    size_t read;
    enum uvh_dir_sort sort;
    bool descending; /* directories still come first, and equal entries are sorted by name */
};

struct uvh_dir_entry {
    const char *name;
    uint64_t size; /* of a file, in bytes */
    int64_t modified;
    uint32_t capacity; /* capacity of `name` in bytes, for reuse by another entry */
    bool directory;
    bool checked; /* false while only name and kind are known */
    bool added;   /* one of the further names: size and date are unknown */
};

struct uvh_dir_entries {
    struct uvh_dir_entry *items;
    size_t count;
    size_t capacity;
    size_t directories;
    uint64_t bytes; /* of all files */
    bool cut;       /* there are more entries */
    /* Not 0: the selection is from this many entries only, the others were not read. */
    size_t chosen_from;
    struct uvh_arena_pool pool;
    struct uvh_arena names;
};

/* Reads and sorts. Returns 0, UVHTTP_ENOMEM, or a negative errno. The caller releases it whatever
 * the result, and must not move it. Any thread. */
int uvh_dir_entries_read(struct uvh_dir_entries *entries, const uvhttp_allocator_t *allocator,
                         const struct uvh_dir_query *query);
void uvh_dir_entries_release(struct uvh_dir_entries *entries);

#endif
