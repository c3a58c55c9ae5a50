/* Responses that are requested often, kept whole: head and body in one memory file, from which
 * sendfile sends them in one call and without a copy.
 *
 * Since a head has a date, a response is kept for the rest of a second, and in the next one it is
 * made anew, in another file: pages that are on their way to a client are never written to, and
 * need no descriptor any more. A slot holds one response for each edition, the first that was
 * requested: another whose id leads there is sent as usual, so that two do not evict each other
 * again and again. One cache for each worker, used on its thread only; time is an argument. */
#ifndef UVH_SERVER_RESPONSE_CACHE_H
#define UVH_SERVER_RESPONSE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/response.h"

struct uvh_conn;

enum {
    UVH_RESPONSE_CACHE_SLOTS = 4096, /* responses that are counted at once; a power of two */
    /* bytes of one response: what is larger gains nothing any more */
    UVH_RESPONSE_CACHE_MOST = 64 << 10,
};

struct uvh_cached_response {
    uint64_t id;
    uint64_t edition;  /* that it was counted in */
    uint64_t offset;   /* in the file */
    uint32_t size;     /* 0: it is only counted */
    uint32_t requests; /* in this edition; once it is kept, since then */
    bool again;        /* it was worth keeping in the edition before */
};

/* Always true: a response of this edition with a size is in the file. */
struct uvh_response_cache {
    const uvhttp_allocator_t *allocator;
    size_t most;      /* bytes of the file; 0: nothing is kept */
    uint64_t until;   /* when this second is over, by the loop's clock */
    uint64_t edition; /* one for each file, and for each second without one */
    /* a response's is found by its id; NULL until one is counted */
    struct uvh_cached_response *slots;
    int descriptor; /* of the file; negative: there is none */
    uint64_t size;  /* of the file */
};

void uvh_response_cache_init(struct uvh_response_cache *cache, const uvhttp_allocator_t *allocator,
                             size_t most);

/* Gives all memory back; counting begins anew. */
void uvh_response_cache_release(struct uvh_response_cache *cache);

/* Gives the file back when its second is over. */
void uvh_response_cache_expire(struct uvh_response_cache *cache, uint64_t now);

/* Counts a request for the response, if it is one of which everything but the time is known
 * beforehand (the user has promised so by uvhttp_prepared_set_body or
 * uvhttp_prepared_set_descriptor), in the second that ends at `until`. Its slot, valid until the
 * next call; NULL: it cannot be kept. */
struct uvh_cached_response *uvh_response_cache_lookup(struct uvh_response_cache *cache,
                                                      const struct uvhttp_response *response,
                                                      uint64_t until);

/* Keeps a response for the rest of its second if it has just become worth it and there is space.
 * The head is copied; the body is read or copied. */
void uvh_response_cache_store(struct uvh_response_cache *cache, struct uvh_cached_response *cached,
                              uvhttp_slice_t head, const struct uvh_body *body);

/* Sends a response that is kept: bytes sent. Fewer than cached->size: the rest is to be sent as
 * usual; what an error was about the next try says. */
size_t uvh_response_cache_send(const struct uvh_response_cache *cache,
                               const struct uvh_cached_response *cached, struct uvh_conn *conn);

/* How many times sending a response of `size` bytes saves what keeping it costs, which is a call,
 * and two copies if it comes from a disk. */
static inline uint32_t uvh_response_cache_often(uint64_t size)
{
    return (uint32_t)(8 + size / 2048);
}

#endif
