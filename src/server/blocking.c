/* The proxy exchange of a blocking handler, and the messages between its thread and the loop.
 *
 * A response that is sent as a whole is sent when the handler has returned. A streamed one is
 * passed to the loop chunk by chunk, and the thread waits until each is accepted. So a slow client
 * slows down its handler, and no data accumulates. */
#include "server/blocking.h"

#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>
#include <uvhttp/trace.h>

#include "base/alloc.h"
#include "conn/conn.h"
#include "server/job.h"
#include "server/send.h"
#include "server/server.h"

/* Bytes of a chunk that filters, such as compression, process on the loop at a time. */
enum { FILTERED_SIZE = 131072 };

#define NS_PER_MS UINT64_C(1000000)

/* The operation that the thread requests from the loop. */
enum want {
    WANT_BEGIN,   /* send the head of a streamed response */
    WANT_WRITE,   /* write a chunk; an empty one: flush */
    WANT_END,     /* end the streamed response */
    WANT_ABANDON, /* it cannot be completed */
    WANT_INTERIM, /* send early hints */
    WANT_FINISH,  /* the handler has returned */
};

struct blocking_job {
    struct uvh_job base;
    struct uvh_exchange *real; /* the loop's exchange; referenced */
    /* the thread's; the loop reads it only while the thread waits or is done */
    struct uvh_exchange proxy;
    struct uvh_arena_pool blocks;
    const uvhttp_prepared_t *prepared;     /* the copy of the last one used */
    struct uvh_connection_data connection; /* copy of the connection's data, read only */
    struct uvh_connection_data *connection_data;
    atomic_bool disconnected; /* the real response has ended */
    atomic_bool peer_ended;   /* the client has ended its side */
    enum want want;
    uvhttp_slice_t chunk;
    bool filtered;           /* the real response has filters */
    bool waits_for_writable; /* the loop cannot accept the chunk at present */
    uint64_t queued_at;      /* uv_hrtime; 0: its waiting time is not limited */
    bool is_late;            /* has waited for longer than blocking_wait_ms: not run */
    int result;              /* of the operation, or of the handler */
    uv_sem_t notified;
};

static struct blocking_job *job_of(struct uvh_exchange *proxy)
{
    return UVH_CONTAINER_OF(proxy, struct blocking_job, proxy);
}

/* ---- on the thread: the protocol of the proxy exchange ---- */

static int run_on_loop(struct uvh_exchange *proxy, enum want want)
{
    struct blocking_job *job = job_of(proxy);
    job->want = want;
    uvh_job_report(&job->base);
    uv_sem_wait(&job->notified);
    return job->result;
}

/* Copies what the caller may free after its call. Returns 0 or UVHTTP_ENOMEM. */
static int keep_fields(struct uvh_exchange *proxy)
{
    struct uvhttp_response *response = &proxy->response;
    struct blocking_job *job = job_of(proxy);
    const uvhttp_prepared_t *kept = job->prepared;
    if (response->prepared == kept) /* else a new copy: the loop may be reading the previous one */
        response->prepared = NULL;
    int err = uvh_response_keep_lent(response);
    if (response->prepared == NULL)
        response->prepared = kept;
    else if (err == 0)
        job->prepared = response->prepared;
    return err;
}

/* The response is sent when the handler has returned. */
static int respond(struct uvh_exchange *proxy)
{
    struct uvh_body *body = &proxy->response.body;
    if (body->transient && body->size > 0) {
        body->base = uvh_arena_copy(&proxy->arena, body->base, (size_t)body->size);
        if (body->base == NULL)
            return UVHTTP_ENOMEM;
    }
    body->transient = false;
    return keep_fields(proxy);
}

static int begin(struct uvh_exchange *proxy)
{
    int err = keep_fields(proxy);
    return err != 0 ? err : run_on_loop(proxy, WANT_BEGIN);
}

static bool peer_ended(const struct uvh_exchange *proxy)
{
    const struct blocking_job *job = job_of((struct uvh_exchange *)(uintptr_t)proxy);
    return atomic_load(&job->disconnected) || atomic_load(&job->peer_ended);
}

static void abandon(struct uvh_exchange *proxy)
{
    run_on_loop(proxy, WANT_ABANDON);
    proxy->response.state = UVH_RESPONSE_DISCONNECTED;
}

static int write_chunk(struct uvh_exchange *proxy, uvhttp_slice_t chunk)
{
    struct blocking_job *job = job_of(proxy);
    int err;
    if (uvh_exchange_discards_body(proxy)) {
        /* No write will fail when the client has left. The response is complete, and others may
         * follow it. */
        if (!peer_ended(proxy))
            return 0;
        run_on_loop(proxy, WANT_END);
        proxy->response.state = UVH_RESPONSE_DISCONNECTED;
        return UVHTTP_EDISCONNECTED;
    }
    do { /* an empty chunk is a flush */
        size_t most = job->filtered ? FILTERED_SIZE : SIZE_MAX;
        job->chunk = chunk;
        if (job->chunk.length > most)
            job->chunk.length = most;
        chunk.base += job->chunk.length;
        chunk.length -= job->chunk.length;
        err = run_on_loop(proxy, WANT_WRITE);
    } while (err == 0 && chunk.length > 0);
    if (err == UVHTTP_EDISCONNECTED)
        proxy->response.state = UVH_RESPONSE_DISCONNECTED;
    return err;
}

static int end(struct uvh_exchange *proxy)
{
    int err = run_on_loop(proxy, WANT_END);
    proxy->response.state = UVH_RESPONSE_SENT;
    return err;
}

static int interim(struct uvh_exchange *proxy, int status)
{
    (void)status; /* always 103 */
    int err = keep_fields(proxy);
    return err != 0 ? err : run_on_loop(proxy, WANT_INTERIM);
}

/* A chunk that exceeds the backlog blocks the thread. */
static bool is_writable(const struct uvh_exchange *proxy)
{
    (void)proxy;
    return true;
}

static size_t pending(const struct uvh_exchange *proxy)
{
    (void)proxy;
    return 0;
}

static void do_nothing(struct uvh_exchange *proxy)
{
    (void)proxy;
}

static void peer(struct uvh_exchange *proxy, char *text)
{
    (void)proxy; /* known since the start, unless out of memory then */
    text[0] = '\0';
}

static struct uvh_connection_data **connection_data(struct uvh_exchange *proxy)
{
    return &job_of(proxy)->connection_data;
}

/* Request bodies are never streamed here. The proxy exchange does not finish by itself; it is freed
 * with the real one. */
static const struct uvh_protocol proxy_object_protocol = {
    .respond = respond,
    .begin = begin,
    .write = write_chunk,
    .is_writable = is_writable,
    .pending = pending,
    .await_writable = do_nothing,
    .end = end,
    .interim = interim,
    .pause_body = do_nothing,
    .abandon = abandon,
    .peer = peer,
    .peer_ended = peer_ended,
    .connection_data = connection_data,
};

bool uvh_blocking_is(const struct uvh_exchange *exchange)
{
    return exchange->protocol == &proxy_object_protocol;
}

bool uvhttp_request_is_blocking(const uvhttp_request_t *request)
{
    return uvh_blocking_is(uvh_exchange_of_request((uvhttp_request_t *)(uintptr_t)request));
}

static bool is_late(const struct blocking_job *job)
{
    uint64_t limit = job->real->worker->server->config.blocking_wait_ms * NS_PER_MS;
    return job->queued_at != 0 && uv_hrtime() - job->queued_at > limit;
}

static void run(struct uvh_job *base)
{
    struct blocking_job *job = UVH_CONTAINER_OF(base, struct blocking_job, base);
    struct uvh_exchange *proxy = &job->proxy;
    const struct uvh_route *route = proxy->match.route;
    int result = 0;
    job->is_late = is_late(job);
    if (job->is_late)
        result = UVHTTP_EFULL;
    else if (!atomic_load(&job->disconnected)) /* otherwise the response could not be sent */
        result = route->handler(&proxy->request, &proxy->response, route->arg);
    job->result = result;
    job->want = WANT_FINISH;
    uvh_owner_hand_over(&job->blocks.owner); /* back to the loop */
}

/* ---- on the loop: operations ---- */

/* Copies lists, since both sides may change theirs later; names and values never change. */
static int copy_list(struct uvh_arena *arena, struct uvh_header_list *to,
                     const struct uvh_header_list *from)
{
    size_t size = from->count * sizeof(*from->items);
    to->count = to->capacity = 0;
    if (size == 0)
        return 0;
    to->items = uvh_arena_alloc(arena, size);
    if (to->items == NULL)
        return UVHTTP_ENOMEM;
    memcpy(to->items, from->items, size);
    to->count = to->capacity = from->count;
    return 0;
}

/* Copies the fields set by the handler to the real response. */
static int hand_over_fields(struct blocking_job *job)
{
    struct uvhttp_response *response = &job->real->response;
    const struct uvhttp_response *given = &job->proxy.response;
    if (!uvhttp_response_open(response))
        return UVHTTP_EDISCONNECTED;
    response->prepared = given->prepared;
    response->close_after = given->close_after;
    response->pace = given->pace;
    if (given->on_read_error != NULL)
        uvhttp_response_on_read_error(response, given->on_read_error, given->read_error_arg);
    return copy_list(response->arena, &response->headers, &given->headers);
}

static int send_whole(struct blocking_job *job)
{
    struct uvhttp_response *given = &job->proxy.response;
    int err = hand_over_fields(job);
    if (err != 0)
        return err;
    struct uvh_body body = given->body;
    given->body.release = NULL; /* owned by the response now */
    job->real->response.error_reason = given->error_reason;
    err = uvh_send(&job->real->response, given->status, given->content_type.base, &body);
    job->real->response.error_reason = NULL;
    return err;
}

/* False when the write would exceed the backlog: on_writable or on_abort resumes the thread. */
static bool take_chunk(struct blocking_job *job)
{
    /* a failure may run on_abort within this call, and the thread must be notified only once */
    job->waits_for_writable = false;
    struct uvhttp_response *response = &job->real->response;
    job->result = job->chunk.length == 0
                      ? uvhttp_response_flush(response)
                      : uvhttp_response_write(response, job->chunk.base, job->chunk.length);
    job->waits_for_writable = job->result == UVHTTP_EFULL && !atomic_load(&job->disconnected);
    return !job->waits_for_writable;
}

/* The chunk that was refused can be written now. */
static int on_writable(uvhttp_response_t *response, void *arg)
{
    struct blocking_job *job = arg;
    (void)response;
    if (job->waits_for_writable && take_chunk(job))
        uv_sem_post(&job->notified);
    return 0;
}

static int begin_stream(struct blocking_job *job)
{
    struct uvhttp_response *response = &job->real->response;
    const struct uvhttp_response *given = &job->proxy.response;
    int err = hand_over_fields(job);
    if (err != 0)
        return err;
    response->heartbeat = given->heartbeat;
    uvhttp_response_on_drain(response, on_writable, job);
    err =
        uvhttp_response_begin(response, given->status, given->content_type.base, given->body.size);
    job->filtered = response->filters != NULL;
    job->proxy.response.status = response->status; /* a hook may have changed it */
    return err;
}

/* The id that the handler has set lives as long as the job. */
static void hand_over_exemplar(struct blocking_job *job)
{
    struct uvhttp_request *request = &job->real->request;
    const char *id = uvh_request_exemplar(&job->proxy.request);
    if (id != NULL && id != uvh_request_exemplar(request))
        (void)uvhttp_request_attach(request, &uvh_request_exemplar_key, (void *)(uintptr_t)id,
                                    NULL);
}

static int end_stream(struct blocking_job *job)
{
    struct uvhttp_response *response = &job->real->response;
    hand_over_exemplar(job);
    response->close_after = job->proxy.response.close_after;
    int err = copy_list(response->arena, &response->trailers, &job->proxy.response.trailers);
    if (err != 0) /* the client must not take an incomplete body for a complete one */
        job->real->protocol->abandon(job->real);
    return err != 0 ? err : uvhttp_response_end(response);
}

/* Logged once, until a request has not waited for too long. */
static void note_late(struct uvh_worker *worker, bool is_late)
{
    if (is_late)
        uvh_counter_add(&worker->counters.shed_requests, 1);
    if (is_late && !worker->blocking_late)
        uvh_server_log(worker->server, UVHTTP_LOG_WARNING,
                       "requests have waited for a thread for longer than %zu ms: responding with "
                       "503 (blocking_wait_ms)",
                       worker->server->config.blocking_wait_ms);
    worker->blocking_late = is_late;
}

static void finish(struct blocking_job *job)
{
    struct uvh_exchange *real = job->real;
    note_late(real->worker, job->is_late);
    hand_over_exemplar(job);
    unsigned char state = job->proxy.response.state;
    int result = job->result;
    if (!uvhttp_response_open(&real->response)) {
        bool ended = state == UVH_RESPONSE_SENT || real->response.state != UVH_RESPONSE_BEGUN;
        if (!ended && result >= 0)
            /* begun and not ended: the client must not take it for complete */
            result = UVHTTP_EINVAL;
    } else if (state == UVH_RESPONSE_SENT) {
        int err = send_whole(job);
        result = err != 0 ? err : result;
    } else if (result == 0) {
        result = UVHTTP_EINVAL; /* it cannot respond later */
    }
    real->response.failure_logged = job->proxy.response.failure_logged;
    if (uvhttp_response_open(&real->response) || real->response.state == UVH_RESPONSE_BEGUN ||
        result < 0)
        uvh_exchange_conclude(real, result);
    uvh_exchange_unref(real);
}

static void do_wanted(struct uvh_job *base)
{
    struct blocking_job *job = UVH_CONTAINER_OF(base, struct blocking_job, base);
    struct uvhttp_response *response = &job->real->response;
    switch (job->want) {
    case WANT_BEGIN:
        job->result = begin_stream(job);
        break;
    case WANT_WRITE:
        if (!take_chunk(job))
            return;
        break;
    case WANT_END:
        job->result = end_stream(job);
        break;
    case WANT_ABANDON:
        if (response->state == UVH_RESPONSE_BEGUN)
            job->real->protocol->abandon(job->real);
        break;
    case WANT_INTERIM:
        job->result = hand_over_fields(job);
        if (job->result == 0)
            job->result = uvhttp_response_send_early_hints(response);
        break;
    case WANT_FINISH:
        finish(job);
        return;
    }
    uv_sem_post(&job->notified);
}

/* The response has ended before the handler. */
static void on_abort(uvhttp_response_t *response, void *arg)
{
    struct blocking_job *job = arg;
    (void)response;
    atomic_store(&job->disconnected, true);
    if (!job->waits_for_writable)
        return;
    job->waits_for_writable = false;
    job->result = UVHTTP_EDISCONNECTED;
    uv_sem_post(&job->notified);
}

static int on_peer_end(uvhttp_response_t *response, void *arg)
{
    struct blocking_job *job = arg;
    (void)response;
    atomic_store(&job->peer_ended, true);
    return 0;
}

/* ---- on the loop: start and end ---- */

/* Called by the request that the job is attached to. */
static void release_job(void *data)
{
    struct blocking_job *job = data;
    const uvhttp_allocator_t *allocator = job->proxy.worker->server->allocator;
    uvh_request_release(&job->proxy.request);
    uvh_response_release_body(&job->proxy.response);
    uvh_arena_release(&job->proxy.arena);
    uvh_arena_pool_release(&job->blocks);
    uv_sem_destroy(&job->notified);
    uvh_free(allocator, job);
}

/* Data attached by middleware is readable here, and is released by the real request. */
static int copy_attachments(struct uvhttp_request *to, const struct uvhttp_request *from)
{
    struct uvh_attachment **link = &to->attachments;
    *link = NULL;
    for (const struct uvh_attachment *one = from->attachments; one != NULL; one = one->next) {
        struct uvh_attachment *copy = uvh_arena_alloc(to->arena, sizeof(*copy));
        if (copy == NULL)
            return UVHTTP_ENOMEM;
        *copy = (struct uvh_attachment){.key = one->key, .data = one->data};
        *link = copy;
        link = &copy->next;
    }
    return 0;
}

/* Copies the bytes of the head as well: accessors write a NUL after each field. */
static int copy_request(struct uvh_exchange *proxy, const struct uvh_exchange *real)
{
    struct uvhttp_request *request = &proxy->request;
    *request = real->request;
    request->arena = &proxy->arena;
    proxy->match = real->match;
    if (request->params != NULL)
        request->params = proxy->match.params;
    request->bytes = uvh_arena_copy(&proxy->arena, request->bytes, request->head->size);
    if (request->trailers != NULL)
        request->trailer_bytes =
            uvh_arena_copy(&proxy->arena, request->trailer_bytes, request->trailers->size);
    request->attachments = NULL;
    if (request->bytes == NULL || (request->trailers != NULL && request->trailer_bytes == NULL))
        return UVHTTP_ENOMEM;
    return copy_attachments(request, &real->request);
}

static struct blocking_job *new_job(struct uvh_exchange *real)
{
    const uvhttp_allocator_t *allocator = real->worker->server->allocator;
    struct uvh_arena arena;
    struct blocking_job *job = uvh_alloc_zero(allocator, sizeof(*job));
    if (job == NULL)
        return NULL;
    uvh_arena_pool_init(&job->blocks, allocator);
    if (uvh_arena_begin(&arena, &job->blocks, 0) == NULL || uv_sem_init(&job->notified, 0) != 0) {
        uvh_arena_pool_release(&job->blocks);
        uvh_free(allocator, job);
        return NULL;
    }
    uvh_job_init(&job->base, real->worker, run, do_wanted);
    job->real = real;
    uvh_exchange_init(&job->proxy, real->worker, &proxy_object_protocol, arena);
    job->proxy.use = real->use; /* by `real`, which outlives it */
    job->proxy.routed = true;
    job->proxy.handled = true;
    job->proxy.began = real->began;
    return job;
}

/* Returns 0 or UVHTTP_ENOMEM. */
static int prepare(struct blocking_job *job)
{
    struct uvh_exchange *real = job->real, *proxy = &job->proxy;
    const char *address = uvhttp_request_peer_address(&real->request);
    uvhttp_request_client_address(&real->request); /* evaluates the fields of proxies */
    (void)uvhttp_request_trace(&real->request);    /* else an access log would have another one */
    proxy->peer_text = uvh_arena_copy(&proxy->arena, address, strlen(address));
    proxy->client = real->client;
    proxy->tls = real->tls; /* outlives the job */
    proxy->early = real->early;
    if (uvhttp_request_connection_id(&real->request) == 0)
        return UVHTTP_ENOMEM;
    job->connection = **real->protocol->connection_data(real);
    job->connection_data = &job->connection;
    proxy->response.status = real->response.status;
    proxy->response.close_after = real->response.close_after;
    proxy->response.prepared = real->response.prepared;
    proxy->response.pace = real->response.pace;
    proxy->response.disconnected = &job->disconnected;
    int err = copy_request(proxy, real);
    if (err == 0)
        err = copy_list(&proxy->arena, &proxy->response.headers, &real->response.headers);
    return err != 0 ? err
                    : copy_list(&proxy->arena, &proxy->response.trailers, &real->response.trailers);
}

int uvh_blocking_start(struct uvh_exchange *exchange)
{
    static const char key;
    struct uvh_worker *worker = exchange->worker;
    struct blocking_job *job = new_job(exchange);
    if (job == NULL)
        return UVHTTP_ENOMEM;
    int err = prepare(job);
    if (err != 0) {
        release_job(job);
        return err;
    }
    /* releases it on failure */
    err = uvhttp_request_attach(&exchange->request, &key, job, release_job);
    if (err != 0)
        return err;
    bool limited = worker->server->config.blocking_wait_ms > 0 &&
                   (exchange->match.route->flags & UVHTTP_ROUTE_NEVER_SHED) == 0;
    job->queued_at = limited ? uv_hrtime() : 0;
    uvh_owner_hand_over(&job->blocks.owner); /* to the thread */
    err = uvh_thread_pool_submit(&worker->server->blocking_pool, &job->base.task);
    if (err == 0) {
        uvhttp_response_on_abort(&exchange->response, on_abort, job);
        uvhttp_response_on_peer_end(&exchange->response, on_peer_end, job);
        uvh_exchange_ref(exchange);
    }
    bool full = err == UVHTTP_EFULL;
    if (full && !worker->blocking_full) /* once, not for every request */
        uvh_server_log(worker->server, UVHTTP_LOG_WARNING,
                       "the queue is full (%zu blocking handlers pending): responding with 503 "
                       "(blocking_queue)",
                       worker->server->config.blocking_queue);
    worker->blocking_full = full;
    if (!full)
        return err;
    uvhttp_response_set_header(&exchange->response, "Retry-After", "1");
    return uvhttp_response_send_status(&exchange->response, 503);
}
