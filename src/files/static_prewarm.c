/* Loads files before the first request: one by its path, or those of a directory that match
 * patterns. Directories are listed one at a time from a stack of paths, so that neither descriptors
 * nor the call stack grow with the depth of a tree. Called by users and by the program, before the
 * server runs. */
#include <uvhttp/error.h>
#include <uvhttp/static.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/slice.h"
#include "codec/text/glob.h"
#include "files/static_files.h"
#include "files/static_load.h"
#include "files/static_path.h"

/* A directory not yet listed. */
struct subdir {
    struct subdir *next;
    size_t length;
    char path[]; /* below the root; "" or with a trailing slash */
};

struct walk {
    struct uvhttp_static *context;
    const uvhttp_static_prewarm_options_t *options;
    uvhttp_static_prewarmed_t found;
    size_t most_bytes;
    size_t most_entries;
    struct subdir *subdirs; /* the next one first */
    /* The insert position for those found in the current directory: before older ones. */
    struct subdir **after;
    const struct subdir *subdir; /* being listed */
};

/* ---- one file ---- */

/* `path` is a key. Stats and reads at once. */
static int load_key(struct uvhttp_static *context, uvhttp_slice_t path, const char *title,
                    size_t *bytes)
{
    const struct uvh_static_map *map = &context->settings.map;
    struct uvh_static_load load = {
        .settings = &context->settings, .path = path, .key = path, .title = title};
    if (map->only != UVH_STATIC_NO_PAGE) {
        const struct uvh_static_page *page = &map->pages[map->only];
        load.key = (uvhttp_slice_t){page->key, page->key_length};
        load.path = (uvhttp_slice_t){page->key + 1, page->key_length - 1};
        load.exact = true;
    }
    uvh_static_load_run(&load);
    int err = load.error;
    if (load.outcome == UVH_STATIC_DIRECTORY || load.outcome == UVH_STATIC_REDIRECT)
        err = UVHTTP_ENOTREG;
    if (load.outcome == UVH_STATIC_PAGE || load.outcome == UVH_STATIC_FALLBACK ||
        load.outcome == UVH_STATIC_STATUS)
        err = -ENOENT;
    /* There is no clock here, so fresh_until stays 0: the first request checks whether the file is
     * unchanged, and then need not read it. */
    if (load.outcome == UVH_STATIC_ENTRY) {
        *bytes = load.entry->descriptor < 0 ? (size_t)load.entry->size : 0;
        if (!uvh_file_cache_insert(&context->prewarmed.files, load.entry))
            err = UVHTTP_ENOMEM;
    }
    uvh_file_entry_unref(load.entry);
    return err;
}

int uvhttp_static_prewarm_cache(uvhttp_static_t *context, const char *path)
{
    if (context == NULL)
        return UVHTTP_ENOMEM;
    if (path == NULL)
        return UVHTTP_EINVAL;
    size_t length = strlen(path);
    size_t bytes;
    const uvhttp_allocator_t *allocator = context->settings.allocator;
    char *copy = uvh_alloc(allocator, length + 1);
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    length = uvh_static_path_normalize(path, length, copy);
    int err = uvh_static_path_is_denied(copy, context->settings.hidden, context->settings.hide)
                  ? -ENOENT
                  : load_key(context, (uvhttp_slice_t){copy, length}, path, &bytes);
    uvh_free(allocator, copy);
    return err;
}

/* ---- a directory ---- */

static bool is_wanted(const struct walk *walk, uvhttp_slice_t path)
{
    const uvhttp_static_prewarm_options_t *options = walk->options;
    for (size_t i = 0; i < options->pattern_count; i++) {
        const char *pattern = options->patterns[i];
        if (uvh_glob_matches(uvh_slice(pattern), path))
            return true;
    }
    return options->pattern_count == 0;
}

/* One of the index names. */
static bool is_index(const struct uvh_static_settings *settings, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = settings->index; *at != '\0';) {
        at += strspn(at, " ");
        size_t size = strcspn(at, " ");
        if (size == length && size > 0 && memcmp(at, name, size) == 0)
            return true;
        at += size;
    }
    return false;
}

static bool fits(const struct walk *walk, const struct uvh_file_facts *facts)
{
    const struct uvh_file_cache *cache = &walk->context->prewarmed.files;
    if (walk->found.loaded >= walk->most_entries || cache->table.count >= cache->limits.entries)
        return false;
    if (facts->size > walk->context->settings.memory_file_size)
        return cache->descriptors < cache->limits.descriptors;
    return facts->size <= walk->most_bytes - walk->found.bytes &&
           facts->size <= cache->limits.memory - cache->memory;
}

/* `path` is that of the file. An error with one file does not prevent loading the others. */
static int take_file(struct walk *walk, const char *name, uvhttp_slice_t path,
                     const struct uvh_file_facts *facts)
{
    uvhttp_static_prewarmed_t *found = &walk->found;
    uvhttp_slice_t key = path;
    size_t bytes = 0;
    if (!is_wanted(walk, path)) {
        found->unwanted++;
        return 0;
    }
    if (!fits(walk, facts)) {
        found->over_budget++;
        return 0;
    }
    char directory[PATH_MAX];
    if (is_index(&walk->context->settings, name)) {
        memcpy(directory, path.base, path.length - strlen(name));
        directory[path.length - strlen(name)] = '\0';
        key = (uvhttp_slice_t){directory, path.length - strlen(name)};
        /* A further index name: the first existing one has been loaded, whichever it is. */
        if (uvh_file_cache_find(&walk->context->prewarmed.files, key.base, key.length) != NULL)
            return 0;
    }
    /* With clean URLs its URL has no extension. */
    if (walk->context->settings.map.clean && key.length > 5 &&
        memcmp(key.base + key.length - 5, ".html", 5) == 0) {
        key.length -= 5;
        memcpy(directory, path.base, key.length);
        directory[key.length] = '\0';
        key.base = directory;
    }
    int err = load_key(walk->context, key, path.base, &bytes);
    if (err == UVHTTP_ENOMEM)
        return err;
    if (err != 0) {
        found->failed++;
        return 0;
    }
    found->loaded++;
    found->bytes += bytes;
    if (walk->options->progress == NULL ||
        walk->options->progress(found, path.base, walk->options->arg))
        return 0;
    found->cancelled = true;
    return UVHTTP_DECLINED;
}

static int add_subdir(struct walk *walk, uvhttp_slice_t path)
{
    struct subdir *subdir =
        uvh_alloc(walk->context->settings.allocator, sizeof(*subdir) + path.length + 2);
    if (subdir == NULL)
        return UVHTTP_ENOMEM;
    if (path.length > 0)
        memcpy(subdir->path, path.base, path.length);
    subdir->length = path.length;
    if (path.length > 0 && path.base[path.length - 1] != '/')
        subdir->path[subdir->length++] = '/';
    subdir->path[subdir->length] = '\0';
    subdir->next = *walk->after;
    *walk->after = subdir;
    walk->after = &subdir->next;
    return 0;
}

static int take_name(const char *name, const struct uvh_file_facts *facts, void *arg)
{
    struct walk *walk = arg;
    const struct uvh_file_root *root = &walk->context->settings.root;
    char path[PATH_MAX];
    size_t length = strlen(name);
    if (walk->subdir->length + length + 2 > sizeof(path)) {
        walk->found.failed++;
        return 0;
    }
    memcpy(path, walk->subdir->path, walk->subdir->length);
    memcpy(path + walk->subdir->length, name, length + 1);
    uvhttp_slice_t whole = {path, walk->subdir->length + length};
    if (uvh_static_path_is_denied(path, walk->context->settings.hidden,
                                  walk->context->settings.hide)) {
        walk->found.unwanted++;
        return 0;
    }
    if (facts->kind == UVH_FILE_DIRECTORY)
        return add_subdir(walk, whole);
    struct uvh_file_facts target = *facts;
    if (facts->kind == UVH_FILE_LINK && uvh_file_facts_read(root, path, &target) != 0)
        target.kind = UVH_FILE_OTHER;
    if (target.kind == UVH_FILE_REGULAR)
        return take_file(walk, name, whole, &target);
    walk->found.not_regular++;
    return 0;
}

/* The first directory must exist; others may have been removed meanwhile, or be unreadable. */
static int list_subdirs(struct walk *walk)
{
    bool first = true;
    int err = 0;
    while (err == 0 && walk->subdirs != NULL) {
        struct subdir *subdir = walk->subdirs;
        walk->subdirs = subdir->next;
        walk->after = &walk->subdirs;
        walk->subdir = subdir;
        err = uvh_file_list(&walk->context->settings.root, subdir->path, take_name, walk);
        if (err != 0 && err != UVHTTP_DECLINED && err != UVHTTP_ENOMEM && !first) {
            walk->found.failed++;
            err = 0;
        }
        uvh_free(walk->context->settings.allocator, subdir);
        first = false;
    }
    while (walk->subdirs != NULL) {
        struct subdir *next = walk->subdirs->next;
        uvh_free(walk->context->settings.allocator, walk->subdirs);
        walk->subdirs = next;
    }
    return err == UVHTTP_DECLINED ? 0 : err;
}

static size_t at_most(size_t wanted, size_t limit)
{
    return wanted == 0 || wanted > limit ? limit : wanted;
}

int uvhttp_static_prewarm_directory(uvhttp_static_t *context,
                                    const uvhttp_static_prewarm_options_t *options,
                                    uvhttp_static_prewarmed_t *found)
{
    static const uvhttp_static_prewarm_options_t all = {.directory = NULL};
    if (found != NULL)
        *found = (uvhttp_static_prewarmed_t){.loaded = 0};
    if (context == NULL)
        return UVHTTP_ENOMEM;
    struct walk walk = {.context = context, .options = options != NULL ? options : &all};
    walk.after = &walk.subdirs;
    walk.most_bytes = at_most(walk.options->most_bytes, context->settings.limits.memory);
    walk.most_entries = at_most(walk.options->most_entries, context->settings.limits.entries);
    if ((walk.options->patterns == NULL) != (walk.options->pattern_count == 0))
        return UVHTTP_EINVAL;
    for (size_t i = 0; i < walk.options->pattern_count; i++) {
        const char *pattern = walk.options->patterns[i];
        if (pattern == NULL || !uvh_glob_is_valid(uvh_slice(pattern)))
            return UVHTTP_EINVAL;
    }
    const char *directory = walk.options->directory != NULL ? walk.options->directory : "";
    char path[PATH_MAX];
    if (strlen(directory) + 2 > sizeof(path))
        return -ENAMETOOLONG;
    size_t length = uvh_static_path_normalize(directory, strlen(directory), path);
    if (uvh_static_path_is_denied(path, context->settings.hidden, context->settings.hide))
        return -ENOENT;
    int err = add_subdir(&walk, (uvhttp_slice_t){path, length});
    if (err == 0)
        err = list_subdirs(&walk);
    if (found != NULL)
        *found = walk.found;
    return err;
}
