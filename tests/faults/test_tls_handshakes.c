/* Handshakes on threads with failing allocations: the connection whose allocation fails is closed,
 * and its handshake slot is released. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/stage.h"
#include "support/tls_pair.h"

enum { MAX_ALLOCATIONS = 400, SERVER_HELLO = 100 };

static struct stage stage;
static struct raw_client client;
static uvhttp_tls_t *tls;

static void begin(const char *proxy)
{
    static const uvhttp_tls_certificate_t certificate = {.certificate = TLS_CERTIFICATE,
                                                         .key = TLS_KEY};
    const uvhttp_tls_options_t options = {.certificates = &certificate, .certificate_count = 1};
    stage_begin(&stage);
    stage.config->handshake_threads = 1;
    stage.config->max_handshakes = 1;
    assert_non_null(stage_new_server(&stage));
    assert_int_equal(uvhttp_server_accept_proxy_protocol(stage.server, &proxy, proxy != NULL,
                                                         UVHTTP_PROXY_OTHERS_DIRECT),
                     0);
    assert_int_equal(uvhttp_tls_new(&tls, &options, NULL), 0);
    assert_int_equal(uvhttp_server_listen_tls(stage.server, "127.0.0.1", 0, tls), 0);
}

static void end(void)
{
    raw_client_close(&client, false);
    stage_end(&stage);
    uvhttp_tls_free(tls);
}

static void send_client_hello(const char *header)
{
    struct tls_pair pair = {.tls = NULL};
    char hello[4096];
    tls_pair_client(&pair, 0);
    SSL_do_handshake(pair.client);
    int count = BIO_read(pair.to_server, hello, sizeof(hello));
    assert_true(count > 0);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, header);
    raw_client_send(&client, hello, (size_t)count);
    tls_pair_close(&pair);
}

static bool has_reply_or_ended(void *arg)
{
    (void)arg;
    return client.received > 0 || client.ended;
}

static void fail_each_allocation(const char *proxy, const char *header)
{
    bool failed = true;
    size_t ended = 0;
    for (size_t n = 1; failed; n++) {
        assert_true(n < MAX_ALLOCATIONS);
        begin(proxy);
        fault_heap_arm(&stage.heap, n, false);
        send_client_hello(header);
        stage_drive(&stage, &client, SERVER_HELLO, has_reply_or_ended, NULL);
        failed = atomic_load(&stage.heap.failures) > 0;
        ended += failed && client.ended;
        fault_heap_arm(&stage.heap, 0, false);
        raw_client_close(&client, false);
        send_client_hello(header);
        stage_drive(&stage, &client, SERVER_HELLO, has_reply_or_ended, NULL);
        assert_int_equal(client.data[0], SSL3_RT_HANDSHAKE);
        end();
    }
    assert_true(ended > 0);
}

static void handshake_survives_allocation_failures(void **state)
{
    (void)state;
    fail_each_allocation(NULL, "");
}

static void handshake_after_the_header_of_a_proxy_does(void **state)
{
    (void)state;
    fail_each_allocation("127.0.0.1", "PROXY TCP4 192.0.2.7 192.0.2.1 4242 443\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handshake_survives_allocation_failures),
        cmocka_unit_test(handshake_after_the_header_of_a_proxy_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
