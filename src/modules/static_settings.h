/* What uvhttp_static_open was told, checked and copied.
 *
 * Made once by static_files.c, then frozen: read by every worker and by the thread pool. */
#ifndef UVH_MODULES_STATIC_SETTINGS_H
#define UVH_MODULES_STATIC_SETTINGS_H

#include <uvhttp/static.h>

#include "modules/file_cache.h"
#include "platform/file.h"

struct uvh_static_settings {
    const uvhttp_allocator_t *allocator;
    struct uvh_file_root root;
    struct uvh_file_cache_limits limits; /* of each worker's cache */
    char *index;                         /* names, separated by spaces */
    size_t memory_file_size;
    uint64_t revalidate_ms;
    bool listing;
    bool archive;
    size_t listing_max;     /* entries of a listing */
    size_t archive_entries; /* members of an archive */
    uint64_t archive_size;  /* bytes of all files in one */
    bool hidden;
};

/* Opens the root. Errors as for uvhttp_static_open; then nothing is left to release. */
int uvh_static_settings_open(struct uvh_static_settings *settings, const uvhttp_static_config_t *config);
void uvh_static_settings_release(struct uvh_static_settings *settings);

#endif
