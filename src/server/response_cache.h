/* Cache of frequently requested responses: head and body in one memory file, which sendfile sends
 * in one call and without a copy.
 *
 * Since a head has a date, a response is cached for the rest of a second. The next second uses a
 * new file, so pages that are being sent are never overwritten and need no descriptor. A slot holds
 * one response per second, the first that was requested. Another whose id maps to the same slot is
 * sent uncached, so that two do not evict each other repeatedly. One cache per worker, used on its
 * thread only; time is an argument. */
#ifndef UVH_SERVER_RESPONSE_CACHE_H
#define UVH_SERVER_RESPONSE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/response.h"

struct uvh_conn;

enum {
    UVH_RESPONSE_CACHE_SLOTS = 4096, /* responses that are counted at a time; a power of two */
    /* bytes per response; larger ones gain nothing */
    UVH_RESPONSE_CACHE_MAX_SIZE = 64 << 10,
};

struct uvh_cached_response {
    uint64_t id;
    uint64_t until;    /* end of the second in which it was counted; 0: never */
    uint64_t offset;   /* in the file */
    uint32_t size;     /* of head and body; 0: counted only, not cached */
    uint32_t requests; /* in this second; once cached, since then */
    bool was_frequent; /* it was worth caching in the second before: its first request caches it */
};

/* Invariant: a response of the current second with a size is in the file. */
struct uvh_response_cache {
    const uvhttp_allocator_t *allocator;
    size_t max_size; /* of the file; 0: nothing is cached */
    uint64_t until;  /* end of the current second, by the loop's clock; 0: none */
    /* indexed by a response's id; NULL until one is counted */
    struct uvh_cached_response *slots;
    int descriptor; /* of the file; negative: none */
    uint64_t size;  /* of the file */
};

void uvh_response_cache_init(struct uvh_response_cache *cache, const uvhttp_allocator_t *allocator,
                             size_t max_size);

/* Frees all memory; counting restarts. */
void uvh_response_cache_release(struct uvh_response_cache *cache);

/* Closes the file when its second is over. */
void uvh_response_cache_expire(struct uvh_response_cache *cache, uint64_t now);

/* Counts a request for the response in the second that ends at `until`. The response must be
 * constant except for the date (promised by uvhttp_prepared_set_body or
 * uvhttp_prepared_set_descriptor). Returns its slot, valid until the next call; NULL: it cannot be
 * cached. */
struct uvh_cached_response *uvh_response_cache_lookup(struct uvh_response_cache *cache,
                                                      const struct uvhttp_response *response,
                                                      uint64_t until);

/* Caches a response for the rest of its second if it has just become worth it and there is space.
 * The head is copied; the body is read or copied. */
void uvh_response_cache_store(struct uvh_response_cache *cache, struct uvh_cached_response *cached,
                              uvhttp_slice_t head, const struct uvh_body *body);

/* Sends a cached response; returns bytes sent. If fewer than cached->size, the rest must be sent
 * the usual way, which also reports the error, if any. */
size_t uvh_response_cache_send(const struct uvh_response_cache *cache,
                               const struct uvh_cached_response *cached, struct uvh_conn *conn);

/* The number of requests in a second from which on a response with a body of `size` bytes is
 * cached: so many sends repay the cost, which is one call, and two copies if it comes from a disk.
 */
static inline uint32_t uvh_response_cache_threshold(uint64_t size)
{
    return (uint32_t)(8 + size / 2048);
}

#endif
