#include "files/dir_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codec/fields/http_date.h"
#include "files/dir_icons.h"
#include "files/dir_names.h"

static const struct {
    const char *name;
    const char *title;
    bool down_first; /* the first click sorts descending */
} columns[] = {
    [UVH_DIR_SORT_NAME] = {"name", "Name", false},
    [UVH_DIR_SORT_SIZE] = {"size", "Size", true},
    [UVH_DIR_SORT_DATE] = {"date", "Modified<span> (UTC)</span>", true},
};

void uvh_dir_table_write_query(const struct uvh_dir_listing *listing,
                               char query[UVH_DIR_TABLE_QUERY_SIZE])
{
    const struct uvh_dir_listing_options *order = &listing->order;
    bool sorted = order->query.sort != UVH_DIR_SORT_NAME || order->query.descending;
    size_t length = 0;
    query[0] = '\0';
    if (order->format_given)
        length = (size_t)snprintf(query, UVH_DIR_TABLE_QUERY_SIZE, "?format=html");
    if (sorted)
        snprintf(query + length, UVH_DIR_TABLE_QUERY_SIZE - length, "%ssort=%s&amp;order=%s",
                 length > 0 ? "&amp;" : "?", columns[order->query.sort].name,
                 order->query.descending ? "desc" : "asc");
}

void uvh_dir_table_append_size(uint64_t size, struct uvh_bytes *page)
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
    uvh_bytes_append_format(page, "><a rel=\"nofollow\" href=\"?%ssort=%s&amp;order=%s",
                            listing->order.format_given ? "format=html&amp;" : "",
                            columns[sort].name, down ? "desc" : "asc");
    if (query->filter != NULL) {
        uvh_bytes_append_text(page, "&amp;filter=");
        uvh_dir_names_link(page, query->filter, strlen(query->filter));
    }
    uvh_bytes_append_format(page, "\">%s</a></th>", columns[sort].title);
}

static void append_parent_row(const struct uvh_dir_path *path, struct uvh_bytes *page)
{
    uvh_bytes_append_text(page, "<tr class=\"directory\"><td>");
    uvh_dir_icons_append("", true, page);
    uvh_dir_path_append_up(path, uvh_dir_path_parent(path), page);
    uvh_bytes_append_text(
        page, "\" aria-label=\"Parent directory\">../</a></td><td></td><td></td></tr>\n");
}

void uvh_dir_table_append_fields(const struct uvh_dir_listing *listing, struct uvh_bytes *page)
{
    const struct uvh_dir_query *query = &listing->order.query;
    if (listing->order.format_given)
        uvh_bytes_append_text(page, "<input type=\"hidden\" name=\"format\" value=\"html\">");
    if (query->sort != UVH_DIR_SORT_NAME || query->descending)
        uvh_bytes_append_format(page,
                                "<input type=\"hidden\" name=\"sort\" value=\"%s\">"
                                "<input type=\"hidden\" name=\"order\" value=\"%s\">",
                                columns[query->sort].name, query->descending ? "desc" : "asc");
}

void uvh_dir_table_begin(const struct uvh_dir_listing *listing, const struct uvh_dir_path *path,
                         struct uvh_bytes *page)
{
    uvh_dir_icons_append_shapes(page);
    uvh_bytes_append_text(page, "<table class=\"rows\">\n<thead>\n<tr>");
    append_column(listing, UVH_DIR_SORT_NAME, page);
    append_column(listing, UVH_DIR_SORT_SIZE, page);
    append_column(listing, UVH_DIR_SORT_DATE, page);
    uvh_bytes_append_text(page, "</tr>\n</thead>\n<tbody>\n");
    if (path->parts > 0)
        append_parent_row(path, page);
}

void uvh_dir_table_entry(const struct uvh_dir_listing *listing, size_t index,
                         struct uvh_bytes *page)
{
    const struct uvh_dir_entry *entry = &listing->entries.items[index];
    /* The "./" keeps a name with a colon from parsing as a URL scheme (RFC 3986 section 4.2). */
    uvh_bytes_append_text(page, entry->directory ? "<tr class=\"directory\"><td>" : "<tr><td>");
    uvh_dir_icons_append(entry->name, entry->directory, page);
    uvh_bytes_append_text(page, "<a href=\"./");
    uvh_dir_names_link(page, entry->name, strlen(entry->name));
    if (entry->directory) {
        char query[UVH_DIR_TABLE_QUERY_SIZE];
        uvh_dir_table_write_query(listing, query);
        uvh_bytes_append_format(page, "/%s%s", query, *query != '\0' ? "\" rel=\"nofollow" : "");
    }
    uvh_bytes_append_text(page, "\"><bdi>");
    uvh_dir_names_html(page, entry->name, strlen(entry->name));
    uvh_bytes_append_text(page, entry->directory ? "/</bdi></a></td><td>" : "</bdi></a></td><td>");
    if (!entry->directory && !entry->added)
        uvh_dir_table_append_size(entry->size, page);
    uvh_bytes_append_text(page, "</td><td>");
    if (!entry->added)
        append_date(page, entry->modified);
    uvh_bytes_append_text(page, "</td></tr>\n");
}

void uvh_dir_table_end(struct uvh_bytes *page)
{
    uvh_bytes_append_text(page, "</tbody>\n</table>\n");
}
