/* A chunked body is written in several loop iterations even when the client accepts all of it
 * immediately. The client reads between two writes, so its socket is never full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/stage.h"

enum {
    CHUNK = 16384,
    BUDGET = 1 << 20,
    TOTAL = 3 * BUDGET,
    LARGE = BUDGET + CHUNK,
    SMALL_CHUNKS = 16384, /* chunks of one byte in one iteration */
};

static struct stage stage;
static struct raw_client client;
static uv_check_t counter; /* counts loop iterations */
static unsigned iteration;

static const char chunk[LARGE];

/* What a handler has written, and when. */
static struct {
    size_t size, total;                /* of a chunk, of the body */
    size_t written;                    /* so far */
    size_t max;                        /* in one iteration */
    unsigned drains;                   /* calls of the drain callback */
    unsigned drains_in_same_iteration; /* of those, calls in the iteration of the rejected write */
    unsigned rejected_in;              /* iteration of the last rejected write */
    bool events;
} body;

static void count_iteration(uv_check_t *handle)
{
    (void)handle;
    iteration++;
}

static void begin(size_t size, size_t total)
{
    stage_begin(&stage);
    memset(&body, 0, sizeof(body));
    body.size = size;
    body.total = total;
    iteration = 0;
    uv_check_init(&stage.loop, &counter);
    uv_check_start(&counter, count_iteration);
}

static void listen_and_connect(uvhttp_handler_cb handler)
{
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", handler, NULL), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
}

/* The client reads all that was sent. */
static void read_all(void)
{
    while (raw_client_step(&client, BUDGET)) {
    }
}

/* Writes until a write is rejected or the body is complete. */
static int write_chunks(uvhttp_response_t *response, void *arg)
{
    size_t before = body.written;
    int err = 0;
    (void)arg;
    while (err == 0 && body.written < body.total) {
        err = uvhttp_response_write(response, chunk, body.size);
        if (err == 0)
            body.written += body.size;
        if (body.written / CHUNK * CHUNK == body.written || err != 0)
            read_all();
    }
    if (body.written - before > body.max)
        body.max = body.written - before;
    body.rejected_in = iteration;
    if (err == UVHTTP_EFULL)
        return 0;
    return err != 0 ? err : uvhttp_response_end(response);
}

static int on_drain(uvhttp_response_t *response, void *arg)
{
    body.drains++;
    body.drains_in_same_iteration += iteration == body.rejected_in;
    return write_chunks(response, arg);
}

static int write_body(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    uvhttp_response_on_drain(response, on_drain, NULL);
    int err = body.events ? uvhttp_response_begin_events(response)
                          : uvhttp_response_begin(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
    return err != 0 ? err : write_chunks(response, arg);
}

static void assert_body_length(size_t length)
{
    size_t offset = 0;
    struct raw_response response;
    assert_int_equal(stage_drive_responses(&stage, &client, BUDGET, 1), 1);
    assert_true(raw_client_response(&client, &offset, false, &response));
    assert_int_equal(response.status, 200);
    assert_int_equal(response.body_length, length);
}

static void end(void)
{
    raw_client_close(&client, false);
    uv_close((uv_handle_t *)&counter, NULL);
    stage_end(&stage);
}

static void write_yields_after_its_budget(void **state)
{
    (void)state;
    begin(CHUNK, TOTAL);
    listen_and_connect(write_body);
    assert_body_length(TOTAL);
    assert_int_equal(body.max, BUDGET);
    assert_int_equal(body.drains, TOTAL / BUDGET - 1);
    assert_int_equal(body.drains_in_same_iteration, 0);
    end();
}

/* A chunk is accepted as a whole as long as any budget is left. */
static void large_chunk_is_written_completely(void **state)
{
    (void)state;
    begin(LARGE, 2 * LARGE);
    listen_and_connect(write_body);
    assert_body_length(2 * LARGE);
    assert_int_equal(body.max, LARGE);
    assert_int_equal(body.drains, 1);
    assert_int_equal(body.drains_in_same_iteration, 0);
    end();
}

static void small_chunks_count_minimum_size(void **state)
{
    (void)state;
    begin(1, 2 * SMALL_CHUNKS + 1);
    listen_and_connect(write_body);
    assert_body_length(2 * SMALL_CHUNKS + 1);
    assert_int_equal(body.max, SMALL_CHUNKS);
    assert_int_equal(body.drains, 2);
    assert_int_equal(body.drains_in_same_iteration, 0);
    end();
}

static void larger_backlog_replaces_write_budget(void **state)
{
    (void)state;
    begin(CHUNK, TOTAL);
    stage.config->write_backlog = 2 * BUDGET;
    listen_and_connect(write_body);
    assert_body_length(TOTAL);
    assert_int_equal(body.max, 2 * BUDGET);
    assert_int_equal(body.drains, 1);
    end();
}

/* ---- from a timer callback ---- */

static uvhttp_response_t *pending;
static uv_timer_t timer;

static void on_timer(uv_timer_t *handle)
{
    (void)handle;
    uvhttp_response_t *response = pending;
    pending = NULL;
    assert_int_equal(write_chunks(response, NULL), 0);
}

static int write_later(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    pending = response;
    uvhttp_response_on_drain(response, on_drain, NULL);
    uv_timer_init(&stage.loop, &timer);
    uv_timer_start(&timer, on_timer, 0, 0);
    return uvhttp_response_begin(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
}

static void write_from_timer_yields_after_budget(void **state)
{
    (void)state;
    begin(CHUNK, TOTAL);
    listen_and_connect(write_later);
    assert_body_length(TOTAL);
    assert_int_equal(body.max, BUDGET);
    assert_int_equal(body.drains, TOTAL / BUDGET - 1);
    assert_int_equal(body.drains_in_same_iteration, 0);
    uv_close((uv_handle_t *)&timer, NULL);
    end();
}

/* ---- filtered bodies ---- */

static int append_chunk(uvhttp_response_t *response, uvhttp_filter_event_t event, const void *data,
                        size_t size, uvhttp_filter_output_t *output, void *arg)
{
    (void)response, (void)arg;
    return event == UVHTTP_FILTER_CHUNK ? uvhttp_filter_output_append(output, data, size) : 0;
}

static int set_filter(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_filter(response, append_chunk, NULL, NULL);
}

static int write_filtered(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    int err = uvhttp_response_on_send(response, set_filter, NULL);
    return err != 0 ? err : write_body(request, response, arg);
}

static void filtered_body_has_smaller_budget(void **state)
{
    (void)state;
    begin(CHUNK, BUDGET);
    stage.config->write_backlog = CHUNK;
    listen_and_connect(write_filtered);
    assert_body_length(BUDGET);
    assert_int_equal(body.max, BUDGET / 8);
    assert_int_equal(body.drains, 7);
    assert_int_equal(body.drains_in_same_iteration, 0);
    end();
}

/* ---- pulled bodies ---- */

static struct {
    unsigned pulls, limit; /* so far; number of calls after which it has no data for now */
    unsigned max, now;     /* calls in one iteration */
    unsigned in;           /* that iteration */
} source;

static int pull(uvhttp_response_t *response, char *buffer, size_t size, size_t *length, void *arg)
{
    (void)response, (void)arg;
    read_all();
    if (source.pulls == source.limit)
        return UVHTTP_AGAIN;
    *length = size;
    memset(buffer, 'x', *length);
    source.pulls++;
    source.now = source.in == iteration ? source.now + 1 : 1;
    source.in = iteration;
    if (source.now > source.max)
        source.max = source.now;
    return source.pulls * size < TOTAL ? 0 : UVHTTP_END;
}

/* Resumes the pull in the same iteration in which the source had no data. */
static int pull_twice(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    memset(&source, 0, sizeof(source));
    source.limit = 40;
    int err =
        uvhttp_response_send_pulled(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN, pull, NULL, NULL);
    assert_int_equal(source.pulls, 40);
    source.limit = UINT32_MAX;
    uvhttp_response_resume_pull(response);
    return err;
}

static void pulled_body_has_same_budget(void **state)
{
    (void)state;
    begin(0, 0);
    listen_and_connect(pull_twice);
    assert_body_length(TOTAL);
    assert_int_equal(source.max, BUDGET / CHUNK);
    end();
}

/* ---- bodies without a budget ---- */

static void event_stream_has_no_write_budget(void **state)
{
    (void)state;
    begin(CHUNK, TOTAL);
    body.events = true;
    listen_and_connect(write_body);
    assert_body_length(TOTAL);
    assert_int_equal(body.max, TOTAL);
    assert_int_equal(body.drains, 0);
    end();
}

static atomic_size_t blocking_written;

static int write_blocking(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    int err = uvhttp_response_begin(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
    for (size_t written = 0; err == 0 && written < TOTAL; written += LARGE) {
        err = uvhttp_response_write(response, chunk, LARGE);
        atomic_fetch_add(&blocking_written, err == 0 ? LARGE : 0);
    }
    return err != 0 ? err : uvhttp_response_end(response);
}

static void blocking_handler_has_no_write_budget(void **state)
{
    (void)state;
    begin(0, 0);
    atomic_store(&blocking_written, 0);
    assert_non_null(stage_new_server(&stage));
    const uvhttp_route_t route = {
        .pattern = "/", .handler = write_blocking, .flags = UVHTTP_ROUTE_BLOCKING};
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server), &route), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_body_length(3 * LARGE);
    assert_int_equal(atomic_load(&blocking_written), 3 * LARGE);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_yields_after_its_budget),
        cmocka_unit_test(large_chunk_is_written_completely),
        cmocka_unit_test(small_chunks_count_minimum_size),
        cmocka_unit_test(larger_backlog_replaces_write_budget),
        cmocka_unit_test(write_from_timer_yields_after_budget),
        cmocka_unit_test(filtered_body_has_smaller_budget),
        cmocka_unit_test(pulled_body_has_same_budget),
        cmocka_unit_test(event_stream_has_no_write_budget),
        cmocka_unit_test(blocking_handler_has_no_write_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
