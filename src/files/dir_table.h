/* The table of a listing's page: columns to sort by, and a row for each entry.
 *
 * Invariants: as in dir_html.h. */
#ifndef UVH_FILES_DIR_TABLE_H
#define UVH_FILES_DIR_TABLE_H

#include "files/dir_listing.h"
#include "files/dir_path.h"

enum { UVH_DIR_TABLE_QUERY_SIZE = 64 };

/* The query of a link to another directory: only what differs from the default listing. */
void uvh_dir_table_write_query(const struct uvh_dir_listing *listing,
                               char query[UVH_DIR_TABLE_QUERY_SIZE]);

/* The same as hidden fields of a form. */
void uvh_dir_table_append_fields(const struct uvh_dir_listing *listing, struct uvh_bytes *page);

/* A size in bytes, as people read it. */
void uvh_dir_table_append_size(uint64_t size, struct uvh_bytes *page);

void uvh_dir_table_begin(const struct uvh_dir_listing *listing, const struct uvh_dir_path *path,
                         struct uvh_bytes *page);
void uvh_dir_table_entry(const struct uvh_dir_listing *listing, size_t index,
                         struct uvh_bytes *page);
void uvh_dir_table_end(struct uvh_bytes *page);

#endif
