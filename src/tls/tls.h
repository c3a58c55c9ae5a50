/* uvhttp_tls_t: the current generation, and how the next one is published.
 *
 * Always true: `number` changes after `current`, so a thread that reads a new number gets a
 * generation at least as new. Any thread. */
#ifndef UVH_TLS_TLS_H
#define UVH_TLS_TLS_H

#include <stdatomic.h>

#include "platform/lock.h"
#include "tls/generation.h"
#include "tls/tickets.h"
#include "tls/used_tickets.h"
#include "tls/watch.h"

struct uvhttp_tls {
    const uvhttp_allocator_t *allocator;
    atomic_size_t refs;
    /* held while files are read, so that loads complete in order */
    struct uvh_lock loading;
    struct uvh_lock lock; /* protects `current` */
    struct uvh_tls_generation *current;
    _Atomic uint64_t number;
    struct uvh_tls_tickets tickets;
    struct uvh_tls_used_tickets used_tickets;
    struct uvh_tls_watch watch;
};

/* Adds a reference; uvhttp_tls_free drops it. */
static inline void uvh_tls_ref(struct uvhttp_tls *tls)
{
    atomic_fetch_add_explicit(&tls->refs, 1, memory_order_relaxed);
}

/* The current generation, with a reference for the caller. */
struct uvh_tls_generation *uvh_tls_current(struct uvhttp_tls *tls);

#endif
