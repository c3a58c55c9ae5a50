/* A body in pieces is written in several loop iterations even when the client takes all of it at
 * once: here the client reads between two writes, so that its socket is never full. */
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
    SMALL_PIECES = 16384, /* of a byte, in an iteration */
};

static struct stage stage;
static struct raw_client client;
static uv_check_t counter; /* of loop iterations */
static unsigned iteration;

static const char chunk[LARGE];

/* What a handler has written, and when. */
static struct {
    size_t size, total;  /* of a piece, of the body */
    size_t written;      /* so far */
    size_t most;         /* in one iteration */
    unsigned drains;     /* calls of the drain callback */
    unsigned same;       /* those of them in the iteration of the refusal */
    unsigned refused_in; /* the iteration of the last refusal */
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

static void listening(uvhttp_handler_cb handler)
{
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", handler, NULL), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
}

/* The client has taken all that was sent. */
static void keep_up(void)
{
    while (raw_client_step(&client, BUDGET)) {
    }
}

/* Writes until it is refused or the body is complete. */
static int write_on(uvhttp_response_t *response, void *arg)
{
    size_t before = body.written;
    int err = 0;
    (void)arg;
    while (err == 0 && body.written < body.total) {
        err = uvhttp_response_write(response, chunk, body.size);
        if (err == 0)
            body.written += body.size;
        if (body.written / CHUNK * CHUNK == body.written || err != 0)
            keep_up();
    }
    if (body.written - before > body.most)
        body.most = body.written - before;
    body.refused_in = iteration;
    if (err == UVHTTP_EFULL)
        return 0;
    return err != 0 ? err : uvhttp_response_end(response);
}

static int on_drain(uvhttp_response_t *response, void *arg)
{
    body.drains++;
    body.same += iteration == body.refused_in;
    return write_on(response, arg);
}

static int write_body(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    uvhttp_response_on_drain(response, on_drain, NULL);
    int err = body.events ? uvhttp_response_begin_events(response)
                          : uvhttp_response_begin(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
    return err != 0 ? err : write_on(response, arg);
}

static void take_answer(size_t length)
{
    size_t offset = 0;
    struct raw_response answer;
    assert_int_equal(stage_drive_responses(&stage, &client, BUDGET, 1), 1);
    assert_true(raw_client_response(&client, &offset, false, &answer));
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.body_length, length);
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
    listening(write_body);
    take_answer(TOTAL);
    assert_int_equal(body.most, BUDGET);
    assert_int_equal(body.drains, TOTAL / BUDGET - 1);
    assert_int_equal(body.same, 0);
    end();
}

/* What is left of the budget does not matter for a piece, only whether there is some left. */
static void large_piece_is_taken_as_a_whole(void **state)
{
    (void)state;
    begin(LARGE, 2 * LARGE);
    listening(write_body);
    take_answer(2 * LARGE);
    assert_int_equal(body.most, LARGE);
    assert_int_equal(body.drains, 1);
    assert_int_equal(body.same, 0);
    end();
}

static void small_pieces_count_for_more(void **state)
{
    (void)state;
    begin(1, 2 * SMALL_PIECES + 1);
    listening(write_body);
    take_answer(2 * SMALL_PIECES + 1);
    assert_int_equal(body.most, SMALL_PIECES);
    assert_int_equal(body.drains, 2);
    assert_int_equal(body.same, 0);
    end();
}

static void backlog_that_is_larger_is_the_budget(void **state)
{
    (void)state;
    begin(CHUNK, TOTAL);
    stage.config->write_backlog = 2 * BUDGET;
    listening(write_body);
    take_answer(TOTAL);
    assert_int_equal(body.most, 2 * BUDGET);
    assert_int_equal(body.drains, 1);
    end();
}

/* ---- from a callback of the program ---- */

static uvhttp_response_t *kept;
static uv_timer_t timer;

static void on_time(uv_timer_t *handle)
{
    (void)handle;
    uvhttp_response_t *response = kept;
    kept = NULL;
    assert_int_equal(write_on(response, NULL), 0);
}

static int write_later(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    kept = response;
    uvhttp_response_on_drain(response, on_drain, NULL);
    uv_timer_init(&stage.loop, &timer);
    uv_timer_start(&timer, on_time, 0, 0);
    return uvhttp_response_begin(response, 200, NULL, UVHTTP_LENGTH_UNKNOWN);
}

static void write_from_a_timer_yields_as_well(void **state)
{
    (void)state;
    begin(CHUNK, TOTAL);
    listening(write_later);
    take_answer(TOTAL);
    assert_int_equal(body.most, BUDGET);
    assert_int_equal(body.drains, TOTAL / BUDGET - 1);
    assert_int_equal(body.same, 0);
    uv_close((uv_handle_t *)&timer, NULL);
    end();
}

/* ---- what passes filters ---- */

static int pass(uvhttp_response_t *response, uvhttp_filter_event_t event, const void *data,
                size_t size, uvhttp_filter_output_t *output, void *arg)
{
    (void)response, (void)arg;
    return event == UVHTTP_FILTER_CHUNK ? uvhttp_filter_output_append(output, data, size) : 0;
}

static int set_filter(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_filter(response, pass, NULL, NULL);
}

static int write_filtered(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    int err = uvhttp_response_on_send(response, set_filter, NULL);
    return err != 0 ? err : write_body(request, response, arg);
}

static void filtered_body_has_a_smaller_budget(void **state)
{
    (void)state;
    begin(CHUNK, BUDGET);
    stage.config->write_backlog = CHUNK;
    listening(write_filtered);
    take_answer(BUDGET);
    assert_int_equal(body.most, BUDGET / 8);
    assert_int_equal(body.drains, 7);
    assert_int_equal(body.same, 0);
    end();
}

/* ---- what is pulled ---- */

static struct {
    unsigned pulls, limit; /* so far; has nothing more for now at this number */
    unsigned most, now;    /* in one iteration */
    unsigned in;           /* that iteration */
} source;

static int pull(uvhttp_response_t *response, char *buffer, size_t size, size_t *length, void *arg)
{
    (void)response, (void)arg;
    keep_up();
    if (source.pulls == source.limit)
        return UVHTTP_EFULL;
    *length = source.pulls * size < TOTAL ? size : 0;
    memset(buffer, 'x', *length);
    source.pulls++;
    source.now = source.in == iteration ? source.now + 1 : 1;
    source.in = iteration;
    if (source.now > source.most)
        source.most = source.now;
    return 0;
}

/* Has more, and says so in the iteration in which it said that it had none. */
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

static void pulled_body_has_the_same_budget(void **state)
{
    (void)state;
    begin(0, 0);
    listening(pull_twice);
    take_answer(TOTAL);
    assert_int_equal(source.most, BUDGET / CHUNK);
    end();
}

/* ---- what it does not concern ---- */

static void streams_of_events_have_none(void **state)
{
    (void)state;
    begin(CHUNK, TOTAL);
    body.events = true;
    listening(write_body);
    take_answer(TOTAL);
    assert_int_equal(body.most, TOTAL);
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

static void blocking_handlers_have_none(void **state)
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
    take_answer(3 * LARGE);
    assert_int_equal(atomic_load(&blocking_written), 3 * LARGE);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_yields_after_its_budget),
        cmocka_unit_test(large_piece_is_taken_as_a_whole),
        cmocka_unit_test(small_pieces_count_for_more),
        cmocka_unit_test(backlog_that_is_larger_is_the_budget),
        cmocka_unit_test(write_from_a_timer_yields_as_well),
        cmocka_unit_test(filtered_body_has_a_smaller_budget),
        cmocka_unit_test(pulled_body_has_the_same_budget),
        cmocka_unit_test(streams_of_events_have_none),
        cmocka_unit_test(blocking_handlers_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
