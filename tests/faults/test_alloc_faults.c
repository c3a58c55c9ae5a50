/* Out of memory at every single allocation of a scenario: whichever fails, nothing crashes, nothing
 * is left behind when the server is freed, and the client gets the right answer, a 503 or 500, or a
 * closed connection. Each scenario runs with its first allocation failing, then its second, and so
 * on until it needs no more; and once more with all later ones failing too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/fault_site.h"
#include "support/stage.h"

enum { MOST_CHUNKS = 6, MOST_ALLOCATIONS = 1000 };

struct expected {
    int status;
    const char *body; /* NULL: only its size counts */
    size_t size;
};

struct scenario {
    const char *name;
    const char *chunks[MOST_CHUNKS]; /* each is sent once the one before has been received */
    size_t count;                    /* answers */
    struct expected answers[3];      /* by turns when there are more */
    bool closes;                     /* the server closes after the last one */
    /* the server's, so that an answer leaves in pieces; 0: the usual one */
    int send_buffer;
};

static struct stage stage;
static struct raw_client client;

#define GET(path)  "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"
#define GET4(path) GET(path) GET(path) GET(path) GET(path)
#define TEN(text)  text text text text text text text text text text
#define LONG_TAG   "\"" TEN(TEN("123456789-123456789-")) "1234567890\""
#define AT(place)  place "000-" place "000,"
#define DECADE(n) \
    AT(n "0")     \
    AT(n "1") AT(n "2") AT(n "3") AT(n "4") AT(n "5") AT(n "6") AT(n "7") AT(n "8") AT(n "9")
#define F4(n) "X-" n "0: 0\r\nX-" n "1: 1\r\nX-" n "2: 2\r\nX-" n "3: 3\r\n"

/* It would align the columns of rows that have little in common. */
static const struct scenario scenarios[] = {
    {.name = "a small answer", .chunks = {GET("/")}, .count = 1, .answers = {{200, "hello", 0}}},
    {.name = "two requests one after the other",
     .chunks = {GET("/"), GET("/")},
     .count = 2,
     .answers = {{200, "hello", 0}}},
    {.name = "sixteen pipelined",
     .chunks = {GET4("/") GET4("/") GET4("/") GET4("/")},
     .count = 16,
     .answers = {{200, "hello", 0}}},
    {.name = "pipelined of two sizes",
     .chunks = {GET("/") GET("/large") GET("/") GET("/large") GET("/") GET("/large")},
     .count = 6,
     .answers = {{200, "hello", 0}, {200, NULL, FAULT_SITE_LARGE}}},
    {.name = "fields and cookies",
     .chunks = {GET("/fields")},
     .count = 1,
     .answers = {{201, "{}", 0}}},
    {.name = "forty request fields",
     .chunks = {"GET /d/a%20b/c/d?q=%41 HTTP/1.1\r\nHost: h\r\n" F4("a") F4("b") F4("c") F4("d")
                    F4("e") F4("f") F4("g") F4("h") F4("i") F4("j") "\r\n"},
     .count = 1,
     .answers = {{200, "GET a b c/d A 41 0 - 127.0.0.1", 0}}},
    {.name = "a head in pieces",
     .chunks = {"GET /d/1/", "2?q=3 HTTP/1.1\r\nHo", "st: h\r\n", "\r\n"},
     .count = 1,
     .answers = {{200, "GET 1 2 3 1 0 - 127.0.0.1", 0}}},
    {.name = "a chunked body with trailers",
     .chunks =
         {"POST /d/1/2?q=3 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
          "6;x=y\r\n world\r\n0\r\nX-Su", "m: 42\r\n\r\n"},
     .count = 1,
     .answers = {{200, "POST 1 2 3 2 11 42 127.0.0.1", 0}}},
    {.name = "waiting for 100 continue",
     .chunks =
         {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n",
          "body"},
     .count = 1,
     .answers = {{200, "body", 0}}},
    {.name = "a body in pieces",
     .chunks = {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\n", "one ", "two ",
                "four"},
     .count = 1,
     .answers = {{200, "one two four", 0}}},
    {.name = "a body in one piece and a request behind it",
     .chunks = {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\none" GET("/")},
     .count = 2,
     .answers = {{200, "one", 0}, {200, "hello", 0}}},
    {.name = "a large answer that is copied",
     .chunks = {GET("/large")},
     .count = 1,
     .answers = {{200, NULL, FAULT_SITE_LARGE}}},
    {.name = "a large file",
     .chunks = {GET("/file")},
     .count = 1,
     .answers = {{200, NULL, FAULT_SITE_LARGE}}},
    {.name = "a large answer that is copied and leaves in pieces",
     .chunks = {GET("/large") GET("/")},
     .count = 2,
     .answers = {{200, NULL, FAULT_SITE_LARGE}, {200, "hello", 0}},
     .send_buffer = 16384},
    {.name = "a large file that leaves in pieces",
     .chunks = {GET("/file") GET("/")},
     .count = 2,
     .answers = {{200, NULL, FAULT_SITE_LARGE}, {200, "hello", 0}},
     .send_buffer = 16384},
    {.name = "an answer in pieces",
     .chunks = {GET("/pieces") GET("/")},
     .count = 2,
     .answers = {{200, NULL, FAULT_SITE_LARGE}, {200, "hello", 0}},
     .send_buffer = 16384},
    {.name = "a pulled answer",
     .chunks = {GET("/pulled") GET("/")},
     .count = 2,
     .answers = {{200, NULL, FAULT_SITE_LARGE}, {200, "hello", 0}},
     .send_buffer = 16384},
    {.name = "pieces that come and go",
     .chunks = {"POST /echo-pieces HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\nExpect: "
                "100-continue\r\n\r\n",
                "one ", "two ", "four" GET("/")},
     .count = 2,
     .answers = {{200, "one two four", 0}, {200, "hello", 0}}},
    {.name = "an upgrade, and what is echoed behind it",
     .chunks = {"GET /stream HTTP/1.1\r\nHost: h\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "hello"},
     .count = 1,
     .answers = {{200, "hello", 0}}},
    {.name = "a handler that blocks",
     .chunks = {GET("/block/a%20b%2Fc") GET("/")},
     .count = 2,
     .answers = {{200, "blocked", 0}, {200, "hello", 0}}},
    {.name = "a handler that blocks and answers in pieces",
     .chunks = {GET("/block-pieces") GET("/")},
     .count = 2,
     .answers = {{200, NULL, FAULT_SITE_LARGE}, {200, "hello", 0}},
     .send_buffer = 16384},
    {.name = "a redirect", .chunks = {GET("/redirect")}, .count = 1, .answers = {{308, NULL, 0}}},
    {.name = "no route",
     .chunks = {GET("/nowhere")},
     .count = 1,
     .answers = {{404, "404 Not Found\n", 0}}},
    {.name = "another method",
     .chunks = {"PUT / HTTP/1.1\r\nHost: h\r\n\r\n"},
     .count = 1,
     .answers = {{405, NULL, 0}}},
    {.name = "options",
     .chunks = {"OPTIONS / HTTP/1.1\r\nHost: h\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"},
     .count = 2,
     .answers = {{204, NULL, 0}}},
    {.name = "a handler that fails",
     .chunks = {GET("/einval")},
     .count = 1,
     .answers = {{500, NULL, 0}}},
    {.name = "a refused request",
     .chunks = {"GET / HTTP/1.1\r\n\r\n"},
     .count = 1,
     .answers = {{400, NULL, 0}},
     .closes = true},
    {.name = "a refused chunk",
     .chunks = {"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "zz\r\n"},
     .count = 1,
     .answers = {{400, NULL, 0}},
     .closes = true},
    {.name = "a body that is too large",
     .chunks = {"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n"},
     .count = 1,
     .answers = {{413, NULL, 0}},
     .closes = true},
    {.name = "an answer after work on the pool",
     .chunks = {GET("/deferred")},
     .count = 1,
     .answers = {{200, "worked", 0}}},
    {.name = "requests pipelined behind work on the pool",
     .chunks = {GET("/deferred") GET("/") GET("/deferred") GET("/")},
     .count = 4,
     .answers = {{200, "worked", 0}, {200, "hello", 0}}},
    {.name = "a small file of a folder",
     .chunks = {GET("/static/small.txt"), GET("/static/small.txt")},
     .count = 2,
     .answers = {{200, "small", 0}}},
    {.name = "a large file of a folder",
     .chunks = {GET("/static/large.bin"), GET("/static/large.bin")},
     .count = 2,
     .answers = {{200, NULL, FAULT_SITE_LARGE}}},
    {.name = "a listing", .chunks = {GET("/static/")}, .count = 1, .answers = {{200, NULL, 0}}},
    {.name = "a listing in JSON",
     .chunks = {"GET /static/ HTTP/1.1\r\nHost: h\r\nAccept: text/html;q=0\r\nAccept: "
                "application/json\r\n\r\n"},
     .count = 1,
     .answers = {{200, NULL, 0}}},
    {.name = "the style of a listing",
     .chunks = {GET("/static/?format=css")},
     .count = 1,
     .answers = {{200, NULL, 0}}},
    {.name = "an archive",
     .chunks = {GET("/static/?format=tar")},
     .count = 1,
     .answers = {{200, NULL, 0}}},
    {.name = "a range",
     .chunks = {"GET /static/small.txt HTTP/1.1\r\nHost: h\r\nRange: bytes=1-2\r\n\r\n"},
     .count = 1,
     .answers = {{206, "ma", 0}}},
    {.name = "two ranges of a file, and so many that they need blocks of their own",
     .chunks = {"GET /static/large.bin HTTP/1.1\r\nHost: h\r\nRange: bytes=0-9,-10\r\n\r\n",
                "GET /static/large.bin HTTP/1.1\r\nHost: h\r\nRange: bytes=" DECADE("1") DECADE("2")
                    DECADE("3") DECADE("4") DECADE("5") DECADE("6") AT("70") AT("71") AT("72")
                        AT("73") "\r\n\r\n"},
     .count = 2,
     .answers = {{206, NULL, 250}, {206, NULL, 6870}}},
    {.name = "conditions and ranges on several lines, longer than what is left of a block",
     .chunks =
         {"GET /static/small.txt HTTP/1.1\r\nHost: h\r\nIf-None-Match: " LONG_TAG
          "\r\nIf-None-Match: \"x\"\r\n\r\n",
          "GET /static/small.txt HTTP/1.1\r\nHost: h\r\nIf-Match: \"x\"\r\nIf-Match: " LONG_TAG
          "\r\n\r\n",
          "GET /static/small.txt HTTP/1.1\r\nHost: h\r\nRange: bytes=1-2\r\nRange: " LONG_TAG
          "\r\n\r\n"},
     .count = 3,
     .answers = {{200, "small", 0}, {412, NULL, 0}, {200, "small", 0}}},
    {.name = "If-Range on several lines",
     .chunks = {"GET /static/small.txt HTTP/1.1\r\nHost: h\r\nRange: bytes=1-2\r\n"
                "If-Range: " LONG_TAG "\r\nIf-Range: \"x\"\r\n\r\n"},
     .count = 1,
     .answers = {{200, "small", 0}}},
    {.name = "an entity tag, and conditions on several lines",
     .chunks = {"GET /limited/hello HTTP/1.1\r\nHost: h\r\nIf-None-Match: " LONG_TAG
                "\r\nIf-None-Match: \"x\"\r\n\r\n"},
     .count = 1,
     .answers = {{200, "hello", 0}}},
    {.name = "not modified",
     .chunks = {"GET /static/small.txt HTTP/1.1\r\nHost: h\r\nIf-None-Match: *\r\n\r\n"},
     .count = 1,
     .answers = {{304, NULL, 0}}},
    {.name = "an entity tag",
     .chunks = {GET("/limited/hello")},
     .count = 1,
     .answers = {{200, "hello", 0}}},
    {.name = "an entity tag that is known, or another one",
     .chunks = {"GET /limited/hello HTTP/1.1\r\nHost: h\r\nIf-None-Match: *\r\n\r\n",
                "GET /limited/hello HTTP/1.1\r\nHost: h\r\nIf-Match: \"x\"\r\n\r\n"},
     .count = 2,
     .answers = {{304, "", 0}, {412, "", 0}}},
    {.name = "an answer that is too large, in pieces",
     .chunks = {GET("/limited/pieces")},
     .count = 0,
     .closes = true},
    {.name = "no such file",
     .chunks = {GET("/static/nothing")},
     .count = 1,
     .answers = {{404, NULL, 0}}},
};

static void assert_answers(const struct scenario *scenario, bool failed)
{
    size_t offset = 0, seen = 0, kinds = 0;
    struct raw_response answer;
    while (kinds < 3 && scenario->answers[kinds].status != 0)
        kinds++;
    while (seen < scenario->count && raw_client_response(&client, &offset, false, &answer)) {
        if (answer.status < 200)
            continue;
        const struct expected *expected = &scenario->answers[seen++ % kinds];
        if (failed && answer.status != expected->status &&
            (answer.status == 503 || answer.status == 500)) /* said so: fine */
            continue;
        assert_int_equal(answer.status, expected->status);
        size_t size = expected->body != NULL ? strlen(expected->body) : expected->size;
        if (expected->body != NULL || expected->size != 0)
            assert_int_equal(answer.body_length, size);
        if (expected->body != NULL)
            assert_memory_equal(answer.body, expected->body, size);
        else if (expected->size == FAULT_SITE_LARGE)
            assert_memory_equal(answer.body, fault_site.large, FAULT_SITE_LARGE);
    }
    if (!failed)
        assert_int_equal(seen, scenario->count);
    assert_true(seen == scenario->count || client.ended);
}

/* The scenario from connecting to the last answer, with the n-th allocation failing. True when
 * there was one to fail. */
static bool play(const struct scenario *scenario, size_t n, bool keep_failing)
{
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(fault_site_build(stage.server, &stage.heap.allocator), 0);
    stage_listen(&stage);
    if (scenario->send_buffer != 0)
        stage_shrink_send_buffer(&stage, scenario->send_buffer);
    fault_heap_arm(&stage.heap, n, keep_failing);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    for (size_t i = 0; i < MOST_CHUNKS && scenario->chunks[i] != NULL; i++) {
        raw_client_send_text(&client, scenario->chunks[i]);
        for (int turn = 0; turn < 6; turn++) {
            raw_client_step(&client, 1000);
            stage_iterate(&stage);
        }
    }
    stage_drive_responses(&stage, &client, 100000, scenario->count);
    bool failed = atomic_load(&stage.heap.failures) > 0;
    assert_answers(scenario, failed);
    if (scenario->closes && !failed)
        stage_drive_to_end(&stage, &client, 1000);
    raw_client_close(&client, false);
    stage_end(&stage);
    assert_int_equal(fault_site.owned, 0);
    assert_int_equal(fault_site.works, fault_site.jobs_done);
    return failed;
}

static void play_all(void **state)
{
    const struct scenario *scenario = *state;
    for (int keep_failing = 0; keep_failing < 2; keep_failing++) {
        size_t n = 1;
        while (play(scenario, n, keep_failing))
            assert_true(++n < MOST_ALLOCATIONS);
        assert_true(n > 3); /* a connection, an exchange and a buffer at least */
    }
}

static bool waits_or_ended(void *arg)
{
    (void)arg;
    return fault_site.pending > 0 || client.ended;
}

static bool was_told(void *arg)
{
    (void)arg;
    return fault_site.aborts >= fault_site.pending;
}

static void a_client_that_goes_before_its_answer(void **state)
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
        stage_drive(&stage, &client, 1000, waits_or_ended, NULL);
        failed = atomic_load(&stage.heap.failures) > 0;
        assert_true(failed || fault_site.pending == 1);
        raw_client_close(&client, true);
        stage_drive(&stage, &client, 1000, was_told, NULL);
        stage_end(&stage);
        assert_int_equal(fault_site.aborts, fault_site.pending);
        assert_true(n < MOST_ALLOCATIONS);
    }
}

/* From uvhttp_server_new_with to uvhttp_server_free: every call says so when it fails, and what was
 * made before goes. */
static void building_and_freeing(void **state)
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
        assert_true(n < MOST_ALLOCATIONS);
    }
}

static int set_up(void **state)
{
    (void)state;
    return fault_site_prepare();
}

static int tear_down(void **state)
{
    (void)state;
    return fault_site_clean();
}

int main(void)
{
    enum { SCENARIOS = sizeof(scenarios) / sizeof(scenarios[0]) };
    struct CMUnitTest tests[SCENARIOS + 2] = {
        cmocka_unit_test(building_and_freeing),
        cmocka_unit_test(a_client_that_goes_before_its_answer),
    };
    for (size_t i = 0; i < SCENARIOS; i++)
        tests[i + 2] = (struct CMUnitTest){.name = scenarios[i].name,
                                           .test_func = play_all,
                                           .initial_state = (void *)(uintptr_t)&scenarios[i]};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
