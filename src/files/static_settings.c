/* Defaults, and limits derived from others. */
#include "files/static_settings.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "platform/compress.h"

enum {
    DEFAULT_CACHE_MEMORY = 64 * 1024 * 1024,
    DEFAULT_CACHE_ENTRIES = 1024,
    /* From memory 10 KB cost 0.93 x the floor with sendfile, and 100 KB the same within the noise
     * (docs/performance.md); other measurements show sendfile ahead from 10 to 16 KiB. So memory is
     * used only where it certainly pays. */
    DEFAULT_MEMORY_FILE_SIZE = 16 * 1024,
    DEFAULT_REVALIDATE_MS = 1000,
    DEFAULT_COMPRESS_MIN_SIZE = 1024, /* a smaller file fits into one packet uncompressed */
    /* A larger file blocks a thread for too long, and should be precompressed. */
    DEFAULT_COMPRESS_MAX_SIZE = 8 * 1024 * 1024,
    MOST_NEGATIVE_MS = 1000, /* unless configured */
    DEFAULT_WATCHED_MS = 10000,
    /* Entries for paths without a file, per entry for a file, and their maximum (about 1.5 MiB with
     * the longest paths). */
    ABSENT_SHARE = 4,
    ABSENT_MOST = 4096,
    DEFAULT_UPLOAD_MAX_SIZE = 1024 * 1024 * 1024,
    DEFAULT_LISTING_MAX = 10000,
    DEFAULT_ARCHIVE_ENTRIES = 100000,
    /* The divisor of the process's descriptors for the cache: the rest is for connections. */
    DESCRIPTOR_SHARE = 4,
};

#define DEFAULT_ARCHIVE_SIZE ((size_t)16 * 1024 * 1024 * 1024)

static size_t or_default(size_t value, size_t standard)
{
    return value != 0 ? value : standard;
}

static bool are_levels(const uvhttp_static_config_t *config)
{
    enum { ZSTD_MOST = 19 }; /* above it zstd needs gigabytes of memory */
    return config->gzip_level <= 9 && config->brotli_level <= 11 && config->zstd_level <= ZSTD_MOST;
}

static void set_cache(struct uvh_static_settings *settings, const uvhttp_static_config_t *config)
{
    size_t entries = or_default(config->cache_entries, DEFAULT_CACHE_ENTRIES);
    size_t descriptors = uvh_file_descriptor_limit() / DESCRIPTOR_SHARE;
    size_t absent = (entries - 1) / ABSENT_SHARE + 1;
    settings->limits = (struct uvh_file_cache_limits){
        .entries = entries,
        .memory = or_default(config->cache_memory, DEFAULT_CACHE_MEMORY),
        .descriptors = or_default(config->cache_descriptors, descriptors),
    };
    settings->absent_limit = absent < ABSENT_MOST ? absent : ABSENT_MOST;
    settings->watch = config->watch;
    settings->revalidate_ms = or_default(config->revalidate_ms, DEFAULT_REVALIDATE_MS);
    /* Watching must not delay the detection of changes the kernel does not report. */
    if (config->watch && settings->revalidate_ms > DEFAULT_REVALIDATE_MS)
        settings->revalidate_ms = DEFAULT_REVALIDATE_MS;
    uint64_t negative_ms =
        settings->revalidate_ms < MOST_NEGATIVE_MS ? settings->revalidate_ms : MOST_NEGATIVE_MS;
    settings->negative_ms = or_default(config->negative_ms, negative_ms);
    if (config->negative_ms == UVHTTP_NEVER)
        settings->negative_ms = settings->absent_limit = 0;
    settings->watched_ms = or_default(config->revalidate_ms, DEFAULT_WATCHED_MS);
}

/* Optional members that are not needed stay in a state uvh_static_settings_release accepts. */
static int copy(struct uvh_static_settings *settings, const uvhttp_static_config_t *config)
{
    const char *index = config->index != NULL ? config->index : "index.html";
    settings->index = uvh_alloc_string(settings->allocator, index, strlen(index));
    if (settings->index == NULL)
        return UVHTTP_ENOMEM;
    return uvh_static_rules_new(&settings->rules, config, settings->allocator);
}

/* Each root is tried for what the previous ones do not have. */
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

static int refuse_alone(const char *name, const char *needed, char *message, size_t size)
{
    if (size > 0)
        snprintf(message, size, "%s: has no effect without %s", name, needed);
    return UVHTTP_ECONFIG;
}

/* Options that need another option. One without the other was meant to have an effect, so it is
 * rejected. */
static int check_pairs(const uvhttp_static_config_t *config, char *message, size_t size)
{
    const struct {
        const char *name;
        bool given;
        const char *needed;
        bool there;
    } pairs[] = {
        {"listing_max", config->listing_max != 0, "listing", config->listing},
        {"archive", config->archive, "listing", config->listing},
        {"archive_entries", config->archive_entries != 0, "archive", config->archive},
        {"archive_size", config->archive_size != 0, "archive", config->archive},
        {"compress_min_size", config->compress_min_size != 0, "compress", config->compress},
        {"compress_max_size", config->compress_max_size != 0, "compress", config->compress},
        {"gzip_level", config->gzip_level != 0, "compress", config->compress},
        {"brotli_level", config->brotli_level != 0, "compress", config->compress},
        {"zstd_level", config->zstd_level != 0, "compress", config->compress},
        {"rate_burst", config->rate_burst != 0, "rate_limit", config->rate_limit != 0},
        {"upload_max_size", config->upload_max_size != 0, "uploads", config->uploads},
        {"upload_overwrite", config->upload_overwrite, "uploads", config->uploads},
        {"upload_directories", config->upload_directories, "uploads", config->uploads},
        {"upload_sync", config->upload_sync, "uploads", config->uploads},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (pairs[i].given && !pairs[i].there)
            return refuse_alone(pairs[i].name, pairs[i].needed, message, size);
    }
    size_t least = or_default(config->compress_min_size, DEFAULT_COMPRESS_MIN_SIZE);
    size_t most = or_default(config->compress_max_size, DEFAULT_COMPRESS_MAX_SIZE);
    if (!config->compress || least <= most)
        return 0;
    if (size > 0)
        snprintf(message, size,
                 "%s: the minimum size (%zu bytes) exceeds the maximum size (%zu bytes)",
                 config->compress_min_size != 0 ? "compress_min_size" : "compress_max_size", least,
                 most);
    return UVHTTP_ECONFIG;
}

int uvh_static_settings_check(const uvhttp_static_config_t *config, char *message, size_t size)
{
    struct uvh_static_map map;
    if (message == NULL)
        size = 0;
    if (size > 0)
        message[0] = '\0';
    int err = uvh_static_rules_check(config, message, size);
    if (err != 0)
        return err;
    if ((unsigned)config->symlinks > UVHTTP_SYMLINKS_OWNER) {
        if (size > 0)
            snprintf(message, size, "symlinks: unknown policy");
        return UVHTTP_ECONFIG;
    }
    err = check_pairs(config, message, size);
    if (err != 0)
        return err;
    err = uvh_static_map_open(&map,
                              config->allocator != NULL ? config->allocator : uvh_alloc_default(),
                              config, message, size);
    if (err == 0)
        uvh_static_map_release(&map);
    return err;
}

int uvh_static_settings_open(struct uvh_static_settings *settings,
                             const uvhttp_static_config_t *config)
{
    if (config == NULL || config->root == NULL || !are_levels(config))
        return UVHTTP_EINVAL;
    if ((unsigned)config->symlinks > UVHTTP_SYMLINKS_OWNER || check_pairs(config, NULL, 0) != 0)
        return UVHTTP_ECONFIG;
    if (config->compress && uvh_compress_codings() == 0)
        return UVHTTP_ENOTSUP;
    *settings = (struct uvh_static_settings){
        .allocator = config->allocator != NULL ? config->allocator : uvh_alloc_default(),
        .root = {.descriptor = -1},
        .memory_file_size = or_default(config->memory_file_size, DEFAULT_MEMORY_FILE_SIZE),
        .compress_min_size = or_default(config->compress_min_size, DEFAULT_COMPRESS_MIN_SIZE),
        .compress_max_size = or_default(config->compress_max_size, DEFAULT_COMPRESS_MAX_SIZE),
        .levels = {[UVH_CODING_GZIP] = (int)config->gzip_level,
                   [UVH_CODING_BROTLI] = (int)config->brotli_level,
                   [UVH_CODING_ZSTD] = (int)config->zstd_level},
        .precompressed = config->precompressed,
        .compress = config->compress,
        .rate_limit = config->rate_limit,
        .rate_burst = config->rate_burst,
        .listing = config->listing,
        .archive = config->archive,
        .listing_max = or_default(config->listing_max, DEFAULT_LISTING_MAX),
        .archive_entries = or_default(config->archive_entries, DEFAULT_ARCHIVE_ENTRIES),
        .archive_size = or_default(config->archive_size, DEFAULT_ARCHIVE_SIZE),
        .hidden = config->hidden,
        .uploads = config->uploads,
        .upload_overwrite = config->upload_overwrite,
        .upload_directories = config->upload_directories,
        .upload_sync = config->upload_sync,
        .upload_max_size = or_default(config->upload_max_size, DEFAULT_UPLOAD_MAX_SIZE),
    };
    set_cache(settings, config);
    /* A file that exceeds the memory limit is not read into memory. */
    if (settings->memory_file_size > settings->limits.memory)
        settings->memory_file_size = settings->limits.memory;
    int err = copy(settings, config);
    if (err == 0)
        err = uvh_static_map_open(&settings->map, settings->allocator, config, NULL, 0);
    if (err == 0)
        err = open_roots(settings, config);
    settings->watchable = settings->more_root_count == 0 && uvh_static_map_is_plain(config);
    settings->follows_name = config->try_files == NULL;
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
    uvh_static_rules_free(settings->rules);
}
