/* The order of a page: path, heading, what the directory contains, the table, the README. */
#include "files/dir_html.h"

#include <inttypes.h>
#include <string.h>

#include "files/dir_markdown.h"
#include "files/dir_names.h"
#include "files/dir_path.h"
#include "files/dir_style.h"
#include "files/dir_table.h"

/* "1 file, " or nothing. */
static void append_count(struct uvh_bytes *page, size_t count, const char *singular,
                         const char *plural)
{
    if (count > 0)
        uvh_bytes_append_format(page, "%zu %s, ", count, count == 1 ? singular : plural);
}

static void append_filter_text(const struct uvh_dir_listing *listing, struct uvh_bytes *page)
{
    const char *filter = listing->order.query.filter;
    uvh_bytes_append_text(page, "\xE2\x80\x9C<bdi>");
    uvh_dir_names_html(page, filter, strlen(filter));
    uvh_bytes_append_text(page, "</bdi>\xE2\x80\x9D");
}

static void append_state(const struct uvh_dir_listing *listing, struct uvh_bytes *page)
{
    const struct uvh_dir_entries *entries = &listing->entries;
    bool filtered = listing->order.query.filter != NULL;
    if (entries->cut) {
        uvh_bytes_append_format(page, "Only the first %zu entries of this directory are shown",
                                entries->count);
        if (entries->chosen_from > 0)
            uvh_bytes_append_format(page, ", of %zu read", entries->chosen_from);
        uvh_bytes_append_text(page, ". ");
    } else if (entries->count == 0 && !filtered) {
        uvh_bytes_append_text(page, "This directory is empty.");
    }
    if (!filtered)
        return;
    uvh_bytes_append_text(page, entries->count == 0 ? "No name contains " : "Names that contain ");
    append_filter_text(listing, page);
    uvh_bytes_append_text(page, entries->count == 0 ? "." : ": ");
}

static void append_summary(const struct uvh_dir_listing *listing, const struct uvh_dir_path *path,
                           struct uvh_bytes *page)
{
    const struct uvh_dir_entries *entries = &listing->entries;
    uvh_bytes_append_text(page, "<p>");
    append_state(listing, page);
    if (entries->count > 0) {
        append_count(page, entries->directories, "directory", "directories");
        append_count(page, entries->count - entries->directories, "file", "files");
        uvh_dir_table_append_size(entries->bytes, page);
    }
    if (listing->order.query.filter != NULL) {
        uvh_bytes_append_text(page, " ");
        uvh_dir_path_append_up(path, 0, page);
        uvh_bytes_append_text(page, "\">Show all</a>");
    } else if (listing->order.archive && entries->count > 0) {
        uvh_bytes_append_text(page, " <a rel=\"nofollow\" href=\"?format=tar\" download>"
                                    "Download as tar</a>"
                                    " <a rel=\"nofollow\" href=\"?format=zip\" download>zip</a>");
    }
    uvh_bytes_append_text(page, "</p>\n");
}

static void append_filter(const struct uvh_dir_listing *listing, struct uvh_bytes *page)
{
    const char *filter = listing->order.query.filter;
    uvh_bytes_append_text(page, "<form role=\"search\">");
    uvh_dir_table_append_fields(listing, page);
    uvh_bytes_append_text(page, "<input type=\"search\" name=\"filter\" maxlength=\"255\" "
                                "aria-label=\"Part of a name\" placeholder=\"Part of a name\"");
    if (filter != NULL) {
        uvh_bytes_append_text(page, " value=\"");
        uvh_dir_names_html(page, filter, strlen(filter));
        uvh_bytes_append_text(page, "\"");
    }
    uvh_bytes_append_text(page, "><button>Filter</button></form>\n");
}

static void append_upload(struct uvh_bytes *page)
{
    uvh_bytes_append_text(
        page, "<form method=\"post\" enctype=\"multipart/form-data\">"
              "<input type=\"file\" name=\"file\" multiple required aria-label=\"Files to upload\">"
              "<button>Upload</button></form>\n");
}

void uvh_dir_html_begin(const struct uvh_dir_listing *listing, struct uvh_bytes *page)
{
    char query[UVH_DIR_TABLE_QUERY_SIZE];
    struct uvh_dir_path path = {
        .title = listing->order.title,
        .parts = uvh_dir_path_count_slashes(listing->order.query.directory),
        .query = query,
    };
    uvh_dir_table_write_query(listing, query);
    uvh_dir_style_append_head(page);
    uvh_bytes_append_text(page, "<title>");
    uvh_dir_path_append_title(&path, page);
    uvh_bytes_append_text(page, "</title>\n");
    if (listing->order.nonce != NULL)
        uvh_dir_style_append_script(listing->order.nonce, page);
    uvh_bytes_append_text(page, "</head>\n<body>\n<main>\n");
    if (path.parts > 0) {
        uvh_bytes_append_text(page, "<nav aria-label=\"Path\">");
        uvh_dir_path_append_links(&path, page);
        uvh_bytes_append_text(page, "</nav>\n");
    }
    uvh_bytes_append_text(page, "<h1><bdi>");
    uvh_dir_path_append_name(&path, page);
    uvh_bytes_append_text(page, "</bdi></h1>\n");
    uvh_bytes_append_text(page, "<div class=\"tools\">\n");
    append_summary(listing, &path, page);
    if (listing->entries.count > 0 || listing->order.query.filter != NULL)
        append_filter(listing, page);
    if (listing->order.uploads)
        append_upload(page);
    uvh_bytes_append_text(page, "</div>\n");
    if (listing->entries.count > 0)
        uvh_dir_table_begin(listing, &path, page);
}

void uvh_dir_html_entry(const struct uvh_dir_listing *listing, size_t index, struct uvh_bytes *page)
{
    uvh_dir_table_entry(listing, index, page);
}

/* HTML ignores a line end directly after <pre> (HTML, 13.2.6.4.7), so the added one preserves a
 * line end at the beginning of the text. */
static void append_readme(const struct uvh_dir_readme *readme, struct uvh_bytes *page)
{
    uvh_bytes_append_format(page,
                            "<section aria-labelledby=\"readme\">\n<h2 id=\"readme\"><a "
                            "href=\"./%s\">%s</a></h2>\n",
                            readme->name, readme->name);
    uvh_bytes_append_text(page, "<article>\n");
    if (!readme->markdown ||
        !uvh_dir_markdown_append(page, readme->text.data, readme->text.length)) {
        uvh_bytes_append_text(page, "<pre>\n");
        uvh_dir_names_html_lines(page, readme->text.data, readme->text.length);
        uvh_bytes_append_text(page, "</pre>\n");
    }
    uvh_bytes_append_text(page, "</article>\n");
    if (readme->cut)
        uvh_bytes_append_text(page, "<p>This is the beginning of the file.</p>\n");
    uvh_bytes_append_text(page, "</section>\n");
}

void uvh_dir_html_end(const struct uvh_dir_listing *listing, struct uvh_bytes *page)
{
    if (listing->entries.count > 0)
        uvh_dir_table_end(page);
    if (listing->readme.name != NULL)
        append_readme(&listing->readme, page);
    uvh_bytes_append_text(page, "</main>\n</body>\n</html>\n");
}
