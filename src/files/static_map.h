/* Maps paths to files: the list of alternatives, the pages for missing files, and error pages.
 *
 * Created from uvhttp_static_options_t by static_settings.c, which reports errors; then immutable,
 * except for the flag that a page is missing. Read by every worker and by jobs. Invariants: the
 * list has at least one item, a STATUS only as its last; every page index is below page_count. */
#ifndef UVH_FILES_STATIC_MAP_H
#define UVH_FILES_STATIC_MAP_H

#include <uvhttp/static.h>

#include <stdatomic.h>

enum { UVH_STATIC_ITEMS_MAX = 16, UVH_STATIC_PAGES_MAX = 32, UVH_STATIC_NO_PAGE = -1 };

enum uvh_static_item_kind {
    UVH_STATIC_ITEM_FILE,      /* a regular file; the path determines its name */
    UVH_STATIC_ITEM_DIRECTORY, /* the directory of that path, if it has an index or listing */
    UVH_STATIC_ITEM_PAGE,      /* one file, whatever the path */
    UVH_STATIC_ITEM_STATUS     /* no file: this status */
};

struct uvh_static_item {
    enum uvh_static_item_kind kind;
    char *pattern; /* FILE: contains "{path}" */
    int page;      /* PAGE: its index */
    int status;    /* STATUS */
};

/* A configured file. Its key in the cache begins with NUL, which no path of a request can. So it is
 * cached once, however many paths use it. */
struct uvh_static_page {
    char *key; /* NUL, then the path below the root, NUL-terminated */
    size_t key_length;
    atomic_bool missing; /* the last load failed, and that was logged */
};

struct uvh_static_map {
    const uvhttp_allocator_t *allocator;
    struct uvh_static_item items[UVH_STATIC_ITEMS_MAX];
    size_t item_count;
    struct uvh_static_page *pages;
    size_t page_count;
    int error_pages[200]; /* by status - 400 */
    int only;             /* the page sent for every request */
    int fallback;         /* the page of missing paths, for clients that accept HTML */
    bool clean;           /* file.html has the URL file */
};

/* Parses the configuration. Returns 0, UVHTTP_ENOMEM, or UVHTTP_ECONFIG with a filled
 * `error` (may be NULL). On error nothing is left to release. */
int uvh_static_map_open(struct uvh_static_map *map, const uvhttp_allocator_t *allocator,
                        const uvhttp_static_options_t *options, uvhttp_error_t *error);
void uvh_static_map_release(struct uvh_static_map *map);

/* A path leads only to its file, or to the index of its directory. */
bool uvh_static_map_is_plain(const uvhttp_static_options_t *options);

/* The path of a page below the root. */
const char *uvh_static_map_page_path(const struct uvh_static_map *map, int page);

/* The page of that status, or UVH_STATIC_NO_PAGE. */
int uvh_static_map_error_page(const struct uvh_static_map *map, int status);

/* Writes the path of a FILE item for `path`, normalized. False when it does not fit. */
bool uvh_static_map_expand(const struct uvh_static_item *item, const char *path, char *out,
                           size_t size);

#endif
