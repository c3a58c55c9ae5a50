/* The first item of the list that exists decides, also when it is denied: a forbidden file must not
 * be replaced by another one. The list is tried anew each time, so a file that appears later is
 * found first without further rules. */
#include "files/static_resolve.h"

#include <errno.h>
#include <string.h>

#include <uvhttp/error.h>

#include "files/static_path.h"

static const char html[] = ".html";

enum { HTML_LENGTH = sizeof(html) - 1 };

struct search {
    const struct uvh_static_settings *settings;
    const char *path;
    size_t length;
    bool bare;    /* the directory exists, with nothing to show */
    bool checked; /* the path itself was checked, with these results */
    int check_error;
    struct uvh_file_facts checked_facts;
    struct uvh_static_found *found;
};

static bool is_dir_path(const struct search *search)
{
    return search->length == 0 || search->path[search->length - 1] == '/';
}

static bool decide(struct search *search, enum uvh_static_found_kind kind)
{
    search->found->kind = kind;
    return true;
}

static bool decide_error(struct search *search, int error)
{
    search->found->error = error;
    return decide(search, UVH_STATIC_FOUND_ERROR);
}

static bool decide_redirect(struct search *search, enum uvh_static_redirect redirect)
{
    search->found->redirect = redirect;
    return decide(search, UVH_STATIC_FOUND_REDIRECT);
}

/* The file at found->path decides, unless it is a directory or missing. */
static bool try_found_path(struct search *search)
{
    struct uvh_static_found *found = search->found;
    int error = uvh_file_facts_read(&search->settings->root, found->path, &found->facts);
    if (strcmp(found->path, search->path) == 0) {
        search->checked = true;
        search->check_error = error;
        search->checked_facts = found->facts;
    }
    if (uvh_file_is_missing(error)) {
        found->error = error;
        return false;
    }
    if (error != 0)
        return decide_error(search, error);
    if (found->facts.kind == UVH_FILE_DIRECTORY)
        return false;
    return found->facts.kind == UVH_FILE_REGULAR ? decide(search, UVH_STATIC_FOUND_FILE)
                                                 : decide_error(search, UVHTTP_ENOTREG);
}

static bool try_file(struct search *search, const struct uvh_static_item *item)
{
    char *path = search->found->path;
    if (!uvh_static_map_expand(item, search->path, path, sizeof(search->found->path)))
        return false;
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return false;
    if (uvh_static_path_is_denied(path, search->settings->hidden, search->settings->hide))
        return false;
    return try_found_path(search);
}

/* The first of the index names that is a regular file in the directory decides; so does one that is
 * not readable. */
static bool try_index(struct search *search)
{
    struct uvh_static_found *found = search->found;
    const char *name = search->settings->index;
    size_t directory = search->length;
    if (directory + 1 >= sizeof(found->path))
        return false;
    memcpy(found->path, search->path, directory);
    if (!is_dir_path(search))
        found->path[directory++] = '/';
    for (;;) {
        name += strspn(name, " ");
        size_t length = strcspn(name, " ");
        if (length == 0)
            return false;
        if (directory + length < sizeof(found->path)) {
            memcpy(found->path + directory, name, length);
            found->path[directory + length] = '\0';
            int error =
                uvh_static_path_matches(found->path, search->settings->hide)
                    ? -ENOENT
                    : uvh_file_facts_read(&search->settings->root, found->path, &found->facts);
            if (error == 0 && found->facts.kind == UVH_FILE_REGULAR)
                return decide(search, UVH_STATIC_FOUND_FILE);
            if (error != 0 && !uvh_file_is_missing(error))
                return decide_error(search, error);
        }
        name += length;
    }
}

/* The path with a trailing slash. */
static bool try_open_dir(struct search *search)
{
    struct uvh_file_facts facts;
    if (try_index(search))
        return true;
    int error = uvh_file_facts_read(&search->settings->root, search->path, &facts);
    if (error == 0 && facts.kind != UVH_FILE_DIRECTORY)
        error = -ENOTDIR;
    if (error != 0 && !uvh_file_is_missing(error))
        return decide_error(search, error);
    search->found->error = error;
    search->bare = error == 0;
    return search->bare && search->settings->listing && decide(search, UVH_STATIC_FOUND_DIRECTORY);
}

/* The path without one; a directory is redirected to add it. `last`: no further item follows. */
static bool try_closed_dir(struct search *search, bool last)
{
    if (!search->checked)
        search->check_error =
            uvh_file_facts_read(&search->settings->root, search->path, &search->checked_facts);
    search->checked = true;
    if (search->check_error != 0 && !uvh_file_is_missing(search->check_error))
        return decide_error(search, search->check_error);
    if (search->check_error != 0 || search->checked_facts.kind != UVH_FILE_DIRECTORY)
        return false;
    search->bare = true;
    return (last || search->settings->listing || try_index(search)) &&
           decide_redirect(search, UVH_STATIC_ADD_SLASH);
}

static bool try_page(struct search *search, int page)
{
    struct uvh_file_facts facts;
    const char *path = uvh_static_map_page_path(&search->settings->map, page);
    int error = uvh_file_facts_read(&search->settings->root, path, &facts);
    if (uvh_file_is_missing(error))
        return false;
    if (error == 0 && facts.kind != UVH_FILE_REGULAR)
        error = UVHTTP_ENOTREG;
    if (error != 0)
        return decide_error(search, error);
    search->found->page = page;
    return decide(search, UVH_STATIC_FOUND_PAGE);
}

static bool try_item(struct search *search, const struct uvh_static_item *item, bool last)
{
    switch (item->kind) {
    case UVH_STATIC_ITEM_FILE:
        return try_file(search, item);
    case UVH_STATIC_ITEM_DIRECTORY:
        return is_dir_path(search) ? try_open_dir(search) : try_closed_dir(search, last);
    case UVH_STATIC_ITEM_PAGE:
        return try_page(search, item->page);
    case UVH_STATIC_ITEM_STATUS:
        search->found->status = item->status;
        return decide(search, UVH_STATIC_FOUND_STATUS);
    }
    return false;
}

/* True when an item of the list decided; otherwise found->error holds the error. */
static bool try_list(struct search *search)
{
    const struct uvh_static_map *map = &search->settings->map;
    search->found->error = -ENOENT;
    for (size_t i = 0; i < map->item_count; i++) {
        bool last = i + 1 == map->item_count && map->fallback == UVH_STATIC_NO_PAGE;
        if (try_item(search, &map->items[i], last))
            return true;
    }
    return false;
}

/* The list yields this file for the first `length` bytes of the path. */
static bool leads_to(const struct search *search, size_t length, const char *file)
{
    char path[PATH_MAX];
    struct uvh_static_found found;
    struct search other = {
        .settings = search->settings, .path = path, .length = length, .found = &found};
    if (length >= sizeof(path))
        return false;
    memcpy(path, search->path, length);
    path[length] = '\0';
    return try_list(&other) && found.kind == UVH_STATIC_FOUND_FILE && strcmp(found.path, file) == 0;
}

static bool is_index_name(const struct uvh_static_settings *settings, const char *wanted)
{
    size_t size = strlen(wanted);
    for (const char *name = settings->index; *name != '\0'; name += strspn(name, " ")) {
        size_t length = strcspn(name, " ");
        if (length == size && memcmp(name, wanted, size) == 0)
            return true;
        name += length;
    }
    return false;
}

/* The path, "docs/index" of `length` bytes, leads to "docs/index.html", and so does "docs/". */
static bool is_index_without_extension(const struct search *search, size_t length)
{
    char file[PATH_MAX];
    if (length == 0 || length + HTML_LENGTH >= sizeof(file))
        return false;
    memcpy(file, search->path, length);
    memcpy(file + length, html, HTML_LENGTH + 1);
    size_t directory = length;
    while (directory > 0 && file[directory - 1] != '/')
        directory--;
    return is_index_name(search->settings, file + directory) && leads_to(search, length, file) &&
           leads_to(search, directory, file);
}

/* With clean URLs each file has one URL. Redirects only to a URL of the very same file. */
static bool try_clean_url(struct search *search)
{
    const char *path = search->path;
    size_t length = search->length;
    if (is_dir_path(search))
        return false;
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    if (is_index_name(search->settings, name) && leads_to(search, (size_t)(name - path), path))
        return decide_redirect(search, UVH_STATIC_DROP_NAME);
    if (is_index_without_extension(search, length))
        return decide_redirect(search, UVH_STATIC_DROP_NAME);
    if (length > HTML_LENGTH && strcmp(path + length - HTML_LENGTH, html) == 0 &&
        leads_to(search, length - HTML_LENGTH, path))
        return decide_redirect(search, UVH_STATIC_DROP_EXTENSION);
    return false;
}

/* "about/" when there is no such directory, or nothing to show in it, but "about.html". */
static bool try_without_slash(struct search *search)
{
    char file[PATH_MAX];
    size_t length = search->length;
    if (length < 2 || !is_dir_path(search) || length - 1 + HTML_LENGTH >= sizeof(file))
        return false;
    length--;
    memcpy(file, search->path, length);
    memcpy(file + length, html, HTML_LENGTH + 1);
    if (!leads_to(search, length, file))
        return false;
    return decide_redirect(search, is_index_without_extension(search, length)
                                       ? UVH_STATIC_DROP_NAME
                                       : UVH_STATIC_DROP_SLASH);
}

void uvh_static_resolve(const struct uvh_static_settings *settings, uvhttp_slice_t path,
                        struct uvh_static_found *found)
{
    const struct uvh_static_map *map = &settings->map;
    struct search search = {
        .settings = settings, .path = path.base, .length = path.length, .found = found};
    if (map->clean && try_clean_url(&search))
        return;
    if (try_list(&search) || (map->clean && try_without_slash(&search)))
        return;
    if (search.bare)
        found->error = -EISDIR;
    if (map->fallback != UVH_STATIC_NO_PAGE) {
        found->page = map->fallback;
        decide(&search, UVH_STATIC_FOUND_FALLBACK);
    } else if (search.bare && !is_dir_path(&search)) {
        decide_redirect(&search, UVH_STATIC_ADD_SLASH);
    } else {
        decide_error(&search, found->error);
    }
}
