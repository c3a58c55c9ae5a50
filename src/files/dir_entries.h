/* What is in a folder, in order: the names that may be served, with what a listing says of them.
 *
 * Of a folder with more entries than are wanted the first of that order are taken, chosen while it
 * is read: memory is that of the entries that are kept. By name only these are looked at (and
 * links, which may lead to folders); by size or date every one has to be.
 *
 * Always true: only files and folders below the root, links resolved; at most as many as were asked
 * for; folders come before files, and the order is the same each time. Reads the disk, so it
 * belongs in a job. Called by dir_listing.c and dir_walk.c. */
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
    const char *folder; /* below the root; "" is the root itself; else ends with '/' */
    bool hidden;        /* names that begin with a dot, too */
    size_t most;        /* entries; of a folder with more, the first so many in the order below */
    size_t
        /* entries to choose from, at least `most`: of a folder with more, those that the system
         * names first. 0: end at the first that is too many */
        read;
    enum uvh_dir_sort sort;
    bool descending; /* folders still come first, and what is equal is in the order of names */
};

struct uvh_dir_entry {
    const char *name;
    uint64_t size; /* of a file, in bytes */
    int64_t modified;
    uint32_t room; /* bytes of `name`, for another one in its place */
    bool folder;
    bool looked; /* false while nothing is known but name and kind */
};

struct uvh_dir_entries {
    struct uvh_dir_entry *items;
    size_t count;
    size_t capacity;
    size_t folders;
    uint64_t bytes; /* of all files */
    bool cut;       /* there are more */
    /* not 0: those that are left out are not all known; it was chosen from so many */
    size_t chosen_from;
    struct uvh_arena_pool pool;
    struct uvh_arena names;
};

/* Reads and sorts. 0, UVHTTP_ENOMEM, or errno's (negative). To be released, whatever the result;
 * must not be moved. Any thread. */
int uvh_dir_entries_read(struct uvh_dir_entries *entries, const uvhttp_allocator_t *allocator,
                         const struct uvh_dir_query *query);
void uvh_dir_entries_release(struct uvh_dir_entries *entries);

#endif
