/* Several ranges of one file as a multipart/byteranges body (RFC 9110 section 14.6).
 *
 * The caller (static_entity.c) selects the file and sends the body. */
#ifndef UVH_FILES_BYTE_RANGES_H
#define UVH_FILES_BYTE_RANGES_H

#include <uvhttp/response.h>

#include "codec/fields/range.h"
#include "files/file_entry.h"

enum { UVH_BYTE_RANGES_TYPE_SIZE = 64 };

struct uvh_byte_ranges {
    uvhttp_part_t *parts; /* heads: in the exchange's memory; contents: the entry's */
    size_t count;
    uint64_t size;                        /* bytes of the whole body */
    char type[UVH_BYTE_RANGES_TYPE_SIZE]; /* Content-Type, with the boundary */
};

/* Describes the body for a satisfiable set. Returns 0, UVHTTP_ENOMEM, or a negative errno without
 * random numbers. */
int uvh_byte_ranges_make(uvhttp_request_t *request, const struct uvh_file_entry *entry,
                         const struct uvh_range_set *set, struct uvh_byte_ranges *made);

#endif
