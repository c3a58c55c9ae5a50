/* Looks before it opens: a cached file that has not changed is not opened at all, and neither is anything but files and folders. */
#include "modules/static_load.h"

#include <string.h>

#include "codec/mime.h"
#include "modules/dir_listing.h"

static void fail(struct uvh_static_load *load, int error)
{
    load->outcome = UVH_STATIC_FAILED;
    load->error = error;
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
        .key = load->key,
        .memory_file_size = settings->memory_file_size,
    };
    load->error = uvh_file_entry_load(&order, &load->entry);
    load->outcome = load->error == 0 ? UVH_STATIC_ENTRY : UVH_STATIC_FAILED;
}

static void load_listing(struct uvh_static_load *load)
{
    struct uvh_dir_listing_order order = {
        .root = &load->settings->root,
        .folder = load->path.base,
        .title = load->title,
        .hidden = load->settings->hidden,
    };
    uvh_bytes_init(&load->page, load->settings->allocator, UVH_DIR_LISTING_MAX_SIZE);
    int error = uvh_dir_listing_write(&order, &load->page);
    if (error != 0) {
        uvh_bytes_release(&load->page);
        fail(load, error);
        return;
    }
    load->outcome = UVH_STATIC_LISTING;
}

/* Nothing but this one file. */
static void load_exact(struct uvh_static_load *load)
{
    struct uvh_file_facts facts;
    int error = uvh_file_look(&load->settings->root, load->path.base, &facts);
    if (error == 0 && facts.kind != UVH_FILE_REGULAR)
        error = UVHTTP_ENOTREG;
    if (error != 0)
        fail(load, error);
    else
        load_file(load, load->path.base, &facts);
}

void uvh_static_load_run(struct uvh_static_load *load)
{
    struct uvh_static_found found;
    if (load->exact) {
        load_exact(load);
        return;
    }
    uvh_static_resolve(load->settings, load->path, &found);
    switch (found.kind) {
    case UVH_STATIC_FOUND_FILE:
        load_file(load, found.path, &found.facts);
        return;
    case UVH_STATIC_FOUND_FOLDER:
        load_listing(load);
        return;
    case UVH_STATIC_FOUND_REDIRECT:
        load->outcome = UVH_STATIC_REDIRECT;
        load->redirect = found.redirect;
        return;
    case UVH_STATIC_FOUND_PAGE:
        load->outcome = UVH_STATIC_PAGE;
        load->page_index = found.page;
        return;
    case UVH_STATIC_FOUND_FALLBACK:
        load->outcome = UVH_STATIC_FALLBACK;
        load->page_index = found.page;
        load->error = found.error;
        return;
    case UVH_STATIC_FOUND_STATUS:
        load->outcome = UVH_STATIC_STATUS;
        load->status = found.status;
        return;
    case UVH_STATIC_FOUND_ERROR:
        break;
    }
    fail(load, found.error);
}
