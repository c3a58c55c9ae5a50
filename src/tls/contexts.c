/* See the header. */
#include "tls/contexts.h"

#include "base/alloc.h"
#include "tls/context.h"
#include "tls/session.h"
#include "tls/tls.h"

struct uvh_tls_contexts *uvh_tls_contexts_new(struct uvhttp_tls *tls, size_t workers, bool http2,
                                              const uvhttp_allocator_t *allocator)
{
    struct uvh_tls_contexts *contexts =
        uvh_alloc_zero(allocator, sizeof(*contexts) + workers * sizeof(contexts->slots[0]));
    if (contexts == NULL)
        return NULL;
    contexts->tls = tls;
    contexts->allocator = allocator;
    contexts->count = workers;
    contexts->http2 = http2;
    uvh_tls_ref(tls);
    return contexts;
}

void uvh_tls_contexts_free(struct uvh_tls_contexts *contexts)
{
    for (size_t i = 0; i < contexts->count; i++)
        if (contexts->slots[i].context != NULL)
            uvh_tls_context_unref(contexts->slots[i].context);
    uvhttp_tls_free(contexts->tls);
    uvh_free(contexts->allocator, contexts);
}

static bool renew(struct uvh_tls_slot *slot, struct uvhttp_tls *tls, bool http2)
{
    struct uvh_tls_generation *generation = uvh_tls_current(tls);
    uint64_t number = generation->number;
    struct uvh_tls_context *context =
        uvh_tls_context_new(generation, &tls->tickets, &tls->used_tickets, http2);
    if (context == NULL)
        return false;
    if (slot->context != NULL)
        uvh_tls_context_unref(slot->context);
    slot->context = context;
    slot->number = number;
    return true;
}

struct uvh_tls_session *uvh_tls_contexts_accept(struct uvh_tls_contexts *contexts, size_t worker,
                                                struct uvh_buffer_pool *pool)
{
    struct uvh_tls_slot *slot = &contexts->slots[worker];
    uint64_t number = atomic_load_explicit(&contexts->tls->number, memory_order_acquire);
    if ((slot->context == NULL || slot->number != number) &&
        !renew(slot, contexts->tls, contexts->http2))
        return NULL;
    return uvh_tls_session_new(slot->context, pool);
}
