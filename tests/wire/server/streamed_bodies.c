/* Handlers of wire_server for streamed bodies in both directions, trailers and early hints, and
 * middleware with response hooks or a deferred decision. Sent data has a period of 251 bytes, so
 * that a lost or duplicated chunk is detected.
 *
 * Parameters in the query; without "=N" their presence counts:
 *
 *     /pieces-out     size=N     bytes of the body; 1000
 *     and /pulled     piece=N    bytes of a chunk; 100
 *                     known      Content-Length instead of chunked coding
 *     /pieces-out     status=N   status; 200
 *                     last       closes the connection after the response
 *     /pulled         stalls     every other call returns no data; the next loop iteration resumes
 *                     at-once    with stalls: the call itself resumes
 *                     fail       fails after half of the body
 *     /pieces-of-     length=N   the declared length; 10
 *       length        size=N     bytes that are written; 10
 *     /trailers-out   known      Content-Length, and so no trailers
 *                     more=N     bytes of the body before its end
 *     /pieces-digest  pause      pauses after the first chunk, until /pieces-go-on
 *                     late       requests the body at /pieces-go-on
 *                     refuse     responds with 403 instead of reading the body
 *                     fail=N     fails after N bytes
 *                     answer=N   responds after N bytes
 *                     never      does not respond
 *     /decide         refuse     responds with 401 instead of proceeding
 *
 * Fields of a request select what middleware does:
 *
 *     X-Take-Early    requests the body before the handler does
 *     X-Watch         sets X-Watched, and adds two response hooks, each of which adds X-Seen
 *     X-Hook-Fails    the hooks fail, except for an error response
 *     X-Type          the hooks change Content-Type
 *     X-Teapot        the hooks change the status to 418
 *     X-No-Content    the hooks change the status to 204
 *     X-Undecided     waits for /decide */
#include "wire_server.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD = 251 };

static uint64_t number_of(uvhttp_request_t *req, const char *name, uint64_t default_value)
{
    const char *text = uvhttp_request_query(req, name);
    return text == NULL ? default_value : strtoull(text, NULL, 10);
}

static bool has_query(uvhttp_request_t *req, const char *name)
{
    return uvhttp_request_query(req, name) != NULL;
}

static void fill(char *out, size_t size, uint64_t offset)
{
    for (size_t i = 0; i < size; i++)
        out[i] = (char)(unsigned char)((offset + i) % PERIOD);
}

/* ---- response bodies ---- */

struct source {
    uint64_t size, sent;
    size_t chunk;
    /* of /pulled only: */
    bool stalls;  /* every other call returns no data */
    bool stalled; /* the last call returned no data */
    uv_idle_t wake;
    uvhttp_response_t *response;
};

/* Writes chunks until one is rejected; on drain it continues. */
static int write_chunks(uvhttp_response_t *res, void *arg)
{
    struct source *source = arg;
    while (source->sent < source->size) {
        size_t size = source->size - source->sent < source->chunk
                          ? (size_t)(source->size - source->sent)
                          : source->chunk;
        char *bytes = malloc(size);
        if (bytes == NULL)
            return UVHTTP_ENOMEM;
        fill(bytes, size, source->sent);
        int err = uvhttp_response_write(res, bytes, size);
        memset(bytes, 'x', size); /* the data must have been copied */
        free(bytes);
        if (err == UVHTTP_EFULL) {
            app.rejected_writes++;
            return 0;
        }
        if (err != 0)
            return err;
        source->sent += size;
    }
    if (has_query(uvhttp_response_request(res), "last"))
        uvhttp_response_close_after(res);
    return uvhttp_response_end(res);
}

static struct source *new_source(uvhttp_request_t *req)
{
    struct source *source = uvhttp_request_allocate(req, sizeof *source);
    if (source != NULL)
        *source = (struct source){.size = number_of(req, "size", 1000),
                                  .chunk = number_of(req, "piece", 100)};
    return source;
}

static uint64_t length_of(uvhttp_request_t *req)
{
    return has_query(req, "known") ? number_of(req, "size", 1000) : UVHTTP_LENGTH_UNKNOWN;
}

static void count_abort(uvhttp_response_t *res, void *arg)
{
    (void)res, (void)arg;
    app.aborts++;
}

int stream_out(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct source *source = new_source(req);
    (void)arg;
    if (source == NULL)
        return UVHTTP_ENOMEM;
    uvhttp_response_on_drain(res, write_chunks, source);
    uvhttp_response_on_abort(res, count_abort, NULL);
    int err = uvhttp_response_begin(res, (int)number_of(req, "status", 200),
                                    "application/octet-stream", length_of(req));
    return err != 0 ? err : write_chunks(res, source);
}

static void wake_up(uv_idle_t *wake)
{
    struct source *source = wake->data;
    (void)uv_idle_stop(wake);
    uvhttp_response_resume_pull(source->response);
}

static int pull(uvhttp_response_t *res, char *buffer, size_t size, size_t *length, void *arg)
{
    struct source *source = arg;
    uint64_t left = source->size - source->sent;
    if (has_query(uvhttp_response_request(res), "forgets-length"))
        return 0;
    if (has_query(uvhttp_response_request(res), "exceeds-buffer")) {
        *length = size + 1;
        return 0;
    }
    if (has_query(uvhttp_response_request(res), "wrong-result"))
        return UVHTTP_DECLINED;
    source->stalled = source->stalls && !source->stalled;
    if (source->stalled && has_query(uvhttp_response_request(res), "at-once")) {
        uvhttp_response_resume_pull(res);
        return UVHTTP_AGAIN;
    }
    if (source->stalled) {
        source->response = res;
        (void)uv_idle_start(&source->wake, wake_up);
        return UVHTTP_AGAIN;
    }
    if (size > source->chunk)
        size = source->chunk;
    if (size > left)
        size = (size_t)left;
    fill(buffer, size, source->sent);
    source->sent += size;
    *length = size;
    if (has_query(uvhttp_response_request(res), "fail") && source->sent > source->size / 2)
        return UVHTTP_EINVAL;
    return source->sent == source->size ? UVHTTP_END : 0;
}

static void source_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void release_source(void *arg)
{
    struct source *source = arg;
    app.releases++;
    if (source->stalls)
        uv_close((uv_handle_t *)&source->wake, source_closed);
    else
        free(source);
}

int pulled(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct source *source = calloc(1, sizeof *source);
    (void)arg;
    if (source == NULL)
        return UVHTTP_ENOMEM;
    source->size = number_of(req, "size", 1000);
    source->chunk = number_of(req, "piece", 100);
    source->stalls = has_query(req, "stalls");
    if (source->stalls) {
        (void)uv_idle_init(uvhttp_server_loop(app.server), &source->wake);
        source->wake.data = source;
    }
    return uvhttp_response_send_pulled(res, 200, NULL, length_of(req), pull, release_source,
                                       source);
}

/* Writes all bytes at once and ends. The first error is stored in last_error, since it cannot be
 * sent after the head. */
int stream_of_length(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char bytes[256];
    size_t size = number_of(req, "size", 10);
    (void)arg;
    if (size > sizeof bytes)
        return UVHTTP_EINVAL;
    fill(bytes, sizeof bytes, 0);
    int err = uvhttp_response_begin(res, 200, NULL, number_of(req, "length", 10));
    if (err != 0)
        return err;
    app.last_error = uvhttp_response_write(res, bytes, size);
    err = uvhttp_response_end(res);
    if (app.last_error == 0)
        app.last_error = err;
    return 0;
}

int begin_and_fail(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    uvhttp_response_on_abort(res, count_abort, NULL);
    int err = uvhttp_response_begin(res, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
    if (err == 0)
        err = uvhttp_response_write(res, "half", 4);
    return err != 0 ? err : UVHTTP_EINVAL;
}

int trailers_out(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    int err = uvhttp_response_add_trailer(res, "X-Early", "set before");
    if (err == 0)
        err = uvhttp_response_begin(res, 200, "text/plain",
                                    length_of(req) == UVHTTP_LENGTH_UNKNOWN ? UVHTTP_LENGTH_UNKNOWN
                                                                            : 4);
    size_t more = (size_t)number_of(req, "more", 0);
    char *bytes = uvhttp_request_allocate(req, more + 1);
    if (bytes == NULL)
        return UVHTTP_ENOMEM;
    fill(bytes, more, 0);
    if (err == 0)
        err = uvhttp_response_write(res, bytes, more);
    if (err == 0)
        err = uvhttp_response_write(res, "body", 4);
    if (err == 0)
        err = uvhttp_response_add_trailer(res, "X-Sum", "42");
    /* forbidden in a trailer section */
    app.last_error = uvhttp_response_add_trailer(res, "content-length", "5");
    return err != 0 ? err : uvhttp_response_end(res);
}

int early_hints(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    int err = uvhttp_response_set_header(res, "Link", "</style.css>; rel=preload");
    if (err == 0)
        err = uvhttp_response_send_early_hints(res);
    if (err == 0)
        err = uvhttp_response_set_header(res, "X-Final", "yes");
    return err != 0 ? err : uvhttp_response_send_text(res, 200, "page");
}

/* ---- request bodies ---- */

/* The part of a body that has been received. */
struct received {
    uint64_t size;
    uint64_t chunks;
    uint32_t hash; /* FNV-1a */
    bool ended;
    uvhttp_response_t *response;
};

/* Waits for /pieces-go-on: a paused body, or one that is not requested yet. NULL: none. */
static struct received *paused;

static int send_hash(uvhttp_request_t *req, uvhttp_response_t *res, const struct received *received)
{
    const char *trailer = uvhttp_request_trailer(req, "X-Check");
    char text[96];
    if (trailer != NULL && uvhttp_response_set_header(res, "X-Check", trailer) != 0)
        return UVHTTP_ENOMEM;
    (void)snprintf(text, sizeof text, "%" PRIu64 " %08" PRIx32 "\n", received->size,
                   received->hash);
    return uvhttp_response_send_text(res, 200, text);
}

static int add_chunk(uvhttp_request_t *req, uvhttp_response_t *res, const char *data, size_t size,
                     void *arg)
{
    struct received *received = arg;
    if (received->ended)
        abort();
    received->ended = size == 0;
    if (size == 0)
        return has_query(req, "never") ? 0 : send_hash(req, res, received);
    received->hash = fnv_add(received->hash, data, size);
    received->size += size;
    received->chunks++;
    if (has_query(req, "fail") && received->size >= number_of(req, "fail", 0))
        return UVHTTP_EINVAL;
    if (has_query(req, "answer") && received->size >= number_of(req, "answer", 0))
        return uvhttp_response_send_text(res, 200, "enough");
    if (has_query(req, "pause") && received->chunks == 1) {
        paused = received;
        uvhttp_request_pause_body(req);
    }
    return 0;
}

static struct received *new_received(uvhttp_request_t *req, uvhttp_response_t *res)
{
    struct received *received = uvhttp_request_allocate(req, sizeof *received);
    if (received != NULL)
        *received = (struct received){.hash = FNV_OFFSET_BASIS, .response = res};
    return received;
}

static void forget_paused(uvhttp_response_t *res, void *arg)
{
    (void)res;
    app.aborts++;
    if (paused == arg)
        paused = NULL;
}

int stream_digest(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct received *received = new_received(req, res);
    (void)arg;
    if (received == NULL)
        return UVHTTP_ENOMEM;
    uvhttp_response_on_abort(res, forget_paused, received);
    if (has_query(req, "refuse"))
        return uvhttp_response_send_status(res, 403);
    if (has_query(req, "late")) {
        paused = received;
        return 0;
    }
    if (uvhttp_request_body(req).length != 0)
        return UVHTTP_EINVAL;
    return uvhttp_request_on_body(req, add_chunk, received);
}

/* Resumes the body in `paused`, or requests it. */
int resume_paused(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct received *received = paused;
    (void)req, (void)arg;
    paused = NULL;
    if (received == NULL)
        return uvhttp_response_send_status(res, 404);
    uvhttp_request_t *pending = uvhttp_response_request(received->response);
    if (has_query(pending, "late"))
        app.last_error = uvhttp_request_on_body(pending, add_chunk, received);
    else
        uvhttp_request_resume_body(pending);
    return uvhttp_response_send_text(res, 200, "gone on");
}

int count_paused(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    return uvhttp_response_send_text(res, 200, paused == NULL ? "0" : "1");
}

/* ---- both directions ---- */

struct echo_state {
    char *rejected; /* a chunk that the response did not take, to be written on drain; NULL: none */
    size_t size;    /* of that chunk */
    bool ended;     /* the request body is complete */
};

static int echo_rejected(uvhttp_response_t *res, void *arg)
{
    struct echo_state *state = arg;
    if (state->size > 0) {
        int err = uvhttp_response_write(res, state->rejected, state->size);
        if (err != 0)
            return err == UVHTTP_EFULL ? 0 : err;
        free(state->rejected);
        state->size = 0;
        state->rejected = NULL;
    }
    if (state->ended)
        return uvhttp_response_end(res);
    uvhttp_request_resume_body(uvhttp_response_request(res));
    return 0;
}

static int echo_chunk(uvhttp_request_t *req, uvhttp_response_t *res, const char *data, size_t size,
                      void *arg)
{
    struct echo_state *state = arg;
    if (size == 0) {
        state->ended = true;
        return state->size > 0 ? 0 : uvhttp_response_end(res);
    }
    int err = uvhttp_response_write(res, data, size);
    if (err != UVHTTP_EFULL)
        return err;
    state->rejected = malloc(size);
    if (state->rejected == NULL)
        return UVHTTP_ENOMEM;
    memcpy(state->rejected, data, size);
    state->size = size;
    app.rejected_writes++;
    uvhttp_request_pause_body(req);
    return 0;
}

static void free_echo(void *arg)
{
    struct echo_state *state = arg;
    free(state->rejected);
    free(state);
    app.releases++;
}

static const char echo_key;

int stream_echo(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct echo_state *state = calloc(1, sizeof *state);
    (void)arg;
    if (state == NULL)
        return UVHTTP_ENOMEM;
    int err = uvhttp_request_attach(req, &echo_key, state, free_echo);
    if (err != 0)
        return err;
    uvhttp_response_on_drain(res, echo_rejected, state);
    err = uvhttp_response_begin(res, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
    return err != 0 ? err : uvhttp_request_on_body(req, echo_chunk, state);
}

/* ---- response hooks ---- */

/* A response hook: adds X-Seen with what it sees of the response, and the first bytes of the body.
 * `arg` is the name of the hook. */
static int add_x_seen(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[128];
    const char *type = uvhttp_response_header(res, "content-type");
    uvhttp_slice_t body = uvhttp_response_body(res);
    if (uvhttp_request_header(req, "X-Hook-Fails") != NULL && uvhttp_response_status(res) < 500)
        return UVHTTP_EINVAL;
    if (uvhttp_request_header(req, "X-Type") != NULL &&
        uvhttp_response_set_header(res, "Content-Type", "text/changed") != 0)
        return UVHTTP_EINVAL;
    if (uvhttp_request_header(req, "X-Teapot") != NULL && uvhttp_response_set_status(res, 418) != 0)
        return UVHTTP_EINVAL;
    if (uvhttp_request_header(req, "X-No-Content") != NULL &&
        uvhttp_response_set_status(res, 204) != 0)
        return UVHTTP_EINVAL;
    /* A hook cannot send a response. */
    app.last_error = uvhttp_response_send_text(res, 200, "within");
    int shown = body.length < 4 ? (int)body.length : 4;
    (void)snprintf(text, sizeof text, "%s %d %s %" PRIu64 " %.*s", (const char *)arg,
                   uvhttp_response_status(res), type == NULL ? "-" : type,
                   uvhttp_response_body_length(res), body.base == NULL ? 1 : shown,
                   body.base == NULL ? "-" : body.base);
    return uvhttp_response_add_header(res, "X-Seen", text);
}

int watch_responses(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static char outer[] = "outer", inner[] = "inner";
    (void)arg;
    /* fails, because only the handler may read the body */
    if (uvhttp_request_header(req, "X-Take-Early") != NULL)
        app.last_error = uvhttp_request_on_body(req, add_chunk, new_received(req, res));
    if (uvhttp_request_header(req, "X-Watch") == NULL)
        return UVHTTP_DECLINED;
    int err = uvhttp_response_set_header(res, "X-Watched", "yes");
    if (err == 0)
        err = uvhttp_response_on_send(res, add_x_seen, outer);
    if (err == 0)
        err = uvhttp_response_on_send(res, add_x_seen, inner);
    return err != 0 ? err : UVHTTP_DECLINED;
}

static uvhttp_response_t *undecided;

static void undecided_aborted(uvhttp_response_t *res, void *arg)
{
    (void)res, (void)arg;
    app.aborts++;
    undecided = NULL;
}

/* A middleware that defers its decision until /decide. */
int defer_decision(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    if (uvhttp_request_header(req, "X-Undecided") == NULL)
        return UVHTTP_DECLINED;
    app.last_error = uvhttp_response_proceed(res); /* too early: the request is not deferred yet */
    undecided = res;
    uvhttp_response_on_abort(res, undecided_aborted, NULL);
    return 0;
}

int decide(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_response_t *decided = undecided;
    (void)arg;
    undecided = NULL;
    if (decided == NULL)
        return uvhttp_response_send_status(res, 404);
    uvhttp_response_on_abort(decided, NULL, NULL);
    if (has_query(req, "refuse"))
        app.last_error = uvhttp_response_send_status(decided, 401);
    else
        app.last_error = uvhttp_response_proceed(decided);
    return uvhttp_response_send_text(res, 200, "decided");
}
