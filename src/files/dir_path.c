/* A relative URL goes up by one slash per level, so the code counts slashes. */
#include "files/dir_path.h"

#include <stdbool.h>
#include <string.h>

#include "files/dir_names.h"

enum {
    /* parts above a deeper directory are plain text: a link takes three bytes per level */
    LINKED_LEVELS = 64
};

size_t uvh_dir_path_count_slashes(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == '/';
    return count;
}

/* The position in the title where the parts below the served directory begin. */
static const char *find_parts(const struct uvh_dir_path *path)
{
    const char *at = path->title + strlen(path->title);
    for (size_t parts = path->parts; parts > 0; parts--) {
        while (at > path->title && at[-1] == '/')
            at--;
        while (at > path->title && at[-1] != '/')
            at--;
    }
    return at;
}

const char *uvh_dir_path_name(const struct uvh_dir_path *path, size_t *length)
{
    size_t end = strlen(path->title);
    while (end > 0 && path->title[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path->title[begin - 1] != '/')
        begin--;
    *length = end - begin;
    return path->title + begin;
}

void uvh_dir_path_append_name(const struct uvh_dir_path *path, struct uvh_bytes *page)
{
    size_t length;
    const char *name = uvh_dir_path_name(path, &length);
    if (length == 0)
        uvh_bytes_append_text(page, "Index of /");
    else
        uvh_dir_names_html(page, name, length);
}

void uvh_dir_path_append_title(const struct uvh_dir_path *path, struct uvh_bytes *page)
{
    size_t length;
    uvh_dir_path_name(path, &length);
    uvh_dir_path_append_name(path, page);
    if (length == 0)
        return;
    uvh_bytes_append_text(page, " \xE2\x80\x93 ");
    uvh_dir_names_html(page, path->title, strlen(path->title));
}

void uvh_dir_path_append_up(const struct uvh_dir_path *path, size_t slashes, struct uvh_bytes *page)
{
    uvh_bytes_append_text(page,
                          path->query[0] != '\0' ? "<a rel=\"nofollow\" href=\"" : "<a href=\"");
    for (size_t i = 0; i < slashes; i++)
        uvh_bytes_append_text(page, "../");
    uvh_bytes_append_text(page, slashes == 0 ? "./" : "");
    uvh_bytes_append_text(page, path->query);
}

/* A part of the path, with a link unless it is the last. `rest` follows it in the title. */
static void append_part(const struct uvh_dir_path *path, const char *part, size_t length,
                        const char *rest, struct uvh_bytes *page)
{
    size_t levels = uvh_dir_path_count_slashes(rest);
    bool last = *rest == '\0';
    bool linked = !last && levels <= LINKED_LEVELS;
    if (linked) {
        uvh_dir_path_append_up(path, levels, page);
        uvh_bytes_append_text(page, "\">");
    } else if (last) {
        uvh_bytes_append_text(page, "<span aria-current=\"page\">");
    }
    uvh_bytes_append_text(page, "<bdi>");
    uvh_dir_names_html(page, part, length);
    uvh_bytes_append_text(page, "</bdi>");
    uvh_bytes_append_text(page, linked ? "</a>" : last ? "</span>" : "");
}

void uvh_dir_path_append_links(const struct uvh_dir_path *path, struct uvh_bytes *page)
{
    const char *at = find_parts(path);
    append_part(path, path->title, (size_t)(at - path->title), at, page);
    while (*at != '\0') {
        size_t name = strcspn(at, "/");
        size_t slashes = strspn(at + name, "/");
        append_part(path, at, name, at + name + slashes, page);
        at += name + slashes;
        uvh_bytes_append_text(page, slashes > 0 ? "/" : "");
    }
}

size_t uvh_dir_path_below(const struct uvh_dir_path *path)
{
    return uvh_dir_path_count_slashes(find_parts(path));
}

size_t uvh_dir_path_parent(const struct uvh_dir_path *path)
{
    size_t length = strlen(path->title), levels = 0;
    while (length > 0 && path->title[--length] == '/')
        levels++;
    return levels;
}
