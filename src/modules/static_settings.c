/* Defaults stand here, and limits that follow from others. */
#include "modules/static_settings.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum {
    DEFAULT_CACHE_MEMORY = 64 * 1024 * 1024,
    DEFAULT_CACHE_ENTRIES = 1024,
    /* From memory 10 KB cost 0.93 x the floor with sendfile, and 100 KB the same within the noise (docs/performance.md);
     * elsewhere sendfile was seen ahead from 10 to 16 KiB. So memory is spent only where it surely gains. */
    DEFAULT_MEMORY_FILE_SIZE = 16 * 1024,
    DEFAULT_REVALIDATE_MS = 1000,
    /* The cache holds at most one in so many of the process's descriptors: the rest is for connections. */
    DESCRIPTOR_SHARE = 4,
};

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

/* Each root is asked for what those before it have not. */
static int open_roots(struct uvh_static_settings *settings, const uvhttp_static_config_t *config)
{
    static const enum uvh_file_links policies[] = {
        [UVHTTP_SYMLINKS_INSIDE] = UVH_FILE_LINKS_INSIDE,
        [UVHTTP_SYMLINKS_ALL] = UVH_FILE_LINKS_ANYWHERE,
        [UVHTTP_SYMLINKS_NONE] = UVH_FILE_LINKS_NONE,
        [UVHTTP_SYMLINKS_OWNER] = UVH_FILE_LINKS_OWNER,
    };
    size_t count = 0;
    while (config->more_roots != NULL && config->more_roots[count] != NULL)
        count++;
    if (count > 0) {
        settings->more_roots = uvh_alloc(settings->allocator, count * sizeof(struct uvh_file_root));
        if (settings->more_roots == NULL)
            return UVHTTP_ENOMEM;
    }
    int err = uvh_file_root_open(&settings->root, config->root);
    settings->root.links = policies[config->symlinks];
    struct uvh_file_root *last = &settings->root;
    for (size_t i = 0; err == 0 && i < count; i++) {
        err = uvh_file_root_open(&settings->more_roots[i], config->more_roots[i]);
        if (err != 0)
            break;
        settings->more_root_count++;
        settings->more_roots[i].links = settings->root.links;
        last->next = &settings->more_roots[i];
        last = &settings->more_roots[i];
    }
    return err;
}

int uvh_static_settings_check(const uvhttp_static_config_t *config, char *message, size_t size)
{
    struct uvh_static_map map;
    if (size > 0)
        message[0] = '\0';
    if (config == NULL || (unsigned)config->symlinks > UVHTTP_SYMLINKS_OWNER) {
        if (size > 0)
            snprintf(message, size,
                     config == NULL ? "there is no configuration" : "symlinks: there is no such policy");
        return UVHTTP_EINVAL;
    }
    int err = uvh_static_map_open(&map, config->allocator != NULL ? config->allocator : uvh_alloc_default(),
                                  config, message, size);
    if (err == 0)
        uvh_static_map_release(&map);
    return err;
}

int uvh_static_settings_open(struct uvh_static_settings *settings, const uvhttp_static_config_t *config)
{
    if (config == NULL || config->root == NULL || (unsigned)config->symlinks > UVHTTP_SYMLINKS_OWNER)
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
        .hidden = config->hidden,
    };
    /* A file that may not stay in memory need not go there. */
    if (settings->memory_file_size > settings->limits.memory)
        settings->memory_file_size = settings->limits.memory;
    int err = copy(settings, config);
    if (err == 0)
        err = uvh_static_map_open(&settings->map, settings->allocator, config, NULL, 0);
    if (err == 0)
        err = open_roots(settings, config);
    if (err != 0)
        uvh_static_settings_release(settings);
    return err;
}

void uvh_static_settings_release(struct uvh_static_settings *settings)
{
    for (size_t i = 0; i < settings->more_root_count; i++)
        uvh_file_root_close(&settings->more_roots[i]);
    uvh_file_root_close(&settings->root);
    uvh_free(settings->allocator, settings->more_roots);
    uvh_static_map_release(&settings->map);
    uvh_free(settings->allocator, settings->index);
}
