/* Out of memory at each allocation of a scenario. Whichever allocation fails, nothing crashes,
 * nothing leaks when the server is freed, and the client receives the expected response, a 503 or
 * 500, or the end of the connection. Each scenario runs with its first allocation failing, then its
 * second, until no call fails; and once more with all following allocations failing, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/fault_site.h"
#include "support/stage.h"

enum { MAX_CHUNKS = 6, MAX_ALLOCATIONS = 1000 };

struct expected {
    int status;
    const char *body; /* NULL: only the size is compared */
    size_t size;
};

struct scenario {
    const char *name;
    const char *chunks[MAX_CHUNKS]; /* each is sent after the server has received the one before */
    size_t count;                   /* number of responses */
    struct expected responses[3];   /* used cyclically when `count` is larger */
    bool closes;                    /* the server closes after the last response */
    /* of the server, so that a response is written in parts; 0: default */
    int send_buffer;
};

static struct stage stage;
static struct raw_client client;

#define GET(path)    "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"
#define GET4(path)   GET(path) GET(path) GET(path) GET(path)
#define TEN(text)    text text text text text text text text text text
#define LONG_TAG     "\"" TEN(TEN("123456789-123456789-")) "1234567890\""
#define RANGE(start) start "000-" start "000,"
#define TEN_RANGES(n) \
    RANGE(n "0")      \
    RANGE(n "1")      \
    RANGE(n "2")      \
    RANGE(n "3") RANGE(n "4") RANGE(n "5") RANGE(n "6") RANGE(n "7") RANGE(n "8") RANGE(n "9")
#define F4(n) "X-" n "0: 0\r\nX-" n "1: 1\r\nX-" n "2: 2\r\nX-" n "3: 3\r\n"

/* clang-format would align columns of unrelated rows. */
static const struct scenario scenarios[] = {
    {.name = "small_response", .chunks = {GET("/")}, .count = 1, .responses = {{200, "hello", 0}}},
    {.name = "two_consecutive_requests",
     .chunks = {GET("/"), GET("/")},
     .count = 2,
     .responses = {{200, "hello", 0}}},
    {.name = "sixteen_pipelined_requests",
     .chunks = {GET4("/") GET4("/") GET4("/") GET4("/")},
     .count = 16,
     .responses = {{200, "hello", 0}}},
    {.name = "pipelined_responses_of_two_sizes",
     .chunks = {GET("/") GET("/large") GET("/") GET("/large") GET("/") GET("/large")},
     .count = 6,
     .responses = {{200, "hello", 0}, {200, NULL, FAULT_SITE_LARGE}}},
    {.name = "response_fields_and_cookies",
     .chunks = {GET("/fields")},
     .count = 1,
     .responses = {{201, "{}", 0}}},
    {.name = "forty_request_fields",
     .chunks = {"GET /d/a%20b/c/d?q=%41 HTTP/1.1\r\nHost: h\r\n" F4("a") F4("b") F4("c") F4("d")
                    F4("e") F4("f") F4("g") F4("h") F4("i") F4("j") "\r\n"},
     .count = 1,
     .responses = {{200, "GET a b c/d A 41 0 - 127.0.0.1", 0}}},
    {.name = "request_head_in_parts",
     .chunks = {"GET /d/1/", "2?q=3 HTTP/1.1\r\nHo", "st: h\r\n", "\r\n"},
     .count = 1,
     .responses = {{200, "GET 1 2 3 1 0 - 127.0.0.1", 0}}},
    {.name = "chunked_body_with_trailers",
     .chunks =
         {"POST /d/1/2?q=3 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
          "6;x=y\r\n world\r\n0\r\nX-Su", "m: 42\r\n\r\n"},
     .count = 1,
     .responses = {{200, "POST 1 2 3 2 11 42 127.0.0.1", 0}}},
    {.name = "expect_100_continue",
     .chunks =
         {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n",
          "body"},
     .count = 1,
     .responses = {{200, "body", 0}}},
    {.name = "request_body_in_parts",
     .chunks = {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\n", "one ", "two ",
                "four"},
     .count = 1,
     .responses = {{200, "one two four", 0}}},
    {.name = "request_body_and_next_request",
     .chunks = {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\none" GET("/")},
     .count = 2,
     .responses = {{200, "one", 0}, {200, "hello", 0}}},
    {.name = "large_copied_response",
     .chunks = {GET("/large")},
     .count = 1,
     .responses = {{200, NULL, FAULT_SITE_LARGE}}},
    {.name = "large_file_response",
     .chunks = {GET("/file")},
     .count = 1,
     .responses = {{200, NULL, FAULT_SITE_LARGE}}},
    {.name = "large_copied_response_with_short_writes",
     .chunks = {GET("/large") GET("/")},
     .count = 2,
     .responses = {{200, NULL, FAULT_SITE_LARGE}, {200, "hello", 0}},
     .send_buffer = 16384},
    {.name = "large_file_response_with_short_writes",
     .chunks = {GET("/file") GET("/")},
     .count = 2,
     .responses = {{200, NULL, FAULT_SITE_LARGE}, {200, "hello", 0}},
     .send_buffer = 16384},
    {.name = "chunked_response",
     .chunks = {GET("/pieces") GET("/")},
     .count = 2,
     .responses = {{200, NULL, FAULT_SITE_LARGE}, {200, "hello", 0}},
     .send_buffer = 16384},
    {.name = "pulled_response",
     .chunks = {GET("/pulled") GET("/")},
     .count = 2,
     .responses = {{200, NULL, FAULT_SITE_LARGE}, {200, "hello", 0}},
     .send_buffer = 16384},
    {.name = "echoed_body_chunks",
     .chunks = {"POST /echo-pieces HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\nExpect: "
                "100-continue\r\n\r\n",
                "one ", "two ", "four" GET("/")},
     .count = 2,
     .responses = {{200, "one two four", 0}, {200, "hello", 0}}},
    {.name = "upgrade_and_echoed_data",
     .chunks = {"GET /stream HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "hello"},
     .count = 1,
     .responses = {{200, "hello", 0}}},
    {.name = "blocking_handler",
     .chunks = {GET("/block/a%20b%2Fc") GET("/")},
     .count = 2,
     .responses = {{200, "blocked", 0}, {200, "hello", 0}}},
    {.name = "blocking_handler_with_chunked_response",
     .chunks = {GET("/block-pieces") GET("/")},
     .count = 2,
     .responses = {{200, NULL, FAULT_SITE_LARGE}, {200, "hello", 0}},
     .send_buffer = 16384},
    {.name = "redirect_response",
     .chunks = {GET("/redirect")},
     .count = 1,
     .responses = {{308, NULL, 0}}},
    {.name = "unknown_route_gets_404",
     .chunks = {GET("/nowhere")},
     .count = 1,
     .responses = {{404, "404 Not Found\n", 0}}},
    {.name = "unknown_method_gets_405",
     .chunks = {"PUT / HTTP/1.1\r\nHost: h\r\n\r\n"},
     .count = 1,
     .responses = {{405, NULL, 0}}},
    {.name = "options_request_gets_204",
     .chunks = {"OPTIONS / HTTP/1.1\r\nHost: h\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"},
     .count = 2,
     .responses = {{204, NULL, 0}}},
    {.name = "failing_handler_gets_500",
     .chunks = {GET("/einval")},
     .count = 1,
     .responses = {{500, NULL, 0}}},
    {.name = "invalid_request_gets_400",
     .chunks = {"GET / HTTP/1.1\r\n\r\n"},
     .count = 1,
     .responses = {{400, NULL, 0}},
     .closes = true},
    {.name = "invalid_chunk_gets_400",
     .chunks = {"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "zz\r\n"},
     .count = 1,
     .responses = {{400, NULL, 0}},
     .closes = true},
    {.name = "too_large_body_gets_413",
     .chunks = {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n"},
     .count = 1,
     .responses = {{413, NULL, 0}},
     .closes = true},
    {.name = "response_after_pool_work",
     .chunks = {GET("/deferred")},
     .count = 1,
     .responses = {{200, "worked", 0}}},
    {.name = "requests_pipelined_after_pool_work",
     .chunks = {GET("/deferred") GET("/") GET("/deferred") GET("/")},
     .count = 4,
     .responses = {{200, "worked", 0}, {200, "hello", 0}}},
    {.name = "static_small_file",
     .chunks = {GET("/static/small.txt"), GET("/static/small.txt")},
     .count = 2,
     .responses = {{200, "small", 0}}},
    {.name = "static_large_file",
     .chunks = {GET("/static/large.bin"), GET("/static/large.bin")},
     .count = 2,
     .responses = {{200, NULL, FAULT_SITE_LARGE}}},
    {.name = "directory_listing",
     .chunks = {GET("/static/")},
     .count = 1,
     .responses = {{200, NULL, 0}}},
    {.name = "directory_listing_as_json",
     .chunks = {"GET /static/ HTTP/1.1\r\nHost: h\r\nAccept: text/html;q=0\r\nAccept: "
                "application/json\r\n\r\n"},
     .count = 1,
     .responses = {{200, NULL, 0}}},
    {.name = "directory_listing_stylesheet",
     .chunks = {GET("/static/?format=css")},
     .count = 1,
     .responses = {{200, NULL, 0}}},
    {.name = "directory_archive",
     .chunks = {GET("/static/?format=tar")},
     .count = 1,
     .responses = {{200, NULL, 0}}},
    {.name = "status_page", .chunks = {GET("/status")}, .count = 1, .responses = {{200, NULL, 0}}},
    {.name = "status_as_json",
     .chunks = {GET("/status?format=json")},
     .count = 1,
     .responses = {{200, NULL, 0}}},
    {.name = "range_gets_206",
     .chunks = {"GET /static/small.txt HTTP/1.1\r\nHost: h\r\nRange: bytes=1-2\r\n\r\n"},
     .count = 1,
     .responses = {{206, "ma", 0}}},
    {.name = "multiple_ranges_get_multipart",
     .chunks = {"GET /static/large.bin HTTP/1.1\r\nHost: h\r\nRange: bytes=0-9,-10\r\n\r\n",
                "GET /static/large.bin HTTP/1.1\r\nHost: h\r\nRange: bytes=" TEN_RANGES("1")
                    TEN_RANGES("2") TEN_RANGES("3") TEN_RANGES("4") TEN_RANGES("5") TEN_RANGES("6")
                        RANGE("70") RANGE("71") RANGE("72") RANGE("73") "\r\n\r\n"},
     .count = 2,
     .responses = {{206, NULL, 250}, {206, NULL, 6870}}},
    {.name = "repeated_long_conditions_and_ranges",
     .chunks =
         {"GET /static/small.txt HTTP/1.1\r\nHost: h\r\nIf-None-Match: " LONG_TAG
          "\r\nIf-None-Match: \"x\"\r\n\r\n",
          "GET /static/small.txt HTTP/1.1\r\nHost: h\r\nIf-Match: \"x\"\r\nIf-Match: " LONG_TAG
          "\r\n\r\n",
          "GET /static/small.txt HTTP/1.1\r\nHost: h\r\nRange: bytes=1-2\r\nRange: " LONG_TAG
          "\r\n\r\n"},
     .count = 3,
     .responses = {{200, "small", 0}, {412, NULL, 0}, {200, "small", 0}}},
    {.name = "repeated_if_range",
     .chunks = {"GET /static/small.txt HTTP/1.1\r\nHost: h\r\nRange: bytes=1-2\r\n"
                "If-Range: " LONG_TAG "\r\nIf-Range: \"x\"\r\n\r\n"},
     .count = 1,
     .responses = {{200, "small", 0}}},
    {.name = "entity_tag_with_repeated_conditions",
     .chunks = {"GET /limited/hello HTTP/1.1\r\nHost: h\r\nIf-None-Match: " LONG_TAG
                "\r\nIf-None-Match: \"x\"\r\n\r\n"},
     .count = 1,
     .responses = {{200, "hello", 0}}},
    {.name = "if_none_match_gets_304",
     .chunks = {"GET /static/small.txt HTTP/1.1\r\nHost: h\r\nIf-None-Match: *\r\n\r\n"},
     .count = 1,
     .responses = {{304, NULL, 0}}},
    {.name = "entity_tag_response",
     .chunks = {GET("/limited/hello")},
     .count = 1,
     .responses = {{200, "hello", 0}}},
    {.name = "entity_tag_gets_304_or_412",
     .chunks = {"GET /limited/hello HTTP/1.1\r\nHost: h\r\nIf-None-Match: *\r\n\r\n",
                "GET /limited/hello HTTP/1.1\r\nHost: h\r\nIf-Match: \"x\"\r\n\r\n"},
     .count = 2,
     .responses = {{304, "", 0}, {412, "", 0}}},
    {.name = "too_large_chunked_response_closes",
     .chunks = {GET("/limited/pieces")},
     .count = 0,
     .closes = true},
    {.name = "missing_file_gets_404",
     .chunks = {GET("/static/nothing")},
     .count = 1,
     .responses = {{404, NULL, 0}}},
};

static void assert_responses(const struct scenario *scenario, bool failed)
{
    size_t offset = 0, seen = 0, kinds = 0;
    struct raw_response response;
    while (kinds < 3 && scenario->responses[kinds].status != 0)
        kinds++;
    while (seen < scenario->count && raw_client_response(&client, &offset, false, &response)) {
        if (response.status < 200)
            continue;
        const struct expected *expected = &scenario->responses[seen++ % kinds];
        /* An error response is allowed. */
        if (failed && response.status != expected->status &&
            (response.status == 503 || response.status == 500))
            continue;
        assert_int_equal(response.status, expected->status);
        size_t size = expected->body != NULL ? strlen(expected->body) : expected->size;
        if (expected->body != NULL || expected->size != 0)
            assert_int_equal(response.body_length, size);
        if (expected->body != NULL)
            assert_memory_equal(response.body, expected->body, size);
        else if (expected->size == FAULT_SITE_LARGE)
            assert_memory_equal(response.body, fault_site.large, FAULT_SITE_LARGE);
    }
    if (!failed)
        assert_int_equal(seen, scenario->count);
    assert_true(seen == scenario->count || client.ended);
}

/* Runs the scenario from the connection to the last response, with the n-th allocation failing.
 * Returns true if an allocation has failed. */
static bool run_scenario(const struct scenario *scenario, size_t n, bool keep_failing)
{
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(fault_site_build(stage.server, &stage.heap.allocator), 0);
    stage_listen(&stage);
    if (scenario->send_buffer != 0)
        stage_shrink_send_buffer(&stage, scenario->send_buffer);
    fault_heap_arm(&stage.heap, n, keep_failing);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    for (size_t i = 0; i < MAX_CHUNKS && scenario->chunks[i] != NULL; i++) {
        raw_client_send_text(&client, scenario->chunks[i]);
        for (int iteration = 0; iteration < 6; iteration++) {
            raw_client_step(&client, 1000);
            stage_iterate(&stage);
        }
    }
    stage_drive_responses(&stage, &client, 100000, scenario->count);
    bool failed = atomic_load(&stage.heap.failures) > 0;
    assert_responses(scenario, failed);
    if (scenario->closes && !failed)
        stage_drive_to_end(&stage, &client, 1000);
    raw_client_close(&client, false);
    stage_end(&stage);
    assert_int_equal(fault_site.owned, 0);
    assert_int_equal(fault_site.works, fault_site.jobs_done);
    return failed;
}

static void scenario_survives_allocation_failures(void **state)
{
    const struct scenario *scenario = *state;
    for (int keep_failing = 0; keep_failing < 2; keep_failing++) {
        size_t n = 1;
        while (run_scenario(scenario, n, keep_failing))
            assert_true(++n < MAX_ALLOCATIONS);
        assert_true(n > 3); /* at least a connection, an exchange and a buffer */
    }
}

static bool is_pending_or_ended(void *arg)
{
    (void)arg;
    return fault_site.pending > 0 || client.ended;
}

static bool all_aborted(void *arg)
{
    (void)arg;
    return fault_site.aborts >= fault_site.pending;
}

static void disconnect_before_response_survives_allocation_failures(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        stage_begin(&stage);
        assert_non_null(stage_new_server(&stage));
        assert_int_equal(fault_site_build(stage.server, &stage.heap.allocator), 0);
        stage_listen(&stage);
        fault_heap_arm(&stage.heap, n, false);
        raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
        raw_client_send_text(&client, GET("/never"));
        stage_drive(&stage, &client, 1000, is_pending_or_ended, NULL);
        failed = atomic_load(&stage.heap.failures) > 0;
        assert_true(failed || fault_site.pending == 1);
        raw_client_close(&client, true);
        stage_drive(&stage, &client, 1000, all_aborted, NULL);
        stage_end(&stage);
        assert_int_equal(fault_site.aborts, fault_site.pending);
        assert_true(n < MAX_ALLOCATIONS);
    }
}

/* From uvhttp_server_new_with to uvhttp_server_free: a failing call returns UVHTTP_ENOMEM, and all
 * memory is released. */
static void server_setup_survives_allocation_failures(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t n = 1; failed; n++) {
        stage_begin(&stage);
        fault_heap_arm(&stage.heap, n, false);
        if (stage_new_server(&stage) != NULL) {
            int err = fault_site_build(stage.server, &stage.heap.allocator);
            if (err == 0)
                err = uvhttp_server_listen(stage.server, "127.0.0.1", 0);
            if (err == 0)
                err = uvhttp_server_listen(stage.server, "127.0.0.1", 0);
            assert_int_equal(err, atomic_load(&stage.heap.failures) > 0 ? UVHTTP_ENOMEM : 0);
        }
        failed = atomic_load(&stage.heap.failures) > 0;
        stage_iterations(&stage, 2);
        stage_end(&stage);
        assert_int_equal(fault_site.owned, 0);
        assert_true(n < MAX_ALLOCATIONS);
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
    struct CMUnitTest tests[SCENARIOS + 2] = {
        cmocka_unit_test(server_setup_survives_allocation_failures),
        cmocka_unit_test(disconnect_before_response_survives_allocation_failures),
    };
    for (size_t i = 0; i < SCENARIOS; i++)
        tests[i + 2] = (struct CMUnitTest){.name = scenarios[i].name,
                                           .test_func = scenario_survives_allocation_failures,
                                           .initial_state = (void *)(uintptr_t)&scenarios[i]};
    return cmocka_run_group_tests(tests, setup, teardown);
}
