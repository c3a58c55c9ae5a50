/* Streamed bodies, written by a handler or pulled from it, and interim responses. The protocol
 * handles the backlog and the framing; this file checks which calls are allowed when. */
#include <uvhttp/error.h>

#include "server/blocking.h"
#include "server/send.h"
#include "server/server.h"

enum {
    PULL_SIZE = 16384,
    /* UVH_WRITE_BUDGET; fewer bytes when the source returns less than it could */
    PULLS_PER_ITERATION = 64,
    FILTERED_PULLS_PER_ITERATION = 8, /* filters may take a hundred times as long as sending */
    MAX_CHUNK = 1 << 30,
};

/* A source that is pulled for bytes. Allocated in the exchange's arena. */
struct uvh_pull {
    uvhttp_pull_cb pull;
    void *arg;
    bool waiting; /* the last pull returned UVHTTP_AGAIN */
    bool resumed; /* resumed during a pull: it has data now, whatever it returns */
};

int uvhttp_response_begin(uvhttp_response_t *response, int status, const char *content_type,
                          uint64_t length)
{
    return uvh_send(
        response, status, content_type,
        &(struct uvh_body){.source = UVH_BODY_STREAMED, .size = length, .descriptor = -1});
}

static int check_begun(const struct uvhttp_response *response)
{
    if (response->state == UVH_RESPONSE_BEGUN)
        return 0;
    return uvh_response_over_code(response);
}

/* Not for a blocking handler, which does not block the loop, nor for an event stream: a hub writes
 * many of them, and takes UVHTTP_EFULL for a client that does not read. */
static bool is_budget_spent(const struct uvh_exchange *exchange)
{
    const struct uvhttp_response *response = &exchange->response;
    if (uvh_blocking_is(exchange) || response->heartbeat)
        return false;
    return uvh_write_budget_is_spent(&exchange->written, &exchange->worker->loop_stats,
                                     response->filters == NULL ? UVH_WRITE_BUDGET
                                                               : UVH_WRITE_BUDGET_FILTERED,
                                     exchange->worker->server->config.write_backlog);
}

bool uvh_send_has_to_wait(struct uvh_exchange *exchange)
{
    bool spent = is_budget_spent(exchange);
    if (spent)
        exchange->protocol->await_writable(exchange);
    return spent;
}

static int write_chunk(struct uvh_exchange *exchange, uvhttp_slice_t chunk)
{
    if (is_budget_spent(exchange))
        return UVHTTP_EFULL;
    int err = exchange->response.filters == NULL
                  ? exchange->protocol->write(exchange, chunk)
                  : uvh_send_filtered(exchange, UVHTTP_FILTER_CHUNK, chunk);
    if (err == 0 && !uvh_blocking_is(exchange))
        uvh_write_budget_take(&exchange->written, &exchange->worker->loop_stats, chunk.length);
    return err;
}

int uvhttp_response_write(uvhttp_response_t *response, const void *data, size_t size)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    int err = check_begun(response);
    if (err != 0 || size == 0)
        return err;
    if (size > MAX_CHUNK || data == NULL)
        return UVHTTP_EINVAL;
    uvh_exchange_ref(exchange);
    /* a caller that ignores results must not end it as if it were complete */
    if (size > response->body_limit) {
        uvh_server_log(exchange->worker->server, UVHTTP_LOG_ERROR, "%s: %s",
                       uvhttp_request_path(&exchange->request), uvhttp_strerror(UVHTTP_ETOOLARGE));
        exchange->protocol->abandon(exchange);
        uvh_exchange_unref(exchange);
        return UVHTTP_ETOOLARGE;
    }
    err = write_chunk(exchange, (uvhttp_slice_t){data, size});
    if (err == 0)
        response->body_limit -= response->body_limit == UINT64_MAX ? 0 : size;
    if (err == UVHTTP_EFULL)
        exchange->protocol->await_writable(exchange);
    uvh_exchange_unref(exchange);
    return err;
}

int uvhttp_response_flush(uvhttp_response_t *response)
{
    static const uvhttp_slice_t nothing = {NULL, 0};
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    int err = check_begun(response);
    if (err != 0)
        return err;
    uvh_exchange_ref(exchange);
    if (response->filters != NULL)
        err = uvh_send_filtered(exchange, UVHTTP_FILTER_FLUSH, nothing);
    if (err == 0 && uvh_blocking_is(exchange)) /* the loop's filters run after the handler's own */
        err = exchange->protocol->write(exchange, nothing);
    if (err == UVHTTP_EFULL)
        exchange->protocol->await_writable(exchange);
    uvh_exchange_unref(exchange);
    return err;
}

/* Sends what the filters have buffered. Returns 0, or an error with which the stream has ended. */
static int end_filters(struct uvh_exchange *exchange)
{
    int err = uvh_send_filtered(exchange, UVHTTP_FILTER_END, (uvhttp_slice_t){NULL, 0});
    return err != 0 ? err : check_begun(&exchange->response);
}

int uvhttp_response_end(uvhttp_response_t *response)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    int err = check_begun(response);
    if (err != 0)
        return err;
    uvh_exchange_ref(exchange);
    if (response->filters != NULL)
        err = end_filters(exchange);
    if (err == 0)
        err = exchange->protocol->end(exchange);
    if (err == UVHTTP_ELENGTH)
        uvh_server_log(exchange->worker->server, UVHTTP_LOG_ERROR, "%s: %s",
                       uvhttp_request_path(&exchange->request), uvhttp_strerror(err));
    uvh_exchange_unref(exchange);
    return err;
}

size_t uvhttp_response_pending(const uvhttp_response_t *response)
{
    const struct uvh_exchange *exchange =
        uvh_exchange_of_response((uvhttp_response_t *)(uintptr_t)response);
    return response->state == UVH_RESPONSE_BEGUN ? exchange->protocol->pending(exchange) : 0;
}

int uvhttp_response_send_early_hints(uvhttp_response_t *response)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    int err = response->sending ? UVHTTP_ERESPONDED : uvh_response_check_open(response);
    if (err != 0)
        return err;
    if (!exchange->protocol->is_writable(exchange))
        return UVHTTP_EFULL;
    uvh_exchange_ref(exchange);
    err = exchange->protocol->interim(exchange, 103);
    uvh_exchange_unref(exchange);
    return err;
}

static int refuse_pull(struct uvh_exchange *exchange, const char *reason)
{
    uvh_server_log(exchange->worker->server, UVHTTP_LOG_ERROR, "%s: the pull callback returned %s",
                   uvhttp_request_path(&exchange->request), reason);
    return UVHTTP_EINVAL;
}

/* Sends what the source has. Returns its result, or an error. */
static int pull_chunk(struct uvh_exchange *exchange, struct uvh_pull *source)
{
    uvhttp_response_t *response = &exchange->response;
    char buffer[PULL_SIZE];
    size_t length = 0;
    source->resumed = false;
    int result = source->pull(response, buffer, sizeof(buffer), &length, source->arg);
    if (result < 0)
        return result;
    if (result == 0 && length == 0)
        return refuse_pull(exchange, "0 without data, instead of UVHTTP_END or UVHTTP_AGAIN");
    if (length > sizeof(buffer))
        return refuse_pull(exchange, "more bytes than fit into the buffer");
    if (result != 0 && result != UVHTTP_END && result != UVHTTP_AGAIN)
        return refuse_pull(exchange, "a result other than 0, UVHTTP_END and UVHTTP_AGAIN");
    int err = length == 0 ? 0 : uvhttp_response_write(response, buffer, length);
    return err != 0 ? err : result;
}

/* Pulls while output is writable; on_drain of a pulled response. A blocking handler delays no
 * others, and continues to the end. */
static int pump(uvhttp_response_t *response, void *arg)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    struct uvh_pull *source = arg;
    bool blocks = uvh_blocking_is(exchange); /* then the thread serves no other response */
    unsigned most = response->filters == NULL ? PULLS_PER_ITERATION : FILTERED_PULLS_PER_ITERATION;
    for (unsigned i = 0; blocks || i < most; i++) {
        if (is_budget_spent(exchange) || !exchange->protocol->is_writable(exchange))
            break;
        int result = pull_chunk(exchange, source);
        if (result == UVHTTP_END)
            return uvhttp_response_end(response);
        source->waiting = result == UVHTTP_AGAIN && !source->resumed;
        if (source->waiting)
            return 0;
        if (result < 0)
            return result;
    }
    exchange->protocol->await_writable(exchange);
    return 0;
}

int uvhttp_response_send_pulled(uvhttp_response_t *response, int status, const char *content_type,
                                uint64_t length, uvhttp_pull_cb pull, uvhttp_release_cb release,
                                void *arg)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    struct uvh_pull *source =
        pull == NULL ? NULL : uvh_arena_alloc(&exchange->arena, sizeof(*source));
    if (source == NULL) {
        if (release != NULL)
            release(arg);
        return pull == NULL ? UVHTTP_EINVAL : UVHTTP_ENOMEM;
    }
    *source = (struct uvh_pull){.pull = pull, .arg = arg};
    uvh_exchange_ref(exchange);
    int err = uvh_send(response, status, content_type,
                       &(struct uvh_body){.source = UVH_BODY_STREAMED,
                                          .size = length,
                                          .descriptor = -1,
                                          .release = release,
                                          .release_arg = arg});
    if (err == 0 && uvh_exchange_discards_body(exchange)) {
        err = uvhttp_response_end(response);
    } else if (err == 0) {
        response->pull = source;
        uvhttp_response_on_drain(response, pump, source);
        uvh_exchange_drained(exchange);
    }
    uvh_exchange_unref(exchange);
    return err;
}

void uvhttp_response_resume_pull(uvhttp_response_t *response)
{
    struct uvh_pull *source = response->pull;
    if (source == NULL || response->state != UVH_RESPONSE_BEGUN)
        return;
    source->resumed = true;
    if (!source->waiting)
        return;
    source->waiting = false;
    uvh_exchange_drained(uvh_exchange_of_response(response));
}
