/* Range and If-Range (RFC 9110 sections 14.1.2, 14.2 and 13.1.5).
 *
 * Called by whoever serves something of a known size. */
#ifndef UVH_CODEC_FIELDS_RANGE_H
#define UVH_CODEC_FIELDS_RANGE_H

#include <uvhttp/types.h>

enum uvh_range_kind {
    UVH_RANGE_NONE = 0,          /* absent, malformed or in another unit: answer with the whole */
    UVH_RANGE_SATISFIABLE = 1,   /* 206, as multipart/byteranges when there are several */
    UVH_RANGE_UNSATISFIABLE = 2, /* 416 */
};

enum {
    UVH_RANGE_MOST =
        /* in one field; one with more is ignored, so that nobody can ask for a file in single
         * bytes */
    64,
    /* bytes; ranges that are nearer become one, since the head of a part costs more */
    UVH_RANGE_GAP = 80,
};

struct uvh_range {
    uint64_t first;
    uint64_t last;
};

/* What is to be sent, in this order: at least UVH_RANGE_GAP bytes lie between any two. */
struct uvh_range_set {
    size_t count;
    struct uvh_range items[UVH_RANGE_MOST];
};

/* Reads a Range field's value against a representation of `size` bytes. For SATISFIABLE `set` has
 * one range or more, each with first <= last < size: those that lie beyond the size are left out,
 * those that overlap or nearly touch are one (RFC 9110 section 15.3.7.2), in the place of the first
 * of them. Nothing is promised of `set` otherwise. */
enum uvh_range_kind uvh_range_parse(uvhttp_slice_t value, uint64_t size, struct uvh_range_set *set);

/* If-Range lets the Range count: an absent field (base NULL), the same strong entity tag, or the
 * very date of a modification that lies at least a second before `now` (RFC 9110 section 8.8.2.2),
 * so that the date is a strong validator. */
bool uvh_range_if_range_holds(uvhttp_slice_t value, uvhttp_slice_t etag, bool has_modified,
                              int64_t modified, int64_t now);

enum { UVH_RANGE_CONTENT_RANGE_SIZE = 6 + 20 + 1 + 20 + 1 + 20 };

/* Writes the value of Content-Range, "bytes 0-99/1234"; returns its length. */
size_t uvh_range_format(char out[UVH_RANGE_CONTENT_RANGE_SIZE], uint64_t first, uint64_t last,
                        uint64_t size);

/* The same for 416: an asterisk stands for the range. */
size_t uvh_range_format_unsatisfied(char out[UVH_RANGE_CONTENT_RANGE_SIZE], uint64_t size);

#endif
