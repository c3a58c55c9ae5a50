/* A response that waits for a job of a send hook (uvhttp_response_defer_send). Its state is still
 * OPEN, but `deferred` is set: the handler has sent it, and nothing is passed on yet. The job owns
 * the body meanwhile, since the response may end, or become an error response, while the job reads
 * it. */
#include <string.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "server/blocking.h"
#include "server/send.h"
#include "server/server.h"

struct uvh_deferred_send {
    struct uvh_send_hook *next; /* the first hook that has not run */
    struct uvh_body body;
    uvhttp_body_work_cb work;
    uvhttp_done_cb done;
    void *arg;
    uvhttp_slice_t bytes; /* of the body */
    const uvhttp_allocator_t *allocator;
};

static void run(void *arg)
{
    struct uvh_deferred_send *deferred = arg;
    deferred->work(deferred->bytes, deferred->arg);
}

static void release(struct uvh_body *body)
{
    if (body->release != NULL)
        body->release(body->release_arg);
    body->release = NULL;
}

/* A uvhttp_done_cb, whose failure is that of the handler. */
static int finish(uvhttp_response_t *response, void *arg)
{
    struct uvh_deferred_send *deferred = arg;
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    bool current = response->deferred == deferred && !exchange->finished;
    if (!current) {
        deferred->done(response, deferred->arg);
        release(&deferred->body);
        return 0;
    }
    response->deferred = NULL;
    response->body = deferred->body;
    response->sending = response->finishing = true;
    int err = deferred->done(response, deferred->arg);
    response->sending = response->finishing = false;
    if (err >= 0)
        err = uvh_send_from(response, deferred->next);
    if (err < 0 && !exchange->finished) {
        response->state = UVH_RESPONSE_OPEN;
        uvh_response_release_body(response);
    }
    return err < 0 ? err : 0;
}

static void free_copy(void *arg)
{
    struct uvh_deferred_send *deferred = arg;
    uvh_free(deferred->allocator, (void *)(uintptr_t)deferred->bytes.base);
}

/* The bytes must outlive the call of the send function. Returns 0 or UVHTTP_ENOMEM. */
static int keep_body(struct uvh_body *body, struct uvh_deferred_send *deferred)
{
    size_t size = (size_t)body->size;
    deferred->bytes = (uvhttp_slice_t){body->base, size};
    if (!body->transient || size == 0)
        return 0;
    char *copy = uvh_alloc(deferred->allocator, size);
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    memcpy(copy, body->base, size);
    deferred->bytes.base = body->base = copy;
    body->transient = false;
    body->release = free_copy;
    body->release_arg = deferred;
    return 0;
}

int uvhttp_response_defer_send(uvhttp_response_t *response, uvhttp_body_work_cb work,
                               uvhttp_done_cb done, void *arg)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    struct uvh_body *body = &response->body;
    if (work == NULL || done == NULL || !response->sending || response->finishing ||
        response->deferred != NULL || response->error_reason != NULL ||
        body->source != UVH_BODY_MEMORY || body->base == NULL || uvh_blocking_is(exchange))
        return UVHTTP_EINVAL;
    int err = uvh_jobs_check_send(exchange); /* before the copy of the body */
    if (err != 0)
        return err;
    struct uvh_deferred_send *deferred = uvh_arena_alloc(response->arena, sizeof(*deferred));
    if (deferred == NULL)
        return UVHTTP_ENOMEM;
    *deferred = (struct uvh_deferred_send){
        .work = work, .done = done, .arg = arg, .allocator = exchange->worker->server->allocator};
    err = uvh_response_keep_lent(response);
    if (err == 0)
        err = keep_body(body, deferred);
    if (err == 0)
        err = uvh_jobs_defer_send(response, run, finish, deferred);
    if (err == 0)
        response->deferred = deferred;
    return err;
}

int uvh_send_suspend(struct uvhttp_response *response, struct uvh_send_hook *next, int err)
{
    struct uvh_deferred_send *deferred = response->deferred;
    deferred->next = next;
    deferred->body = response->body;
    response->body = (struct uvh_body){.descriptor = -1};
    if (err != 0) {
        response->deferred = NULL;
        return err;
    }
    /* For the handler the response is sent. */
    response->on_abort = NULL;
    response->on_peer_end = NULL;
    return 0;
}
