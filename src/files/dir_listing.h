/* What is in a folder, as a page of HTML, as JSON or as lines of text, made a slice at a time.
 *
 * Always true: UTF-8 whatever bytes the names hold; each link leads to exactly the entry it stands
 * for; entries that could not be served (links out of the root or to nowhere, hidden names unless
 * wanted) are not shown. Everything here reads the disk or takes long for a large folder, so it
 * belongs in a heavy job. Called by static_listing.c. */
#ifndef UVH_FILES_DIR_LISTING_H
#define UVH_FILES_DIR_LISTING_H

#include "base/bytes.h"
#include "files/dir_entries.h"
#include "files/dir_readme.h"

enum {
    UVH_DIR_LISTING_SLICE = 64 * 1024, /* bytes, about: a slice ends with the row that reaches it */
    UVH_DIR_LISTING_SLICE_MAX =
        /* bytes a slice can have at most, by a title and a README of entities only */
    8 * 1024 * 1024,
};

enum uvh_dir_format {
    UVH_DIR_HTML = 0,
    UVH_DIR_JSON,
    UVH_DIR_TEXT,
};

struct uvh_dir_listing_order {
    struct uvh_dir_query query;
    const char *
        /* the path as the client asked for it, decoded: "/photos/2024/". Its last parts are those
         * of query.folder */
        title;
    enum uvh_dir_format format;
    bool format_given; /* in the URL, so links that stay among listings keep it */
    bool archive;      /* offer the folder as an archive */
};

/* A listing in the making. */
struct uvh_dir_listing {
    struct uvh_dir_listing_order order; /* what it points to has to outlive the listing */
    struct uvh_dir_entries entries;
    struct uvh_dir_readme readme;
    size_t next; /* entry */
    bool begun;
};

/* Reads the folder. 0, UVHTTP_ENOMEM, or errno's (negative); then nothing is left to release. Must
 * not be moved. */
int uvh_dir_listing_open(struct uvh_dir_listing *listing, const uvhttp_allocator_t *allocator,
                         const struct uvh_dir_listing_order *order);
void uvh_dir_listing_close(struct uvh_dir_listing *listing);

/* Appends the next slice. 0, 1 with the last one, or UVHTTP_ENOMEM. */
int uvh_dir_listing_make(struct uvh_dir_listing *listing, struct uvh_bytes *slice);

#endif
