/* Handlers of wire_server for streamed bodies in both directions, and for response hooks of
 * middleware. Sent data has a period of 251 bytes, so that a lost or duplicated chunk is
 * detected. */
#include "wire_server.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD = 251 };

static uint64_t number_of(uvhttp_request_t *req, const char *name, uint64_t absent)
{
    const char *text = uvhttp_request_query(req, name);
    return text == NULL ? absent : strtoull(text, NULL, 10);
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
    uint64_t rejected; /* number of rejected chunks */
    bool stalls;       /* every other call returns no data */
    bool stalled;
    uv_idle_t wake;
    uvhttp_response_t *response;
};

/* Writes until a write is rejected. */
static int write_on(uvhttp_response_t *res, void *arg)
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
    uvhttp_response_on_drain(res, write_on, source);
    uvhttp_response_on_abort(res, count_abort, NULL);
    int err = uvhttp_response_begin(res, (int)number_of(req, "status", 200),
                                    "application/octet-stream", length_of(req));
    return err != 0 ? err : write_on(res, source);
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

/* Declares `length` bytes, writes `size` of them at once, and ends. The error of a write beyond the
 * length cannot be sent, so it is stored in last_error. */
int stream_of_length(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char bytes[256];
    size_t size = number_of(req, "size", 10);
    (void)arg;
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
    if (err == 0)
        err = uvhttp_response_write(res, "body", 4);
    if (err == 0)
        err = uvhttp_response_add_trailer(res, "X-Sum", "42");
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

struct body_sum {
    uint64_t size;
    uint64_t chunks;
    uint32_t sum;
    uvhttp_response_t *response;
};

static struct body_sum *paused; /* the one that waits for /pieces-go-on */

static int send_sum(uvhttp_request_t *req, uvhttp_response_t *res, const struct body_sum *body_sum)
{
    const char *after = uvhttp_request_trailer(req, "X-Check");
    char text[96];
    if (after != NULL && uvhttp_response_set_header(res, "X-Check", after) != 0)
        return UVHTTP_ENOMEM;
    (void)snprintf(text, sizeof text, "%" PRIu64 " %08" PRIx32 "\n", body_sum->size, body_sum->sum);
    return uvhttp_response_send_text(res, 200, text);
}

static int add_chunk(uvhttp_request_t *req, uvhttp_response_t *res, const char *data, size_t size,
                     void *arg)
{
    struct body_sum *body_sum = arg;
    if (size == 0)
        return has_query(req, "never") ? 0 : send_sum(req, res, body_sum);
    for (size_t i = 0; i < size; i++)
        body_sum->sum = (body_sum->sum ^ (unsigned char)data[i]) * 16777619u;
    body_sum->size += size;
    body_sum->chunks++;
    if (has_query(req, "fail") && body_sum->size >= number_of(req, "fail", 0))
        return UVHTTP_EINVAL;
    if (has_query(req, "answer") && body_sum->size >= number_of(req, "answer", 0))
        return uvhttp_response_send_text(res, 200, "enough");
    if (has_query(req, "pause") && body_sum->chunks == 1) {
        paused = body_sum;
        uvhttp_request_pause_body(req);
    }
    return 0;
}

static struct body_sum *new_body_sum(uvhttp_request_t *req, uvhttp_response_t *res)
{
    struct body_sum *body_sum = uvhttp_request_allocate(req, sizeof *body_sum);
    if (body_sum != NULL)
        *body_sum = (struct body_sum){.sum = 2166136261u, .response = res};
    return body_sum;
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
    struct body_sum *body_sum = new_body_sum(req, res);
    (void)arg;
    if (body_sum == NULL)
        return UVHTTP_ENOMEM;
    uvhttp_response_on_abort(res, forget_paused, body_sum);
    if (has_query(req, "refuse"))
        return uvhttp_response_send_status(res, 403);
    if (has_query(req, "late")) {
        paused = body_sum;
        return 0;
    }
    if (uvhttp_request_body(req).length != 0)
        return UVHTTP_EINVAL;
    return uvhttp_request_on_body(req, add_chunk, body_sum);
}

/* Resumes the paused body: it is read from now on. */
int resume_paused(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct body_sum *body_sum = paused;
    (void)req, (void)arg;
    paused = NULL;
    if (body_sum == NULL)
        return uvhttp_response_send_status(res, 404);
    uvhttp_request_t *pending = uvhttp_response_request(body_sum->response);
    if (has_query(pending, "late"))
        app.last_error = uvhttp_request_on_body(pending, add_chunk, body_sum);
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

struct echoed {
    char *rejected; /* a rejected chunk */
    size_t size;
    bool ended;
};

static int echo_rejected(uvhttp_response_t *res, void *arg)
{
    struct echoed *echoed = arg;
    if (echoed->size > 0) {
        int err = uvhttp_response_write(res, echoed->rejected, echoed->size);
        if (err != 0)
            return err == UVHTTP_EFULL ? 0 : err;
        free(echoed->rejected);
        echoed->size = 0;
        echoed->rejected = NULL;
    }
    if (echoed->ended)
        return uvhttp_response_end(res);
    uvhttp_request_resume_body(uvhttp_response_request(res));
    return 0;
}

static int echo_chunk(uvhttp_request_t *req, uvhttp_response_t *res, const char *data, size_t size,
                      void *arg)
{
    struct echoed *echoed = arg;
    if (size == 0) {
        echoed->ended = true;
        return echoed->size > 0 ? 0 : uvhttp_response_end(res);
    }
    int err = uvhttp_response_write(res, data, size);
    if (err != UVHTTP_EFULL)
        return err;
    echoed->rejected = malloc(size);
    if (echoed->rejected == NULL)
        return UVHTTP_ENOMEM;
    memcpy(echoed->rejected, data, size);
    echoed->size = size;
    app.rejected_writes++;
    uvhttp_request_pause_body(req);
    return 0;
}

static void free_echoed(void *arg)
{
    struct echoed *echoed = arg;
    free(echoed->rejected);
    free(echoed);
    app.releases++;
}

static const char echo_key;

int stream_echo(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct echoed *echoed = calloc(1, sizeof *echoed);
    (void)arg;
    if (echoed == NULL)
        return UVHTTP_ENOMEM;
    int err = uvhttp_request_attach(req, &echo_key, echoed, free_echoed);
    if (err != 0)
        return err;
    uvhttp_response_on_drain(res, echo_rejected, uvhttp_request_attached(req, &echo_key));
    err = uvhttp_response_begin(res, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
    return err != 0 ? err : uvhttp_request_on_body(req, echo_chunk, echoed);
}

/* ---- response hooks ---- */

static int add_seen(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
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
    app.last_error = uvhttp_response_send_text(res, 200, "within");
    (void)snprintf(text, sizeof text, "%s %d %s %" PRIu64 " %.*s", (const char *)arg,
                   uvhttp_response_status(res), type == NULL ? "-" : type,
                   uvhttp_response_body_length(res), body.base == NULL ? 1 : 4,
                   body.base == NULL ? "-" : body.base);
    return uvhttp_response_add_header(res, "X-Seen", text);
}

int watch_responses(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    static char outer[] = "outer", inner[] = "inner";
    (void)arg;
    if (uvhttp_request_header(req, "X-Take-Early") != NULL)
        app.last_error = uvhttp_request_on_body(req, add_chunk, new_body_sum(req, res));
    if (uvhttp_request_header(req, "X-Watch") == NULL)
        return UVHTTP_DECLINED;
    int err = uvhttp_response_on_send(res, add_seen, outer);
    if (err == 0)
        err = uvhttp_response_on_send(res, add_seen, inner);
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
