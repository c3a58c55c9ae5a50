/* Each format has a function for the text before the entries, one for an entry, and one for the
 * text after them. */
#include "files/dir_listing.h"

#include <inttypes.h>
#include <string.h>

#include <uvhttp/error.h>

#include "codec/fields/http_date.h"
#include "files/dir_html.h"
#include "files/dir_names.h"

/* JSON is an array of objects: "name" (bytes that are no valid UTF-8 as U+FFFD), "href" (a relative
 * URL, percent-encoded, of exactly that entry), "type" ("file" or "directory"), "size" in bytes of
 * a file, "mtime" in UTC (RFC 3339). Text has one name per line, with a slash after a directory's.
 */

static void begin_json(const struct uvh_dir_listing *listing, struct uvh_bytes *slice)
{
    (void)listing;
    uvh_bytes_append_text(slice, "[");
}

static void entry_json(const struct uvh_dir_listing *listing, size_t index, struct uvh_bytes *slice)
{
    const struct uvh_dir_entry *entry = &listing->entries.items[index];
    size_t length = strlen(entry->name);
    char date[UVH_HTTP_DATE_ISO_SIZE];
    uvh_http_date_format_iso(entry->modified, date);
    uvh_bytes_append_text(slice, index == 0 ? "\n{\"name\":\"" : ",\n{\"name\":\"");
    uvh_dir_names_json(slice, entry->name, length);
    uvh_bytes_append_text(slice, "\",\"href\":\"./");
    uvh_dir_names_link(slice, entry->name, length);
    if (entry->directory)
        uvh_bytes_append_text(slice, "/\",\"type\":\"directory\"");
    else
        uvh_bytes_append_text(slice, "\",\"type\":\"file\"");
    if (!entry->directory && !entry->added)
        uvh_bytes_append_format(slice, ",\"size\":%" PRIu64, entry->size);
    if (!entry->added) {
        uvh_bytes_append_text(slice, ",\"mtime\":\"");
        uvh_bytes_append(slice, date, sizeof(date));
        uvh_bytes_append_text(slice, "\"");
    }
    uvh_bytes_append_text(slice, "}");
}

static void end_json(const struct uvh_dir_listing *listing, struct uvh_bytes *slice)
{
    (void)listing;
    uvh_bytes_append_text(slice, "\n]\n");
}

static void entry_text(const struct uvh_dir_listing *listing, size_t index, struct uvh_bytes *slice)
{
    const struct uvh_dir_entry *entry = &listing->entries.items[index];
    uvh_dir_names_plain(slice, entry->name, strlen(entry->name));
    uvh_bytes_append_text(slice, entry->directory ? "/\n" : "\n");
}

static void do_nothing(const struct uvh_dir_listing *listing, struct uvh_bytes *slice)
{
    (void)listing, (void)slice;
}

static const struct {
    void (*begin)(const struct uvh_dir_listing *listing, struct uvh_bytes *slice);
    void (*entry)(const struct uvh_dir_listing *listing, size_t index, struct uvh_bytes *slice);
    void (*end)(const struct uvh_dir_listing *listing, struct uvh_bytes *slice);
} formats[] = {
    [UVH_DIR_HTML] = {uvh_dir_html_begin, uvh_dir_html_entry, uvh_dir_html_end},
    [UVH_DIR_JSON] = {begin_json, entry_json, end_json},
    [UVH_DIR_TEXT] = {do_nothing, entry_text, do_nothing},
};

int uvh_dir_listing_open(struct uvh_dir_listing *listing, const uvhttp_allocator_t *allocator,
                         const struct uvh_dir_listing_options *order)
{
    const struct uvh_dir_query *query = &order->query;
    *listing = (struct uvh_dir_listing){.order = *order};
    int result = uvh_dir_entries_read(&listing->entries, allocator, query);
    if (result == 0 && order->format == UVH_DIR_HTML)
        result = uvh_dir_readme_read(&listing->readme, allocator, query->root, query->directory,
                                     query->hide);
    if (result != 0)
        uvh_dir_listing_close(listing);
    return result;
}

void uvh_dir_listing_close(struct uvh_dir_listing *listing)
{
    uvh_dir_entries_release(&listing->entries);
    if (listing->readme.text.allocator != NULL)
        uvh_dir_readme_release(&listing->readme);
}

int uvh_dir_listing_make(struct uvh_dir_listing *listing, struct uvh_bytes *slice)
{
    enum uvh_dir_format format = listing->order.format;
    if (!listing->begun)
        formats[format].begin(listing, slice);
    listing->begun = true;
    while (listing->next < listing->entries.count && slice->length < UVH_DIR_LISTING_SLICE &&
           !slice->failed)
        formats[format].entry(listing, listing->next++, slice);
    bool last = listing->next == listing->entries.count && slice->length < UVH_DIR_LISTING_SLICE;
    if (last)
        formats[format].end(listing, slice);
    if (slice->failed)
        return UVHTTP_ENOMEM;
    return last ? 1 : 0;
}
