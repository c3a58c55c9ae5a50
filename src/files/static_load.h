/* The part of serving a file that accesses the disk: from the path of a request to an entry, a
 * redirect, a listing or an error.
 *
 * static_fetch.c fills in a struct uvh_static_load, a job runs it, and the loop reads the result.
 * One thread at a time uses it, and it refers to nothing that changes meanwhile. A second job lists
 * a directory without an index, since that takes long. */
#ifndef UVH_FILES_STATIC_LOAD_H
#define UVH_FILES_STATIC_LOAD_H

#include "files/file_entry.h"
#include "files/static_listing.h"
#include "files/static_resolve.h"
#include "files/static_settings.h"

enum uvh_static_outcome {
    UVH_STATIC_FAILED = 0, /* see `error` */
    UVH_STATIC_ENTRY,      /* `entry`, with one reference for the caller */
    UVH_STATIC_UNCHANGED,  /* the file is as in `known_*` */
    UVH_STATIC_REDIRECT,   /* to another URL: `redirect` */
    UVH_STATIC_DIRECTORY,  /* a directory to list: call uvh_static_load_listing next */
    UVH_STATIC_LISTING,    /* `listing`, owned by the caller */
    UVH_STATIC_PAGE,       /* a page of the settings: `page_index` */
    UVH_STATIC_FALLBACK,   /* the same, for clients that accept HTML; else `error` */
    UVH_STATIC_STATUS      /* `status`, the last item of the list */
};

struct uvh_static_load {
    const struct uvh_static_settings *settings;
    /* NUL-terminated; below the root, no leading slash; "" or a trailing slash means a
     * directory. */
    uvhttp_slice_t path;
    uvhttp_slice_t key;                    /* of the entry in the cache */
    bool exact;                            /* only that file, without the list of alternatives */
    const char *title;                     /* of a listing */
    struct uvh_static_listing_query query; /* the requested format, in case of a listing */

    bool known; /* an entry is in the cache, made from the following */
    bool known_settled;
    struct uvh_file_facts known_facts;
    const char *known_type;
    uint64_t known_siblings;
    const char *known_path; /* NULL without rules */

    enum uvh_static_outcome outcome;
    int error; /* UVHTTP_ENOTREG, UVHTTP_ENOMEM, or a negative errno */
    struct uvh_file_entry *entry;
    struct uvh_static_listing *listing;
    bool by_request; /* the outcome depends on the whole request, not on its path alone */
    enum uvh_static_redirect redirect;
    int page_index;
    int status;
};

/* In the quick lane. */
void uvh_static_load_run(struct uvh_static_load *load);

/* In the heavy lane, after the outcome UVH_STATIC_DIRECTORY, for one request. */
void uvh_static_load_listing(struct uvh_static_load *load);

#endif
