/* Each format has a function for the text before the entries, one for an entry, and one for the
 * text after them. */
#include "files/dir_listing.h"

#include <uvhttp/error.h>

#include "files/dir_html.h"
#include "files/dir_plain.h"

static const struct {
    void (*begin)(const struct uvh_dir_listing *listing, struct uvh_bytes *slice);
    void (*entry)(const struct uvh_dir_listing *listing, size_t index, struct uvh_bytes *slice);
    void (*end)(const struct uvh_dir_listing *listing, struct uvh_bytes *slice);
} formats[] = {
    [UVH_DIR_HTML] = {uvh_dir_html_begin, uvh_dir_html_entry, uvh_dir_html_end},
    [UVH_DIR_JSON] = {uvh_dir_plain_begin_json, uvh_dir_plain_entry_json, uvh_dir_plain_end_json},
    [UVH_DIR_TEXT] = {uvh_dir_plain_begin_text, uvh_dir_plain_entry_text, uvh_dir_plain_end_text},
};

int uvh_dir_listing_open(struct uvh_dir_listing *listing, const uvhttp_allocator_t *allocator,
                         const struct uvh_dir_listing_options *order)
{
    const struct uvh_dir_query *query = &order->query;
    *listing = (struct uvh_dir_listing){.order = *order};
    int result = uvh_dir_entries_read(&listing->entries, allocator, query);
    if (result == 0 && order->format == UVH_DIR_HTML)
        result = uvh_dir_readme_read(&listing->readme, allocator, query->root, query->directory);
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
