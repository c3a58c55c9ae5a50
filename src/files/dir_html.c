/* The path at the top has a link for each of its parts, from the served directory down. The title
 * is the path as requested, which may contain repeated slashes. A relative URL goes up by one slash
 * per level, so the code counts slashes. */
#include "files/dir_html.h"

#include <inttypes.h>
#include <string.h>

#include "codec/fields/http_date.h"
#include "files/dir_names.h"
#include "files/dir_style.h"

enum {
    /* parts above a deeper directory are plain text: a link takes three bytes per level */
    LINKED_LEVELS = 64
};

static const char page_begin[] = "<!DOCTYPE html>\n"
                                 "<html lang=\"en\">\n"
                                 "<head>\n"
                                 "<meta charset=\"utf-8\">\n"
                                 "<title>";

static const char head_end[] =
    "</title>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<link rel=\"stylesheet\" href=\"?format=css&amp;v=";

static const struct {
    const char *name;
    const char *title;
    bool down_first; /* the first click sorts descending */
} columns[] = {
    [UVH_DIR_SORT_NAME] = {"name", "Name", false},
    [UVH_DIR_SORT_SIZE] = {"size", "Size", true},
    [UVH_DIR_SORT_DATE] = {"date", "Modified<span> (UTC)</span>", true},
};

static void append_text(struct uvh_bytes *page, const char *text)
{
    uvh_dir_names_html(page, text, strlen(text));
}

/* The query of a link to another listing: only what differs from the default listing. */
static void append_query(const struct uvh_dir_listing *listing, struct uvh_bytes *page)
{
    const struct uvh_dir_listing_options *order = &listing->order;
    bool sorted = order->query.sort != UVH_DIR_SORT_NAME || order->query.descending;
    if (order->format_given)
        uvh_bytes_append_text(page, "?format=html");
    if (sorted)
        uvh_bytes_append_format(page, "%ssort=%s&amp;order=%s", order->format_given ? "&amp;" : "?",
                                columns[order->query.sort].name,
                                order->query.descending ? "desc" : "asc");
}

/* ---- the path ---- */

static size_t count_slashes(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == '/';
    return count;
}

/* The position in the title where the parts of the directory begin; the mount prefix precedes
 * it. */
static const char *find_dir(const struct uvh_dir_listing *listing)
{
    const char *title = listing->order.title;
    const char *at = title + strlen(title);
    for (size_t parts = count_slashes(listing->order.query.directory); parts > 0; parts--) {
        while (at > title && at[-1] == '/')
            at--;
        while (at > title && at[-1] != '/')
            at--;
    }
    return at;
}

static void append_up(struct uvh_bytes *page, size_t levels)
{
    for (size_t i = 0; i < levels; i++)
        uvh_bytes_append_text(page, "../");
}

/* A part of the path, with a link unless it is the last. `rest` follows it in the title. */
static void append_part(const struct uvh_dir_listing *listing, const char *part, size_t length,
                        const char *rest, struct uvh_bytes *page)
{
    size_t levels = count_slashes(rest);
    bool last = *rest == '\0';
    bool linked = !last && levels <= LINKED_LEVELS;
    if (linked) {
        uvh_bytes_append_text(page, "<a href=\"");
        append_up(page, levels);
        append_query(listing, page);
        uvh_bytes_append_text(page, "\">");
    } else if (last) {
        uvh_bytes_append_text(page, "<span aria-current=\"page\">");
    }
    uvh_bytes_append_text(page, "<bdi>");
    uvh_dir_names_html(page, part, length);
    uvh_bytes_append_text(page, "</bdi>");
    uvh_bytes_append_text(page, linked ? "</a>" : last ? "</span>" : "");
}

static void append_path(const struct uvh_dir_listing *listing, struct uvh_bytes *page)
{
    const char *at = find_dir(listing);
    append_part(listing, listing->order.title, (size_t)(at - listing->order.title), at, page);
    while (*at != '\0') {
        size_t name = strcspn(at, "/");
        size_t slashes = strspn(at + name, "/");
        append_part(listing, at, name, at + name + slashes, page);
        at += name + slashes;
        uvh_bytes_append_text(page, "/");
    }
    uvh_bytes_append_text(page, "\n");
}

/* The number of slashes to go up to the parent directory. */
static size_t parent_levels(const char *title)
{
    size_t length = strlen(title), levels = 0;
    while (length > 0 && title[--length] == '/')
        levels++;
    return levels;
}

/* ---- numbers and dates ---- */

static void append_size(struct uvh_bytes *page, uint64_t size)
{
    static const char units[] = "KMGTPE";
    uvh_bytes_append_format(page, "<data value=\"%" PRIu64 "\">", size);
    if (size < 1024) {
        uvh_bytes_append_format(page, "%u B</data>", (unsigned)size);
        return;
    }
    size_t unit = 0;
    uint64_t tenths = size / 1024 * 10 + size % 1024 * 10 / 1024;
    while (tenths >= 10240 && units[unit + 1] != '\0') {
        tenths /= 1024;
        unit++;
    }
    if (tenths < 100)
        uvh_bytes_append_format(page, "%u.%u %ciB</data>", (unsigned)tenths / 10,
                                (unsigned)tenths % 10, units[unit]);
    else
        uvh_bytes_append_format(page, "%u %ciB</data>", (unsigned)tenths / 10, units[unit]);
}

/* "1994-11-06 08:49"; a narrow page shows only the day. */
static void append_date(struct uvh_bytes *page, int64_t seconds)
{
    enum { DAY = 10, MINUTE = 16 };
    char date[UVH_HTTP_DATE_ISO_SIZE];
    uvh_http_date_format_iso(seconds, date);
    uvh_bytes_append_text(page, "<time datetime=\"");
    uvh_bytes_append(page, date, sizeof(date));
    uvh_bytes_append_text(page, "\">");
    uvh_bytes_append(page, date, DAY);
    uvh_bytes_append_text(page, "<span> ");
    uvh_bytes_append(page, date + DAY + 1, MINUTE - DAY - 1);
    uvh_bytes_append_text(page, "</span></time>");
}

static void append_count(struct uvh_bytes *page, size_t count, const char *singular,
                         const char *plural)
{
    uvh_bytes_append_format(page, "%zu %s", count, count == 1 ? singular : plural);
}

static void append_summary(const struct uvh_dir_listing *listing, struct uvh_bytes *page)
{
    const struct uvh_dir_entries *entries = &listing->entries;
    uvh_bytes_append_text(page, "<p>");
    if (entries->cut) {
        uvh_bytes_append_format(page, "Only the first %zu entries of this directory are shown",
                                entries->count);
        if (entries->chosen_from > 0)
            uvh_bytes_append_format(page, ", of %zu read", entries->chosen_from);
        uvh_bytes_append_text(page, ". ");
    } else if (entries->count == 0) {
        uvh_bytes_append_text(page, "This directory is empty. ");
    }
    if (entries->count > 0) {
        append_count(page, entries->directories, "directory", "directories");
        uvh_bytes_append_text(page, ", ");
        append_count(page, entries->count - entries->directories, "file", "files");
        uvh_bytes_append_text(page, ", ");
        append_size(page, entries->bytes);
        uvh_bytes_append_text(page, " ");
    }
    if (listing->order.archive)
        uvh_bytes_append_text(page, "<a href=\"?format=tar\" download>Download as tar</a>");
    uvh_bytes_append_text(page, "</p>\n");
}

/* ---- the table ---- */

static void append_column(const struct uvh_dir_listing *listing, enum uvh_dir_sort sort,
                          struct uvh_bytes *page)
{
    const struct uvh_dir_query *query = &listing->order.query;
    bool current = query->sort == sort;
    bool down = current ? !query->descending : columns[sort].down_first;
    uvh_bytes_append_text(page, "<th scope=\"col\"");
    if (current)
        uvh_bytes_append_format(page, " aria-sort=\"%s\"",
                                query->descending ? "descending" : "ascending");
    uvh_bytes_append_format(page, "><a href=\"?%ssort=%s&amp;order=%s\">%s</a></th>",
                            listing->order.format_given ? "format=html&amp;" : "",
                            columns[sort].name, down ? "desc" : "asc", columns[sort].title);
}

static void append_parent_row(const struct uvh_dir_listing *listing, struct uvh_bytes *page)
{
    uvh_bytes_append_text(page, "<tr class=\"directory\"><td><a href=\"");
    append_up(page, parent_levels(listing->order.title));
    append_query(listing, page);
    uvh_bytes_append_text(
        page, "\" aria-label=\"Parent directory\">../</a></td><td></td><td></td></tr>\n");
}

void uvh_dir_html_begin(const struct uvh_dir_listing *listing, struct uvh_bytes *page)
{
    char version[UVH_DIR_STYLE_VERSION_SIZE];
    uvh_dir_style_version(version);
    uvh_bytes_append_text(page, page_begin);
    append_text(page, listing->order.title);
    uvh_bytes_append_text(page, head_end);
    uvh_bytes_append_text(page, version);
    uvh_bytes_append_text(page, "\">\n</head>\n<body>\n<main>\n<h1>");
    append_path(listing, page);
    uvh_bytes_append_text(page, "</h1>\n");
    append_summary(listing, page);
    uvh_bytes_append_text(page, "<table>\n<thead>\n<tr>");
    append_column(listing, UVH_DIR_SORT_NAME, page);
    append_column(listing, UVH_DIR_SORT_SIZE, page);
    append_column(listing, UVH_DIR_SORT_DATE, page);
    uvh_bytes_append_text(page, "</tr>\n</thead>\n<tbody>\n");
    if (listing->order.query.directory[0] != '\0')
        append_parent_row(listing, page);
}

void uvh_dir_html_entry(const struct uvh_dir_listing *listing, size_t index, struct uvh_bytes *page)
{
    const struct uvh_dir_entry *entry = &listing->entries.items[index];
    /* The "./" keeps a name with a colon from parsing as a URL scheme (RFC 3986 section 4.2). */
    uvh_bytes_append_text(page, entry->directory ? "<tr class=\"directory\"><td><a href=\"./"
                                                 : "<tr><td><a href=\"./");
    uvh_dir_names_link(page, entry->name, strlen(entry->name));
    if (entry->directory) {
        uvh_bytes_append_text(page, "/");
        append_query(listing, page);
    }
    uvh_bytes_append_text(page, "\"><bdi>");
    append_text(page, entry->name);
    uvh_bytes_append_text(page, entry->directory ? "/</bdi></a></td><td>" : "</bdi></a></td><td>");
    if (!entry->directory)
        append_size(page, entry->size);
    uvh_bytes_append_text(page, "</td><td>");
    append_date(page, entry->modified);
    uvh_bytes_append_text(page, "</td></tr>\n");
}

/* HTML ignores a line end directly after <pre> (HTML, 13.2.6.4.7), so the added one preserves a
 * line end at the beginning of the text. */
static void append_readme(const struct uvh_dir_readme *readme, struct uvh_bytes *page)
{
    uvh_bytes_append_format(page,
                            "<section aria-labelledby=\"readme\">\n<h2 id=\"readme\"><a "
                            "href=\"./%s\">%s</a></h2>\n<pre>\n",
                            readme->name, readme->name);
    uvh_dir_names_html_lines(page, readme->text.data, readme->text.length);
    uvh_bytes_append_text(page, "</pre>\n");
    if (readme->cut)
        uvh_bytes_append_text(page, "<p>This is the beginning of the file.</p>\n");
    uvh_bytes_append_text(page, "</section>\n");
}

void uvh_dir_html_end(const struct uvh_dir_listing *listing, struct uvh_bytes *page)
{
    uvh_bytes_append_text(page, "</tbody>\n</table>\n");
    if (listing->readme.name != NULL)
        append_readme(&listing->readme, page);
    uvh_bytes_append_text(page, "</main>\n</body>\n</html>\n");
}
