/* Slice size for large files: how much is sent before other connections run. Short while there are
 * small requests, long otherwise.
 *
 * A small request that arrives during transfers of large files waits for one slice of each of them,
 * so slices are short then. Short slices cost: every slice wakes both ends, and CPU time per byte
 * rises by half (docs/design/output-queue.md). With large files only, slices are long. One object
 * per worker; time is an argument. */
#ifndef UVH_CONN_FILE_SHARE_H
#define UVH_CONN_FILE_SHARE_H

#include <stdint.h>

enum {
    UVH_FILE_SHARE_SHORT = 64 << 10, /* bytes; files above this are large */
    UVH_FILE_SHARE_LONG = 4 << 20,
    UVH_FILE_SHARE_KEPT_MS = 100, /* slices stay short for this time after a small response */
};

/* Initialize with zeros. */
struct uvh_file_share {
    uint64_t responses;   /* begun, including those with large files */
    uint64_t large;       /* responses with large files */
    uint64_t small;       /* other responses, at the last check */
    uint64_t short_until; /* milliseconds */
};

/* A response starts whose body is a file of `size` bytes. */
static inline void uvh_file_share_begin(struct uvh_file_share *share, uint64_t size)
{
    share->large += size > UVH_FILE_SHARE_SHORT;
}

/* Bytes that may be sent now. */
static inline uint64_t uvh_file_share_next(struct uvh_file_share *share, uint64_t now_ms)
{
    uint64_t small = share->responses - share->large;
    if (small > share->small)
        share->short_until = now_ms + UVH_FILE_SHARE_KEPT_MS;
    share->small = small;
    return now_ms < share->short_until ? UVH_FILE_SHARE_SHORT : UVH_FILE_SHARE_LONG;
}

#endif
