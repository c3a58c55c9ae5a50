/* See the header. Loads run outside the lock: they read files. */
#include "tls/tls.h"

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "platform/clock.h"

struct uvh_tls_generation *uvh_tls_current(struct uvhttp_tls *tls)
{
    uvh_lock_acquire(&tls->lock);
    struct uvh_tls_generation *current = tls->current;
    uvh_tls_generation_ref(current);
    uvh_lock_release(&tls->lock);
    return current;
}

void uvh_tls_publish(struct uvhttp_tls *tls, struct uvh_tls_generation *next,
                     const struct uvh_tls_generation *expected)
{
    struct uvh_tls_generation *unused = next;
    uvh_lock_acquire(&tls->lock);
    if (expected == NULL || expected == tls->current) {
        next->number = tls->current == NULL ? 1 : tls->current->number + 1;
        unused = tls->current;
        tls->current = next;
        atomic_store_explicit(&tls->number, next->number, memory_order_release);
    }
    uvh_lock_release(&tls->lock);
    if (unused != NULL)
        uvh_tls_generation_unref(unused);
}

/* Loads a configuration; the register of used tickets has space for it then. */
static int load(struct uvhttp_tls *tls, struct uvh_tls_generation **next, const uvhttp_tls_config_t *config,
                struct uvh_tls_message message)
{
    int err = uvh_tls_generation_load(next, config, tls->allocator, message);
    if (err != 0 || !(*next)->one_time_tickets)
        return err;
    if (uvh_tls_used_tickets_reserve(&tls->used_tickets, (*next)->max_used_tickets,
                                     (*next)->session_lifetime))
        return 0;
    uvh_tls_generation_unref(*next);
    return UVHTTP_ENOMEM;
}

static void release(struct uvhttp_tls *tls)
{
    uvh_tls_watch_stop(&tls->watch);
    if (tls->current != NULL)
        uvh_tls_generation_unref(tls->current);
    uvh_tls_tickets_release(&tls->tickets);
    uvh_tls_used_tickets_release(&tls->used_tickets);
    uvh_lock_destroy(&tls->lock);
    uvh_free(tls->allocator, tls);
}

/* A message that was not written is empty, not what was there before. */
static struct uvh_tls_message message_in(char *text, size_t size)
{
    if (text != NULL && size > 0)
        text[0] = '\0';
    return (struct uvh_tls_message){text, text == NULL ? 0 : size};
}

int uvhttp_tls_new(uvhttp_tls_t **out, const uvhttp_tls_config_t *config, char *message, size_t size)
{
    struct uvh_tls_message told = message_in(message, size);
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    if (config == NULL)
        return UVHTTP_EINVAL;
    const uvhttp_allocator_t *allocator = config->allocator != NULL ? config->allocator : uvh_alloc_default();
    struct uvhttp_tls *tls = uvh_alloc_zero(allocator, sizeof(*tls));
    if (tls == NULL)
        return UVHTTP_ENOMEM;
    tls->allocator = allocator;
    atomic_init(&tls->refs, 1);
    uvh_lock_init(&tls->lock);
    uvh_tls_tickets_init(&tls->tickets);
    uvh_tls_used_tickets_init(&tls->used_tickets, allocator, uvh_clock_unix_ms() / 1000);
    struct uvh_tls_generation *first;
    int err = load(tls, &first, config, told);
    if (err == 0) {
        uvh_tls_publish(tls, first, NULL);
        err = uvh_tls_watch_start(&tls->watch, tls, config);
    }
    if (err == 0)
        *out = tls;
    else
        release(tls);
    return err;
}

void uvhttp_tls_free(uvhttp_tls_t *tls)
{
    if (tls != NULL && atomic_fetch_sub_explicit(&tls->refs, 1, memory_order_acq_rel) == 1)
        release(tls);
}

int uvhttp_tls_replace(uvhttp_tls_t *tls, const uvhttp_tls_config_t *config, char *message, size_t size)
{
    struct uvh_tls_message told = message_in(message, size);
    struct uvh_tls_generation *next;
    if (tls == NULL || config == NULL)
        return UVHTTP_EINVAL;
    int err = load(tls, &next, config, told);
    if (err == 0)
        uvh_tls_publish(tls, next, NULL);
    return err;
}

int uvhttp_tls_reload(uvhttp_tls_t *tls, char *message, size_t size)
{
    struct uvh_tls_message told = message_in(message, size);
    struct uvh_tls_generation *next;
    if (tls == NULL)
        return UVHTTP_EINVAL;
    struct uvh_tls_generation *current = uvh_tls_current(tls);
    int err = load(tls, &next, current->config, told);
    if (err == 0)
        uvh_tls_publish(tls, next, current);
    uvh_tls_generation_unref(current);
    return err;
}

int64_t uvhttp_tls_expires(uvhttp_tls_t *tls)
{
    if (tls == NULL)
        return 0;
    struct uvh_tls_generation *current = uvh_tls_current(tls);
    int64_t expires = current->expires;
    uvh_tls_generation_unref(current);
    return expires;
}
