/* Listings for programs: JSON and lines of text. Called by dir_listing.c, which specifies the order
 * of calls.
 *
 * JSON is an array of objects: "name" (bytes that are no valid UTF-8 as U+FFFD), "href" (a relative
 * URL, percent-encoded, of exactly that entry), "type" ("file" or "directory"), "size" in bytes of
 * a file, "mtime" in UTC (RFC 3339). Text has one name per line, with a slash after a directory's.
 */
#ifndef UVH_FILES_DIR_PLAIN_H
#define UVH_FILES_DIR_PLAIN_H

#include "files/dir_listing.h"

void uvh_dir_plain_begin_json(const struct uvh_dir_listing *listing, struct uvh_bytes *slice);
void uvh_dir_plain_entry_json(const struct uvh_dir_listing *listing, size_t index,
                              struct uvh_bytes *slice);
void uvh_dir_plain_end_json(const struct uvh_dir_listing *listing, struct uvh_bytes *slice);

void uvh_dir_plain_begin_text(const struct uvh_dir_listing *listing, struct uvh_bytes *slice);
void uvh_dir_plain_entry_text(const struct uvh_dir_listing *listing, size_t index,
                              struct uvh_bytes *slice);
void uvh_dir_plain_end_text(const struct uvh_dir_listing *listing, struct uvh_bytes *slice);

#endif
