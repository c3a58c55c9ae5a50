/* Which file, folder, page or redirect a path stands for: the list of static_map.h, tried on the
 * disk.
 *
 * Called by static_load.c in a job. Looks, and opens nothing. What it finds is not hidden unless
 * that is allowed, and inside, as every path is that platform/file.h is given. */
#ifndef UVH_FILES_STATIC_RESOLVE_H
#define UVH_FILES_STATIC_RESOLVE_H

#include <limits.h>

#include "files/static_settings.h"

enum uvh_static_found_kind {
    UVH_STATIC_FOUND_ERROR,    /* `error` says why not */
    UVH_STATIC_FOUND_FILE,     /* a regular file, at `path`, with `facts` */
    UVH_STATIC_FOUND_FOLDER,   /* one to be listed */
    UVH_STATIC_FOUND_REDIRECT, /* it has another URL: `redirect` */
    UVH_STATIC_FOUND_PAGE,     /* `page`, which is there */
    UVH_STATIC_FOUND_FALLBACK, /* `page`, for who accepts HTML; `error` for others */
    UVH_STATIC_FOUND_STATUS    /* `status` */
};

/* What becomes of the URL's path. */
enum uvh_static_redirect {
    UVH_STATIC_ONE_SLASH,  /* /docs//x         /docs/x */
    UVH_STATIC_ADD_SLASH,  /* /docs            /docs/ */
    UVH_STATIC_DROP_SLASH, /* /about/          /about */
    /* /docs/index.html /docs/; the same for /docs/index and /docs/index/ */
    UVH_STATIC_DROP_NAME,
    UVH_STATIC_DROP_EXTENSION /* /about.html      /about */
};

struct uvh_static_found {
    enum uvh_static_found_kind kind;
    enum uvh_static_redirect redirect;
    int error;
    int page;
    int status;
    struct uvh_file_facts facts;
    char path[PATH_MAX];
};

/* `path` is normalized, "" or with a slash at its end for a folder. */
void uvh_static_resolve(const struct uvh_static_settings *settings, uvhttp_slice_t path,
                        struct uvh_static_found *found);

#endif
