/* Token buckets for many clients in a table of fixed size: decides whether a client may proceed,
 * and how long it must wait otherwise.
 *
 * A bucket holds at most `burst` tokens and regains one every `interval`; each permission takes
 * one. It is stored as the time at which it will be full again, so a full bucket equals an unused
 * one. The table has sets of eight buckets; a key belongs to one set. A new key without a free
 * bucket takes the one of its set that is full soonest, which loses the least. So a client that has
 * used up its tokens is forgotten only when seven others of its set have used up as many; clients
 * cannot predict their set.
 *
 * Invariants: memory is allocated only when the table is created. A call searches one set, whatever
 * the table's size. One key is granted at most burst + t / interval in `t` nanoseconds, exactly, on
 * any number of threads, unless its bucket was reused. The caller passes the time, which may differ
 * between threads: an earlier time than a previous one grants no more. */
#ifndef UVH_MIDDLEWARE_TOKEN_BUCKETS_H
#define UVH_MIDDLEWARE_TOKEN_BUCKETS_H

#include <uvhttp/types.h>

struct uvh_token_buckets;

struct uvh_token_verdict {
    bool granted;
    uint64_t left;    /* tokens left now */
    uint64_t next_in; /* nanoseconds until the next one; 0 when the bucket is full */
};

struct uvh_token_buckets_config {
    /* Keys in use at a time. The table has two to four times as many buckets, since sets fill
     * unevenly: with as many keys, about one set in fifty overflows. */
    size_t keys;
    uint64_t interval; /* nanoseconds for one token, at least 1 */
    uint64_t burst;    /* tokens, at least 1; burst * interval is less than 2^62 */
    uint64_t seed;     /* random, so that clients cannot choose keys of one set */
    const uvhttp_allocator_t *allocator;
};

/* NULL when out of memory. */
struct uvh_token_buckets *uvh_token_buckets_new(const struct uvh_token_buckets_config *config);
void uvh_token_buckets_free(struct uvh_token_buckets *buckets); /* NULL is allowed */

/* Takes a token of the key's bucket at the time `now` (nanoseconds of any monotonic clock, less
 * than 2^62). Keys of different kinds are different keys, whatever their bytes. Any thread. */
struct uvh_token_verdict uvh_token_buckets_take(struct uvh_token_buckets *buckets, unsigned kind,
                                                const void *key, size_t length, uint64_t now);

#endif
