/* Token buckets for many clients in a table of fixed size: who may do something now, and how long
 * others have to wait.
 *
 * A bucket holds at most `burst` tokens and gets one back every `interval`; each permission takes
 * one. It is stored as the single moment at which it will be full again, so that a bucket that is
 * full is the same as none. The table has sets of eight buckets; a key belongs to one set. Where a
 * new key finds no free bucket, it gets that of its set which is full soonest, so what is forgotten
 * is the least; a client that has used up its tokens is forgotten only when seven others of its
 * set, which nobody outside can foresee, have used up as many.
 *
 * Always true: memory is taken when the table is made and never again; a call looks at one set,
 * whatever the table's size; what one key is granted in `t` nanoseconds is at most burst + t /
 * interval, exactly, on however many threads, unless its bucket was given away. Time comes in as an
 * argument, and may differ between threads: an earlier moment than one seen before grants no more.
 * Called by rate_limit.c. */
#ifndef UVH_MIDDLEWARE_TOKEN_BUCKETS_H
#define UVH_MIDDLEWARE_TOKEN_BUCKETS_H

#include <uvhttp/types.h>

struct uvh_token_buckets;

struct uvh_token_verdict {
    bool granted;
    uint64_t left;    /* tokens that are left now */
    uint64_t next_in; /* nanoseconds until there is one more; 0 when the bucket is full */
};

struct uvh_token_buckets_config {
    size_t
        /* that find a bucket at once: room is made for two to four times as many, since sets fill
         * unevenly */
        keys;
    uint64_t interval; /* nanoseconds for one token, at least 1 */
    uint64_t burst;    /* tokens, at least 1; burst * interval is less than 2^62 */
    uint64_t seed;     /* random, so that nobody can choose keys for one set */
    const uvhttp_allocator_t *allocator;
};

/* NULL when memory ran out. */
struct uvh_token_buckets *uvh_token_buckets_new(const struct uvh_token_buckets_config *config);
void uvh_token_buckets_free(struct uvh_token_buckets *buckets); /* NULL is fine */

/* Takes a token of the key's bucket at the moment `now` (nanoseconds of any monotonic clock, less
 * than 2^62). Keys of different kinds are different keys, whatever their bytes. Any thread. */
struct uvh_token_verdict uvh_token_buckets_take(struct uvh_token_buckets *buckets, unsigned kind,
                                                const void *key, size_t length, uint64_t now);

#endif
