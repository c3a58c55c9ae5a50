/* Out of memory at each allocation of a connection of HTTP/2. Whichever fails, nothing crashes or
 * leaks, and every stream ends: with a response, RST_STREAM, GOAWAY or the end of the connection.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codec/http2/frame.h"
#include "codec/http2/hpack.h"
#include "support/fault_site.h"
#include "support/stage.h"

enum { MAX_ALLOCATIONS = 1000, MAX_REQUESTS = 6, FRAMES_SIZE = 1 << 16 };

struct request {
    const char *method, *path;
    const char *body;    /* sent in two frames; NULL: none */
    const char *trailer; /* value of a trailer field; NULL: none */
    unsigned fields;     /* additional ones */
    bool is_tunnel;      /* an extended CONNECT; `body` is what it carries */
    bool is_reset;       /* by the client, after its head */
};

struct scenario {
    const char *name;
    struct request requests[MAX_REQUESTS];
    int send_buffer; /* of the server; 0: default */
    size_t large;    /* bytes of all bodies that must be received without a failure */
};

static const struct scenario scenarios[] = {
    {.name = "small_response", .requests = {{.method = "GET", .path = "/"}}, .large = 5},
    {.name = "responses_at_the_same_time",
     .requests = {{.method = "GET", .path = "/"},
                  {.method = "GET", .path = "/fields"},
                  {.method = "GET", .path = "/redirect"},
                  {.method = "GET", .path = "/"}},
     .large = 10},
    {.name = "forty_fields",
     .requests = {{.method = "GET", .path = "/d/a/b?q=1", .fields = 40}},
     .large = 1},
    {.name = "large_head",
     .requests = {{.method = "GET", .path = "/d/a/b?q=1", .fields = 90}},
     .large = 1},
    {.name = "body_in_two_frames",
     .requests = {{.method = "POST", .path = "/echo", .body = "hello"}},
     .large = 10},
    {.name = "body_with_trailers",
     .requests = {{.method = "POST", .path = "/d/1/2?q=3", .body = "hello", .trailer = "42"}},
     .large = 1},
    {.name = "streamed_body",
     .requests = {{.method = "POST", .path = "/echo-pieces", .body = "hello"}},
     .large = 10},
    {.name = "large_responses",
     .requests = {{.method = "GET", .path = "/large"}, {.method = "GET", .path = "/file"}},
     .send_buffer = 16384,
     .large = 2 * FAULT_SITE_LARGE},
    {.name = "streamed_responses",
     .requests = {{.method = "GET", .path = "/pieces"},
                  {.method = "GET", .path = "/pulled"},
                  {.method = "GET", .path = "/block-pieces"}},
     .send_buffer = 16384,
     .large = 3 * FAULT_SITE_LARGE},
    {.name = "static_files",
     .requests = {{.method = "GET", .path = "/static/small.txt"},
                  {.method = "GET", .path = "/static/large.bin"}},
     .large = FAULT_SITE_LARGE + 5},
    {.name = "pool_work_and_errors",
     .requests = {{.method = "GET", .path = "/deferred"},
                  {.method = "GET", .path = "/nowhere"},
                  {.method = "PUT", .path = "/"},
                  {.method = "GET", .path = "/einval"}},
     .large = 6},
    {.name = "tunnel",
     .requests = {{.method = "CONNECT",
                   .path = "/stream",
                   .body = "HTTP/1.1 200 OK\r\n\r\n",
                   .is_tunnel = true}}},
    {.name = "reset_requests",
     .requests = {{.method = "GET", .path = "/never", .is_reset = true},
                  {.method = "GET", .path = "/deferred", .is_reset = true},
                  {.method = "GET", .path = "/"}},
     .large = 5},
};

static struct stage stage;
static struct raw_client client;

/* ---- the client ---- */

struct progress {
    size_t offset;  /* of the next frame in the received data */
    size_t data;    /* bytes of DATA */
    unsigned ended; /* streams */
    unsigned count;
    bool goaway;
};

static char *put(char *out, const char *name, const char *value)
{
    return out + uvh_hpack_encode_field(out, 256, (uvhttp_slice_t){name, strlen(name)},
                                        (uvhttp_slice_t){value, strlen(value)});
}

static void send_frame(uint32_t stream, uint8_t type, uint8_t flags, const char *payload,
                       size_t size)
{
    char head[UVH_H2_HEAD_SIZE];
    struct uvh_h2_frame frame = {(uint32_t)size, stream, type, flags};
    raw_client_send(&client, head, uvh_h2_write_head(head, &frame));
    raw_client_send(&client, payload, size);
}

static void send_request(const struct request *request, uint32_t stream)
{
    /* the last field enters the dynamic table of the server */
    static const char indexed[] = "\x40\x06x-kept\x05value";
    char block[FRAMES_SIZE], *out = block;
    bool has_body = request->body != NULL || request->is_reset;
    out = put(out, ":method", request->method);
    if (request->is_tunnel)
        out = put(out, ":protocol", "echo");
    out = put(out, ":scheme", "http");
    out = put(out, ":authority", "h");
    out = put(out, ":path", request->path);
    for (unsigned i = 0; i < request->fields; i++)
        out = put(out, "x-field", "a value of some bytes");
    memcpy(out, indexed, sizeof(indexed) - 1);
    out += sizeof(indexed) - 1;
    size_t size = (size_t)(out - block), half = size / 2;
    send_frame(stream, UVH_H2_HEADERS, has_body ? 0 : UVH_H2_END_STREAM, block, half);
    send_frame(stream, UVH_H2_CONTINUATION, UVH_H2_END_HEADERS, block + half, size - half);
    if (request->is_reset) {
        raw_client_send(&client, block, uvh_h2_write_rst_stream(block, stream, UVH_H2_CANCEL));
    } else if (has_body) {
        size_t length = strlen(request->body);
        bool ends = request->trailer == NULL;
        send_frame(stream, UVH_H2_DATA, 0, request->body, length);
        send_frame(stream, UVH_H2_DATA, ends ? UVH_H2_END_STREAM : 0, request->body, length);
        size = (size_t)(put(block, "x-sum", ends ? "" : request->trailer) - block);
        if (!ends)
            send_frame(stream, UVH_H2_HEADERS, UVH_H2_END_HEADERS | UVH_H2_END_STREAM, block, size);
    }
}

static void send_all(const struct scenario *scenario, struct progress *progress)
{
    static const struct uvh_h2_entry windows[] = {{UVH_H2_INITIAL_WINDOW_SIZE, 1 << 24}};
    char frame[64];
    raw_client_send(&client, UVH_H2_PREFACE, UVH_H2_PREFACE_SIZE);
    raw_client_send(&client, frame, uvh_h2_write_settings(frame, windows, 1));
    raw_client_send(&client, frame, uvh_h2_write_window_update(frame, 0, 1 << 24));
    for (; progress->count < MAX_REQUESTS && scenario->requests[progress->count].path != NULL;
         progress->count++) {
        const struct request *request = &scenario->requests[progress->count];
        send_request(request, 2 * progress->count + 1);
        progress->ended += request->is_reset;
    }
}

/* Reads the frames that have arrived. */
static void take_frames(struct progress *progress)
{
    while (client.received - progress->offset >= UVH_H2_HEAD_SIZE) {
        struct uvh_h2_frame frame = uvh_h2_frame_read(client.data + progress->offset);
        if (client.received - progress->offset - UVH_H2_HEAD_SIZE < frame.length)
            return;
        progress->offset += UVH_H2_HEAD_SIZE + frame.length;
        bool data = frame.type == UVH_H2_DATA;
        bool ends = (data || frame.type == UVH_H2_HEADERS) && (frame.flags & UVH_H2_END_STREAM);
        progress->data += data ? frame.length : 0;
        progress->ended += ends;
        if (frame.type == UVH_H2_RST_STREAM && uvh_h2_number(client.data + progress->offset - 4))
            progress->ended++;
        progress->goaway |= frame.type == UVH_H2_GOAWAY;
    }
}

static bool is_over(void *arg)
{
    struct progress *progress = arg;
    take_frames(progress);
    return progress->ended >= progress->count || progress->goaway || client.ended;
}

/* ---- tests ---- */

/* True if an allocation has failed. */
static bool run(const struct scenario *scenario, size_t n, bool keep_failing)
{
    struct progress progress = {0};
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(fault_site_build(stage.server, &stage.heap.allocator), 0);
    stage_listen(&stage);
    if (scenario->send_buffer > 0)
        stage_shrink_send_buffer(&stage, scenario->send_buffer);
    fault_heap_arm(&stage.heap, n, keep_failing);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    send_all(scenario, &progress);
    stage_drive(&stage, &client, 1 << 16, is_over, &progress);
    bool failed = atomic_load(&stage.heap.failures) > 0;
    if (!failed) {
        assert_false(progress.goaway || client.ended);
        assert_true(progress.data >= scenario->large);
    }
    fault_heap_arm(&stage.heap, 0, false);
    raw_client_close(&client, false);
    stage_end(&stage);
    return failed;
}

static void scenario_survives_allocation_failures(void **state)
{
    const struct scenario *scenario = *state;
    for (int keep_failing = 0; keep_failing < 2; keep_failing++) {
        size_t n = 1;
        while (run(scenario, n, keep_failing))
            assert_true(++n < MAX_ALLOCATIONS);
        assert_true(n > 3); /* at least a connection, an exchange and a buffer */
    }
}

static int setup(void **state)
{
    (void)state;
    return fault_site_prepare();
}

static int teardown(void **state)
{
    (void)state;
    return fault_site_clean();
}

int main(void)
{
    enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]) };
    struct CMUnitTest tests[SCENARIOS];
    for (size_t i = 0; i < SCENARIOS; i++)
        tests[i] = (struct CMUnitTest){.name = scenarios[i].name,
                                       .test_func = scenario_survives_allocation_failures,
                                       .initial_state = (void *)(uintptr_t)&scenarios[i]};
    return cmocka_run_group_tests(tests, setup, teardown);
}
