/* The path of a page as links to the directories above it, for listings and error pages.
 *
 * Invariants: the links are relative, so they work below any prefix and behind any proxy. */
#ifndef UVH_FILES_DIR_PATH_H
#define UVH_FILES_DIR_PATH_H

#include "base/bytes.h"

struct uvh_dir_path {
    /* As the client requested it, decoded: "/photos/2024/". It may contain repeated slashes. */
    const char *title;
    /* Names at its end below the served directory. The mount prefix precedes them. */
    size_t parts;
    const char *query; /* that links to directories keep, escaped: "?sort=size", or "" */
};

size_t uvh_dir_path_count_slashes(const char *text);

/* The last name of the path, or "" for "/". Not NUL-terminated. */
const char *uvh_dir_path_name(const struct uvh_dir_path *path, size_t *length);

/* "2024 – /photos/2024/", escaped: the name first, because a tab shows only the beginning. */
void uvh_dir_path_append_title(const struct uvh_dir_path *path, struct uvh_bytes *page);

/* The name of the directory, as a heading shows it. */
void uvh_dir_path_append_name(const struct uvh_dir_path *path, struct uvh_bytes *page);

/* The path with a link for each part but the last. */
void uvh_dir_path_append_links(const struct uvh_dir_path *path, struct uvh_bytes *page);

/* `<a href="`, a relative URL that goes up by that many slashes, and the query. The caller appends
 * further attributes after `"`. Sorted and filtered pages are not for search engines. */
void uvh_dir_path_append_up(const struct uvh_dir_path *path, size_t slashes,
                            struct uvh_bytes *page);

/* The number of slashes in the part of the path below the served directory. */
size_t uvh_dir_path_below(const struct uvh_dir_path *path);

/* The number of slashes to go up to the parent directory. */
size_t uvh_dir_path_parent(const struct uvh_dir_path *path);

#endif
