/* Looks before it opens: a cached file that has not changed is not opened at all, and neither is anything but files and folders. */
#include "modules/static_load.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "codec/mime.h"

static void fail(struct uvh_static_load *load, int error)
{
    load->outcome = UVH_STATIC_FAILED;
    load->error = error;
}

static bool is_missing(int error)
{
    return error == -ENOENT || error == -ENOTDIR || error == -ENAMETOOLONG;
}

static bool is_unchanged(const struct uvh_static_load *load, const char *path,
                         const struct uvh_file_facts *facts)
{
    return load->known && uvh_file_entry_current(&load->known_facts, load->known_settled, facts) &&
           strcmp(load->known_type, uvh_mime_type((uvhttp_slice_t){path, strlen(path)})) == 0;
}

/* `path` was looked at and is a regular file with these facts. */
static void load_file(struct uvh_static_load *load, const char *path, const struct uvh_file_facts *facts)
{
    const struct uvh_static_settings *settings = load->settings;
    if (is_unchanged(load, path, facts)) {
        load->outcome = UVH_STATIC_UNCHANGED;
        return;
    }
    struct uvh_file_order order = {
        .allocator = settings->allocator,
        .root = &settings->root,
        .path = path,
        .key = load->path,
        .memory_file_size = settings->memory_file_size,
    };
    load->error = uvh_file_entry_load(&order, &load->entry);
    load->outcome = load->error == 0 ? UVH_STATIC_ENTRY : UVH_STATIC_FAILED;
}

/* The first of the index names that is a regular file decides. False when there is none. */
static bool load_index(struct uvh_static_load *load)
{
    char path[PATH_MAX];
    const char *name = load->settings->index;
    if (load->path.length >= sizeof(path))
        return false;
    memcpy(path, load->path.base, load->path.length);
    for (;;) {
        name += strspn(name, " ");
        size_t length = strcspn(name, " ");
        if (length == 0)
            return false;
        if (load->path.length + length < sizeof(path)) {
            struct uvh_file_facts facts;
            memcpy(path + load->path.length, name, length);
            path[load->path.length + length] = '\0';
            int error = uvh_file_look(&load->settings->root, path, &facts);
            if (error == 0 && facts.kind == UVH_FILE_REGULAR) {
                load_file(load, path, &facts);
                return true;
            }
            if (error != 0 && !is_missing(error)) {
                fail(load, error);
                return true;
            }
        }
        name += length;
    }
}

static void load_listing(struct uvh_static_load *load)
{
    load->error =
        uvh_static_listing_open(load->settings, load->path.base, load->title, &load->wish, &load->listing);
    load->outcome = load->error == 0 ? UVH_STATIC_LISTING : UVH_STATIC_FAILED;
}

static void load_folder(struct uvh_static_load *load)
{
    struct uvh_file_facts facts;
    if (load_index(load))
        return;
    int error = uvh_file_look(&load->settings->root, load->path.base, &facts);
    if (error == 0 && facts.kind != UVH_FILE_FOLDER)
        error = -ENOTDIR;
    if (error == 0 && !load->settings->listing)
        error = -EACCES;
    if (error != 0)
        fail(load, error);
    else
        load_listing(load);
}

void uvh_static_load_run(struct uvh_static_load *load)
{
    if (load->path.length == 0 || load->path.base[load->path.length - 1] == '/') {
        load_folder(load);
        return;
    }
    struct uvh_file_facts facts;
    int error = uvh_file_look(&load->settings->root, load->path.base, &facts);
    if (error != 0)
        fail(load, error);
    else if (facts.kind == UVH_FILE_FOLDER)
        load->outcome = UVH_STATIC_REDIRECT;
    else if (facts.kind != UVH_FILE_REGULAR)
        fail(load, UVHTTP_ENOTREG);
    else
        load_file(load, load->path.base, &facts);
}
