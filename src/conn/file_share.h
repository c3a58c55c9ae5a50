/* How much of a large file is sent before other connections get their turn: little while others ask
 * for small things, much while nobody does.
 *
 * A small request that comes while large files are sent waits for one slice of each of them, so
 * slices are short then. They cost: every slice is a wake-up of both ends, and a byte of a large
 * file in short slices takes half as much CPU time again (docs/performance.md). So where all
 * requests are for large files, slices are long. One for each worker; time is an argument. Called
 * by output.c and h1/. */
#ifndef UVH_CONN_FILE_SHARE_H
#define UVH_CONN_FILE_SHARE_H

#include <stdint.h>

enum {
    UVH_FILE_SHARE_SHORT = 64 << 10, /* bytes; larger files are those that count as large */
    UVH_FILE_SHARE_LONG = 4 << 20,
    UVH_FILE_SHARE_KEPT_MS = 100, /* so long after a small answer slices stay short */
};

/* Zeroed in the beginning. */
struct uvh_file_share {
    uint64_t responses;   /* begun, those with large files included */
    uint64_t large;       /* responses with large files */
    uint64_t small;       /* other responses, when this was last looked at */
    uint64_t short_until; /* milliseconds */
};

/* A response begins whose body is a file of `size` bytes. */
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
