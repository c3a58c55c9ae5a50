/* Lists a directory as an HTML page, as JSON or as lines of text, one slice at a time.
 *
 * Invariants: UTF-8 whatever bytes the names contain. Each link leads to exactly its entry. Entries
 * that could not be served are omitted: links that leave the root or are broken, and hidden names
 * unless allowed. All functions read the disk or take long for a large directory, so they belong in
 * a heavy job. */
#ifndef UVH_FILES_DIR_LISTING_H
#define UVH_FILES_DIR_LISTING_H

#include "base/bytes.h"
#include "files/dir_entries.h"
#include "files/dir_readme.h"

enum {
    UVH_DIR_LISTING_SLICE = 64 * 1024, /* bytes; a slice ends after the row reaching it */
    /* Maximum bytes of a slice, reached only by a title and a README full of entities. */
    UVH_DIR_LISTING_SLICE_MAX = 8 * 1024 * 1024,
};

enum uvh_dir_format {
    UVH_DIR_HTML = 0,
    UVH_DIR_JSON,
    UVH_DIR_TEXT,
};

struct uvh_dir_listing_options {
    struct uvh_dir_query query;
    /* The path as the client requested it, decoded: "/photos/2024/". Its last parts are those of
     * query.directory. */
    const char *title;
    enum uvh_dir_format format;
    bool format_given; /* in the URL, so links between listings keep it */
    const char *nonce; /* of the page's script; NULL: it has none */
    bool uploads;      /* have a form for uploads */
    bool archive;      /* offer the directory as an archive */
};

/* A listing in progress. */
struct uvh_dir_listing {
    struct uvh_dir_listing_options order; /* its pointers must outlive the listing */
    struct uvh_dir_entries entries;
    struct uvh_dir_readme readme;
    size_t next; /* index of the next entry */
    bool begun;
};

/* Reads the directory. Returns 0, UVHTTP_ENOMEM, or a negative errno; on error nothing is left to
 * release. Must not be moved. */
int uvh_dir_listing_open(struct uvh_dir_listing *listing, const uvhttp_allocator_t *allocator,
                         const struct uvh_dir_listing_options *order);
void uvh_dir_listing_close(struct uvh_dir_listing *listing);

/* Appends the next slice. Returns 0, 1 with the last one, or UVHTTP_ENOMEM. */
int uvh_dir_listing_make(struct uvh_dir_listing *listing, struct uvh_bytes *slice);

#endif
