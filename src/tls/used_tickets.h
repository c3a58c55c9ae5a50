/* A register of used tickets, for one-time tickets (RFC 8446 section 8.1).
 *
 * Always true: no ticket is claimed twice, even if the clock changes, and memory is bounded: a full
 * register accepts no further ticket until old ones have expired. Shared by all workers and
 * generations of a uvhttp_tls_t. Any thread. */
#ifndef UVH_TLS_USED_TICKETS_H
#define UVH_TLS_USED_TICKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uvhttp/types.h>

#include "platform/lock.h"

enum {
    UVH_TLS_USED_TICKETS_DEFAULT = 131072,
    UVH_TLS_USED_TICKETS_MAX = 16777216,
};

struct uvh_tls_used_ticket;

struct uvh_tls_used_tickets {
    struct uvh_lock lock;
    const uvhttp_allocator_t *allocator;
    struct uvh_tls_used_ticket *ring; /* by time of use; NULL: nothing reserved yet */
    uint32_t *buckets;                /* indexes into `ring`, by id */
    size_t capacity;                  /* of `ring` and `buckets`, a power of two */
    size_t limit;                     /* most tickets, at most `capacity` */
    size_t first, count;              /* the oldest one of `ring`, and their number */
    int64_t lifetime;                 /* seconds; the longest of all generations */
    /* start of the newest session of which a ticket was dropped */
    int64_t forgotten;
    int64_t since; /* seconds since 1970: earlier uses are unknown */
};

void uvh_tls_used_tickets_init(struct uvh_tls_used_tickets *used,
                               const uvhttp_allocator_t *allocator, int64_t now);
void uvh_tls_used_tickets_release(struct uvh_tls_used_tickets *used);

/* Reserves space for `limit` tickets (1 to UVH_TLS_USED_TICKETS_MAX) of sessions with a lifetime of
 * `lifetime` seconds. Registered tickets are kept. False if out of memory, with nothing changed. */
bool uvh_tls_used_tickets_reserve(struct uvh_tls_used_tickets *used, size_t limit,
                                  int64_t lifetime);

/* Registers the use of a ticket at `now`: `id` is random, `begun` is the start of its session; both
 * times in seconds since 1970. True: first use. False: it was used before, or that cannot be
 * excluded (the register is full, or has dropped tickets as old as this one). */
bool uvh_tls_used_tickets_claim(struct uvh_tls_used_tickets *used, uint64_t id, int64_t begun,
                                int64_t now);

#endif
