/* Kernel TLS without the kernel. The test encrypts with the keys that a session exports, and
 * OpenSSL's client decrypts. On systems without kernel TLS the tests are skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <openssl/evp.h>

#include "platform/socket_tls.h"
#include "support/tls_pair.h"
#include "tls/context.h"

enum { TAG = 16, HEAD = 5, NONCE = 12 };

/* Values of Linux's tls.h, so that the test compiles on other systems. */
enum { AES_128 = 51, AES_256 = 52 };

struct small_keys {
    uint16_t version, cipher;
    unsigned char iv[8], key[16], salt[4], sequence[8];
};

struct large_keys {
    uint16_t version, cipher;
    unsigned char iv[8], key[32], salt[4], sequence[8];
};

static struct tls_pair pair;
static bool keys_fail; /* the allocation of keys fails */

static void *allocate(size_t size, void *context)
{
    (void)context;
    return keys_fail && size == sizeof(struct uvh_socket_tls_keys) ? NULL : malloc(size);
}

static void *reallocate(void *memory, size_t size, void *context)
{
    (void)context;
    return realloc(memory, size);
}

static void release(void *memory, void *context)
{
    (void)context;
    free(memory);
}

static const uvhttp_allocator_t allocator = {allocate, reallocate, release, NULL};

static void replace(bool ktls)
{
    static const uvhttp_tls_certificate_t certificate = {.certificate = TLS_CERTIFICATE,
                                                         .key = TLS_KEY};
    const uvhttp_tls_options_t config = {
        .certificates = &certificate, .certificate_count = 1, .ktls = ktls};
    assert_int_equal(uvhttp_tls_replace(pair.tls, &config, NULL), 0);
}

/* Each test begins with a new context. */
static int begin(void **state)
{
    (void)state;
    keys_fail = false;
    if (!tls_pair_begin(&pair, &allocator))
        return -1;
    replace(true);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tls_pair_end(&pair);
    return 0;
}

static void handshake(int version, const char *cipher)
{
    tls_pair_client(&pair, version);
    if (version == TLS1_2_VERSION)
        assert_int_equal(SSL_set_cipher_list(pair.client, cipher), 1);
    else
        assert_int_equal(SSL_set_ciphersuites(pair.client, cipher), 1);
    pair.server = uvh_tls_contexts_accept(pair.contexts, 0, &pair.pool);
    assert_non_null(pair.server);
    assert_true(tls_pair_handshake(&pair, 4096));
}

/* ---- the kernel's part ---- */

struct parts {
    const unsigned char *nonce, *key, *salt, *sequence;
    size_t key_size;
    int version;
};

static struct parts parse_keys(const struct uvh_socket_tls_keys *keys)
{
    const struct small_keys *small = (const void *)keys->info;
    const struct large_keys *large = (const void *)keys->info;
    if (small->cipher == AES_128)
        return (struct parts){small->iv,       small->key, small->salt,
                              small->sequence, 16,         small->version};
    assert_int_equal(large->cipher, AES_256);
    return (struct parts){large->iv, large->key, large->salt, large->sequence, 32, large->version};
}

static size_t encrypt(const struct parts *parts, const unsigned char *nonce, const void *head,
                      size_t head_size, const void *text, size_t size, unsigned char *out)
{
    const EVP_CIPHER *cipher = parts->key_size == 16 ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int count;
    assert_int_equal(EVP_EncryptInit_ex(context, cipher, NULL, parts->key, nonce), 1);
    assert_int_equal(EVP_EncryptUpdate(context, NULL, &count, head, (int)head_size), 1);
    assert_int_equal(EVP_EncryptUpdate(context, out, &count, text, (int)size), 1);
    assert_int_equal(EVP_EncryptFinal_ex(context, out + count, &count), 1);
    assert_int_equal(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, TAG, out + size), 1);
    EVP_CIPHER_CTX_free(context);
    return size + TAG;
}

/* One record as the kernel writes it (RFC 5288 section 3, RFC 8446 section 5.2). */
static void send_record(struct uvh_socket_tls_keys *keys, unsigned char type, const char *text)
{
    unsigned char nonce[NONCE], record[256] = {23, 3, 3}, plain[128];
    struct parts parts = parse_keys(keys);
    size_t size = strlen(text), explicit = parts.version == TLS1_2_VERSION ? 8 : 0, inner = size;
    memcpy(nonce, parts.salt, 4);
    memcpy(nonce + 4, parts.nonce, 8);
    memcpy(plain, text, size);
    if (parts.version == TLS1_2_VERSION) {
        unsigned char head[13];
        memcpy(head, parts.sequence, 8);
        memcpy(head + 8, (unsigned char[]){type, 3, 3, 0, (unsigned char)size}, HEAD);
        memcpy(record + HEAD, nonce + 4, 8);
        record[0] = type;
        encrypt(&parts, nonce, head, sizeof(head), plain, size, record + HEAD + explicit);
        record[4] = (unsigned char)(explicit + size + TAG);
    } else {
        plain[inner++] = type;
        for (size_t i = 0; i < 8; i++)
            nonce[4 + i] ^= parts.sequence[i];
        record[4] = (unsigned char)(inner + TAG);
        encrypt(&parts, nonce, record, HEAD, plain, inner, record + HEAD);
    }
    assert_int_equal(BIO_write(pair.to_client, record, HEAD + record[4]), HEAD + record[4]);
    uvh_socket_tls_skip_records(keys, 1);
}

/* ---- tests ---- */

static const struct {
    int version;
    const char *cipher;
} offloaded[] = {
    {TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"},
    {TLS1_2_VERSION, "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384"},
    {TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256"},
    {TLS1_3_VERSION, "TLS_AES_256_GCM_SHA384"},
};

static void expect(const char *text)
{
    char received[64] = "";
    assert_int_equal(SSL_read(pair.client, received, sizeof(received) - 1), (int)strlen(text));
    assert_string_equal(received, text);
}

static void offloaded_keys_continue_stream(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(offloaded) / sizeof(offloaded[0]); i++) {
        handshake(offloaded[i].version, offloaded[i].cipher);
        assert_non_null(uvh_tls_session_keys(pair.server));
        struct uvh_socket_tls_keys keys = *uvh_tls_session_keys(pair.server);
        uvh_tls_session_offload(pair.server, 0);
        assert_true(pair.server->offloaded && pair.server->keys == NULL);
        send_record(&keys, 23, "first");
        expect("first");
        send_record(&keys, 23, "second");
        expect("second");
        send_record(&keys, 21, "\1");
        tls_pair_close(&pair);
    }
}

/* The session's pending output is the plaintext of alerts, and it encrypts nothing. */
static void offloaded_session_sends_plain_alerts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(offloaded) / sizeof(offloaded[0]); i++) {
        handshake(offloaded[i].version, offloaded[i].cipher);
        uvh_tls_session_offload(pair.server, uvh_tls_session_keys(pair.server) == NULL);
        uvh_tls_session_close(pair.server);
        assert_int_equal(uvh_tls_session_pending(pair.server), 2);
        assert_memory_equal(pair.server->output->data, "\1\0", 2);
        uvh_tls_session_consume(pair.server, 2);
        tls_pair_close(&pair);
    }
}

static ssize_t read_from_client(char *data, size_t size)
{
    static char bytes[4096];
    assert_true(tls_pair_take(&pair, bytes, sizeof(bytes)) > 0);
    return uvh_tls_session_read(pair.server, data, size);
}

static void client_key_update_is_accepted(void **state)
{
    (void)state;
    char data[16];
    handshake(TLS1_3_VERSION, offloaded[2].cipher);
    uvh_tls_session_offload(pair.server, uvh_tls_session_keys(pair.server) == NULL);
    assert_int_equal(SSL_key_update(pair.client, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    assert_int_equal(SSL_write(pair.client, "after", 5), 5);
    assert_int_equal(read_from_client(data, sizeof(data)), 5);
    assert_int_equal(uvh_tls_session_pending(pair.server), 0);
    tls_pair_close(&pair);
}

static void requested_key_update_fails(void **state)
{
    (void)state;
    char data[16];
    handshake(TLS1_3_VERSION, offloaded[2].cipher);
    uvh_tls_session_offload(pair.server, uvh_tls_session_keys(pair.server) == NULL);
    assert_int_equal(SSL_key_update(pair.client, SSL_KEY_UPDATE_REQUESTED), 1);
    assert_int_equal(SSL_write(pair.client, "after", 5), 5);
    assert_int_equal(read_from_client(data, sizeof(data)), -EPROTO);
    assert_true(pair.server->rekeyed);
    assert_int_equal(uvh_tls_session_pending(pair.server), 2);
    assert_memory_equal(pair.server->output->data, "\2\120", 2); /* internal_error */
    uvh_tls_session_consume(pair.server, 2);
    tls_pair_close(&pair);
}

static void assert_session_encrypts(void)
{
    assert_int_equal(uvh_tls_session_write(pair.server, &(uvhttp_slice_t){"text", 4}, 4, 1), 0);
    tls_pair_deliver(&pair);
    expect("text");
    tls_pair_close(&pair);
}

static void failed_offload_disables_offload(void **state)
{
    (void)state;
    for (int enabled = 1; enabled >= 0; enabled--) {
        handshake(TLS1_3_VERSION, offloaded[2].cipher);
        assert_non_null(uvh_tls_session_keys(pair.server));
        uvh_tls_session_offload(pair.server, enabled ? -ENOTCONN : -ENOSYS);
        assert_session_encrypts();
    }
    handshake(TLS1_3_VERSION, offloaded[2].cipher);
    assert_null(uvh_tls_session_keys(pair.server));
    assert_session_encrypts();
    replace(true); /* a new context tries again */
    handshake(TLS1_3_VERSION, offloaded[2].cipher);
    assert_non_null(uvh_tls_session_keys(pair.server));
    tls_pair_close(&pair);
}

static void unsupported_cipher_exports_no_keys(void **state)
{
    (void)state;
    handshake(TLS1_3_VERSION, "TLS_CHACHA20_POLY1305_SHA256");
    assert_null(uvh_tls_session_keys(pair.server));
    assert_session_encrypts();
    keys_fail = true;
    handshake(TLS1_3_VERSION, offloaded[2].cipher);
    assert_null(uvh_tls_session_keys(pair.server));
    assert_session_encrypts();
    keys_fail = false;
    replace(false);
    handshake(TLS1_3_VERSION, offloaded[2].cipher);
    assert_null(uvh_tls_session_keys(pair.server));
    assert_session_encrypts();
}

static void record_sequence_number_carries(void **state)
{
    (void)state;
    struct small_keys info = {
        .version = TLS1_2_VERSION,
        .cipher = AES_128,
        .iv = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
        .sequence = {0, 0, 0, 0, 0, 0, 1, 0xfe},
    };
    struct uvh_socket_tls_keys keys;
    assert_true(uvh_socket_tls_copy_keys(&keys, &info));
    uvh_socket_tls_skip_records(&keys, 3);
    assert_memory_equal(parse_keys(&keys).sequence, "\0\0\0\0\0\0\2\1", 8);
    assert_memory_equal(parse_keys(&keys).nonce, "\0\0\0\0\0\0\0\2", 8);
    info.version = TLS1_3_VERSION;
    assert_true(uvh_socket_tls_copy_keys(&keys, &info));
    uvh_socket_tls_skip_records(&keys, 3);
    assert_memory_equal(parse_keys(&keys).sequence, "\0\0\0\0\0\0\2\1", 8);
    assert_memory_equal(parse_keys(&keys).nonce, info.iv, 8);
    assert_int_equal(uvh_socket_tls_start(-1, &keys), -EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(offloaded_keys_continue_stream, begin, end),
        cmocka_unit_test_setup_teardown(offloaded_session_sends_plain_alerts, begin, end),
        cmocka_unit_test_setup_teardown(client_key_update_is_accepted, begin, end),
        cmocka_unit_test_setup_teardown(requested_key_update_fails, begin, end),
        cmocka_unit_test_setup_teardown(failed_offload_disables_offload, begin, end),
        cmocka_unit_test_setup_teardown(unsupported_cipher_exports_no_keys, begin, end),
        cmocka_unit_test(record_sequence_number_carries),
    };
    struct uvh_socket_tls_keys keys;
    if (!uvh_socket_tls_copy_keys(&keys,
                                  &(struct small_keys){TLS1_3_VERSION, AES_128, "", "", "", ""}))
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
