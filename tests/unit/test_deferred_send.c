/* Send callbacks that need a job, such as the compression of large bodies: the loop serves other
 * requests meanwhile. The heavy lane has one thread, which a gate stops: what happens while it is
 * closed does not depend on time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/compress.h>
#include <uvhttp/error.h>

#include "base/compiler.h"
#include "support/stage.h"

enum { LARGE = 300000 };

static struct stage stage;
static struct raw_client client, other, gate_client;
static struct raw_response reply;
static size_t offset, other_offset;
static uvhttp_compress_t *compress;
static uv_sem_t gate;
static int aborted, done_calls, earlier_calls, fails, defers_again, again_result;
static char large[LARGE];

static void wait_at_gate(void *arg)
{
    (void)arg;
    uv_sem_wait(&gate);
}

static int gate_opened(uvhttp_response_t *res, void *arg)
{
    (void)arg;
    return uvhttp_response_open(res) ? uvhttp_response_send_text(res, 200, "gate") : 0;
}

static int close_gate(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    return uvhttp_response_defer_heavy(res, wait_at_gate, gate_opened, NULL);
}

static void count_abort(uvhttp_response_t *res, void *arg)
{
    (void)res, (void)arg;
    aborted++;
}

/* A body of `size` bytes that is gone after the call. What a handler may do afterwards is checked.
 */
static int send_large(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    size_t size = (size_t)strtoul(uvhttp_request_query(req, "size"), NULL, 10);
    char *copy = malloc(size), *type = strdup("text/plain");
    (void)arg;
    assert_non_null(copy);
    memcpy(copy, large, size);
    if (!uvhttp_request_is_blocking(req))
        uvhttp_response_on_abort(res, count_abort, NULL);
    int err = uvhttp_response_send(res, 200, type, copy, size);
    memset(copy, 0, size);
    free(copy);
    memset(type, 'x', 4);
    free(type);
    if (err == 0 && !uvhttp_request_is_blocking(req)) {
        assert_false(uvhttp_response_open(res));
        assert_int_equal(uvhttp_response_send_text(res, 200, "again"), UVHTTP_ERESPONDED);
        assert_int_equal(uvhttp_response_set_header(res, "X-Late", "1"), UVHTTP_ERESPONDED);
        assert_int_equal(uvhttp_response_fail(res, UVHTTP_EINVAL), UVHTTP_ERESPONDED);
        uvhttp_response_remove_header(res, "Vary");
    }
    return err;
}

static int send_small(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    return uvhttp_response_send_text(res, 200, "small");
}

/* ---- a callback of its own ---- */

static void double_letters(uvhttp_slice_t body, void *arg)
{
    char *out = arg;
    for (size_t i = 0; i < body.length; i++)
        out[2 * i] = out[2 * i + 1] = body.base[i];
    out[2 * body.length] = '\0';
}

static int use_doubled(uvhttp_response_t *res, void *arg)
{
    done_calls++;
    if (defers_again-- > 0)
        again_result = uvhttp_response_defer_send(res, double_letters, use_doubled, arg);
    return fails ? UVHTTP_EINVAL : uvhttp_response_replace_body(res, arg, strlen(arg));
}

static int double_body(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t body = uvhttp_response_body(res);
    (void)arg;
    if (uvhttp_response_status(res) != 200)
        return 0;
    char *out = uvhttp_request_allocate(req, 2 * body.length + 1);
    int err = uvhttp_response_defer_send(res, double_letters, use_doubled, out);
    assert_int_equal(uvhttp_response_defer_send(res, double_letters, use_doubled, out),
                     UVHTTP_EINVAL);
    return err;
}

/* Runs after the callback above has its result. */
static int see_length(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[32];
    (void)req, (void)arg;
    earlier_calls++;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)uvhttp_response_body_length(res));
    return uvhttp_response_set_header(res, "X-Length", text);
}

static int send_doubled(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    assert_int_equal(uvhttp_response_defer_send(res, double_letters, use_doubled, NULL),
                     UVHTTP_EINVAL); /* not in a callback */
    assert_int_equal(uvhttp_response_on_send(res, see_length, NULL), 0);
    assert_int_equal(uvhttp_response_on_send(res, double_body, NULL), 0);
    return uvhttp_response_send_text(res, 200, "abc");
}

/* ---- chunks of a blocking handler ---- */

static size_t largest_chunk, chunk_bytes;

static int note_chunk(uvhttp_response_t *res, uvhttp_filter_event_t event, const void *data,
                      size_t size, uvhttp_filter_output_t *output, void *arg)
{
    (void)res, (void)event, (void)arg;
    largest_chunk = size > largest_chunk ? size : largest_chunk;
    chunk_bytes += size;
    return uvhttp_filter_output_append(output, data, size);
}

static int filter_on_send(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req;
    return uvhttp_response_filter(res, note_chunk, NULL, arg);
}

static int add_filter(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req;
    int err = uvhttp_response_on_send(res, filter_on_send, arg);
    return err != 0 ? err : UVHTTP_DECLINED;
}

static int write_one_chunk(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    int err = uvhttp_response_begin(res, 200, "text/x-plain", sizeof(large));
    if (err == 0)
        err = uvhttp_response_write(res, large, sizeof(large));
    return err != 0 ? err : uvhttp_response_end(res);
}

static int set_up(void **state)
{
    const uvhttp_route_t blocking = {
        .pattern = "/blocking", .handler = send_large, .flags = UVHTTP_ROUTE_BLOCKING};
    (void)state;
    for (size_t i = 0; i < sizeof(large); i++)
        large[i] = "abcdefgh \n"[i * i % 10];
    aborted = done_calls = earlier_calls = fails = defers_again = 0;
    assert_int_equal(uv_sem_init(&gate, 0), 0);
    stage_begin(&stage);
    stage.config->heavy_threads = 1;
    stage.config->heavy_queue = 1;
    assert_int_equal(uvhttp_compress_new(&compress, NULL, NULL), 0);
    assert_non_null(stage_new_server(&stage));
    uvhttp_router_t *router = uvhttp_server_router(stage.server), *group;
    assert_int_equal(uvhttp_router_group(router, "", &group), 0);
    assert_int_equal(uvhttp_router_use(group, uvhttp_compress_handle_request, compress), 0);
    assert_int_equal(uvhttp_router_add_route(group, "/large", send_large), 0);
    assert_int_equal(uvhttp_router_add(group, &blocking), 0);
    static const uvhttp_middleware_t filter = {add_filter, NULL};
    const uvhttp_route_t chunks = {.pattern = "/chunks",
                                   .handler = write_one_chunk,
                                   .flags = UVHTTP_ROUTE_BLOCKING,
                                   .middleware = &filter,
                                   .middleware_count = 1};
    assert_int_equal(uvhttp_router_add(router, &chunks), 0);
    assert_int_equal(uvhttp_router_add_route(router, "/gate", close_gate), 0);
    assert_int_equal(uvhttp_router_add_route(router, "/small", send_small), 0);
    assert_int_equal(uvhttp_router_add_route(router, "/doubled", send_doubled), 0);
    stage_listen(&stage);
    int port = uvhttp_server_port(stage.server);
    raw_client_connect(&client, port, 0);
    raw_client_connect(&other, port, 0);
    raw_client_connect(&gate_client, port, 0);
    offset = other_offset = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    raw_client_close(&client, false);
    raw_client_close(&other, false);
    raw_client_close(&gate_client, false);
    stage_end(&stage);
    uvhttp_compress_free(compress);
    uv_sem_destroy(&gate);
    return 0;
}

static void ask(struct raw_client *from, const char *line)
{
    char request[256];
    snprintf(request, sizeof(request), "%s HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n",
             line);
    raw_client_send_text(from, request);
}

static bool head_requested;

static bool has_reply(void *arg)
{
    (void)arg;
    return raw_client_response(&client, &offset, head_requested, &reply);
}

static bool has_other_reply(void *arg)
{
    struct raw_response response;
    (void)arg;
    raw_client_step(&client, 1 << 20);
    return raw_client_response(&other, &other_offset, false, &response);
}

static bool is_pending(void *arg)
{
    uvhttp_stats_t stats;
    const size_t *count = arg;
    raw_client_step(&gate_client, 1 << 20);
    assert_int_equal(uvhttp_server_read_stats(stage.server, &stats), 0);
    return stats.heavy_jobs.running == 1 && stats.heavy_jobs.pending == *count;
}

/* The lane's thread waits at the gate. */
static void stop_lane(void)
{
    size_t none = 0;
    ask(&gate_client, "GET /gate");
    stage_drive(&stage, &gate_client, 1 << 20, is_pending, &none);
}

static const char *field(const char *name)
{
    static char value[256];
    return raw_response_field(&reply, name, value, sizeof(value)) ? value : NULL;
}

static void loop_serves_others_during_compression(void **state)
{
    static const char *const lines[] = {"GET /large?size=300000", "GET /blocking?size=300000"};
    size_t one = 1;
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(lines); i++) {
        stop_lane();
        ask(&client, lines[i]);
        stage_drive(&stage, &client, 1 << 20, is_pending, &one);
        size_t before = client.received;
        for (int count = 0; count < 5; count++) {
            ask(&other, "GET /small");
            stage_drive(&stage, &other, 1 << 20, has_other_reply, NULL);
        }
        assert_int_equal(client.received, before); /* it waits for the lane */
        uv_sem_post(&gate);
        stage_drive(&stage, &client, 1 << 20, has_reply, NULL);
        assert_int_equal(reply.status, 200);
        assert_string_equal(field("Content-Encoding"), "gzip");
        assert_string_equal(field("Content-Type"), "text/plain");
        assert_string_equal(field("Vary"), "Accept-Encoding");
        assert_null(field("X-Late"));
        assert_in_range(reply.body_length, 1, LARGE - 1);
    }
    assert_int_equal(aborted, 0);
}

static void smaller_body_needs_no_job(void **state)
{
    (void)state;
    stop_lane();
    ask(&client, "GET /large?size=65536");
    stage_drive(&stage, &client, 1 << 20, has_reply, NULL);
    assert_string_equal(field("Content-Encoding"), "gzip");
    uv_sem_post(&gate);
}

static void full_queue_sends_uncompressed(void **state)
{
    size_t one = 1;
    (void)state;
    stop_lane();
    ask(&other, "GET /large?size=65537");
    stage_drive(&stage, &other, 1 << 20, is_pending, &one);
    ask(&client, "GET /large?size=300000");
    stage_drive(&stage, &client, 1 << 20, has_reply, NULL);
    assert_int_equal(reply.status, 200);
    assert_null(field("Content-Encoding"));
    assert_int_equal(reply.body_length, LARGE);
    assert_memory_equal(reply.body, large, LARGE);
    uv_sem_post(&gate);
    stage_drive(&stage, &other, 1 << 20, has_other_reply, NULL);
}

static void full_queue_logs_what_is_sent(void **state)
{
    size_t one = 1;
    (void)state;
    stop_lane();
    ask(&other, "GET /large?size=65537");
    stage_drive(&stage, &other, 1 << 20, is_pending, &one);
    for (int i = 0; i < 2; i++) { /* logged once */
        atomic_store(&stage.heap.largest, 0);
        ask(&client, "GET /large?size=300000");
        stage_drive(&stage, &client, 1 << 20, has_reply, NULL);
        assert_int_equal(reply.status, 200);
        assert_int_equal(stage.warnings_logged, 1);
        assert_true(atomic_load(&stage.heap.largest) < LARGE); /* no copy for the job */
    }
    assert_string_equal(stage.last_warning,
                        "the queue is full (1 jobs pending): sending large bodies without "
                        "compression or other work (heavy_queue)");
    ask(&client, "GET /gate");
    stage_drive(&stage, &client, 1 << 20, has_reply, NULL);
    assert_int_equal(reply.status, 503);
    assert_string_equal(stage.last_warning,
                        "the queue is full (1 jobs pending): responding with 503, or with "
                        "uncompressed files (heavy_queue)");
    uv_sem_post(&gate);
    stage_drive(&stage, &other, 1 << 20, has_other_reply, NULL);
}

static void disconnect_ends_deferred_response(void **state)
{
    size_t one = 1, none = 0;
    (void)state;
    stop_lane();
    ask(&client, "GET /large?size=300000");
    stage_drive(&stage, &client, 1 << 20, is_pending, &one);
    raw_client_close(&client, true);
    stage_iterations(&stage, 20);
    assert_int_equal(aborted, 0); /* for the handler the response was sent */
    uv_sem_post(&gate);
    stop_lane(); /* after the job of the client */
    stage_drive(&stage, &other, 1 << 20, is_pending, &none);
    uv_sem_post(&gate);
}

static void head_has_length_of_compressed_body(void **state)
{
    char length[32];
    (void)state;
    ask(&client, "GET /large?size=300000");
    stage_drive(&stage, &client, 1 << 20, has_reply, NULL);
    snprintf(length, sizeof(length), "%zu", reply.body_length);
    ask(&client, "HEAD /large?size=300000");
    head_requested = true;
    stage_drive(&stage, &client, 1 << 20, has_reply, NULL);
    head_requested = false;
    assert_string_equal(field("Content-Length"), length);
}

static void earlier_callbacks_follow_result(void **state)
{
    (void)state;
    ask(&client, "GET /doubled");
    stage_drive(&stage, &client, 1 << 20, has_reply, NULL);
    assert_int_equal(reply.body_length, 6);
    assert_memory_equal(reply.body, "aabbcc", 6);
    assert_string_equal(field("X-Length"), "6");
    assert_int_equal(done_calls, 1);
    assert_int_equal(earlier_calls, 1);
}

static void deferring_again_in_done_is_rejected(void **state)
{
    (void)state;
    defers_again = 1;
    ask(&client, "GET /doubled");
    stage_drive(&stage, &client, 1 << 20, has_reply, NULL);
    assert_int_equal(again_result, UVHTTP_EINVAL);
    assert_int_equal(done_calls, 1);
    assert_int_equal(reply.body_length, 6);
    assert_memory_equal(reply.body, "aabbcc", 6);
}

static void failed_callback_gets_500(void **state)
{
    (void)state;
    fails = 1;
    ask(&client, "GET /doubled");
    stage_drive(&stage, &client, 1 << 20, has_reply, NULL);
    assert_int_equal(reply.status, 500);
    assert_int_equal(done_calls, 1);
    assert_int_equal(earlier_calls, 1); /* for the 500 */
    assert_int_equal(stage.errors_logged, 1);
}

/* The loop may handle other events between two parts. */
static void chunk_of_blocking_handler_is_filtered_in_parts(void **state)
{
    (void)state;
    largest_chunk = chunk_bytes = 0;
    ask(&client, "GET /chunks");
    stage_drive(&stage, &client, 1 << 20, has_reply, NULL);
    assert_int_equal(reply.body_length, LARGE);
    assert_memory_equal(reply.body, large, LARGE);
    assert_int_equal(chunk_bytes, LARGE);
    assert_int_equal(largest_chunk, 131072);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test_setup_teardown(earlier_callbacks_follow_result, set_up, tear_down),
        cmocka_unit_test_setup_teardown(deferring_again_in_done_is_rejected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_queue_logs_what_is_sent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_callback_gets_500, set_up, tear_down),
        cmocka_unit_test_setup_teardown(loop_serves_others_during_compression, set_up, tear_down),
        cmocka_unit_test_setup_teardown(smaller_body_needs_no_job, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_queue_sends_uncompressed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(disconnect_ends_deferred_response, set_up, tear_down),
        cmocka_unit_test_setup_teardown(chunk_of_blocking_handler_is_filtered_in_parts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(head_has_length_of_compressed_body, set_up, tear_down),
    };
    if (!uvhttp_compress_available())
        return 0;
    return cmocka_run_group_tests(all, NULL, NULL);
}
