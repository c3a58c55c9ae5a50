/* The page that shows what is in a folder: HTML 5, no script, light or dark as the reader prefers.
 *
 * Always true of the page: UTF-8 whatever bytes the names hold; each link leads to exactly the entry it stands for; entries that
 * could not be served (links out of the root or to nowhere, hidden names unless wanted) are not shown. Called by static_load.c. */
#ifndef UVH_MODULES_DIR_LISTING_H
#define UVH_MODULES_DIR_LISTING_H

#include <stdbool.h>

#include "base/bytes.h"
#include "platform/file.h"

enum {
    UVH_DIR_LISTING_MAX_ENTRIES =
        10000, /* of a folder with more, the first so many that the system names; a line says so */
    UVH_DIR_LISTING_MAX_SIZE =
        64 * 1024 * 1024, /* bytes of a page; that many of the longest names stay below */
};

struct uvh_dir_listing_order {
    const struct uvh_file_root *root;
    const char *
        folder; /* below the root; "" is the root itself, which gets no link to its parent; else ends with '/' */
    const char *title; /* the folder as the reader knows it, decoded: "/photos/2024/" */
    bool hidden;       /* show names that begin with a dot */
};

/* Appends the page. 0, UVHTTP_ENOMEM, or errno's (negative). Any thread. */
int uvh_dir_listing_write(const struct uvh_dir_listing_order *order, struct uvh_bytes *page);

#endif
