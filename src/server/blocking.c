/* The proxy exchange of a blocking handler, and the messages between its thread and the loop.
 *
 * A response that is sent as a whole is sent when the handler has returned. A streamed one is
 * passed to the loop chunk by chunk, and the thread waits until each is accepted. So a slow client
 * slows down its handler, and no data accumulates. */
#include "server/blocking.h"

#include <string.h>

#include <uvhttp/embedding.h>
#include <uvhttp/error.h>

#include "base/alloc.h"
#include "conn/conn.h"
#include "server/send.h"
#include "server/server.h"

/* The operation that the thread requests from the loop. */
enum want {
    WANT_BEGIN,   /* send the head of a streamed response */
    WANT_WRITE,   /* write a chunk; an empty one: flush */
    WANT_END,     /* end the streamed response */
    WANT_ABANDON, /* it cannot be completed */
    WANT_INTERIM, /* send early hints */
    WANT_FINISH,  /* the handler has returned */
};

struct job {
    struct uvh_task task;
    struct uvh_letter letter;
    struct uvh_exchange *real; /* the loop's exchange; referenced */
    /* the thread's; the loop reads it only while the thread waits or is done */
    struct uvh_exchange shadow;
    struct uvh_arena_pool blocks;
    const uvhttp_prepared_t *prepared;     /* the copy of the last one used */
    struct uvh_connection_data connection; /* copy of the connection's data, read only */
    struct uvh_connection_data *connection_data;
    atomic_bool gone;       /* the real response has ended */
    atomic_bool peer_ended; /* the client has ended its side */
    enum want want;
    uvhttp_slice_t piece;
    bool waits_for_room; /* the loop cannot accept the chunk at present */
    int result;          /* of the operation, or of the handler */
    uv_sem_t told;
};

static struct job *job_of(struct uvh_exchange *shadow)
{
    return UVH_CONTAINER_OF(shadow, struct job, shadow);
}

/* ---- on the thread: the protocol of the proxy exchange ---- */

static int ask_loop(struct uvh_exchange *shadow, enum want want)
{
    struct job *job = job_of(shadow);
    job->want = want;
    uvh_inbox_put(&shadow->worker->inbox, &job->letter); /* open while there is a connection */
    uv_sem_wait(&job->told);
    return job->result;
}

/* Copies what the caller may free after its call. Returns 0 or UVHTTP_ENOMEM. */
static int keep_fields(struct uvh_exchange *shadow)
{
    struct uvhttp_response *response = &shadow->response;
    struct job *job = job_of(shadow);
    uvhttp_slice_t *type = &response->content_type;
    if (type->base != NULL &&
        (type->base = uvh_arena_copy(&shadow->arena, type->base, type->length)) == NULL)
        return UVHTTP_ENOMEM;
    if (response->prepared == NULL || response->prepared == job->prepared)
        return 0;
    /* A new copy each time: the loop may be reading the previous one. */
    uvhttp_prepared_t *copy = uvh_arena_alloc(&shadow->arena, sizeof(*copy));
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    *copy = *response->prepared;
    if (copy->lines.length > 0)
        copy->lines.data = uvh_arena_copy(&shadow->arena, copy->lines.data, copy->lines.length);
    if (copy->lines.length > 0 && copy->lines.data == NULL)
        return UVHTTP_ENOMEM;
    response->prepared = job->prepared = copy;
    return 0;
}

/* The response is sent when the handler has returned. */
static int respond(struct uvh_exchange *shadow)
{
    struct uvh_body *body = &shadow->response.body;
    if (body->transient && body->size > 0) {
        body->base = uvh_arena_copy(&shadow->arena, body->base, (size_t)body->size);
        if (body->base == NULL)
            return UVHTTP_ENOMEM;
    }
    body->transient = false;
    return keep_fields(shadow);
}

static int begin(struct uvh_exchange *shadow)
{
    int err = keep_fields(shadow);
    return err != 0 ? err : ask_loop(shadow, WANT_BEGIN);
}

static int write_piece(struct uvh_exchange *shadow, uvhttp_slice_t piece)
{
    job_of(shadow)->piece = piece;
    int err = ask_loop(shadow, WANT_WRITE);
    if (err == UVHTTP_EGONE)
        shadow->response.state = UVH_RESPONSE_GONE;
    return err;
}

static int end(struct uvh_exchange *shadow)
{
    int err = ask_loop(shadow, WANT_END);
    shadow->response.state = UVH_RESPONSE_SENT;
    return err;
}

static void abandon(struct uvh_exchange *shadow)
{
    ask_loop(shadow, WANT_ABANDON);
    shadow->response.state = UVH_RESPONSE_GONE;
}

static int interim(struct uvh_exchange *shadow, int status)
{
    (void)status; /* always 103 */
    int err = keep_fields(shadow);
    return err != 0 ? err : ask_loop(shadow, WANT_INTERIM);
}

/* A chunk that exceeds the backlog blocks the thread. */
static bool has_room(const struct uvh_exchange *shadow)
{
    (void)shadow;
    return true;
}

static size_t pending(const struct uvh_exchange *shadow)
{
    (void)shadow;
    return 0;
}

static void do_nothing(struct uvh_exchange *shadow)
{
    (void)shadow;
}

static void peer(struct uvh_exchange *shadow, char *text)
{
    (void)shadow; /* known since the start, unless out of memory then */
    text[0] = '\0';
}

static bool peer_ended(const struct uvh_exchange *shadow)
{
    const struct job *job = job_of((struct uvh_exchange *)(uintptr_t)shadow);
    return atomic_load(&job->gone) || atomic_load(&job->peer_ended);
}

static struct uvh_connection_data **connection_data(struct uvh_exchange *shadow)
{
    return &job_of(shadow)->connection_data;
}

/* Request bodies are never streamed here. The proxy exchange does not finish by itself; it is freed
 * with the real one. */
static const struct uvh_protocol shadow_protocol = {
    .respond = respond,
    .begin = begin,
    .write = write_piece,
    .has_room = has_room,
    .pending = pending,
    .await_room = do_nothing,
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
    return exchange->protocol == &shadow_protocol;
}

bool uvhttp_request_is_blocking(const uvhttp_request_t *request)
{
    return uvh_blocking_is(uvh_exchange_of_request((uvhttp_request_t *)(uintptr_t)request));
}

static void run(struct uvh_task *task)
{
    struct job *job = UVH_CONTAINER_OF(task, struct job, task);
    struct uvh_exchange *shadow = &job->shadow;
    const struct uvh_route *route = shadow->match.route;
    int result = 0;
    if (!atomic_load(&job->gone)) /* otherwise the response could not be sent */
        result = route->handler(&shadow->request, &shadow->response, route->arg);
    job->result = result;
    job->want = WANT_FINISH;
    uvh_owner_hand_over(&job->blocks.owner);             /* back to the loop */
    uvh_inbox_put(&shadow->worker->inbox, &job->letter); /* last: the loop may free the job */
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
static int hand_over_fields(struct job *job)
{
    struct uvhttp_response *response = &job->real->response;
    const struct uvhttp_response *given = &job->shadow.response;
    if (!uvhttp_response_open(response))
        return UVHTTP_EGONE;
    response->prepared = given->prepared;
    response->close_after = given->close_after;
    response->pace = given->pace;
    if (given->on_read_error != NULL)
        uvhttp_response_on_read_error(response, given->on_read_error, given->read_error_arg);
    return copy_list(response->arena, &response->headers, &given->headers);
}

static int send_whole(struct job *job)
{
    struct uvhttp_response *given = &job->shadow.response;
    int err = hand_over_fields(job);
    if (err != 0)
        return err;
    struct uvh_body body = given->body;
    given->body.release = NULL; /* owned by the response now */
    return uvh_send(&job->real->response, given->status, given->content_type.base, &body);
}

/* False when the write would exceed the backlog: on_room or on_gone resumes the thread. */
static bool take_piece(struct job *job)
{
    /* a failure may run on_gone within this call, and the thread must be notified only once */
    job->waits_for_room = false;
    struct uvhttp_response *response = &job->real->response;
    job->result = job->piece.length == 0
                      ? uvhttp_response_flush(response)
                      : uvhttp_response_write(response, job->piece.base, job->piece.length);
    job->waits_for_room = job->result == UVHTTP_EFULL && !atomic_load(&job->gone);
    return !job->waits_for_room;
}

/* The chunk that was refused can be written now. */
static int on_room(uvhttp_response_t *response, void *arg)
{
    struct job *job = arg;
    (void)response;
    if (job->waits_for_room && take_piece(job))
        uv_sem_post(&job->told);
    return 0;
}

static int begin_pieces(struct job *job)
{
    struct uvhttp_response *response = &job->real->response;
    const struct uvhttp_response *given = &job->shadow.response;
    int err = hand_over_fields(job);
    if (err != 0)
        return err;
    response->heartbeat = given->heartbeat;
    uvhttp_response_on_drain(response, on_room, job);
    return uvhttp_response_begin(response, given->status, given->content_type.base,
                                 given->body.size);
}

static int end_pieces(struct job *job)
{
    struct uvhttp_response *response = &job->real->response;
    response->close_after = job->shadow.response.close_after;
    int err = copy_list(response->arena, &response->trailers, &job->shadow.response.trailers);
    if (err != 0) /* the client must not take an incomplete body for a complete one */
        job->real->protocol->abandon(job->real);
    return err != 0 ? err : uvhttp_response_end(response);
}

static void finish(struct job *job)
{
    struct uvh_exchange *real = job->real;
    unsigned char state = job->shadow.response.state;
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
    if (uvhttp_response_open(&real->response) || real->response.state == UVH_RESPONSE_BEGUN ||
        result < 0)
        uvh_exchange_conclude(real, result);
    uvh_exchange_let_go(real);
}

static void read_letter(struct uvh_letter *letter, void *reader)
{
    struct job *job = UVH_CONTAINER_OF(letter, struct job, letter);
    (void)reader;
    struct uvhttp_response *response = &job->real->response;
    switch (job->want) {
    case WANT_BEGIN:
        job->result = begin_pieces(job);
        break;
    case WANT_WRITE:
        if (!take_piece(job))
            return;
        break;
    case WANT_END:
        job->result = end_pieces(job);
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
    uv_sem_post(&job->told);
}

/* The response has ended before the handler. */
static void on_gone(uvhttp_response_t *response, void *arg)
{
    struct job *job = arg;
    (void)response;
    atomic_store(&job->gone, true);
    if (!job->waits_for_room)
        return;
    job->waits_for_room = false;
    job->result = UVHTTP_EGONE;
    uv_sem_post(&job->told);
}

static int on_peer_end(uvhttp_response_t *response, void *arg)
{
    struct job *job = arg;
    (void)response;
    atomic_store(&job->peer_ended, true);
    return 0;
}

/* ---- on the loop: start and end ---- */

/* Called by the request that the job is attached to. */
static void release_job(void *data)
{
    struct job *job = data;
    const uvhttp_allocator_t *allocator = job->shadow.worker->server->allocator;
    uvh_request_release(&job->shadow.request);
    uvh_response_release_body(&job->shadow.response);
    uvh_arena_release(&job->shadow.arena);
    uvh_arena_pool_release(&job->blocks);
    uv_sem_destroy(&job->told);
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
static int copy_request(struct uvh_exchange *shadow, const struct uvh_exchange *real)
{
    struct uvhttp_request *request = &shadow->request;
    *request = real->request;
    request->arena = &shadow->arena;
    shadow->match = real->match;
    if (request->params != NULL)
        request->params = shadow->match.params;
    request->bytes = uvh_arena_copy(&shadow->arena, request->bytes, request->head->size);
    if (request->trailers != NULL)
        request->trailer_bytes =
            uvh_arena_copy(&shadow->arena, request->trailer_bytes, request->trailers->size);
    request->attachments = NULL;
    if (request->bytes == NULL || (request->trailers != NULL && request->trailer_bytes == NULL))
        return UVHTTP_ENOMEM;
    return copy_attachments(request, &real->request);
}

static struct job *new_job(struct uvh_exchange *real)
{
    const uvhttp_allocator_t *allocator = real->worker->server->allocator;
    struct uvh_arena arena;
    struct job *job = uvh_alloc_zero(allocator, sizeof(*job));
    if (job == NULL)
        return NULL;
    uvh_arena_pool_init(&job->blocks, allocator);
    if (uvh_arena_begin(&arena, &job->blocks, 0) == NULL || uv_sem_init(&job->told, 0) != 0) {
        uvh_arena_pool_release(&job->blocks);
        uvh_free(allocator, job);
        return NULL;
    }
    job->task.run = run;
    job->letter.read = read_letter;
    job->real = real;
    uvh_exchange_init(&job->shadow, real->worker, &shadow_protocol, arena);
    job->shadow.handled = true;
    job->shadow.began = real->began;
    return job;
}

/* Returns 0 or UVHTTP_ENOMEM. */
static int prepare(struct job *job)
{
    struct uvh_exchange *real = job->real, *shadow = &job->shadow;
    const char *address = uvhttp_request_peer_address(&real->request);
    uvhttp_request_client_address(&real->request); /* evaluates the fields of proxies */
    shadow->peer_text = uvh_arena_copy(&shadow->arena, address, strlen(address));
    shadow->client = real->client;
    shadow->tls = real->tls; /* outlives the job */
    shadow->early = real->early;
    if (uvhttp_request_connection_id(&real->request) == 0)
        return UVHTTP_ENOMEM;
    job->connection = **real->protocol->connection_data(real);
    job->connection_data = &job->connection;
    shadow->response.status = real->response.status;
    shadow->response.close_after = real->response.close_after;
    shadow->response.prepared = real->response.prepared;
    shadow->response.pace = real->response.pace;
    shadow->response.gone = &job->gone;
    int err = copy_request(shadow, real);
    if (err == 0)
        err = copy_list(&shadow->arena, &shadow->response.headers, &real->response.headers);
    return err != 0
               ? err
               : copy_list(&shadow->arena, &shadow->response.trailers, &real->response.trailers);
}

int uvh_blocking_start(struct uvh_exchange *exchange)
{
    static const char key;
    struct uvh_worker *worker = exchange->worker;
    struct job *job = new_job(exchange);
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
    uvh_owner_hand_over(&job->blocks.owner); /* to the thread */
    err = uvh_thread_pool_submit(&worker->server->blocking_pool, &job->task);
    if (err == 0) {
        uvhttp_response_on_abort(&exchange->response, on_gone, job);
        uvhttp_response_on_peer_end(&exchange->response, on_peer_end, job);
        uvh_exchange_hold(exchange);
    }
    bool full = err == UVHTTP_EFULL;
    if (full && !worker->blocking_full) /* once, not for every request */
        uvh_server_log(worker->server, UVHTTP_LOG_WARNING,
                       "%zu blocking handlers wait already: answering 503 (blocking_queue)",
                       worker->server->config.blocking_queue);
    worker->blocking_full = full;
    if (!full)
        return err;
    uvhttp_response_set_header(&exchange->response, "Retry-After", "1");
    return uvhttp_response_send_status(&exchange->response, 503);
}
