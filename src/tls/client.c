/* See the header. Certificates, versions and lists are read by the same functions as for a
 * server. */
#include "tls/client.h"

#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "platform/socket.h"
#include "tls/certificate.h"
#include "tls/failure.h"
#include "tls/hosts.h"
#include "tls/read_file.h"
#include "tls/session.h"
#include "tls/settings.h"

enum { ALPN_MOST = 255 };

/* ---- trusted certificates ---- */

/* Adds the certificates of PEM text; returns their number. */
static int add_certificates(X509_STORE *store, BIO *bio)
{
    STACK_OF(X509_INFO) *infos = PEM_X509_INFO_read_bio(bio, NULL, uvh_tls_no_passphrase, NULL);
    int count = 0;
    for (int i = 0; i < sk_X509_INFO_num(infos); i++) {
        const X509_INFO *info = sk_X509_INFO_value(infos, i);
        count += info->x509 != NULL && X509_STORE_add_cert(store, info->x509) == 1;
    }
    sk_X509_INFO_pop_free(infos, X509_INFO_free);
    return count;
}

static int load_authorities(const struct uvhttp_tls_client *client, const char *path,
                            uvhttp_error_t *error)
{
    X509_STORE *store = SSL_CTX_get_cert_store(client->ctx);
    char *data;
    size_t size;
    int err = uvh_tls_read_file("ca_file", path, client->allocator, &data, &size, error);
    if (err != 0)
        return err;
    ERR_clear_error();
    BIO *bio = BIO_new_mem_buf(data, (int)size);
    int count = bio == NULL ? 0 : add_certificates(store, bio);
    BIO_free(bio);
    uvh_tls_forget_file(client->allocator, data, size);
    if (bio == NULL)
        return UVHTTP_ENOMEM;
    if (count == 0 && ERR_peek_error() != 0)
        return uvh_tls_refuse_by_openssl(error, "ca_file", path, "ca_file '%s' cannot be read",
                                         path);
    if (uvh_tls_failure_is_memory())
        return UVHTTP_ENOMEM;
    ERR_clear_error();
    if (count == 0)
        return uvh_error_sentence(error, "ca_file", path,
                                  "ca_file '%s' contains no certificate in PEM format", path);
    /* Every listed certificate is trusted, an authority's or the server's own. */
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    return 0;
}

static int set_trust(const struct uvhttp_tls_client *client,
                     const uvhttp_tls_client_options_t *options, uvhttp_error_t *error)
{
    SSL_CTX_set_verify(client->ctx, options->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (options->ca_file != NULL)
        return load_authorities(client, options->ca_file, error);
    if (options->insecure || SSL_CTX_set_default_verify_paths(client->ctx) == 1)
        return 0;
    return uvh_tls_refuse_by_openssl(error, "ca_file", NULL,
                                     "the CA certificates of the system cannot be read");
}

/* ---- client certificate ---- */

static int set_certificate(const struct uvhttp_tls_client *client,
                           const uvhttp_tls_client_options_t *options, uvhttp_error_t *error)
{
    const uvhttp_tls_certificate_t from = {.certificate_file = options->certificate_file,
                                           .key_file = options->key_file,
                                           .passphrase_file = options->passphrase_file};
    const uvhttp_tls_options_t one = {
        .certificates = &from, .certificate_count = 1, .allocator = client->allocator};
    struct uvh_tls_certificate made = {0};
    if (options->certificate_file == NULL && options->key_file != NULL)
        return uvh_error_sentence(error, "key_file", NULL,
                                  "key_file is set, but certificate_file is not");
    if (options->certificate_file == NULL)
        return 0;
    int err = uvh_tls_certificate_load(&made, &one, 0, error);
    ERR_clear_error();
    if (err == 0 && SSL_CTX_use_cert_and_key(client->ctx, made.leaf, made.key, made.chain, 1) != 1)
        err = uvh_tls_refuse_by_openssl(error, "certificate_file", made.source,
                                        "the certificate of %s cannot be used", made.source);
    uvh_tls_certificate_release(&made, client->allocator);
    return err;
}

static int set_alpn(const struct uvhttp_tls_client *client, const char *protocol,
                    uvhttp_error_t *error)
{
    unsigned char list[ALPN_MOST + 1];
    size_t length = protocol == NULL ? 0 : strlen(protocol);
    if (protocol == NULL)
        return 0;
    if (length == 0 || length > ALPN_MOST)
        return uvh_error_sentence(error, "alpn", protocol,
                                  "alpn has %zu bytes; allowed are 1 to 255", length);
    list[0] = (unsigned char)length;
    memcpy(list + 1, protocol, length);
    return SSL_CTX_set_alpn_protos(client->ctx, list, (unsigned)length + 1) == 0 ? 0
                                                                                 : UVHTTP_ENOMEM;
}

/* ---- verification of the host ---- */

enum { HOST_FLAGS = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT };

/* A host name or address as it appears in certificates. */
struct expected {
    bool is_address;
    size_t length;
    char text[UVH_TLS_NAME_MAX + 1];
};

/* The system's parser, as for connecting: OpenSSL reads 0177.0.0.1 as 177.0.0.1, the system as
 * 127.0.0.1. */
static bool is_address(const char *text)
{
    return uvh_socket_is_numeric(text);
}

/* False for an invalid host: OpenSSL does not check an empty name, and accepts every name below one
 * that begins with a dot. */
static bool read_host(struct expected *expected, const char *host)
{
    size_t length = strcspn(host, "%"); /* a zone (fe80::1%eth0) does not appear in certificates */
    if (length == 0 || length > UVH_TLS_NAME_MAX || host[0] == '.')
        return false;
    memcpy(expected->text, host, length);
    expected->text[length] = '\0';
    expected->is_address = is_address(expected->text);
    if (!expected->is_address && length > 1 && expected->text[length - 1] == '.')
        /* certificates and SNI have no final dot (RFC 6066 section 3) */
        expected->text[--length] = '\0';
    expected->length = length;
    return true;
}

/* ---- configuration ---- */

static int set_server_name(struct uvhttp_tls_client *client, const char *name,
                           uvhttp_error_t *error)
{
    size_t length = name == NULL ? 0 : strlen(name);
    if (name == NULL)
        return 0;
    struct expected expected;
    if (length == 0 || length > UVH_TLS_NAME_MAX)
        return uvh_error_sentence(error, "server_name", name,
                                  "server_name has %zu bytes; allowed are 1 to %d", length,
                                  UVH_TLS_NAME_MAX);
    if (!read_host(&expected, name))
        return uvh_error_sentence(error, "server_name", name,
                                  "server_name '%s' is neither a host name nor an address", name);
    client->server_name = uvh_alloc_string(client->allocator, name, length);
    return client->server_name == NULL ? UVHTTP_ENOMEM : 0;
}

/* ---- verification ---- */

bool uvh_tls_client_expect(SSL *ssl, const char *host)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    struct expected expected;
    if (!read_host(&expected, host))
        return false;
    if (expected.is_address)
        return X509_VERIFY_PARAM_set1_ip_asc(param, expected.text) == 1;
    X509_VERIFY_PARAM_set_hostflags(param, HOST_FLAGS);
    return X509_VERIFY_PARAM_set1_host(param, expected.text, expected.length) == 1 &&
           SSL_set_tlsext_host_name(ssl, expected.text) == 1;
}

bool uvh_tls_client_accepts(const SSL *ssl, const char *host)
{
    X509 *certificate = SSL_get0_peer_certificate(ssl);
    struct expected expected;
    if (SSL_get_verify_mode(ssl) == SSL_VERIFY_NONE)
        return true;
    if (certificate == NULL || SSL_get_verify_result(ssl) != X509_V_OK ||
        !read_host(&expected, host))
        return false;
    if (expected.is_address)
        return X509_check_ip_asc(certificate, expected.text, 0) == 1;
    return X509_check_host(certificate, expected.text, expected.length, HOST_FLAGS, NULL) == 1;
}

/* ---- create, ref, unref ---- */

static void release(struct uvhttp_tls_client *client)
{
    SSL_CTX_free(client->ctx);
    BIO_meth_free(client->bio_method);
    uvh_free(client->allocator, client->server_name);
    uvh_free(client->allocator, client);
}

static int set_up(struct uvhttp_tls_client *client, const uvhttp_tls_client_options_t *options,
                  uvhttp_error_t *error)
{
    const uvhttp_tls_options_t settings = {.min_version = options->min_version,
                                           .max_version = options->max_version,
                                           .ciphers = options->ciphers,
                                           .cipher_suites = options->cipher_suites,
                                           .groups = options->groups,
                                           .no_tickets = true};
    ERR_clear_error();
    client->ctx = SSL_CTX_new(TLS_client_method());
    client->bio_method = uvh_tls_session_bio_method();
    if (client->ctx == NULL || client->bio_method == NULL)
        return UVHTTP_ENOMEM;
    int err = uvh_tls_settings_apply(client->ctx, &settings, error);
    if (err == 0)
        err = set_trust(client, options, error);
    if (err == 0)
        err = set_certificate(client, options, error);
    if (err == 0)
        err = set_alpn(client, options->alpn, error);
    return err != 0 ? err : set_server_name(client, options->server_name, error);
}

static int create(uvhttp_tls_client_t **out, const uvhttp_tls_client_options_t *options,
                  uvhttp_error_t *error)
{
    if (out == NULL)
        return UVHTTP_EINVAL;
    *out = NULL;
    if (options == NULL)
        return UVHTTP_EINVAL;
    const uvhttp_allocator_t *allocator =
        options->allocator != NULL ? options->allocator : uvh_alloc_default();
    struct uvhttp_tls_client *client = uvh_alloc_zero(allocator, sizeof(*client));
    if (client == NULL)
        return UVHTTP_ENOMEM;
    client->allocator = allocator;
    atomic_init(&client->refs, 1);
    int err = set_up(client, options, error);
    ERR_clear_error();
    if (err == 0)
        *out = client;
    else
        release(client);
    return err;
}

int uvhttp_tls_client_new(uvhttp_tls_client_t **out, const uvhttp_tls_client_options_t *options,
                          uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(out, options, error));
}

void uvhttp_tls_client_free(uvhttp_tls_client_t *client)
{
    if (client != NULL && atomic_fetch_sub_explicit(&client->refs, 1, memory_order_acq_rel) == 1)
        release(client);
}
