/* The options of uvhttp_static_new, checked and copied.
 *
 * Created once by static_files.c, then immutable: read by every worker and by jobs. */
#ifndef UVH_FILES_STATIC_SETTINGS_H
#define UVH_FILES_STATIC_SETTINGS_H

#include <uvhttp/static.h>

#include "base/coding.h"
#include "files/file_cache.h"
#include "files/static_map.h"
#include "files/static_rules.h"
#include "platform/file.h"

struct uvh_static_settings {
    const uvhttp_allocator_t *allocator;
    struct uvh_file_root root; /* the first; the others are linked to it */
    struct uvh_file_root *more_roots;
    size_t more_root_count;
    struct uvh_static_map map;
    struct uvh_file_cache_limits limits; /* of each worker's cache */
    char *index;                         /* names, separated by spaces */
    struct uvh_static_rules *rules;      /* NULL: none */
    size_t memory_file_size;
    uint64_t revalidate_ms;
    size_t compress_min_size;
    size_t compress_max_size;
    int levels[UVH_CODING_COUNT]; /* of compression on the fly; 0: the default */
    bool precompressed;
    bool compress;
    /* Cache */
    size_t absent_limit;  /* paths without a file, per worker's cache */
    uint64_t negative_ms; /* 0: none are cached */
    uint64_t watched_ms;  /* instead of revalidate_ms where changes are reported */
    bool watch;
    bool watchable; /* the result for a path depends on its directory only */
    /* The file of a path has its name, perhaps with an extension, or is its index. */
    bool follows_name;
    uint64_t rate_limit;
    uint64_t rate_burst;
    bool listing;
    bool archive;
    const char **listed;    /* NULL-terminated; NULL: none */
    const char **hide;      /* the same: patterns of hidden paths */
    size_t listing_max;     /* entries of a listing */
    size_t archive_entries; /* members of an archive */
    uint64_t archive_size;  /* bytes of all files in one archive */
    bool hidden;
    bool uploads;
    bool upload_overwrite;
    bool upload_directories;
    bool upload_sync;
    uint64_t upload_max_size; /* bytes */
};

/* Validates the options, as uvhttp_static_check. */
int uvh_static_settings_check(const uvhttp_static_options_t *options, uvhttp_error_t *error);

/* Opens the root. Errors as for uvhttp_static_new; on error nothing is left to release. */
int uvh_static_settings_open(struct uvh_static_settings *settings,
                             const uvhttp_static_options_t *options, uvhttp_error_t *error);
/* uvh_file_root_follow for each root, before paths are looked up. Any thread. */
void uvh_static_settings_follow_roots(const struct uvh_static_settings *settings);
void uvh_static_settings_release(struct uvh_static_settings *settings);

#endif
