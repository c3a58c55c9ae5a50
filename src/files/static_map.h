/* How the paths of a folder become files: the list that is tried, the pages that stand for what is
 * missing, and the pages of errors.
 *
 * Made from uvhttp_static_config_t by static_settings.c, which says what is wrong with it; then
 * frozen, but for the note whether a page was found missing. Read by every worker and by jobs.
 * Always true: the list has at least one item, a STATUS only as its last; every index of a page is
 * below page_count. */
#ifndef UVH_FILES_STATIC_MAP_H
#define UVH_FILES_STATIC_MAP_H

#include <uvhttp/static.h>

#include <stdatomic.h>

enum { UVH_STATIC_ITEMS_MAX = 16, UVH_STATIC_PAGES_MAX = 32, UVH_STATIC_NO_PAGE = -1 };

enum uvh_static_item_kind {
    UVH_STATIC_ITEM_FILE,   /* a regular file whose name is made from the path */
    UVH_STATIC_ITEM_FOLDER, /* the folder of that path, if it has something to show */
    UVH_STATIC_ITEM_PAGE,   /* one file, whatever the path */
    UVH_STATIC_ITEM_STATUS  /* no file: this status */
};

struct uvh_static_item {
    enum uvh_static_item_kind kind;
    char *pattern; /* FILE: with "{path}" in it */
    int page;      /* PAGE: its index */
    int status;    /* STATUS */
};

/* A file that the settings name. It is in the cache by a key that no path of a request can have:
 * one that begins with NUL. So it is there once, however many paths are answered with it. */
struct uvh_static_page {
    char *key; /* NUL, then the path below the root, NUL-terminated */
    size_t key_length;
    atomic_bool missing; /* it could not be had the last time, and the log says so */
};

struct uvh_static_map {
    const uvhttp_allocator_t *allocator;
    struct uvh_static_item items[UVH_STATIC_ITEMS_MAX];
    size_t item_count;
    struct uvh_static_page *pages;
    size_t page_count;
    int error_pages[200]; /* by status - 400 */
    int only;             /* the page that every request is answered with */
    int fallback;         /* the page of missing paths, for clients that want HTML */
    bool clean;           /* file.html is asked for as file */
};

/* What the configuration says about it. 0, UVHTTP_ENOMEM, or UVHTTP_ECONFIG with a sentence in
 * `message` (`size` bytes, may be 0). Then nothing is left to release. */
int uvh_static_map_open(struct uvh_static_map *map, const uvhttp_allocator_t *allocator,
                        const uvhttp_static_config_t *config, char *message, size_t size);
void uvh_static_map_release(struct uvh_static_map *map);

/* A path leads to its file, or to the index of its folder, and to nothing else. */
bool uvh_static_map_is_plain(const uvhttp_static_config_t *config);

/* The path of a page below the root. */
const char *uvh_static_map_page_path(const struct uvh_static_map *map, int page);

/* The page of that status, or UVH_STATIC_NO_PAGE. */
int uvh_static_map_error_page(const struct uvh_static_map *map, int status);

/* Writes the path that a FILE item makes of `path`, normalized. False when it has no room. */
bool uvh_static_map_expand(const struct uvh_static_item *item, const char *path, char *out,
                           size_t size);

#endif
