/* A TLS session without sockets: input split at any position, sizes of records, and failures of
 * each allocation by the library and by OpenSSL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <openssl/crypto.h>

#include <uvhttp/error.h>

#include "support/tls_pair.h"

enum { SIZE = 100000, MAX_ALLOCATIONS = 20000 };

static struct tls_pair pair;
static char sent[SIZE], received[SIZE + 1];

/* ---- failing allocators ---- */

static bool enabled;        /* only allocations of the server side fail */
static long countdown;      /* the allocation that sets it to 0 fails */
static bool keep_failing;   /* and all following ones */
static long live, failures; /* blocks of the library's allocator; failed allocations */

static bool fails(void)
{
    if (!enabled)
        return false;
    countdown--;
    bool failing = countdown == 0 || (keep_failing && countdown < 0);
    failures += failing;
    return failing;
}

static void *allocate(size_t size, void *context)
{
    (void)context;
    void *memory = fails() ? NULL : malloc(size);
    live += memory != NULL;
    return memory;
}

static void *reallocate(void *memory, size_t size, void *context)
{
    (void)context;
    void *moved = fails() ? NULL : realloc(memory, size);
    live += memory == NULL && moved != NULL;
    return moved;
}

static void release(void *memory, void *context)
{
    (void)context;
    live -= memory != NULL;
    free(memory);
}

static const uvhttp_allocator_t allocator = {allocate, reallocate, release, NULL};

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

static int begin(void **state)
{
    (void)state;
    for (size_t i = 0; i < SIZE; i++)
        sent[i] = (char)(i * 31 + i / 251);
    return tls_pair_begin(&pair, &allocator) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    tls_pair_end(&pair);
    return live == 0 ? 0 : -1;
}

static void open_connection(int version)
{
    tls_pair_client(&pair, version);
    pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
    assert_non_null(pair.server);
}

static void handshake(int version, size_t step)
{
    open_connection(version);
    assert_true(tls_pair_handshake(&pair, step));
}

/* Reads the client's data with reads of `space` bytes and `step` bytes of ciphertext at a time. */
static size_t read_all(size_t step, size_t space)
{
    char bytes[65536];
    size_t total = 0;
    ssize_t count;
    do {
        count = uvh_tls_session_read(pair.server, received + total,
                                     space < SIZE - total ? space : SIZE - total);
        if (count > 0)
            total += (size_t)count;
        assert_true(uvh_tls_session_keep_input(pair.server));
        memset(bytes, 'x', sizeof(bytes)); /* the session must have copied its input */
        if (count == -EAGAIN && tls_pair_take(&pair, bytes, step) > 0)
            count = 1;
    } while (count > 0 && total < SIZE);
    return total;
}

/* ---- data ---- */

static void split_ciphertext_is_read_completely(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 2, 5, 100, 1500, 20000, 65536},
                        spaces[] = {1, 100, 16384, SIZE};
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (size_t v = 0; v < 2; v++) {
        for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
            handshake(versions[v], steps[i]);
            for (size_t at = 0; at < SIZE; at += 3000) /* records of many sizes */
                assert_true(SSL_write(pair.client, sent + at,
                                      (int)(SIZE - at < 3000 ? SIZE - at : 3000)) > 0);
            assert_int_equal(read_all(steps[i], spaces[i % 4]), SIZE);
            assert_memory_equal(received, sent, SIZE);
            tls_pair_close(&pair);
        }
    }
}

static void writes_arrive_at_client(void **state)
{
    (void)state;
    handshake(TLS1_3_VERSION, 4096);
    const uvhttp_slice_t areas[] = {
        {sent, 10}, {sent + 10, 0}, {sent + 10, 90}, {sent + 100, SIZE - 100}};
    assert_int_equal(uvh_tls_session_write(pair.server, areas, SIZE, 1000), 0);
    tls_pair_deliver(&pair);
    size_t total = 0;
    int count;
    while ((count = SSL_read(pair.client, received + total, (int)(SIZE - total))) > 0)
        total += (size_t)count;
    assert_int_equal(total, SIZE);
    assert_memory_equal(received, sent, SIZE);
    tls_pair_close(&pair);
}

/* Sizes of the records in the server's pending output. */
static size_t record_sizes(size_t *sizes, size_t max)
{
    const struct uvh_tls_session *server = pair.server;
    const unsigned char *data = (const unsigned char *)server->output->data + server->sent;
    size_t left = uvh_tls_session_pending(server), count = 0;
    while (left >= 5 && count < max) {
        size_t size = (size_t)data[3] << 8 | data[4];
        sizes[count++] = size;
        data += 5 + size;
        left -= 5 + size;
    }
    return count;
}

static void write_at(size_t size, uint64_t failing)
{
    assert_int_equal(
        uvh_tls_session_write(pair.server, &(uvhttp_slice_t){sent, size}, size, failing), 0);
}

static void records_small_at_start_and_after_idle(void **state)
{
    (void)state;
    size_t sizes[64];
    handshake(TLS1_3_VERSION, 4096);
    write_at(50000, 5000);
    size_t count = record_sizes(sizes, 64);
    assert_in_range(count, 13, 16);
    for (size_t i = 0; i < 11; i++)
        assert_in_range(sizes[i], 1000, 1400);
    assert_in_range(sizes[12], 16384, 16384 + 32);
    tls_pair_deliver(&pair);
    write_at(16384, 5900);
    assert_int_equal(record_sizes(sizes, 64), 1);
    tls_pair_deliver(&pair);
    write_at(16384, 7000);
    assert_in_range(record_sizes(sizes, 64), 11, 13);
    tls_pair_close(&pair);
}

static void small_areas_share_one_record(void **state)
{
    (void)state;
    size_t sizes[8];
    handshake(TLS1_3_VERSION, 4096);
    const uvhttp_slice_t areas[] = {{sent, 100}, {sent, 1}, {sent, 500}};
    assert_int_equal(uvh_tls_session_write(pair.server, areas, 601, 1), 0);
    assert_int_equal(record_sizes(sizes, 8), 1);
    tls_pair_close(&pair);
}

static void close_notify_ends_input(void **state)
{
    (void)state;
    char bytes[4096], data[10];
    handshake(TLS1_3_VERSION, 4096);
    assert_int_equal(SSL_write(pair.client, "last", 4), 4);
    SSL_shutdown(pair.client);
    assert_true(tls_pair_take(&pair, bytes, sizeof(bytes)) > 0);
    assert_int_equal(uvh_tls_session_read(pair.server, data, sizeof(data)), 4);
    assert_int_equal(uvh_tls_session_read(pair.server, data, sizeof(data)), 0);
    assert_int_equal(uvh_tls_session_read(pair.server, data, sizeof(data)), 0);
    /* The other direction is still open. */
    write_at(3, 1);
    uvh_tls_session_close(pair.server);
    uvh_tls_session_close(pair.server);
    assert_int_equal(uvh_tls_session_write(pair.server, &(uvhttp_slice_t){sent, 1}, 1, 1), -EPROTO);
    tls_pair_deliver(&pair);
    assert_int_equal(SSL_read(pair.client, data, sizeof(data)), 3);
    assert_int_equal(SSL_get_error(pair.client, SSL_read(pair.client, data, sizeof(data))),
                     SSL_ERROR_ZERO_RETURN);
    tls_pair_close(&pair);
}

static void forged_record_fails_session(void **state)
{
    (void)state;
    char bytes[4096], data[10];
    handshake(TLS1_3_VERSION, 4096);
    assert_int_equal(SSL_write(pair.client, "good", 4), 4);
    assert_true(tls_pair_take(&pair, bytes, sizeof(bytes)) > 0);
    bytes[10] = (char)(bytes[10] ^ 1);
    assert_int_equal(uvh_tls_session_read(pair.server, data, sizeof(data)), -EPROTO);
    assert_non_null(pair.server->why);
    assert_true(uvh_tls_session_pending(pair.server) > 0); /* an alert */
    assert_int_equal(uvh_tls_session_read(pair.server, data, sizeof(data)), -EPROTO);
    assert_int_equal(uvh_tls_session_write(pair.server, &(uvhttp_slice_t){sent, 1}, 1, 1), -EPROTO);
    assert_int_equal(ERR_peek_error(), 0);
    tls_pair_close(&pair);
}

/* ---- early data ---- */

enum { EARLY = 20000 }; /* max_early_data of tickets */

static SSL_SESSION *ticket;

static int keep_ticket(SSL *ssl, SSL_SESSION *session)
{
    (void)ssl;
    SSL_SESSION_free(ticket);
    ticket = session;
    return 1;
}

/* New connections use a configuration with `size` bytes of early data. */
static void allow_bytes(size_t size)
{
    static const uvhttp_tls_certificate_t certificate = {.certificate = TLS_CERTIFICATE,
                                                         .key = TLS_KEY};
    const uvhttp_tls_options_t config = {
        .certificates = &certificate, .certificate_count = 1, .early_data = size};
    assert_int_equal(uvhttp_tls_replace(pair.tls, &config, NULL), 0);
}

static void allow_early_data(void)
{
    allow_bytes(EARLY);
}

static void forbid_early_data(void)
{
    allow_bytes(0);
    SSL_SESSION_free(ticket);
    ticket = NULL;
}

/* Runs a complete connection and keeps its ticket. */
static void get_ticket(void)
{
    char data[16];
    tls_pair_client(&pair, TLS1_3_VERSION);
    SSL_CTX_set_session_cache_mode(pair.client_context,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(pair.client_context, keep_ticket);
    pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
    assert_non_null(pair.server);
    assert_true(tls_pair_handshake(&pair, 4096));
    assert_int_equal(SSL_read(pair.client, data, sizeof(data)), -1);
    SSL_shutdown(pair.client);
    tls_pair_close(&pair);
    assert_non_null(ticket);
}

/* Sends a ClientHello with `size` bytes of early data. */
static void send_early(size_t size)
{
    size_t written;
    tls_pair_client(&pair, TLS1_3_VERSION);
    SSL_SESSION *copy = SSL_SESSION_dup(ticket); /* an aborted connection invalidates its session */
    assert_int_equal(SSL_set_session(pair.client, copy), 1);
    SSL_SESSION_free(copy);
    for (size_t at = 0; at < size; at += written) {
        size_t part = size - at < 3000 ? size - at : 3000;
        assert_int_equal(SSL_write_early_data(pair.client, sent + at, part, &written), 1);
    }
}

/* Runs the handshake until early data is available, with `step` bytes of ciphertext at a time. */
static int early_handshake(size_t step)
{
    char bytes[65536];
    int err = -EAGAIN;
    while (err == -EAGAIN &&
           (uvh_tls_session_has_input(pair.server) || tls_pair_take(&pair, bytes, step) > 0)) {
        err = uvh_tls_session_handshake(pair.server);
        assert_true(uvh_tls_session_keep_input(pair.server));
    }
    return err;
}

static void open_early(size_t size, size_t step)
{
    get_ticket();
    send_early(size);
    pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
    assert_non_null(pair.server);
    assert_int_equal(early_handshake(step), 0);
    assert_true(uvh_tls_session_is_early(pair.server));
    assert_true(uvh_tls_session_has_input(pair.server));
    assert_true(uvh_tls_session_is_resumed(pair.server));
}

/* Delivers the server's flight to the client, and the client's to the server. */
static void finish_early(size_t step)
{
    char bytes[4096], data[64];
    tls_pair_deliver(&pair);
    assert_int_equal(SSL_do_handshake(pair.client), 1);
    while (uvh_tls_session_is_early(pair.server)) {
        assert_true(tls_pair_take(&pair, bytes, step < sizeof(bytes) ? step : sizeof(bytes)) > 0);
        assert_int_equal(uvh_tls_session_read(pair.server, data, sizeof(data)), -EAGAIN);
    }
}

static void split_early_data_is_read_completely(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 5, 100, 1500, 20000, 65536}, spaces[] = {1, 100, 16384, SIZE};
    allow_early_data();
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        memset(received, 0, sizeof(received));
        open_early(EARLY, steps[i]);
        assert_int_equal(read_all(steps[i], spaces[i % 4]), EARLY);
        assert_memory_equal(received, sent, EARLY);
        assert_true(uvh_tls_session_is_early(pair.server));
        finish_early(steps[i]);
        assert_int_equal(SSL_write(pair.client, sent, 1000), 1000);
        assert_int_equal(read_all(steps[i], 100), 1000);
        tls_pair_close(&pair);
    }
    forbid_early_data();
}

static void response_sent_before_handshake_completes(void **state)
{
    (void)state;
    size_t written;
    allow_early_data();
    open_early(100, 65536);
    assert_int_equal(read_all(65536, SIZE), 100);
    write_at(50000, 1);
    finish_early(4096);
    write_at(50000, 2);
    uvh_tls_session_close(pair.server);
    tls_pair_deliver(&pair);
    for (size_t total = 0; total < SIZE; total += written)
        assert_int_equal(SSL_read_ex(pair.client, received, SIZE, &written), 1);
    assert_int_equal(SSL_get_error(pair.client, SSL_read(pair.client, received, 1)),
                     SSL_ERROR_ZERO_RETURN);
    tls_pair_close(&pair);
    forbid_early_data();
}

/* As a closing connection does. */
static void handshake_completes_without_reading_early_data(void **state)
{
    (void)state;
    char bytes[65536];
    allow_early_data();
    open_early(5000, 200);
    assert_int_equal(early_handshake(200), -EAGAIN);
    tls_pair_deliver(&pair);
    assert_int_equal(SSL_do_handshake(pair.client), 1);
    assert_true(tls_pair_take(&pair, bytes, sizeof(bytes)) > 0);
    assert_int_equal(uvh_tls_session_handshake(pair.server), 0);
    assert_false(uvh_tls_session_is_early(pair.server));
    tls_pair_close(&pair);
    forbid_early_data();
}

/* Reads until there is no more data. Returns the result of the last call. */
static ssize_t read_to_end(void)
{
    char bytes[65536];
    ssize_t count;
    do {
        count = uvh_tls_session_read(pair.server, received, SIZE);
        assert_true(uvh_tls_session_keep_input(pair.server));
        if (count == -EAGAIN && tls_pair_take(&pair, bytes, sizeof(bytes)) > 0)
            count = 1;
    } while (count > 0);
    return count;
}

static void early_data_over_limit_fails(void **state)
{
    (void)state;
    allow_early_data();
    get_ticket();
    /* the limit that the client uses */
    assert_int_equal(SSL_SESSION_set_max_early_data(ticket, SIZE), 1);
    send_early(2 * EARLY);
    pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
    assert_non_null(pair.server);
    assert_int_equal(early_handshake(1000), 0);
    tls_pair_deliver(&pair);
    assert_int_equal(read_to_end(), -EPROTO);
    assert_true(uvh_tls_session_pending(pair.server) > 0); /* an alert */
    assert_non_null(pair.server->why);
    assert_int_equal(uvh_tls_session_handshake(pair.server), -EPROTO);
    tls_pair_close(&pair);
    forbid_early_data();
}

static void reused_ticket_gets_full_handshake(void **state)
{
    (void)state;
    allow_early_data();
    open_early(100, 65536);
    tls_pair_close(&pair);
    for (int i = 0; i < 2; i++) {
        send_early(100);
        pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
        assert_non_null(pair.server);
        assert_int_equal(early_handshake(65536), -EAGAIN);
        assert_true(tls_pair_handshake(&pair, 4096));
        assert_false(uvh_tls_session_is_early(pair.server) ||
                     uvh_tls_session_is_resumed(pair.server));
        assert_int_equal(SSL_get_early_data_status(pair.client), SSL_EARLY_DATA_REJECTED);
        assert_int_equal(read_to_end(), -EAGAIN); /* the early data is discarded */
        tls_pair_close(&pair);
    }
    forbid_early_data();
}

static void ticket_with_larger_limit_rejects_early_data(void **state)
{
    (void)state;
    static const size_t allowed[] = {1000, 0};
    for (size_t i = 0; i < 2; i++) {
        allow_early_data();
        get_ticket();
        allow_bytes(allowed[i]);
        send_early(EARLY);
        pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
        assert_non_null(pair.server);
        assert_int_equal(early_handshake(65536), -EAGAIN);
        assert_true(tls_pair_handshake(&pair, 4096));
        assert_true(uvh_tls_session_is_resumed(pair.server) &&
                    !uvh_tls_session_is_early(pair.server));
        assert_int_equal(read_to_end(), -EAGAIN);
        tls_pair_close(&pair);
    }
    forbid_early_data();
}

/* ---- allocation failures ---- */

/* A connection with a request and a response. A failure ends it. */
static void run_connection(int version)
{
    char bytes[4096], data[64];
    tls_pair_client(&pair, version);
    enabled = true;
    pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
    enabled = false;
    bool good = pair.server != NULL;
    for (int rounds = 0; rounds < 100 && good && !pair.ready; rounds++) {
        ERR_clear_error();
        int result = SSL_do_handshake(pair.client);
        good = result == 1 || SSL_get_error(pair.client, result) == SSL_ERROR_WANT_READ;
        if (!good || tls_pair_take(&pair, bytes, sizeof(bytes)) == 0)
            break;
        enabled = true;
        int err = uvh_tls_session_handshake(pair.server);
        good = (err == 0 || err == -EAGAIN) && uvh_tls_session_keep_input(pair.server);
        enabled = false;
        assert_int_equal(ERR_peek_error(), 0);
        pair.ready = err == 0;
        tls_pair_deliver(&pair);
    }
    good = good && pair.ready && SSL_do_handshake(pair.client) == 1 &&
           SSL_write(pair.client, "request", 7) == 7 &&
           tls_pair_take(&pair, bytes, sizeof(bytes)) > 0;
    ERR_clear_error(); /* of the client, which may have received an alert */
    if (good) {
        enabled = true;
        ssize_t count = uvh_tls_session_read(pair.server, data, sizeof(data));
        good = count == 7 &&
               uvh_tls_session_write(pair.server, &(uvhttp_slice_t){sent, 50000}, 50000, 1) == 0;
        uvh_tls_session_close(pair.server);
        enabled = false;
    }
    if (failures == 0)
        assert_true(good);
    enabled = false;
    assert_int_equal(ERR_peek_error(), 0);
    ERR_clear_error();
    tls_pair_close(&pair);
}

/* Runs with the first allocation failing, then the second, until no allocation fails. */
static long fail_each(void (*run)(int version), int version, bool permanent)
{
    keep_failing = permanent;
    for (long n = 1; n < MAX_ALLOCATIONS; n++) {
        countdown = n;
        failures = 0;
        run(version);
        if (failures == 0)
            return n - 1;
    }
    fail_msg("every number of allocations failed");
    return 0;
}

static void connection_survives_allocation_failures(void **state)
{
    (void)state;
    countdown = 0;
    run_connection(TLS1_3_VERSION); /* allocations that OpenSSL makes once */
    run_connection(TLS1_2_VERSION);
    for (int permanent = 0; permanent < 2; permanent++) {
        assert_true(fail_each(run_connection, TLS1_3_VERSION, permanent) > 50);
        assert_true(fail_each(run_connection, TLS1_2_VERSION, permanent) > 50);
    }
    handshake(TLS1_3_VERSION, 4096); /* no failure is permanent */
    tls_pair_close(&pair);
}

/* Early data, a response, and the end of the handshake. A failure ends it. */
static void run_early(int version)
{
    char bytes[65536];
    (void)version;
    get_ticket();
    send_early(5000);
    enabled = true;
    pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
    enabled = false;
    bool good = pair.server != NULL && tls_pair_take(&pair, bytes, sizeof(bytes)) > 0;
    enabled = true;
    good = good && uvh_tls_session_handshake(pair.server) == 0 &&
           uvh_tls_session_keep_input(pair.server);
    size_t total = 0;
    ssize_t count = 1;
    while (good && uvh_tls_session_is_early(pair.server) && total < 5000 && count > 0) {
        count = uvh_tls_session_read(pair.server, received, SIZE);
        total += count > 0 ? (size_t)count : 0;
    }
    good = good && total == 5000 && uvh_tls_session_is_early(pair.server) &&
           uvh_tls_session_write(pair.server, &(uvhttp_slice_t){sent, 5000}, 5000, 1) == 0;
    enabled = false;
    assert_int_equal(ERR_peek_error(), 0);
    if (good) {
        tls_pair_deliver(&pair);
        assert_int_equal(SSL_do_handshake(pair.client), 1);
        assert_true(tls_pair_take(&pair, bytes, sizeof(bytes)) > 0);
        enabled = true;
        good = uvh_tls_session_read(pair.server, received, SIZE) == -EAGAIN;
        enabled = false;
    }
    if (failures == 0)
        assert_true(good && !uvh_tls_session_is_early(pair.server));
    assert_int_equal(ERR_peek_error(), 0);
    tls_pair_close(&pair);
    ERR_clear_error(); /* of the client */
}

static void early_data_survives_allocation_failures(void **state)
{
    (void)state;
    allow_early_data();
    countdown = 0;
    run_early(0); /* allocations that OpenSSL makes once */
    for (int permanent = 0; permanent < 2; permanent++)
        assert_true(fail_each(run_early, 0, permanent) > 50);
    open_early(100, 65536); /* no failure is permanent */
    tls_pair_close(&pair);
    forbid_early_data();
}

static void run_load(int version)
{
    static const uvhttp_tls_certificate_t certificate = {.certificate = TLS_CERTIFICATE,
                                                         .key = TLS_KEY};
    const uvhttp_tls_options_t config = {.certificates = &certificate,
                                         .certificate_count = 1,
                                         .early_data = EARLY,
                                         .allocator = &allocator};
    (void)version;
    uvhttp_tls_t *created;
    uvhttp_error_t error;
    long before = live;
    enabled = true;
    int err = uvhttp_tls_new(&created, &config, &error);
    enabled = false;
    assert_true(err == 0 ? created != NULL
                         : created == NULL && (err == UVHTTP_ENOMEM || err == UVHTTP_ECONFIG));
    assert_true(failures > 0 || err == 0);
    assert_int_equal(ERR_peek_error(), 0);
    uvhttp_tls_free(created);
    assert_int_equal(live, before);
}

static void context_load_survives_allocation_failures(void **state)
{
    (void)state;
    assert_true(fail_each(run_load, 0, false) > 50);
    assert_true(fail_each(run_load, 0, true) > 50);
}

static void failed_replace_keeps_contexts(void **state)
{
    (void)state;
    static const uvhttp_tls_certificate_t broken = {.certificate = "no certificate"};
    const uvhttp_tls_options_t config = {.certificates = &broken, .certificate_count = 1};
    uvhttp_error_t error;
    int64_t expires = uvhttp_tls_expires(pair.tls);
    assert_int_equal(uvhttp_tls_replace(pair.tls, &config, &error), UVHTTP_ECONFIG);
    assert_string_equal(
        error.text,
        "the certificate of certificates[0] cannot be read: it contains no such PEM block");
    assert_true(expires > 0 && uvhttp_tls_expires(pair.tls) == expires);
    handshake(TLS1_3_VERSION, 4096);
    tls_pair_close(&pair);
    assert_int_equal(uvhttp_tls_reload(pair.tls, &error), 0);
    handshake(TLS1_3_VERSION, 4096);
    tls_pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_ciphertext_is_read_completely),
        cmocka_unit_test(writes_arrive_at_client),
        cmocka_unit_test(records_small_at_start_and_after_idle),
        cmocka_unit_test(small_areas_share_one_record),
        cmocka_unit_test(close_notify_ends_input),
        cmocka_unit_test(forged_record_fails_session),
        cmocka_unit_test(failed_replace_keeps_contexts),
        cmocka_unit_test(split_early_data_is_read_completely),
        cmocka_unit_test(response_sent_before_handshake_completes),
        cmocka_unit_test(handshake_completes_without_reading_early_data),
        cmocka_unit_test(early_data_over_limit_fails),
        cmocka_unit_test(reused_ticket_gets_full_handshake),
        cmocka_unit_test(ticket_with_larger_limit_rejects_early_data),
        cmocka_unit_test(early_data_survives_allocation_failures),
        cmocka_unit_test(connection_survives_allocation_failures),
        cmocka_unit_test(context_load_survives_allocation_failures),
    };
    CRYPTO_set_mem_functions(openssl_allocate, openssl_reallocate, openssl_release);
    return cmocka_run_group_tests(tests, begin, end);
}
