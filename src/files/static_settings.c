/* Defaults, and limits derived from others. */
#include "files/static_settings.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "codec/text/glob.h"
#include "files/static_path.h"
#include "options/error.h"
#include "options/option_check.h"
#include "platform/compress.h"

enum {
    DEFAULT_CACHE_MEMORY = 64 * 1024 * 1024,
    DEFAULT_CACHE_ENTRIES = 1024,
    /* From memory 10 KB cost 0.93 x the floor with sendfile, and 100 KB the same within the noise;
     * other measurements show sendfile ahead from 10 to 16 KiB. So memory is used only where it
     * certainly pays. */
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

static int check_levels(const uvhttp_static_options_t *options, uvhttp_error_t *error)
{
    enum { ZSTD_MOST = 19 }; /* above it zstd needs gigabytes of memory */
    const struct uvh_option_range levels[] = {
        {"gzip_level", (size_t)options->gzip_level, 0, 9, "(0: the default)"},
        {"brotli_level", (size_t)options->brotli_level, 0, 11, "(0: the default)"},
        {"zstd_level", (size_t)options->zstd_level, 0, ZSTD_MOST, "(0: the default)"},
    };
    return uvh_option_check(levels, UVH_COUNT_OF(levels), error) == 0 ? 0 : UVHTTP_EINVAL;
}

static void set_cache(struct uvh_static_settings *settings, const uvhttp_static_options_t *options)
{
    size_t entries = or_default(options->cache_entries, DEFAULT_CACHE_ENTRIES);
    size_t descriptors = uvh_file_descriptor_limit() / DESCRIPTOR_SHARE;
    size_t absent = (entries - 1) / ABSENT_SHARE + 1;
    settings->limits = (struct uvh_file_cache_limits){
        .entries = entries,
        .memory = or_default(options->cache_memory, DEFAULT_CACHE_MEMORY),
        .descriptors = or_default(options->cache_descriptors, descriptors),
    };
    settings->absent_limit = absent < ABSENT_MOST ? absent : ABSENT_MOST;
    settings->watch = options->watch;
    settings->revalidate_ms = or_default(options->revalidate_ms, DEFAULT_REVALIDATE_MS);
    /* Watching must not delay the detection of changes the kernel does not report. */
    if (options->watch && settings->revalidate_ms > DEFAULT_REVALIDATE_MS)
        settings->revalidate_ms = DEFAULT_REVALIDATE_MS;
    uint64_t negative_ms =
        settings->revalidate_ms < MOST_NEGATIVE_MS ? settings->revalidate_ms : MOST_NEGATIVE_MS;
    settings->negative_ms = or_default(options->negative_ms, negative_ms);
    if (options->negative_ms == UVHTTP_NEVER)
        settings->negative_ms = settings->absent_limit = 0;
    settings->watched_ms = or_default(options->revalidate_ms, DEFAULT_WATCHED_MS);
}

/* `given` and the copy end with NULL; NULL stays NULL. */
static int copy_texts(const uvhttp_allocator_t *allocator, const char *const *given,
                      const char ***copy)
{
    size_t count = 0;
    while (given != NULL && given[count] != NULL)
        count++;
    if (count == 0)
        return 0;
    const char **texts = *copy = uvh_alloc_zero(allocator, (count + 1) * sizeof(*texts));
    for (size_t i = 0; texts != NULL && i < count; i++) {
        texts[i] = uvh_alloc_string(allocator, given[i], strlen(given[i]));
        if (texts[i] == NULL)
            return UVHTTP_ENOMEM;
    }
    return texts == NULL ? UVHTTP_ENOMEM : 0;
}

static void free_texts(const uvhttp_allocator_t *allocator, const char **texts)
{
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++)
        uvh_free(allocator, (void *)(uintptr_t)texts[i]);
    uvh_free(allocator, texts);
}

/* Optional members that are not needed stay in a state uvh_static_settings_release accepts. */
static int copy(struct uvh_static_settings *settings, const uvhttp_static_options_t *options,
                uvhttp_error_t *error)
{
    const char *index = options->index != NULL ? options->index : "index.html";
    settings->index = uvh_alloc_string(settings->allocator, index, strlen(index));
    if (settings->index == NULL ||
        copy_texts(settings->allocator, options->listed, &settings->listed) != 0 ||
        copy_texts(settings->allocator, options->hide, &settings->hide) != 0)
        return UVHTTP_ENOMEM;
    return uvh_static_rules_new(&settings->rules, options, settings->allocator, error);
}

static int open_root(const struct uvh_static_settings *settings, struct uvh_file_root *root,
                     const char *name, const char *path, uvhttp_error_t *error)
{
    char absolute[PATH_MAX];
    int err = uvh_file_root_open(root, path);
    if (err == 0)
        err = uvh_file_make_absolute(path, absolute, sizeof(absolute));
    if (err != 0) {
        uvh_error_string(error, name, path, uvhttp_strerror(err));
        return err;
    }
    root->path = uvh_alloc_string(settings->allocator, absolute, strlen(absolute));
    return root->path == NULL ? UVHTTP_ENOMEM : 0;
}

static void close_root(const struct uvh_static_settings *settings, struct uvh_file_root *root)
{
    uvh_file_root_close(root);
    uvh_free(settings->allocator, (void *)(uintptr_t)root->path);
}

/* Each root is tried for what the previous ones do not have. */
static int open_roots(struct uvh_static_settings *settings, const uvhttp_static_options_t *options,
                      uvhttp_error_t *error)
{
    static const enum uvh_file_links policies[] = {
        [UVHTTP_SYMLINKS_INSIDE] = UVH_FILE_LINKS_INSIDE,
        [UVHTTP_SYMLINKS_ALL] = UVH_FILE_LINKS_ANYWHERE,
        [UVHTTP_SYMLINKS_NONE] = UVH_FILE_LINKS_NONE,
        [UVHTTP_SYMLINKS_OWNER] = UVH_FILE_LINKS_OWNER,
    };
    size_t count = 0;
    while (options->more_roots != NULL && options->more_roots[count] != NULL)
        count++;
    if (count > 0) {
        settings->more_roots = uvh_alloc(settings->allocator, count * sizeof(struct uvh_file_root));
        if (settings->more_roots == NULL)
            return UVHTTP_ENOMEM;
    }
    int err = open_root(settings, &settings->root, "root", options->root, error);
    settings->root.links = policies[options->symlinks];
    struct uvh_file_root *last = &settings->root;
    for (size_t i = 0; err == 0 && i < count; i++) {
        settings->more_root_count++;
        err = open_root(settings, &settings->more_roots[i], "more_roots", options->more_roots[i],
                        error);
        settings->more_roots[i].links = settings->root.links;
        last->next = &settings->more_roots[i];
        last = &settings->more_roots[i];
    }
    return err;
}

static int refuse_alone(const char *name, const char *needed, uvhttp_error_t *error)
{
    return uvh_error_sentence(error, name, NULL, "%s: has no effect without %s", name, needed);
}

/* Options that need another option. One without the other was meant to have an effect, so it is
 * rejected. */
static int check_pairs(const uvhttp_static_options_t *options, uvhttp_error_t *error)
{
    const struct {
        const char *name;
        bool given;
        const char *needed;
        bool there;
    } pairs[] = {
        {"listing_max", options->listing_max != 0, "listing", options->listing},
        {"archive", options->archive, "listing", options->listing},
        {"archive_entries", options->archive_entries != 0, "archive", options->archive},
        {"archive_size", options->archive_size != 0, "archive", options->archive},
        {"compress_min_size", options->compress_min_size != 0, "compress", options->compress},
        {"compress_max_size", options->compress_max_size != 0, "compress", options->compress},
        {"gzip_level", options->gzip_level != 0, "compress", options->compress},
        {"brotli_level", options->brotli_level != 0, "compress", options->compress},
        {"zstd_level", options->zstd_level != 0, "compress", options->compress},
        {"rate_burst", options->rate_burst != 0, "rate_limit", options->rate_limit != 0},
        {"upload_max_size", options->upload_max_size != 0, "uploads", options->uploads},
        {"upload_overwrite", options->upload_overwrite, "uploads", options->uploads},
        {"upload_directories", options->upload_directories, "uploads", options->uploads},
        {"upload_sync", options->upload_sync, "uploads", options->uploads},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (pairs[i].given && !pairs[i].there)
            return refuse_alone(pairs[i].name, pairs[i].needed, error);
    }
    size_t least = or_default(options->compress_min_size, DEFAULT_COMPRESS_MIN_SIZE);
    size_t most = or_default(options->compress_max_size, DEFAULT_COMPRESS_MAX_SIZE);
    if (!options->compress || least <= most)
        return 0;
    bool least_given = options->compress_min_size != 0;
    const char *name = least_given ? "compress_min_size" : "compress_max_size";
    char value[24];
    snprintf(value, sizeof(value), "%zu", least_given ? least : most);
    return uvh_error_sentence(
        error, name, value, "%s: the minimum size (%zu bytes) exceeds the maximum size (%zu bytes)",
        name, least, most);
}

/* A pattern with an empty name would match no path, and so hide nothing. */
static int check_hide(const uvhttp_static_options_t *options, uvhttp_error_t *error)
{
    for (const char *const *one = options->hide; one != NULL && *one != NULL; one++) {
        const char *pattern = *one;
        size_t length = strlen(pattern);
        if (!uvh_glob_is_valid(uvh_slice(pattern)))
            return uvh_error_string(error, "hide", pattern, UVH_STATIC_RULES_PATTERN);
        if (pattern[length - 1] == '/')
            return uvh_error_string(error, "hide", pattern,
                                    "a directory is hidden by its path without the final slash");
        if (strstr(pattern, "//") != NULL || uvh_static_path_has_dots(pattern))
            return uvh_error_string(error, "hide", pattern,
                                    "no path contains '//', '.' or '..'; write the resolved path");
    }
    return 0;
}

static int check_symlinks(const uvhttp_static_options_t *options, uvhttp_error_t *error)
{
    if ((unsigned)options->symlinks <= UVHTTP_SYMLINKS_OWNER)
        return 0;
    return uvh_error_int(error, "symlinks", (int)options->symlinks, "allowed are %d to %d",
                         UVHTTP_SYMLINKS_INSIDE, UVHTTP_SYMLINKS_OWNER);
}

int uvh_static_settings_check(const uvhttp_static_options_t *options, uvhttp_error_t *error)
{
    struct uvh_static_map map;
    int err = uvh_static_rules_check(options, error);
    if (err != 0)
        return err;
    err = check_symlinks(options, error);
    if (err == 0)
        err = check_hide(options, error);
    if (err == 0)
        err = check_pairs(options, error);
    if (err != 0)
        return err;
    err = uvh_static_map_open(&map,
                              options->allocator != NULL ? options->allocator : uvh_alloc_default(),
                              options, error);
    if (err == 0)
        uvh_static_map_release(&map);
    return err;
}

/* Options that are checked without opening anything and without parsing lists. */
static int check_alone(const uvhttp_static_options_t *options, uvhttp_error_t *error)
{
    if (options->root == NULL) {
        uvh_error_sentence(error, "root", NULL, "root is NULL; a directory is needed");
        return UVHTTP_EINVAL;
    }
    int err = check_levels(options, error);
    if (err == 0)
        err = check_symlinks(options, error);
    if (err == 0)
        err = check_hide(options, error);
    return err != 0 ? err : check_pairs(options, error);
}

static int refuse_compress(uvhttp_error_t *error)
{
    uvh_error_sentence(error, "compress", NULL,
                       "compress: this build has no library for compression "
                       "(BUILD_WITH_COMPRESSION)");
    return UVHTTP_ENOTSUP;
}

int uvh_static_settings_open(struct uvh_static_settings *settings,
                             const uvhttp_static_options_t *options, uvhttp_error_t *error)
{
    if (options == NULL)
        return UVHTTP_EINVAL;
    int err = check_alone(options, error);
    if (err != 0)
        return err;
    if (options->compress && uvh_compress_codings() == 0)
        return refuse_compress(error);
    *settings = (struct uvh_static_settings){
        .allocator = options->allocator != NULL ? options->allocator : uvh_alloc_default(),
        .root = {.descriptor = -1},
        .memory_file_size = or_default(options->memory_file_size, DEFAULT_MEMORY_FILE_SIZE),
        .compress_min_size = or_default(options->compress_min_size, DEFAULT_COMPRESS_MIN_SIZE),
        .compress_max_size = or_default(options->compress_max_size, DEFAULT_COMPRESS_MAX_SIZE),
        .levels = {[UVH_CODING_GZIP] = (int)options->gzip_level,
                   [UVH_CODING_BROTLI] = (int)options->brotli_level,
                   [UVH_CODING_ZSTD] = (int)options->zstd_level},
        .precompressed = options->precompressed,
        .compress = options->compress,
        .rate_limit = options->rate_limit,
        .rate_burst = options->rate_burst,
        .listing = options->listing,
        .archive = options->archive,
        .listing_max = or_default(options->listing_max, DEFAULT_LISTING_MAX),
        .archive_entries = or_default(options->archive_entries, DEFAULT_ARCHIVE_ENTRIES),
        .archive_size = or_default(options->archive_size, DEFAULT_ARCHIVE_SIZE),
        .hidden = options->hidden,
        .uploads = options->uploads,
        .upload_overwrite = options->upload_overwrite,
        .upload_directories = options->upload_directories,
        .upload_sync = options->upload_sync,
        .upload_max_size = or_default(options->upload_max_size, DEFAULT_UPLOAD_MAX_SIZE),
    };
    set_cache(settings, options);
    /* A file that exceeds the memory limit is not read into memory. */
    if (settings->memory_file_size > settings->limits.memory)
        settings->memory_file_size = settings->limits.memory;
    err = copy(settings, options, error);
    if (err == 0)
        err = uvh_static_map_open(&settings->map, settings->allocator, options, error);
    if (err == 0)
        err = open_roots(settings, options, error);
    settings->watchable = settings->more_root_count == 0 && uvh_static_map_is_plain(options);
    settings->follows_name = options->try_files == NULL;
    if (err != 0)
        uvh_static_settings_release(settings);
    return err;
}

void uvh_static_settings_follow_roots(const struct uvh_static_settings *settings)
{
    for (const struct uvh_file_root *root = &settings->root; root != NULL; root = root->next)
        uvh_file_root_follow(root);
}

void uvh_static_settings_release(struct uvh_static_settings *settings)
{
    for (size_t i = 0; i < settings->more_root_count; i++)
        close_root(settings, &settings->more_roots[i]);
    close_root(settings, &settings->root);
    uvh_free(settings->allocator, settings->more_roots);
    uvh_static_map_release(&settings->map);
    uvh_free(settings->allocator, settings->index);
    free_texts(settings->allocator, settings->listed);
    free_texts(settings->allocator, settings->hide);
    uvh_static_rules_free(settings->rules);
}
