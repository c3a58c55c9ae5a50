/* Several clients that act in random order. They send parts of pipelined requests, read parts of
 * responses, reset, shut down their sending side and reconnect, while some responses wait for a job
 * or for the test, and some allocations fail. The test checks that each client receives complete
 * responses in the order of its requests, and that nothing leaks. The walks are pseudo-random and
 * reproducible. A failing walk prints its number. Debug builds also check the state of every
 * connection after every event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/stage.h"

enum { WALKS = 60, STEPS = 1500, CLIENTS = 4, LARGE = 30000, MAX_PENDING = 64 };

/* A client and its requests. */
struct walker {
    struct raw_client client;
    char script[8192]; /* requests that are not sent yet */
    size_t script_length;
    unsigned requested; /* requests so far; each one contains its number */
    unsigned responded; /* number of the last response */
    size_t checked;     /* bytes of the responses so far */
    bool half_closed;
    /* the last request upgrades, and the server closes the connection after the response */
    bool upgraded;
};

static struct stage stage;
static struct walker walkers[CLIENTS];
static char large[LARGE];
static uvhttp_response_t *pending[MAX_PENDING];
static size_t pending_count;
static uint64_t random_state;
static bool memory_fails;

static unsigned pick(unsigned below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % below;
}

/* ---- the server ---- */

static int send_response(uvhttp_response_t *response)
{
    uvhttp_request_t *request = uvhttp_response_request(response);
    const char *id = uvhttp_request_param(request, "id");
    const char *kind = uvhttp_request_path(request) + 1;
    if (id == NULL)
        return UVHTTP_ENOMEM;
    int err = uvhttp_response_set_header(response, "X-Id", id);
    if (err != 0)
        return err;
    uvhttp_slice_t body = uvhttp_request_body(request);
    if (kind[0] == 'l')
        return uvhttp_response_send_static(response, 200, NULL, large, LARGE);
    if (kind[0] == 'c')
        return uvhttp_response_send(response, 200, NULL, large, LARGE);
    return uvhttp_response_send(response, 200, NULL, body.base, body.length);
}

/* ---- response bodies in chunks ---- */

struct source {
    size_t sent;
};

static size_t next_chunk_size(const struct source *source)
{
    size_t size = 1 + pick(pick(3) == 0 ? 9000 : 300);
    return size < LARGE - source->sent ? size : LARGE - source->sent;
}

static int write_chunks(uvhttp_response_t *response, void *arg)
{
    struct source *source = arg;
    while (source->sent < LARGE) {
        size_t size = next_chunk_size(source);
        int err = uvhttp_response_write(response, large + source->sent, size);
        if (err != 0)
            return err == UVHTTP_EFULL ? 0 : err;
        source->sent += size;
    }
    return uvhttp_response_end(response);
}

static int pull(uvhttp_response_t *response, char *buffer, size_t size, size_t *length, void *arg)
{
    struct source *source = arg;
    (void)response;
    *length = next_chunk_size(source);
    if (*length > size)
        *length = size;
    memcpy(buffer, large + source->sent, *length);
    source->sent += *length;
    return source->sent == LARGE ? UVHTTP_END : 0;
}

static int send_chunks(uvhttp_request_t *request, uvhttp_response_t *response, char kind)
{
    struct source *source = uvhttp_request_allocate(request, sizeof(*source));
    const char *id = uvhttp_request_param(request, "id");
    if (source == NULL || id == NULL)
        return UVHTTP_ENOMEM;
    source->sent = 0;
    int err = uvhttp_response_set_header(response, "X-Id", id);
    if (err != 0)
        return err;
    uint64_t length = strtoul(id, NULL, 10) % 2 == 0 ? LARGE : UVHTTP_LENGTH_UNKNOWN;
    if (kind == 'q')
        return uvhttp_response_send_pulled(response, 200, NULL, length, pull, NULL, source);
    uvhttp_response_on_drain(response, write_chunks, source);
    err = uvhttp_response_begin(response, 200, NULL, length);
    return err != 0 ? err : write_chunks(response, source);
}

/* Echoes the request body while it arrives. A chunk over the backlog is kept here. */
struct echoed {
    char queued[70000];
    size_t size;
    bool ended;
};

static int echo_queued(uvhttp_response_t *response, void *arg)
{
    struct echoed *echoed = arg;
    int err = uvhttp_response_write(response, echoed->queued, echoed->size);
    if (err != 0)
        return err == UVHTTP_EFULL ? 0 : err;
    echoed->size = 0;
    if (echoed->ended)
        return uvhttp_response_end(response);
    uvhttp_request_resume_body(uvhttp_response_request(response));
    return 0;
}

static int echo_chunk(uvhttp_request_t *request, uvhttp_response_t *response, const char *data,
                      size_t size, void *arg)
{
    struct echoed *echoed = arg;
    if (size == 0) {
        echoed->ended = true;
        return echoed->size > 0 ? 0 : uvhttp_response_end(response);
    }
    assert_int_equal(echoed->size, 0);
    int err = uvhttp_response_write(response, data, size);
    if (err != UVHTTP_EFULL)
        return err;
    assert_true(size <= sizeof(echoed->queued));
    memcpy(echoed->queued, data, size);
    echoed->size = size;
    uvhttp_request_pause_body(request);
    return 0;
}

static int echo_chunks(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const char key;
    (void)arg;
    struct echoed *echoed = calloc(1, sizeof(*echoed));
    const char *id = uvhttp_request_param(request, "id");
    assert_non_null(echoed);
    int err = uvhttp_request_attach(request, &key, echoed, free);
    if (err == 0)
        err = id == NULL ? UVHTTP_ENOMEM : uvhttp_response_set_header(response, "X-Id", id);
    if (err != 0)
        return err;
    uvhttp_response_on_drain(response, echo_queued, echoed);
    err = uvhttp_response_begin(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
    return err != 0 ? err : uvhttp_request_on_body(request, echo_chunk, echoed);
}

/* ---- blocking handlers ---- */

static int send_blocking(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)arg;
    return send_response(response);
}

static int send_chunks_blocking(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const char *id = uvhttp_request_param(request, "id");
    (void)arg;
    if (id == NULL)
        return UVHTTP_ENOMEM;
    size_t chunk = 1 + strtoul(id, NULL, 10) * 997 % 9000;
    int err = uvhttp_response_set_header(response, "X-Id", id);
    if (err == 0)
        err = uvhttp_response_begin(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
    for (size_t sent = 0; err == 0 && sent < LARGE; sent += chunk)
        err = uvhttp_response_write(response, large + sent,
                                    chunk < LARGE - sent ? chunk : LARGE - sent);
    return err != 0 ? err : uvhttp_response_end(response);
}

/* ---- streams: after the 101 one more response follows, and then the end ---- */

static void write_stream(uvhttp_stream_t *stream, void *arg)
{
    struct source *source = arg;
    while (source->sent < LARGE) {
        size_t size = next_chunk_size(source), first = pick((unsigned)size);
        uvhttp_slice_t areas[] = {{large + source->sent, first},
                                  {large + source->sent + first, size - first}};
        int err = uvhttp_stream_write_areas(stream, areas, 2);
        if (err == UVHTTP_ENOMEM)
            uvhttp_stream_close(stream);
        if (err != 0)
            return;
        source->sent += size;
    }
    uvhttp_stream_end(stream);
}

static void stream_data(uvhttp_stream_t *stream, char *data, size_t size, void *arg)
{
    (void)data;
    (void)arg;
    if (size > 0 && pick(3) == 0)
        uvhttp_stream_pause(stream);
    else
        uvhttp_stream_resume(stream);
}

static void stream_closed(uvhttp_stream_t *stream, void *arg)
{
    (void)stream;
    free(arg);
}

static int upgrade(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    static const uvhttp_stream_events_t events = {
        .data = stream_data, .drain = write_stream, .closed = stream_closed};
    const char *id = uvhttp_request_param(request, "id");
    struct source *source = calloc(1, sizeof(*source));
    uvhttp_stream_t *stream;
    char head[128];
    (void)arg;
    int err = id == NULL || source == NULL
                  ? UVHTTP_ENOMEM
                  : uvhttp_response_upgrade(response, "walk", &events, source, &stream);
    if (err != 0) {
        free(source);
        return err;
    }
    int length = snprintf(head, sizeof(head),
                          "HTTP/1.1 200 OK\r\nX-Id: %s\r\nContent-Length: %d\r\n\r\n", id, LARGE);
    if (uvhttp_stream_write(stream, head, (size_t)length) != 0)
        uvhttp_stream_close(stream);
    else
        write_stream(stream, source);
    return 0;
}

/* ---- jobs and pending responses ---- */

static void do_nothing(void *arg)
{
    (void)arg;
}

static int respond_after_job(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    return send_response(response);
}

static void remove_pending(uvhttp_response_t *response, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < pending_count; i++) {
        if (pending[i] != response)
            continue;
        pending[i] = pending[--pending_count];
        return;
    }
    fail_msg("the aborted exchange is not pending");
}

static int handle(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    const char *kind = uvhttp_request_param(request, "kind");
    if (kind != NULL && (kind[0] == 'p' || kind[0] == 'q'))
        return send_chunks(request, response, kind[0]);
    if (kind != NULL && kind[0] == 'j')
        return uvhttp_response_defer(response, do_nothing, respond_after_job, NULL);
    if (kind == NULL || kind[0] != 'k' || pending_count == MAX_PENDING)
        return send_response(response);
    pending[pending_count++] = response;
    uvhttp_response_on_abort(response, remove_pending, NULL);
    return 0;
}

static void send_one_pending(void)
{
    if (pending_count == 0)
        return;
    size_t i = pick((unsigned)pending_count);
    uvhttp_response_t *response = pending[i];
    pending[i] = pending[--pending_count];
    uvhttp_response_on_abort(response, NULL, NULL);
    int err = send_response(response);
    if (err == UVHTTP_ENOMEM) { /* it is still open and must be ended */
        assert_true(memory_fails);
        uvhttp_response_close_after(response);
        if (uvhttp_response_send_status(response, 503) != 0) {
            pending[pending_count++] = response;
            uvhttp_response_on_abort(response, remove_pending, NULL);
        }
    }
}

/* ---- clients ---- */

static void add_request(struct walker *walker)
{
    static const char kinds[] = "ssllcckjjeeeebbppqqxyu";
    char kind = kinds[pick(sizeof(kinds) - 1)];
    char text[512];
    if (walker->upgraded)
        return;
    unsigned id = ++walker->requested;
    int length;
    walker->upgraded = kind == 'u';
    if ((kind == 'e' || kind == 'b') && pick(2) == 0)
        length = snprintf(text, sizeof(text),
                          "POST /%c/%u HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "4\r\nbody\r\n%x\r\n%0*u\r\n0\r\nX-Sum: 1\r\n\r\n",
                          kind, id, 8 + id % 64, (int)(8 + id % 64), id);
    else if (kind == 'e' || kind == 'b')
        length = snprintf(text, sizeof(text),
                          "POST /%c/%u HTTP/1.1\r\nHost: h\r\nContent-Length: %u\r\n\r\n%0*u", kind,
                          id, 8 + id % 200, (int)(8 + id % 200), id);
    else
        length = snprintf(text, sizeof(text), "GET /%c/%u HTTP/1.1\r\nHost: h\r\n%s\r\n%s", kind,
                          id, kind == 'u' ? "Connection: upgrade\r\nUpgrade: walk\r\n" : "",
                          kind == 'u' ? "more" : "");
    if (walker->script_length + (size_t)length > sizeof(walker->script)) {
        walker->requested--;
        walker->upgraded = false;
        return;
    }
    memcpy(walker->script + walker->script_length, text, (size_t)length);
    walker->script_length += (size_t)length;
}

static void send_some(struct walker *walker)
{
    size_t length = pick(4) == 0 ? walker->script_length : pick(80);
    if (length > walker->script_length)
        length = walker->script_length;
    if (walker->half_closed || length == 0)
        return;
    raw_client_send(&walker->client, walker->script, length);
    walker->script_length -= length;
    memmove(walker->script, walker->script + length, walker->script_length);
    raw_client_step(&walker->client, 0);
}

static void check_responses(struct walker *walker)
{
    struct raw_response found;
    while (raw_client_response(&walker->client, &walker->checked, false, &found)) {
        char id[16];
        if (found.status == 503) {
            assert_true(memory_fails);
            walker->responded++;
            continue;
        }
        if (found.status == 101)
            continue;
        assert_true(raw_response_field(&found, "X-Id", id, sizeof(id)));
        unsigned number = (unsigned)strtoul(id, NULL, 10);
        assert_int_equal(found.status, 200);
        assert_int_equal(number, walker->responded + 1);
        walker->responded = number;
        if (found.body_length == LARGE)
            assert_memory_equal(found.body, large, LARGE);
        else if (found.body_length > 4) /* an echo, which ends with the number */
            assert_int_equal(strtoul(found.body + found.body_length - 4, NULL, 10), number % 10000);
    }
}

static void reconnect(struct walker *walker, bool reset)
{
    raw_client_close(&walker->client, reset);
    *walker = (struct walker){.client = {.socket = -1}};
    raw_client_connect(&walker->client, uvhttp_server_port(stage.server), pick(2) == 0 ? 4096 : 0);
}

static void step(struct walker *walker)
{
    unsigned action = pick(100);
    if (action < 25)
        add_request(walker);
    else if (action < 50)
        send_some(walker);
    else if (action < 75)
        raw_client_step(&walker->client, pick(3) == 0 ? 50000 : 1 + pick(500));
    else if (action < 93)
        stage_iterations(&stage, 1 + (int)pick(3));
    else if (action < 96)
        send_one_pending();
    else if (action < 97)
        stage_wait(&stage);
    else if (action < 98)
        reconnect(walker, true);
    else if (action < 99)
        reconnect(walker, false);
    else if (pick(3) == 0 && walker->script_length == 0) {
        raw_client_end_sending(&walker->client);
        walker->half_closed = true;
    }
    check_responses(walker);
    if (walker->client.ended) {
        assert_true(memory_fails || walker->half_closed || walker->upgraded);
        reconnect(walker, false);
    }
}

/* All requests are sent and have a response. */
static bool is_settled(void *arg)
{
    struct walker *walker = arg;
    check_responses(walker);
    while (pending_count > 0)
        send_one_pending();
    return walker->responded == walker->requested || walker->client.ended;
}

static void walk(uint64_t number)
{
    random_state = number * 7919 + 1;
    memory_fails = number % 3 == 2;
    pending_count = 0;
    stage_begin(&stage);
    if (number % 2 == 1) { /* small buffers, so that they fill up */
        stage.config->buffer_size = 4096;
        stage.config->max_header_size = stage.config->max_trailer_size = 2048;
        stage.config->write_backlog = 1024;
    }
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, NULL, "/:kind/:id", handle, NULL), 0);
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server),
                                       &(uvhttp_route_t){.method = "POST",
                                                         .pattern = "/b/:id",
                                                         .handler = echo_chunks,
                                                         .flags = UVHTTP_ROUTE_STREAM}),
                     0);
    uvhttp_router_t *router = uvhttp_server_router(stage.server);
    uvhttp_route_t more[] = {
        {.pattern = "/x/:id", .handler = send_blocking, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/y/:id", .handler = send_chunks_blocking, .flags = UVHTTP_ROUTE_BLOCKING},
        {.pattern = "/u/:id", .handler = upgrade, .upgrade = "walk"}};
    for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
        assert_int_equal(uvhttp_router_add(router, &more[i]), 0);
    stage_listen(&stage);
    stage_shrink_send_buffer(&stage, 4096);
    memset(walkers, 0, sizeof(walkers));
    for (size_t i = 0; i < CLIENTS; i++) {
        walkers[i].client.socket = -1;
        reconnect(&walkers[i], false);
    }
    for (int i = 0; i < STEPS; i++) {
        if (memory_fails && pick(40) == 0)
            fault_heap_arm(&stage.heap, 1 + pick(6), false);
        step(&walkers[pick(CLIENTS)]);
    }
    fault_heap_arm(&stage.heap, 0, false);
    for (size_t i = 0; i < CLIENTS; i++) {
        struct walker *walker = &walkers[i];
        if (!walker->half_closed)
            raw_client_send(&walker->client, walker->script, walker->script_length);
        stage_drive(&stage, &walker->client, 50000, is_settled, walker);
        assert_true(!walker->client.ended || memory_fails || walker->half_closed ||
                    walker->upgraded);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        raw_client_close(&walkers[i].client, false);
    stage_end(&stage);
}

static void random_clients_get_responses_in_order(void **state)
{
    (void)state;
    const char *only = getenv("UVHTTP_WALK"); /* runs only the walk with this number */
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)(i * 31 + i / 256);
    for (uint64_t number = 0; number < WALKS; number++) {
        if (only != NULL && strtoul(only, NULL, 10) != number)
            continue;
        print_message("walk %u\n", (unsigned)number);
        walk(number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_clients_get_responses_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
