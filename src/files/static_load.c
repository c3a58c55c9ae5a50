/* Stats before it opens: an unchanged cached file is not opened at all, and neither is anything but
 * regular files and directories. */
#include "files/static_load.h"

#include <string.h>

#include "files/static_siblings.h"
#include "files/static_variants.h"

static void fail(struct uvh_static_load *load, int error)
{
    load->outcome = UVH_STATIC_FAILED;
    load->error = error;
}

static bool is_unchanged(const struct uvh_static_load *load, const char *path,
                         const struct uvh_file_facts *facts, uint64_t siblings)
{
    return load->known && load->known_siblings == siblings &&
           uvh_file_entry_current(&load->known_facts, load->known_settled, facts) &&
           strcmp(load->known_type, uvh_static_rules_type(load->settings->rules, path)) == 0 &&
           (load->known_path == NULL || strcmp(load->known_path, path) == 0);
}

/* The file at `path` is regular and has these facts. */
static void load_file(struct uvh_static_load *load, const char *path,
                      const struct uvh_file_facts *facts)
{
    const struct uvh_static_settings *settings = load->settings;
    struct uvh_static_siblings siblings = uvh_static_siblings_find(settings, path, facts);
    if (is_unchanged(load, path, facts, siblings.digest)) {
        load->outcome = UVH_STATIC_UNCHANGED;
        return;
    }
    const char *type = uvh_static_rules_type(settings->rules, path);
    unsigned makeable = uvh_static_variants_makeable(settings, path, type, facts->size);
    struct uvh_file_load_options options = {
        .allocator = settings->allocator,
        .root = &settings->root,
        .rules = settings->rules,
        .path = path,
        .key = load->key,
        .memory_file_size = settings->memory_file_size,
        .varies = (siblings.found | makeable) != 0,
    };
    load->error = uvh_file_entry_load(&options, &load->entry);
    load->outcome = load->error == 0 ? UVH_STATIC_ENTRY : UVH_STATIC_FAILED;
    if (load->error != 0)
        return;
    load->entry->codings = (unsigned char)makeable;
    uvh_static_siblings_load(settings, path, &siblings, load->entry);
}

void uvh_static_load_listing(struct uvh_static_load *load)
{
    load->error = uvh_static_listing_open(load->settings, load->path.base, load->title,
                                          &load->query, &load->listing);
    load->outcome = load->error == 0 ? UVH_STATIC_LISTING : UVH_STATIC_FAILED;
}

/* Loads only this file. */
static void load_exact(struct uvh_static_load *load)
{
    struct uvh_file_facts facts;
    int error = uvh_file_facts_read(&load->settings->root, load->path.base, &facts);
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
    case UVH_STATIC_FOUND_DIRECTORY:
        load->outcome = UVH_STATIC_DIRECTORY;
        load->by_request = true;
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
