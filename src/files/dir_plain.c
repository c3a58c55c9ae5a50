/* Both formats write one line per entry. */
#include "files/dir_plain.h"

#include <inttypes.h>
#include <string.h>

#include "codec/fields/http_date.h"
#include "files/dir_names.h"

void uvh_dir_plain_begin_json(const struct uvh_dir_listing *listing, struct uvh_bytes *slice)
{
    (void)listing;
    uvh_bytes_append_text(slice, "[");
}

void uvh_dir_plain_entry_json(const struct uvh_dir_listing *listing, size_t index,
                              struct uvh_bytes *slice)
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
        uvh_bytes_append_format(slice, "\",\"type\":\"file\",\"size\":%" PRIu64, entry->size);
    uvh_bytes_append_text(slice, ",\"mtime\":\"");
    uvh_bytes_append(slice, date, sizeof(date));
    uvh_bytes_append_text(slice, "\"}");
}

void uvh_dir_plain_end_json(const struct uvh_dir_listing *listing, struct uvh_bytes *slice)
{
    (void)listing;
    uvh_bytes_append_text(slice, "\n]\n");
}

void uvh_dir_plain_begin_text(const struct uvh_dir_listing *listing, struct uvh_bytes *slice)
{
    (void)listing, (void)slice;
}

void uvh_dir_plain_entry_text(const struct uvh_dir_listing *listing, size_t index,
                              struct uvh_bytes *slice)
{
    const struct uvh_dir_entry *entry = &listing->entries.items[index];
    uvh_dir_names_plain(slice, entry->name, strlen(entry->name));
    uvh_bytes_append_text(slice, entry->directory ? "/\n" : "\n");
}

void uvh_dir_plain_end_text(const struct uvh_dir_listing *listing, struct uvh_bytes *slice)
{
    (void)listing, (void)slice;
}
