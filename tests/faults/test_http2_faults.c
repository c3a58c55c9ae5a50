/* HTTP/2 when memory or system calls fail. Whichever allocation or call of an exchange fails,
 * nothing crashes and nothing leaks, and every request gets its response, a 500 or 503, an error of
 * its stream or of the connection that blames the server, or the end of the connection. After one
 * failed allocation a connection that is still open serves the next request. */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/fault_site.h"
#include "support/h2_peer.h"
#include "support/stage.h"

enum {
    MAX_REQUESTS = 6,
    MAX_FAILURES = 2000,
    OPEN_WINDOW = 1 << 28,
    SMALL_WINDOW = 100000,
    STEP = 1 << 20,
};

struct request {
    const char *method, *path;
    const char *fields[4]; /* names and values */
    unsigned more_fields;
    const char *protocol; /* of an extended CONNECT; `body` is what the tunnel carries */
    const char *body;     /* NULL: none */
    int copies;           /* of the body, each in a DATA frame */
    bool padded;
    bool trailers;
    bool split; /* the field block, into three frames */
    bool reset; /* by the client, after its body */
    int status; /* 0: any, also none */
    const char *expected;
    size_t size; /* of the response's body, if not 0 and without `expected` */
};

struct scenario {
    const char *name;
    struct request requests[MAX_REQUESTS];
    bool small_windows; /* the client opens them as data arrives */
    bool goaway;        /* of the client, after the requests */
    bool stop;          /* of the server, after the requests */
    int send_buffer;    /* of the server; 0: default */
};

static struct stage stage;
static struct raw_client client;
static struct h2_peer peer;
static size_t passed;   /* bytes of the peer that the client has queued */
static size_t received; /* bytes of the client that the peer has checked */
static uint64_t granted[H2_PEER_STREAMS], granted_all;
static uint32_t last_stream; /* of the scenario */
static bool allocation_failed;

/* ---- system calls ---- */

enum call { CALL_NONE, CALL_RECEIVE, CALL_SEND, CALL_PREAD };

/* Of the server's calls of one kind, the `at`-th fails with `error`, or returns 0 without. Without
 * `at` every call transfers at most `most` bytes. */
static struct {
    enum call call;
    size_t at, count, most;
    int error;
    bool happened;
} fault;

static long (*next_syscall(void))(long, ...)
{
    static long (*next)(long, ...);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    return next;
}

/* Returns true if this call fails; errno or, for a result of 0, 0 is set. */
static bool fails(enum call call, int descriptor)
{
    if (fault.call != call || descriptor == client.socket || fault.at == 0 ||
        ++fault.count != fault.at)
        return false;
    fault.happened = true;
    errno = fault.error;
    return true;
}

static long failure(void)
{
    return fault.error == 0 ? 0 : -1;
}

static size_t shortened(enum call call, int descriptor, size_t size)
{
    bool is_short = fault.call == call && fault.most > 0 && descriptor != client.socket;
    return is_short && size > fault.most ? fault.most : size;
}

static ssize_t do_receive(int socket, void *data, size_t size, int flags)
{
    if (fails(CALL_RECEIVE, socket))
        return failure();
    size = shortened(CALL_RECEIVE, socket, size);
    return next_syscall()(SYS_recvfrom, socket, data, size, flags, NULL, NULL);
}

static ssize_t do_send(int socket, const void *data, size_t size, int flags)
{
    if (fails(CALL_SEND, socket))
        return failure();
    size = shortened(CALL_SEND, socket, size);
    return next_syscall()(SYS_sendto, socket, data, size, flags, NULL, 0);
}

static ssize_t do_send_message(int socket, const struct msghdr *message, int flags)
{
    if (fails(CALL_SEND, socket))
        return failure();
    if (fault.call == CALL_SEND && fault.most > 0 && message->msg_iovlen > 0)
        return do_send(socket, message->msg_iov[0].iov_base, message->msg_iov[0].iov_len, flags);
    return next_syscall()(SYS_sendmsg, socket, message, flags);
}

ssize_t recv(int socket, void *data, size_t size, int flags)
{
    return do_receive(socket, data, size, flags);
}

ssize_t send(int socket, const void *data, size_t size, int flags)
{
    return do_send(socket, data, size, flags);
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
    return do_send_message(socket, message, flags);
}

ssize_t pread(int descriptor, void *data, size_t size, off_t offset)
{
    if (fails(CALL_PREAD, descriptor))
        return failure();
    size = shortened(CALL_PREAD, descriptor, size);
    return next_syscall()(SYS_pread64, descriptor, data, size, offset);
}

/* The library makes some calls by their numbers. */
long syscall(long number, ...)
{
    va_list list;
    long argument[6];
    va_start(list, number);
    for (size_t i = 0; i < UVH_COUNT_OF(argument); i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_recvfrom)
        return do_receive((int)argument[0], (void *)argument[1], (size_t)argument[2],
                          (int)argument[3]);
    if (number == SYS_sendto)
        return do_send((int)argument[0], (const void *)argument[1], (size_t)argument[2],
                       (int)argument[3]);
    if (number == SYS_sendmsg)
        return do_send_message((int)argument[0], (const struct msghdr *)argument[1],
                               (int)argument[2]);
    return next_syscall()(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                          argument[5]);
}

/* ---- the client ---- */

/* What the client does when data arrives. */
static void open_windows(const struct scenario *scenario)
{
    if (!scenario->small_windows || peer.goaway_error != 0)
        return;
    uint64_t all = 0;
    for (uint32_t id = 1; id <= last_stream; id += 2) {
        const struct h2_peer_stream *stream = &peer.streams[id / 2];
        uint32_t more = (uint32_t)(stream->body - granted[id / 2]);
        all += stream->body;
        granted[id / 2] = stream->body;
        if (more > 0 && !h2_peer_is_over(&peer, id))
            h2_peer_number(&peer, UVH_H2_WINDOW_UPDATE, id, more);
    }
    if (all > granted_all)
        h2_peer_number(&peer, UVH_H2_WINDOW_UPDATE, 0, (uint32_t)(all - granted_all));
    granted_all = all;
}

static void exchange_bytes(const struct scenario *scenario)
{
    if (client.received > received)
        h2_peer_receive(&peer, client.data + received, client.received - received);
    received = client.received;
    /* a connection without memory for its first bytes is refused as one of HTTP/1.1 */
    bool refused =
        !peer.settings_received && peer.in_length >= 12 && memcmp(peer.in, "HTTP/1.1 503", 12) == 0;
    if (peer.wrong != NULL && !refused)
        fail_msg("%s: %.60s", peer.wrong, peer.in);
    open_windows(scenario);
    raw_client_send(&client, peer.out + passed, peer.out_length - passed);
    passed = peer.out_length;
}

static void iterate(const struct scenario *scenario, int count)
{
    while (count-- > 0) {
        exchange_bytes(scenario);
        raw_client_step(&client, STEP);
        stage_iterate(&stage);
    }
}

static bool all_are_over(void *arg)
{
    exchange_bytes(arg);
    for (uint32_t id = 1; id <= last_stream; id += 2) {
        if (!h2_peer_is_over(&peer, id))
            return client.ended;
    }
    return true;
}

static void put_request(const struct request *request, uint32_t id)
{
    char block[16384];
    bool bodiless = request->body == NULL && !request->trailers && !request->reset;
    unsigned flags = bodiless ? UVH_H2_END_STREAM : 0;
    char *out = h2_peer_head(block, request->method, request->path);
    if (request->protocol != NULL)
        out = h2_peer_field(out, ":protocol", request->protocol, false);
    for (unsigned i = 0; i < request->more_fields; i++)
        out = h2_peer_field(out, "x-field", "a value of some bytes", false);
    for (size_t i = 0; i + 1 < UVH_COUNT_OF(request->fields) && request->fields[i] != NULL; i += 2)
        out = h2_peer_field(out, request->fields[i], request->fields[i + 1], true);
    size_t size = (size_t)(out - block);
    if (request->split) {
        h2_peer_frame(&peer, UVH_H2_HEADERS, flags, id, block, 10);
        h2_peer_frame(&peer, UVH_H2_CONTINUATION, 0, id, block + 10, 1);
        h2_peer_frame(&peer, UVH_H2_CONTINUATION, UVH_H2_END_HEADERS, id, block + 11, size - 11);
    } else {
        h2_peer_frame(&peer, UVH_H2_HEADERS, flags | UVH_H2_END_HEADERS, id, block, size);
    }
    peer.streams[id / 2].is_head = strcmp(request->method, "HEAD") == 0;
}

static void put_data(const struct request *request, uint32_t id, bool ends)
{
    char payload[4096] = {3};
    size_t size = strlen(request->body), prefix = request->padded ? 1 : 0;
    memcpy(payload + prefix, request->body, size);
    memset(payload + prefix + size, 0, 3);
    h2_peer_frame(&peer, UVH_H2_DATA,
                  (ends ? UVH_H2_END_STREAM : 0) | (request->padded ? UVH_H2_PADDED : 0), id,
                  payload, request->padded ? size + 4 : size);
}

/* Sends a request in parts, each after the server has received the one before. */
static void send_request(const struct scenario *scenario, const struct request *request,
                         uint32_t id)
{
    put_request(request, id);
    iterate(scenario, 3);
    int copies = request->body == NULL ? 0 : request->copies == 0 ? 1 : request->copies;
    for (int i = 0; i < copies; i++) {
        put_data(request, id, i == copies - 1 && !request->trailers && !request->reset);
        iterate(scenario, 3);
    }
    if (request->trailers) {
        char block[64];
        char *end = h2_peer_field(block, "x-sum", "42", true);
        h2_peer_frame(&peer, UVH_H2_HEADERS, UVH_H2_END_STREAM | UVH_H2_END_HEADERS, id, block,
                      (size_t)(end - block));
    }
    if (request->reset)
        h2_peer_number(&peer, UVH_H2_RST_STREAM, id, UVH_H2_CANCEL);
    iterate(scenario, 3);
}

/* ---- a run ---- */

static void begin(const struct scenario *scenario)
{
    memset(granted, 0, sizeof(granted));
    passed = received = 0;
    granted_all = 0;
    last_stream = 0;
    h2_peer_init(&peer);
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(fault_site_build(stage.server, &stage.heap.allocator), 0);
    stage_listen(&stage);
    if (scenario->send_buffer != 0)
        stage_shrink_send_buffer(&stage, scenario->send_buffer);
}

static void run(const struct scenario *scenario)
{
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    h2_peer_begin(&peer);
    h2_peer_setting(&peer, UVH_H2_INITIAL_WINDOW_SIZE,
                    scenario->small_windows ? SMALL_WINDOW : OPEN_WINDOW);
    h2_peer_number(&peer, UVH_H2_WINDOW_UPDATE, 0, OPEN_WINDOW);
    for (size_t i = 0; i < MAX_REQUESTS && scenario->requests[i].method != NULL; i++) {
        last_stream = (uint32_t)(2 * i + 1);
        send_request(scenario, &scenario->requests[i], last_stream);
    }
    if (scenario->goaway)
        h2_peer_frame(&peer, UVH_H2_GOAWAY, 0, 0, "\0\0\0\0\0\0\0\0", UVH_H2_GOAWAY_SIZE);
    if (scenario->stop)
        uvhttp_server_stop(stage.server);
    stage_drive(&stage, &client, STEP, all_are_over, (void *)(uintptr_t)scenario);
    allocation_failed = atomic_load(&stage.heap.failures) > 0;
    fault_heap_arm(&stage.heap, 0, false);
}

/* Does the server serve the next request? */
static void check_next_request(const struct scenario *scenario)
{
    static const struct request next = {.method = "GET", .path = "/"};
    if (client.ended || peer.goaway_received || scenario->stop)
        return;
    last_stream += 2;
    send_request(scenario, &next, last_stream);
    stage_drive(&stage, &client, STEP, all_are_over, (void *)(uintptr_t)scenario);
    assert_int_equal(peer.streams[last_stream / 2].status, 200);
}

static void end(void)
{
    raw_client_close(&client, false);
    h2_peer_release(&peer);
    stage_end(&stage);
    assert_int_equal(fault_site.owned, 0);
    assert_int_equal(fault_site.works, fault_site.jobs_done);
    assert_int_equal(fault_site.aborts, fault_site.pending);
}

/* Of bodies other than the large one the length is compared. */
static void check_response(const struct request *request, uint32_t id, bool failed)
{
    const struct h2_peer_stream *stream = &peer.streams[id / 2];
    if (request->status == 0 || (failed && !stream->server_ended))
        return;
    if (failed && (stream->status == 500 || stream->status == 503))
        return;
    assert_true(stream->server_ended);
    assert_int_equal(stream->status, request->status);
    size_t size = request->expected != NULL ? strlen(request->expected) : request->size;
    if (size != 0)
        assert_int_equal(stream->body, size);
    if (request->size == FAULT_SITE_LARGE)
        assert_int_equal(stream->wrong_bytes, 0);
}

/* A failure of the server is not reported as one of the client. */
static void check_errors(const struct scenario *scenario)
{
    assert_true(peer.goaway_error == 0 || peer.goaway_error == UVH_H2_INTERNAL_ERROR);
    for (uint32_t id = 1; id < 2 * MAX_REQUESTS; id += 2) {
        const struct h2_peer_stream *stream = &peer.streams[id / 2];
        uint32_t error = stream->server_reset ? stream->server_error : 0;
        assert_true(error == UVH_H2_NO_ERROR || error == UVH_H2_INTERNAL_ERROR ||
                    error == UVH_H2_REFUSED_STREAM ||
                    /* the handler closes a tunnel that it cannot write to */
                    (error == UVH_H2_CANCEL && scenario->requests[id / 2].protocol != NULL));
    }
}

static void check_responses(const struct scenario *scenario, bool failed)
{
    for (size_t i = 0; i < MAX_REQUESTS && scenario->requests[i].method != NULL; i++)
        check_response(&scenario->requests[i], (uint32_t)(2 * i + 1), failed);
    check_errors(scenario);
    if (!failed)
        assert_int_equal(peer.goaway_error, 0);
}

/* ---- scenarios ---- */

#define GET(target) .method = "GET", .path = target
#define LARGE       .status = 200, .size = FAULT_SITE_LARGE
#define TEN(text)   text text text text text text text text text text

static const struct scenario scenarios[] = {
    {.name = "get", .requests = {{GET("/"), .status = 200, .expected = "hello"}}},
    {.name = "head", .requests = {{.method = "HEAD", .path = "/large", .status = 200}}},
    {.name = "six_requests",
     .requests = {{GET("/"), .status = 200, .expected = "hello"},
                  {GET("/large"), LARGE},
                  {GET("/fields"), .status = 201, .expected = "{}"},
                  {GET("/file"), LARGE},
                  {GET("/nowhere"), .status = 404},
                  {GET("/einval"), .status = 500}}},
    {.name = "field_block_in_three_frames",
     .requests = {{GET("/d/a%20b/c/d?q=%41"), .split = true, .status = 200,
                   .expected = "GET a b c/d A 1 0 - 127.0.0.1"}}},
    {.name = "ninety_fields",
     .requests = {{GET("/"), .more_fields = 90, .status = 200, .expected = "hello"}}},
    {.name = "tunnel",
     .requests = {{.method = "CONNECT",
                   .path = "/stream",
                   .protocol = "echo",
                   .body = "hello",
                   .copies = 2,
                   .status = 200,
                   .size = 10}}},
    {.name = "large_field_and_cookies",
     .requests = {{GET("/"), .fields = {"x-long", TEN(TEN("0123456789-123456789-123456789"))},
                   .status = 200, .expected = "hello"},
                  {GET("/"), .fields = {"cookie", "a=b", "cookie", "c=d"}, .status = 200,
                   .expected = "hello"}}},
    {.name = "post",
     .requests =
         {{.method = "POST", .path = "/echo", .body = "body", .status = 200, .expected = "body"}}},
    {.name = "post_in_frames_with_trailers",
     .requests = {{.method = "POST",
                   .path = "/d/1/2?q=3",
                   .body = "hello",
                   .copies = 3,
                   .padded = true,
                   .trailers = true,
                   .status = 200,
                   .expected = "POST 1 2 3 1 15 42 127.0.0.1"}}},
    {.name = "expect_100_continue",
     .requests = {{.method = "POST",
                   .path = "/echo",
                   .fields = {"expect", "100-continue", "content-length", "4"},
                   .body = "body",
                   .status = 200,
                   .expected = "body"}}},
    {.name = "streamed_body",
     .requests = {{.method = "POST",
                   .path = "/echo-pieces",
                   .body = "one two",
                   .copies = 4,
                   .trailers = true,
                   .status = 200,
                   .size = 28}}},
    {.name = "streamed_responses",
     .requests = {{GET("/pieces"), LARGE}, {GET("/pulled"), LARGE}},
     .send_buffer = 16384},
    {.name = "small_windows",
     .requests = {{GET("/pieces"), LARGE}, {GET("/file"), LARGE}},
     .small_windows = true},
    {.name = "blocking_handlers",
     .requests = {{GET("/block/a"), .status = 200, .expected = "blocked"},
                  {GET("/block-pieces"), LARGE},
                  {GET("/deferred"), .status = 200, .expected = "worked"}},
     .send_buffer = 16384},
    {.name = "static_files",
     .requests = {{GET("/static/small.txt"), .status = 200, .expected = "small"},
                  {GET("/static/large.bin"), LARGE},
                  {GET("/static/"), .status = 200},
                  {GET("/static/large.bin"), .fields = {"range", "bytes=0-9,-10"}, .status = 206,
                   .size = 250}}},
    {.name = "reset_by_client",
     .requests = {{GET("/never"), .reset = true},
                  {.method = "POST", .path = "/echo", .body = "body", .reset = true},
                  {.method = "POST", .path = "/echo-pieces", .body = "body", .reset = true},
                  {GET("/large"), .reset = true},
                  {GET("/"), .status = 200, .expected = "hello"}},
     .small_windows = true},
    {.name = "goaway_of_client",
     .requests = {{GET("/large"), LARGE}, {GET("/"), .status = 200, .expected = "hello"}},
     .goaway = true},
    {.name = "goaway_of_server",
     .requests = {{GET("/large"), LARGE}, {GET("/deferred"), .status = 200, .expected = "worked"}},
     .stop = true,
     .send_buffer = 16384},
};

/* ---- tests ---- */

/* Returns true if the n-th allocation was reached. */
static bool run_without_memory(const struct scenario *scenario, size_t n, bool keep_failing)
{
    begin(scenario);
    fault_heap_arm(&stage.heap, n, keep_failing);
    run(scenario);
    bool failed = allocation_failed;
    check_responses(scenario, failed);
    check_next_request(scenario);
    end();
    return failed;
}

static void scenario_survives_allocation_failures(void **state)
{
    const struct scenario *scenario = *state;
    for (int keep_failing = 0; keep_failing < 2; keep_failing++) {
        size_t n = 1;
        while (run_without_memory(scenario, n, keep_failing))
            assert_true(++n < MAX_FAILURES);
        assert_true(n > 3); /* at least a connection, its state and a buffer */
    }
}

/* Returns true if the n-th call was reached. */
static bool run_with_failing_call(const struct scenario *scenario, enum call call, size_t n,
                                  int error)
{
    begin(scenario);
    fault.call = call;
    fault.at = n;
    fault.count = 0;
    fault.error = error;
    fault.happened = false;
    run(scenario);
    fault.call = CALL_NONE;
    check_responses(scenario, fault.happened);
    check_next_request(scenario);
    end();
    return fault.happened;
}

static void each_call_fails(enum call call, int error)
{
    for (size_t i = 0; i < UVH_COUNT_OF(scenarios); i++) {
        size_t n = 1;
        while (run_with_failing_call(&scenarios[i], call, n, error))
            n += n < 20 ? 1 : n / 4; /* later ones are all alike */
    }
}

static void failing_receive_ends_connection(void **state)
{
    (void)state;
    each_call_fails(CALL_RECEIVE, ECONNRESET);
}

static void interrupted_calls_are_repeated(void **state)
{
    (void)state;
    each_call_fails(CALL_RECEIVE, EINTR);
    each_call_fails(CALL_SEND, EINTR);
}

static void failing_send_ends_connection(void **state)
{
    (void)state;
    each_call_fails(CALL_SEND, EPIPE);
    each_call_fails(CALL_SEND, ENOBUFS);
}

/* Only the stream of the file ends. */
static void failing_read_of_file_resets_its_stream(void **state)
{
    (void)state;
    each_call_fails(CALL_PREAD, EIO);
    each_call_fails(CALL_PREAD, 0);
}

static void short_calls_transfer_everything(void **state)
{
    static const enum call calls[] = {CALL_SEND, CALL_PREAD};
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(scenarios); i++) {
        for (size_t j = 0; j < UVH_COUNT_OF(calls); j++) {
            fault.call = calls[j];
            fault.at = 0;
            fault.most = 1000;
            begin(&scenarios[i]);
            stage.simulates_eagain = calls[j] == CALL_SEND; /* after a short write */
            run(&scenarios[i]);
            fault.call = CALL_NONE;
            check_responses(&scenarios[i], false);
            check_next_request(&scenarios[i]);
            end();
        }
    }
    fault.most = 0;
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
    enum { OTHERS = 5, SCENARIOS = UVH_COUNT_OF(scenarios) };
    struct CMUnitTest tests[SCENARIOS + OTHERS] = {
        cmocka_unit_test(failing_receive_ends_connection),
        cmocka_unit_test(interrupted_calls_are_repeated),
        cmocka_unit_test(failing_send_ends_connection),
        cmocka_unit_test(failing_read_of_file_resets_its_stream),
        cmocka_unit_test(short_calls_transfer_everything),
    };
    for (size_t i = 0; i < SCENARIOS; i++)
        tests[i + OTHERS] = (struct CMUnitTest){.name = scenarios[i].name,
                                                .test_func = scenario_survives_allocation_failures,
                                                .initial_state = (void *)(uintptr_t)&scenarios[i]};
    return cmocka_run_group_tests(tests, setup, teardown);
}
