/* See the header. Loads read files, so they have their own lock: an earlier load never replaces the
 * result of a later one. */
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

static void publish(struct uvhttp_tls *tls, struct uvh_tls_generation *next)
{
    uvh_lock_acquire(&tls->lock);
    struct uvh_tls_generation *before = tls->current;
    next->number = before == NULL ? 1 : before->number + 1;
    tls->current = next;
    atomic_store_explicit(&tls->number, next->number, memory_order_release);
    uvh_lock_release(&tls->lock);
    if (before != NULL)
        uvh_tls_generation_unref(before);
}

/* Loads a configuration and reserves space in the register of used tickets. */
static int load(struct uvhttp_tls *tls, struct uvh_tls_generation **next,
                const uvhttp_tls_config_t *config, struct uvh_tls_message message)
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
    uvh_lock_destroy(&tls->loading);
    uvh_free(tls->allocator, tls);
}

/* Empty unless a message is written. */
static struct uvh_tls_message message_in(char *text, size_t size)
{
    if (text != NULL && size > 0)
        text[0] = '\0';
    return (struct uvh_tls_message){text, text == NULL ? 0 : size};
}

int uvhttp_tls_new(uvhttp_tls_t **out, const uvhttp_tls_config_t *config, char *message,
                   size_t size)
{
    struct uvh_tls_message reason = message_in(message, size);
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    if (config == NULL)
        return UVHTTP_EINVAL;
    const uvhttp_allocator_t *allocator =
        config->allocator != NULL ? config->allocator : uvh_alloc_default();
    struct uvhttp_tls *tls = uvh_alloc_zero(allocator, sizeof(*tls));
    if (tls == NULL)
        return UVHTTP_ENOMEM;
    tls->allocator = allocator;
    atomic_init(&tls->refs, 1);
    uvh_lock_init(&tls->lock);
    uvh_lock_init(&tls->loading);
    uvh_tls_tickets_init(&tls->tickets);
    uvh_tls_used_tickets_init(&tls->used_tickets, allocator, uvh_clock_unix_ms() / 1000);
    struct uvh_tls_generation *first;
    int err = load(tls, &first, config, reason);
    if (err == 0) {
        publish(tls, first);
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

int uvh_tls_load_again(struct uvhttp_tls *tls, const uvhttp_tls_config_t *config,
                       struct uvh_tls_message message)
{
    struct uvh_tls_generation *next;
    uvh_lock_acquire(&tls->loading);
    struct uvh_tls_generation *current = uvh_tls_current(tls);
    int err = load(tls, &next, config != NULL ? config : current->config, message);
    uvh_tls_generation_unref(current);
    if (err == 0)
        publish(tls, next);
    uvh_lock_release(&tls->loading);
    return err;
}

int uvhttp_tls_replace(uvhttp_tls_t *tls, const uvhttp_tls_config_t *config, char *message,
                       size_t size)
{
    struct uvh_tls_message reason = message_in(message, size);
    return tls == NULL || config == NULL ? UVHTTP_EINVAL : uvh_tls_load_again(tls, config, reason);
}

int uvhttp_tls_reload(uvhttp_tls_t *tls, char *message, size_t size)
{
    struct uvh_tls_message reason = message_in(message, size);
    return tls == NULL ? UVHTTP_EINVAL : uvh_tls_load_again(tls, NULL, reason);
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
