/* The part of serving a file that touches the disk: from the path of a request to an entry, a
 * redirect, a listing or an error.
 *
 * static_fetch.c fills in an order, has it carried out by a job, and reads the result on the
 * loop. An order is touched by one thread at a time and refers to nothing that changes meanwhile.
 * What it finds to be a folder without an index is listed by another job, since that takes long. */
#ifndef UVH_FILES_STATIC_LOAD_H
#define UVH_FILES_STATIC_LOAD_H

#include "files/file_entry.h"
#include "files/static_listing.h"
#include "files/static_resolve.h"
#include "files/static_settings.h"

enum uvh_static_outcome {
    UVH_STATIC_FAILED = 0, /* `error` says why */
    UVH_STATIC_ENTRY,      /* `entry`, with one reference for the caller */
    UVH_STATIC_UNCHANGED,  /* the file is as `known_*` say */
    UVH_STATIC_REDIRECT,   /* it has another URL: `redirect` */
    UVH_STATIC_FOLDER,     /* a folder to be listed: uvh_static_load_listing is the next step */
    UVH_STATIC_LISTING,    /* `listing`, which is the caller's */
    UVH_STATIC_PAGE,       /* the file that the settings have for it: `page_index` */
    UVH_STATIC_FALLBACK,   /* the same, for who accepts HTML; for others `error` */
    UVH_STATIC_STATUS      /* `status`, because the list ends with it */
};

struct uvh_static_load {
    const struct uvh_static_settings *settings;
    uvhttp_slice_t
        /* NUL-terminated; below the root, no slash at its beginning; "" or one at its end means a
         * folder */
        path;
    uvhttp_slice_t key;                  /* of the entry in the cache */
    bool exact;                          /* that file and no other: nothing is tried */
    const char *title;                   /* of a listing */
    struct uvh_static_listing_wish wish; /* which listing, if it comes to one */

    bool known; /* an entry is in the cache, and this is what it was made from */
    bool known_settled;
    struct uvh_file_facts known_facts;
    const char *known_type;
    uint64_t known_siblings;
    const char *known_path; /* NULL without rules */

    enum uvh_static_outcome outcome;
    int error; /* UVHTTP_ENOTREG, UVHTTP_ENOMEM, or errno's (negative) */
    struct uvh_file_entry *entry;
    struct uvh_static_listing *listing;
    bool by_request; /* the outcome follows from the whole request, not from its path alone */
    enum uvh_static_redirect redirect;
    int page_index;
    int status;
};

/* In the quick lane. */
void uvh_static_load_run(struct uvh_static_load *load);

/* In the heavy lane, after the outcome UVH_STATIC_FOLDER, for one request. */
void uvh_static_load_listing(struct uvh_static_load *load);

#endif
