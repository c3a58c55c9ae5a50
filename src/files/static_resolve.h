/* Resolves a path to a file, directory, page or redirect: tries the list of static_map.h on the
 * disk.
 *
 * Called in a job. Stats files and opens none. The result is not hidden unless hidden files are
 * allowed, and is below the root, as is every path given to platform/file.h. */
#ifndef UVH_FILES_STATIC_RESOLVE_H
#define UVH_FILES_STATIC_RESOLVE_H

#include <limits.h>

#include "files/static_settings.h"

enum uvh_static_found_kind {
    UVH_STATIC_FOUND_ERROR,     /* see `error` */
    UVH_STATIC_FOUND_FILE,      /* a regular file, at `path`, with `facts` */
    UVH_STATIC_FOUND_DIRECTORY, /* a directory to list */
    UVH_STATIC_FOUND_REDIRECT,  /* to another URL: `redirect` */
    UVH_STATIC_FOUND_PAGE,      /* `page`, which exists */
    UVH_STATIC_FOUND_FALLBACK,  /* `page` for clients that accept HTML; `error` for others */
    UVH_STATIC_FOUND_STATUS     /* `status` */
};

/* The change of the URL's path. */
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

/* `path` is normalized, "" or with a trailing slash for a directory. */
void uvh_static_resolve(const struct uvh_static_settings *settings, uvhttp_slice_t path,
                        struct uvh_static_found *found);

#endif
