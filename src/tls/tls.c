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
                const uvhttp_tls_options_t *options, uvhttp_error_t *error)
{
    int err = uvh_tls_generation_load(next, options, tls->allocator, error);
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

static int create(uvhttp_tls_t **out, const uvhttp_tls_options_t *options, uvhttp_error_t *error)
{
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    if (options == NULL)
        return UVHTTP_EINVAL;
    const uvhttp_allocator_t *allocator =
        options->allocator != NULL ? options->allocator : uvh_alloc_default();
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
    int err = load(tls, &first, options, error);
    if (err == 0) {
        publish(tls, first);
        err = uvh_tls_watch_start(&tls->watch, tls, options);
    }
    if (err == 0)
        *out = tls;
    else
        release(tls);
    return err;
}

int uvhttp_tls_new(uvhttp_tls_t **out, const uvhttp_tls_options_t *options, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(out, options, error));
}

void uvhttp_tls_free(uvhttp_tls_t *tls)
{
    if (tls != NULL && atomic_fetch_sub_explicit(&tls->refs, 1, memory_order_acq_rel) == 1)
        release(tls);
}

/* `options` NULL: those in use, with the current content of their files. */
static int load_again(struct uvhttp_tls *tls, const uvhttp_tls_options_t *options,
                      uvhttp_error_t *error)
{
    struct uvh_tls_generation *next;
    uvh_lock_acquire(&tls->loading);
    struct uvh_tls_generation *current = uvh_tls_current(tls);
    int err = load(tls, &next, options != NULL ? options : current->options, error);
    uvh_tls_generation_unref(current);
    if (err == 0)
        publish(tls, next);
    uvh_lock_release(&tls->loading);
    return err;
}

int uvhttp_tls_replace(uvhttp_tls_t *tls, const uvhttp_tls_options_t *options,
                       uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, tls == NULL || options == NULL ? UVHTTP_EINVAL
                                                               : load_again(tls, options, error));
}

int uvhttp_tls_reload(uvhttp_tls_t *tls, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, tls == NULL ? UVHTTP_EINVAL : load_again(tls, NULL, error));
}

int uvhttp_tls_save_tickets(uvhttp_tls_t *tls, unsigned char state[UVHTTP_TLS_TICKET_STATE_SIZE])
{
    if (tls == NULL || state == NULL)
        return UVHTTP_EINVAL;
    uvh_tls_tickets_save(&tls->tickets, state);
    return 0;
}

int uvhttp_tls_restore_tickets(uvhttp_tls_t *tls,
                               const unsigned char state[UVHTTP_TLS_TICKET_STATE_SIZE])
{
    bool valid = tls != NULL && state != NULL && uvh_tls_tickets_restore(&tls->tickets, state);
    return valid ? 0 : UVHTTP_EINVAL;
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
