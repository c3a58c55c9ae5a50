/* A TLS stream between two ends on one loop, with each allocation failing once, and with a client
 * that cancels in each loop iteration. Nothing leaks in either case. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/crypto.h>

#include <uvhttp/tls_client.h>

#include "support/stage.h"
#include "support/tls_certificate.h"

enum {
    LONG = 600000,
    MAX_ALLOCATIONS = 500,
    MAX_ITERATIONS = 5000,
    MAX_OPENSSL_ALLOCATIONS = 100000
};

static struct stage stage;
static uvhttp_tls_t *tls;
static uvhttp_tls_client_t *client;
static uvhttp_stream_t *stream; /* NULL: closed */
static char ca_file[] = "/tmp/uvhttp-test-ca-XXXXXX";
static bool connected, responded, ended;
static int error;

/* ---- OpenSSL's allocations ---- */

static long countdown; /* the allocation that sets it to 0 fails */

static bool fails(void)
{
    return countdown > 0 && --countdown == 0;
}

static void *openssl_allocate(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return fails() ? NULL : malloc(size);
}

static void *openssl_reallocate(void *memory, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return fails() ? NULL : realloc(memory, size);
}

static void openssl_release(void *memory, const char *file, int line)
{
    (void)file, (void)line;
    free(memory);
}

/* ---- setup and teardown ---- */

static int write_file(void **state)
{
    (void)state;
    int descriptor = mkstemp(ca_file);
    const ssize_t size = (ssize_t)strlen(TLS_CERTIFICATE);
    bool good = descriptor >= 0 && write(descriptor, TLS_CERTIFICATE, (size_t)size) == size;
    return good && close(descriptor) == 0 ? 0 : -1;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(ca_file);
}

static int send_hello(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    return uvhttp_response_send_text(res, 200, "hello");
}

static void begin(void)
{
    static const uvhttp_tls_certificate_t certificate = {.certificate = TLS_CERTIFICATE,
                                                         .key = TLS_KEY};
    const uvhttp_tls_options_t config = {.certificates = &certificate, .certificate_count = 1};
    stage_begin(&stage);
    stream = NULL;
    connected = responded = ended = false;
    error = 0;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", send_hello, NULL), 0);
    assert_int_equal(uvhttp_tls_new(&tls, &config, NULL), 0);
    assert_int_equal(uvhttp_server_listen_tls(stage.server, "127.0.0.1", 0, tls), 0);
}

static void end(void)
{
    if (stream != NULL)
        uvhttp_stream_close(stream);
    uvhttp_tls_free(tls);
    uvhttp_tls_client_free(client);
    client = NULL;
    stage_end(&stage);
    assert_null(stream);
}

/* ---- events ---- */

static void on_connected(uvhttp_stream_t *of, int status, void *arg)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    (void)arg;
    connected = status == 0;
    error = status;
    assert_true((uvhttp_stream_tls_error(of) != NULL) == (status == UVHTTP_ETLS));
    if (connected)
        (void)uvhttp_stream_write(of, request, sizeof request - 1);
}

static void on_data(uvhttp_stream_t *of, char *data, size_t size, void *arg)
{
    (void)data, (void)arg;
    responded |= size > 0;
    uvhttp_stream_end(of);
}

static void on_closed(uvhttp_stream_t *of, void *arg)
{
    (void)of, (void)arg;
    ended = true;
    stream = NULL;
}

static int make_client(const char *name)
{
    const uvhttp_tls_client_options_t config = {
        .ca_file = ca_file, .server_name = name, .allocator = &stage.heap.allocator};
    return uvhttp_tls_client_new(&client, &config, NULL);
}

static int connect_to_server(void)
{
    static const uvhttp_stream_events_t events = {.data = on_data, .closed = on_closed};
    return uvhttp_stream_connect_tls(stage.server, client, "127.0.0.1",
                                     uvhttp_server_port(stage.server), LONG, on_connected, &events,
                                     NULL, &stream);
}

/* Runs until the stream is closed. Returns the number of iterations. */
static int drive(void)
{
    int iteration = 0;
    for (; iteration < MAX_ITERATIONS && !ended; iteration++)
        stage_wait(&stage);
    assert_true(ended);
    return iteration;
}

/* ---- tests ---- */

static void tls_request_gets_response(void **state)
{
    (void)state;
    begin();
    assert_int_equal(make_client("localhost"), 0);
    assert_int_equal(connect_to_server(), 0);
    drive();
    assert_true(connected && responded);
    end();
}

static void outgoing_handshake_not_counted_by_server(void **state)
{
    uvhttp_stats_t stats;
    (void)state;
    begin();
    assert_int_equal(make_client("other.example"), 0);
    assert_int_equal(connect_to_server(), 0);
    drive();
    assert_int_equal(error, UVHTTP_ETLS);
    for (int iteration = 0; iteration < 10; iteration++)
        stage_wait(&stage);
    uvhttp_server_read_stats(stage.server, &stats);
    assert_int_equal(stats.tls_failures, 1); /* the accepted connection received an alert */
    assert_int_equal(stats.tls_handshakes, 0);
    end();
}

static void tls_client_survives_allocation_failures(void **state)
{
    size_t n = 1;
    (void)state;
    for (bool failed = true; failed; n++) {
        assert_true(n < MAX_ALLOCATIONS);
        begin();
        fault_heap_arm(&stage.heap, n, false);
        int err = make_client("localhost");
        if (err == 0)
            err = connect_to_server();
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        if (err == 0)
            drive();
        failed = atomic_load(&stage.heap.failures) > 0;
        assert_true(failed || responded);
        end();
    }
    assert_true(n > 10);
}

/* Whichever allocation of OpenSSL fails, at either end: the client does not accept a wrong
 * server. */
static void failed_allocation_does_not_skip_verification(void **state)
{
    (void)state;
    bool failed = true;
    for (long n = 1; failed; n += n < 200 ? 1 : 7) {
        assert_true(n < MAX_OPENSSL_ALLOCATIONS);
        begin();
        countdown = n;
        int err = make_client("other.example");
        if (err == 0 && connect_to_server() == 0)
            drive();
        failed = countdown == 0;
        countdown = 0;
        assert_false(connected);
        assert_true(failed || error == UVHTTP_ETLS);
        end();
    }
}

/* The loop blocks for the sockets, so each iteration is one step of the handshake. */
static void connecting_tls_stream_can_be_cancelled(void **state)
{
    (void)state;
    begin();
    assert_int_equal(make_client("localhost"), 0);
    assert_int_equal(connect_to_server(), 0);
    int iterations = drive();
    end();
    for (int max = 0; max < iterations; max++) {
        begin();
        assert_int_equal(make_client("localhost"), 0);
        assert_int_equal(connect_to_server(), 0);
        for (int iteration = 0; iteration < max && !ended; iteration++)
            stage_wait(&stage);
        end();
    }
}

static void server_stop_ends_client_handshake(void **state)
{
    (void)state;
    for (int max = 0; max < 6; max++) {
        begin();
        assert_int_equal(make_client("localhost"), 0);
        assert_int_equal(connect_to_server(), 0);
        for (int iteration = 0; iteration < max; iteration++)
            stage_iterate(&stage);
        uvhttp_server_stop(stage.server);
        drive();
        assert_true(connected || error == UVHTTP_ESTOPPED);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tls_request_gets_response),
        cmocka_unit_test(outgoing_handshake_not_counted_by_server),
        cmocka_unit_test(tls_client_survives_allocation_failures),
        cmocka_unit_test(failed_allocation_does_not_skip_verification),
        cmocka_unit_test(connecting_tls_stream_can_be_cancelled),
        cmocka_unit_test(server_stop_ends_client_handshake),
    };
    if (CRYPTO_set_mem_functions(openssl_allocate, openssl_reallocate, openssl_release) != 1)
        return 1;
    return cmocka_run_group_tests(tests, write_file, remove_file);
}
