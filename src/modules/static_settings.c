/* Defaults stand here, and limits that follow from others. */
#include "modules/static_settings.h"

#include <string.h>

#include "base/alloc.h"

enum {
    DEFAULT_CACHE_MEMORY = 64 * 1024 * 1024,
    DEFAULT_CACHE_ENTRIES = 1024,
    /* From memory 10 KB cost 0.93 x the floor with sendfile, and 100 KB the same within the noise (docs/performance.md);
     * elsewhere sendfile was seen ahead from 10 to 16 KiB. So memory is spent only where it surely gains. */
    DEFAULT_MEMORY_FILE_SIZE = 16 * 1024,
    DEFAULT_REVALIDATE_MS = 1000,
    DEFAULT_LISTING_MAX = 10000,
    DEFAULT_ARCHIVE_ENTRIES = 100000,
    /* The cache holds at most one in so many of the process's descriptors: the rest is for connections. */
    DESCRIPTOR_SHARE = 4,
};

#define DEFAULT_ARCHIVE_SIZE ((size_t)16 * 1024 * 1024 * 1024)

static size_t or_default(size_t value, size_t standard)
{
    return value != 0 ? value : standard;
}

/* What may be wanted and is not needed stays as uvh_static_settings_release can take it. */
static int copy(struct uvh_static_settings *settings, const uvhttp_static_config_t *config)
{
    const char *index = config->index != NULL ? config->index : "index.html";
    settings->index = uvh_alloc_string(settings->allocator, index, strlen(index));
    return settings->index == NULL ? UVHTTP_ENOMEM : 0;
}

int uvh_static_settings_open(struct uvh_static_settings *settings, const uvhttp_static_config_t *config)
{
    if (config == NULL || config->root == NULL)
        return UVHTTP_EINVAL;
    *settings = (struct uvh_static_settings){
        .allocator = config->allocator != NULL ? config->allocator : uvh_alloc_default(),
        .root = {.descriptor = -1                                             },
        .limits = { .entries = or_default(config->cache_entries, DEFAULT_CACHE_ENTRIES),
                 .memory = or_default(config->cache_memory, DEFAULT_CACHE_MEMORY),
                 .descriptors = uvh_file_descriptor_limit() / DESCRIPTOR_SHARE},
        .memory_file_size = or_default(config->memory_file_size, DEFAULT_MEMORY_FILE_SIZE),
        .revalidate_ms = or_default(config->revalidate_ms, DEFAULT_REVALIDATE_MS),
        .listing = config->listing,
        .archive = config->archive,
        .listing_max = or_default(config->listing_max, DEFAULT_LISTING_MAX),
        .archive_entries = or_default(config->archive_entries, DEFAULT_ARCHIVE_ENTRIES),
        .archive_size = or_default(config->archive_size, DEFAULT_ARCHIVE_SIZE),
        .hidden = config->hidden,
    };
    /* A file that may not stay in memory need not go there. */
    if (settings->memory_file_size > settings->limits.memory)
        settings->memory_file_size = settings->limits.memory;
    int err = copy(settings, config);
    if (err == 0)
        err = uvh_file_root_open(&settings->root, config->root);
    if (err != 0)
        uvh_static_settings_release(settings);
    return err;
}

void uvh_static_settings_release(struct uvh_static_settings *settings)
{
    uvh_file_root_close(&settings->root);
    uvh_free(settings->allocator, settings->index);
}
