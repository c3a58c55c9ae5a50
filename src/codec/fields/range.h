/* Range and If-Range (RFC 9110 sections 14.1.2, 14.2 and 13.1.5).
 *
 * Called for every representation of known size. */
#ifndef UVH_CODEC_FIELDS_RANGE_H
#define UVH_CODEC_FIELDS_RANGE_H

#include <uvhttp/types.h>

enum uvh_range_kind {
    UVH_RANGE_NONE = 0,          /* missing, malformed or in another unit: send everything */
    UVH_RANGE_SATISFIABLE = 1,   /* 206, as multipart/byteranges for several ranges */
    UVH_RANGE_UNSATISFIABLE = 2, /* 416 */
};

enum {
    /* in one field; more are ignored, so that a client cannot request a file in single bytes */
    UVH_RANGE_MAX_COUNT = 64,
    /* bytes; ranges with a smaller gap are merged, because the header of a part is larger */
    UVH_RANGE_GAP = 80,
};

struct uvh_range {
    uint64_t first;
    uint64_t last;
};

/* The ranges to send, in order, at least UVH_RANGE_GAP bytes apart. */
struct uvh_range_set {
    size_t count;
    struct uvh_range items[UVH_RANGE_MAX_COUNT];
};

/* Parses a Range field's value for a representation of `size` bytes. For SATISFIABLE `set` has one
 * range or more, each with first <= last < size. Ranges beyond the size are dropped; overlapping or
 * nearly touching ones are merged (RFC 9110 section 15.3.7.2) at the position of the first of them.
 * Otherwise `set` is undefined. */
enum uvh_range_kind uvh_range_parse(uvhttp_slice_t value, uint64_t size, struct uvh_range_set *set);

/* True if If-Range permits the range: a missing field (base NULL), the same strong entity tag, or
 * exactly the modification date if that is at least a second before `now`, so that it is a strong
 * validator (RFC 9110 section 8.8.2.2). */
bool uvh_range_if_range_holds(uvhttp_slice_t value, uvhttp_slice_t etag, bool has_modified,
                              int64_t modified, int64_t now);

enum { UVH_RANGE_CONTENT_RANGE_SIZE = 6 + 20 + 1 + 20 + 1 + 20 };

/* Writes the value of Content-Range, "bytes 0-99/1234"; returns its length. */
size_t uvh_range_format(char out[UVH_RANGE_CONTENT_RANGE_SIZE], uint64_t first, uint64_t last,
                        uint64_t size);

/* The same for 416, with an asterisk as the range. */
size_t uvh_range_format_unsatisfied(char out[UVH_RANGE_CONTENT_RANGE_SIZE], uint64_t size);

#endif
