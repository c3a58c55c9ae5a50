/* A stream over TLS between two ends in one loop: memory that runs out at every allocation, and a
 * client that gives up at every turn. Nothing is left either way. */
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
    MOST_ALLOCATIONS = 500,
    MOST_TURNS = 5000,
    MOST_OPENSSL_ALLOCATIONS = 100000
};

static struct stage stage;
static uvhttp_tls_t *tls;
static uvhttp_tls_client_t *client;
static uvhttp_stream_t *stream; /* NULL: over */
static char ca_file[] = "/tmp/uvhttp-test-ca-XXXXXX";
static bool connected, answered, ended;
static int failed_with;

/* ---- OpenSSL's allocations ---- */

static long countdown; /* the one that makes it 0 fails */

static bool denies(void)
{
    return countdown > 0 && --countdown == 0;
}

static void *openssl_allocate(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return denies() ? NULL : malloc(size);
}

static void *openssl_reallocate(void *memory, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return denies() ? NULL : realloc(memory, size);
}

static void openssl_release(void *memory, const char *file, int line)
{
    (void)file, (void)line;
    free(memory);
}

/* ---- set-up ---- */

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

static int hello(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
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
    connected = answered = ended = false;
    failed_with = 0;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_route(stage.server, "GET", "/", hello, NULL), 0);
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
    failed_with = status;
    assert_true((uvhttp_stream_tls_error(of) != NULL) == (status == UVHTTP_ETLS));
    if (connected)
        (void)uvhttp_stream_write(of, request, sizeof request - 1);
}

static void on_data(uvhttp_stream_t *of, char *data, size_t size, void *arg)
{
    (void)data, (void)arg;
    answered |= size > 0;
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

static int connect_here(void)
{
    static const uvhttp_stream_events_t events = {.data = on_data, .closed = on_closed};
    return uvhttp_stream_connect_tls(stage.server, client, "127.0.0.1",
                                     uvhttp_server_port(stage.server), LONG, on_connected, &events,
                                     NULL, &stream);
}

/* Until the stream is over. The number of turns. */
static int drive(void)
{
    int turn = 0;
    for (; turn < MOST_TURNS && !ended; turn++)
        stage_wait(&stage);
    assert_true(ended);
    return turn;
}

/* ---- tests ---- */

static void request_is_answered(void **state)
{
    (void)state;
    begin();
    assert_int_equal(make_client("localhost"), 0);
    assert_int_equal(connect_here(), 0);
    drive();
    assert_true(connected && answered);
    end();
}

static void outgoing_handshakes_are_not_the_servers(void **state)
{
    uvhttp_stats_t stats;
    (void)state;
    begin();
    assert_int_equal(make_client("other.example"), 0);
    assert_int_equal(connect_here(), 0);
    drive();
    assert_int_equal(failed_with, UVHTTP_ETLS);
    for (int turn = 0; turn < 10; turn++)
        stage_wait(&stage);
    uvhttp_server_read_stats(stage.server, &stats);
    assert_int_equal(stats.tls_failures, 1); /* the accepted one: it got an alert */
    assert_int_equal(stats.tls_handshakes, 0);
    end();
}

static void every_allocation_may_fail(void **state)
{
    size_t n = 1;
    (void)state;
    for (bool failed = true; failed; n++) {
        assert_true(n < MOST_ALLOCATIONS);
        begin();
        fault_heap_arm(&stage.heap, n, false);
        int err = make_client("localhost");
        if (err == 0)
            err = connect_here();
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        if (err == 0)
            drive();
        failed = atomic_load(&stage.heap.failures) > 0;
        assert_true(failed || answered);
        end();
    }
    assert_true(n > 10);
}

/* Whatever fails of what OpenSSL asks for, at either end, nobody is taken for a server that is not
 * the one. */
static void no_failing_allocation_skips_the_check(void **state)
{
    (void)state;
    bool failed = true;
    for (long n = 1; failed; n += n < 200 ? 1 : 7) {
        assert_true(n < MOST_OPENSSL_ALLOCATIONS);
        begin();
        countdown = n;
        int err = make_client("other.example");
        if (err == 0 && connect_here() == 0)
            drive();
        failed = countdown == 0;
        countdown = 0;
        assert_false(connected);
        assert_true(failed || failed_with == UVHTTP_ETLS);
        end();
    }
}

/* The loop waits for the sockets, so that each turn is one step of the handshake. */
static void it_can_be_given_up_at_every_turn(void **state)
{
    (void)state;
    begin();
    assert_int_equal(make_client("localhost"), 0);
    assert_int_equal(connect_here(), 0);
    int turns = drive();
    end();
    for (int most = 0; most < turns; most++) {
        begin();
        assert_int_equal(make_client("localhost"), 0);
        assert_int_equal(connect_here(), 0);
        for (int turn = 0; turn < most && !ended; turn++)
            stage_wait(&stage);
        end();
    }
}

static void server_that_stops_ends_the_handshake(void **state)
{
    (void)state;
    for (int most = 0; most < 6; most++) {
        begin();
        assert_int_equal(make_client("localhost"), 0);
        assert_int_equal(connect_here(), 0);
        for (int turn = 0; turn < most; turn++)
            stage_iterate(&stage);
        uvhttp_server_stop(stage.server);
        drive();
        assert_true(connected || failed_with == UVHTTP_ESTOPPED);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_is_answered),
        cmocka_unit_test(outgoing_handshakes_are_not_the_servers),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(no_failing_allocation_skips_the_check),
        cmocka_unit_test(it_can_be_given_up_at_every_turn),
        cmocka_unit_test(server_that_stops_ends_the_handshake),
    };
    if (CRYPTO_set_mem_functions(openssl_allocate, openssl_reallocate, openssl_release) != 1)
        return 1;
    return cmocka_run_group_tests(tests, write_file, remove_file);
}
