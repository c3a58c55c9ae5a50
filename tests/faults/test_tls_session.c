/* A TLS session without sockets: every cut of what comes, sizes of records, and memory that runs
 * out at every single allocation, of ours and of OpenSSL's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <openssl/crypto.h>

#include <uvhttp/error.h>

#include "support/tls_pair.h"

enum { MUCH = 100000, MOST_ALLOCATIONS = 20000 };

static struct tls_pair pair;
static char sent[MUCH], received[MUCH + 1];

/* ---- allocators that fail ---- */

static bool armed;        /* only what the server's end asks for fails */
static long countdown;    /* of allocations; the last one fails */
static bool fails_on;     /* and so do all after it */
static long live, denied; /* blocks of our own allocator; allocations that failed */

static bool denies(void)
{
    if (!armed)
        return false;
    countdown--;
    bool now = countdown == 0 || (fails_on && countdown < 0);
    denied += now;
    return now;
}

static void *allocate(size_t size, void *context)
{
    (void)context;
    void *memory = denies() ? NULL : malloc(size);
    live += memory != NULL;
    return memory;
}

static void *reallocate(void *memory, size_t size, void *context)
{
    (void)context;
    void *moved = denies() ? NULL : realloc(memory, size);
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

static int begin(void **state)
{
    (void)state;
    for (size_t i = 0; i < MUCH; i++)
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

static void shake(int version, size_t step)
{
    open_connection(version);
    assert_true(tls_pair_handshake(&pair, step));
}

/* Reads what the client has sent, in reads of `space` bytes, with `step` bytes of ciphertext at a
 * time. */
static size_t read_all(size_t step, size_t space)
{
    char bytes[65536];
    size_t total = 0;
    ssize_t count;
    do {
        count = uvh_tls_session_read(pair.server, received + total,
                                     space < MUCH - total ? space : MUCH - total);
        if (count > 0)
            total += (size_t)count;
        assert_true(uvh_tls_session_keep_input(pair.server));
        memset(bytes, 'x', sizeof(bytes)); /* what was kept is not in it any more */
        if (count == -EAGAIN && tls_pair_take(&pair, bytes, step) > 0)
            count = 1;
    } while (count > 0 && total < MUCH);
    return total;
}

/* ---- bytes ---- */

static void data_comes_through_every_cut(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 2, 5, 100, 1500, 20000, 65536},
                        spaces[] = {1, 100, 16384, MUCH};
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    for (size_t v = 0; v < 2; v++) {
        for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
            shake(versions[v], steps[i]);
            for (size_t at = 0; at < MUCH; at += 3000) /* records of many sizes */
                assert_true(SSL_write(pair.client, sent + at,
                                      (int)(MUCH - at < 3000 ? MUCH - at : 3000)) > 0);
            assert_int_equal(read_all(steps[i], spaces[i % 4]), MUCH);
            assert_memory_equal(received, sent, MUCH);
            tls_pair_close(&pair);
        }
    }
}

static void responses_come_through(void **state)
{
    (void)state;
    shake(TLS1_3_VERSION, 4096);
    const uvhttp_slice_t areas[] = {
        {sent, 10}, {sent + 10, 0}, {sent + 10, 90}, {sent + 100, MUCH - 100}};
    assert_int_equal(uvh_tls_session_write(pair.server, areas, MUCH, 1000), 0);
    tls_pair_deliver(&pair);
    size_t total = 0;
    int count;
    while ((count = SSL_read(pair.client, received + total, (int)(MUCH - total))) > 0)
        total += (size_t)count;
    assert_int_equal(total, MUCH);
    assert_memory_equal(received, sent, MUCH);
    tls_pair_close(&pair);
}

/* Sizes of the records in what the server's end has written. */
static size_t record_sizes(size_t *sizes, size_t most)
{
    const struct uvh_tls_session *server = pair.server;
    const unsigned char *data = (const unsigned char *)server->output->data + server->sent;
    size_t left = uvh_tls_session_pending(server), count = 0;
    while (left >= 5 && count < most) {
        size_t size = (size_t)data[3] << 8 | data[4];
        sizes[count++] = size;
        data += 5 + size;
        left -= 5 + size;
    }
    return count;
}

static void write_at(size_t size, uint64_t now)
{
    assert_int_equal(uvh_tls_session_write(pair.server, &(uvhttp_slice_t){sent, size}, size, now),
                     0);
}

static void records_are_small_at_first_and_after_idleness(void **state)
{
    (void)state;
    size_t sizes[64];
    shake(TLS1_3_VERSION, 4096);
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

static void small_areas_share_a_record(void **state)
{
    (void)state;
    size_t sizes[8];
    shake(TLS1_3_VERSION, 4096);
    const uvhttp_slice_t areas[] = {{sent, 100}, {sent, 1}, {sent, 500}};
    assert_int_equal(uvh_tls_session_write(pair.server, areas, 601, 1), 0);
    assert_int_equal(record_sizes(sizes, 8), 1);
    tls_pair_close(&pair);
}

static void close_notify_is_the_end(void **state)
{
    (void)state;
    char bytes[4096], data[10];
    shake(TLS1_3_VERSION, 4096);
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

static void forged_record_fails_for_good(void **state)
{
    (void)state;
    char bytes[4096], data[10];
    shake(TLS1_3_VERSION, 4096);
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

enum { EARLY = 20000 }; /* bytes that tickets allow */

static SSL_SESSION *ticket;

static int keep_ticket(SSL *ssl, SSL_SESSION *session)
{
    (void)ssl;
    SSL_SESSION_free(ticket);
    ticket = session;
    return 1;
}

/* From now on contexts are those of a configuration with so many bytes of early data. */
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

/* A whole connection, whose ticket is kept. */
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

/* The client's hello with that many bytes of early data. */
static void send_early(size_t size)
{
    size_t written;
    tls_pair_client(&pair, TLS1_3_VERSION);
    SSL_SESSION *copy = SSL_SESSION_dup(ticket); /* a connection that is cut spoils it */
    assert_int_equal(SSL_set_session(pair.client, copy), 1);
    SSL_SESSION_free(copy);
    for (size_t at = 0; at < size; at += written) {
        size_t part = size - at < 3000 ? size - at : 3000;
        assert_int_equal(SSL_write_early_data(pair.client, sent + at, part, &written), 1);
    }
}

/* The handshake until early data has come, with `step` bytes of ciphertext at a time. */
static int shake_early(size_t step)
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
    assert_int_equal(shake_early(step), 0);
    assert_true(uvh_tls_session_is_early(pair.server));
    assert_true(uvh_tls_session_has_input(pair.server));
    assert_true(uvh_tls_session_is_resumed(pair.server));
}

/* The server's flight to the client, and the client's to the server. */
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

static void early_data_comes_through_every_cut(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 5, 100, 1500, 20000, 65536}, spaces[] = {1, 100, 16384, MUCH};
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

static void responses_are_sent_before_the_handshake_is_over(void **state)
{
    (void)state;
    size_t written;
    allow_early_data();
    open_early(100, 65536);
    assert_int_equal(read_all(65536, MUCH), 100);
    write_at(50000, 1);
    finish_early(4096);
    write_at(50000, 2);
    uvh_tls_session_close(pair.server);
    tls_pair_deliver(&pair);
    for (size_t total = 0; total < MUCH; total += written)
        assert_int_equal(SSL_read_ex(pair.client, received, MUCH, &written), 1);
    assert_int_equal(SSL_get_error(pair.client, SSL_read(pair.client, received, 1)),
                     SSL_ERROR_ZERO_RETURN);
    tls_pair_close(&pair);
    forbid_early_data();
}

/* As a connection does that ends. */
static void handshake_can_go_on_without_what_is_left(void **state)
{
    (void)state;
    char bytes[65536];
    allow_early_data();
    open_early(5000, 200);
    assert_int_equal(shake_early(200), -EAGAIN);
    tls_pair_deliver(&pair);
    assert_int_equal(SSL_do_handshake(pair.client), 1);
    assert_true(tls_pair_take(&pair, bytes, sizeof(bytes)) > 0);
    assert_int_equal(uvh_tls_session_handshake(pair.server), 0);
    assert_false(uvh_tls_session_is_early(pair.server));
    tls_pair_close(&pair);
    forbid_early_data();
}

/* Reads until there is no more; what the last call said. */
static ssize_t read_to_end(void)
{
    char bytes[65536];
    ssize_t count;
    do {
        count = uvh_tls_session_read(pair.server, received, MUCH);
        assert_true(uvh_tls_session_keep_input(pair.server));
        if (count == -EAGAIN && tls_pair_take(&pair, bytes, sizeof(bytes)) > 0)
            count = 1;
    } while (count > 0);
    return count;
}

static void more_early_data_than_allowed_fails(void **state)
{
    (void)state;
    allow_early_data();
    get_ticket();
    /* what the client believes */
    assert_int_equal(SSL_SESSION_set_max_early_data(ticket, MUCH), 1);
    send_early(2 * EARLY);
    pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
    assert_non_null(pair.server);
    assert_int_equal(shake_early(1000), 0);
    tls_pair_deliver(&pair);
    assert_int_equal(read_to_end(), -EPROTO);
    assert_true(uvh_tls_session_pending(pair.server) > 0); /* an alert */
    assert_non_null(pair.server->why);
    assert_int_equal(uvh_tls_session_handshake(pair.server), -EPROTO);
    tls_pair_close(&pair);
    forbid_early_data();
}

static void ticket_that_comes_again_gets_a_full_handshake(void **state)
{
    (void)state;
    allow_early_data();
    open_early(100, 65536);
    tls_pair_close(&pair);
    for (int i = 0; i < 2; i++) {
        send_early(100);
        pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
        assert_non_null(pair.server);
        assert_int_equal(shake_early(65536), -EAGAIN);
        assert_true(tls_pair_handshake(&pair, 4096));
        assert_false(uvh_tls_session_is_early(pair.server) ||
                     uvh_tls_session_is_resumed(pair.server));
        assert_int_equal(SSL_get_early_data_status(pair.client), SSL_EARLY_DATA_REJECTED);
        assert_int_equal(read_to_end(), -EAGAIN); /* nothing of it */
        tls_pair_close(&pair);
    }
    forbid_early_data();
}

static void ticket_that_promises_more_is_not_believed(void **state)
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
        assert_int_equal(shake_early(65536), -EAGAIN);
        assert_true(tls_pair_handshake(&pair, 4096));
        assert_true(uvh_tls_session_is_resumed(pair.server) &&
                    !uvh_tls_session_is_early(pair.server));
        assert_int_equal(read_to_end(), -EAGAIN);
        tls_pair_close(&pair);
    }
    forbid_early_data();
}

/* ---- memory that runs out ---- */

/* A connection and a request with its response; whatever fails ends it. */
static void run_connection(int version)
{
    char bytes[4096], data[64];
    tls_pair_client(&pair, version);
    armed = true;
    pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
    armed = false;
    bool good = pair.server != NULL;
    for (int rounds = 0; rounds < 100 && good && !pair.ready; rounds++) {
        ERR_clear_error();
        int result = SSL_do_handshake(pair.client);
        good = result == 1 || SSL_get_error(pair.client, result) == SSL_ERROR_WANT_READ;
        if (!good || tls_pair_take(&pair, bytes, sizeof(bytes)) == 0)
            break;
        armed = true;
        int err = uvh_tls_session_handshake(pair.server);
        good = (err == 0 || err == -EAGAIN) && uvh_tls_session_keep_input(pair.server);
        armed = false;
        assert_int_equal(ERR_peek_error(), 0);
        pair.ready = err == 0;
        tls_pair_deliver(&pair);
    }
    good = good && pair.ready && SSL_do_handshake(pair.client) == 1 &&
           SSL_write(pair.client, "request", 7) == 7 &&
           tls_pair_take(&pair, bytes, sizeof(bytes)) > 0;
    ERR_clear_error(); /* the client's: it may have got an alert */
    if (good) {
        armed = true;
        ssize_t count = uvh_tls_session_read(pair.server, data, sizeof(data));
        good = count == 7 &&
               uvh_tls_session_write(pair.server, &(uvhttp_slice_t){sent, 50000}, 50000, 1) == 0;
        uvh_tls_session_close(pair.server);
        armed = false;
    }
    if (denied == 0)
        assert_true(good);
    armed = false;
    assert_int_equal(ERR_peek_error(), 0);
    ERR_clear_error();
    tls_pair_close(&pair);
}

/* With its first allocation failing, then its second, and so on until it needs no more. */
static long fail_each(void (*run)(int version), int version, bool on)
{
    fails_on = on;
    for (long n = 1; n < MOST_ALLOCATIONS; n++) {
        countdown = n;
        denied = 0;
        run(version);
        if (denied == 0)
            return n - 1;
    }
    fail_msg("it never comes to its end");
    return 0;
}

static void memory_runs_out_in_a_connection(void **state)
{
    (void)state;
    countdown = 0;
    run_connection(TLS1_3_VERSION); /* what OpenSSL makes once */
    run_connection(TLS1_2_VERSION);
    for (int on = 0; on < 2; on++) {
        assert_true(fail_each(run_connection, TLS1_3_VERSION, on) > 50);
        assert_true(fail_each(run_connection, TLS1_2_VERSION, on) > 50);
    }
    shake(TLS1_3_VERSION, 4096); /* nothing is broken for good */
    tls_pair_close(&pair);
}

/* Early data, a response, and the end of the handshake; whatever fails ends it. */
static void run_early(int version)
{
    char bytes[65536];
    (void)version;
    get_ticket();
    send_early(5000);
    armed = true;
    pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
    armed = false;
    bool good = pair.server != NULL && tls_pair_take(&pair, bytes, sizeof(bytes)) > 0;
    armed = true;
    good = good && uvh_tls_session_handshake(pair.server) == 0 &&
           uvh_tls_session_keep_input(pair.server);
    size_t total = 0;
    ssize_t count = 1;
    while (good && uvh_tls_session_is_early(pair.server) && total < 5000 && count > 0) {
        count = uvh_tls_session_read(pair.server, received, MUCH);
        total += count > 0 ? (size_t)count : 0;
    }
    good = good && total == 5000 && uvh_tls_session_is_early(pair.server) &&
           uvh_tls_session_write(pair.server, &(uvhttp_slice_t){sent, 5000}, 5000, 1) == 0;
    armed = false;
    assert_int_equal(ERR_peek_error(), 0);
    if (good) {
        tls_pair_deliver(&pair);
        assert_int_equal(SSL_do_handshake(pair.client), 1);
        assert_true(tls_pair_take(&pair, bytes, sizeof(bytes)) > 0);
        armed = true;
        good = uvh_tls_session_read(pair.server, received, MUCH) == -EAGAIN;
        armed = false;
    }
    if (denied == 0)
        assert_true(good && !uvh_tls_session_is_early(pair.server));
    assert_int_equal(ERR_peek_error(), 0);
    tls_pair_close(&pair);
    ERR_clear_error(); /* the client's */
}

static void memory_runs_out_in_early_data(void **state)
{
    (void)state;
    allow_early_data();
    countdown = 0;
    run_early(0); /* what OpenSSL makes once */
    for (int on = 0; on < 2; on++)
        assert_true(fail_each(run_early, 0, on) > 50);
    open_early(100, 65536); /* nothing is broken for good */
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
    uvhttp_tls_t *made;
    uvhttp_error_t error;
    long before = live;
    armed = true;
    int err = uvhttp_tls_new(&made, &config, &error);
    armed = false;
    assert_true(err == 0 ? made != NULL
                         : made == NULL && (err == UVHTTP_ENOMEM || err == UVHTTP_ECONFIG));
    assert_true(denied > 0 || err == 0);
    assert_int_equal(ERR_peek_error(), 0);
    uvhttp_tls_free(made);
    assert_int_equal(live, before);
}

static void memory_runs_out_in_a_load(void **state)
{
    (void)state;
    assert_true(fail_each(run_load, 0, false) > 50);
    assert_true(fail_each(run_load, 0, true) > 50);
}

static void replace_that_fails_changes_nothing(void **state)
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
    shake(TLS1_3_VERSION, 4096);
    tls_pair_close(&pair);
    assert_int_equal(uvhttp_tls_reload(pair.tls, &error), 0);
    shake(TLS1_3_VERSION, 4096);
    tls_pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_comes_through_every_cut),
        cmocka_unit_test(responses_come_through),
        cmocka_unit_test(records_are_small_at_first_and_after_idleness),
        cmocka_unit_test(small_areas_share_a_record),
        cmocka_unit_test(close_notify_is_the_end),
        cmocka_unit_test(forged_record_fails_for_good),
        cmocka_unit_test(replace_that_fails_changes_nothing),
        cmocka_unit_test(early_data_comes_through_every_cut),
        cmocka_unit_test(responses_are_sent_before_the_handshake_is_over),
        cmocka_unit_test(handshake_can_go_on_without_what_is_left),
        cmocka_unit_test(more_early_data_than_allowed_fails),
        cmocka_unit_test(ticket_that_comes_again_gets_a_full_handshake),
        cmocka_unit_test(ticket_that_promises_more_is_not_believed),
        cmocka_unit_test(memory_runs_out_in_early_data),
        cmocka_unit_test(memory_runs_out_in_a_connection),
        cmocka_unit_test(memory_runs_out_in_a_load),
    };
    CRYPTO_set_mem_functions(openssl_allocate, openssl_reallocate, openssl_release);
    return cmocka_run_group_tests(tests, begin, end);
}
