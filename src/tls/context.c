/* OpenSSL's callbacks during a handshake. */
#include "tls/context.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/rand.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "platform/clock.h"
#include "platform/file.h"
#include "tls/session.h"
#include "tls/settings.h"

enum { EARLY_DATA_PAUSE = 20 /* seconds after a start, if ticket keys are from files */ };

static struct uvh_tls_context *context_of(SSL *ssl)
{
    return uvh_tls_session_of(ssl)->context;
}

/* ---- SNI ---- */

/* The name in a server_name extension (RFC 6066 section 3). */
static size_t server_name(SSL *ssl, const unsigned char **name)
{
    const unsigned char *data;
    size_t size;
    if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &data, &size) != 1 || size < 5)
        return 0;
    size_t length = (size_t)data[3] << 8 | data[4];
    if (data[2] != TLSEXT_NAMETYPE_host_name || length > size - 5)
        return 0;
    *name = data + 5;
    return length;
}

static bool use_certificates(SSL *ssl, const struct uvh_tls_generation *generation,
                             const struct uvh_tls_host *host)
{
    SSL_certs_clear(ssl);
    for (size_t i = 0; i < host->count; i++) {
        const struct uvh_tls_certificate *one = &generation->certificates[host->certificates[i]];
        if (SSL_use_cert_and_key(ssl, one->leaf, one->key, one->chain, 1) != 1)
            return false;
    }
    return true;
}

/* A session is resumed only if a full handshake would have the same requirements: the same
 * certificates for the name, and the same client authentication with the same authorities. And only
 * for the same name (RFC 6066 section 3). The hash of the name is separate, because the client
 * chooses it. */
static bool bind_session(SSL *ssl, const struct uvh_tls_generation *generation,
                         const struct uvh_tls_host *host, const unsigned char *name, size_t length)
{
    const struct uvh_tls_certificate *first = &generation->certificates[host->certificates[0]];
    unsigned char facts[2 * UVH_TLS_ID_SIZE + 1], id[2 * UVH_TLS_ID_SIZE];
    memcpy(facts, generation->authorities_id, UVH_TLS_ID_SIZE);
    memcpy(facts + UVH_TLS_ID_SIZE, first->id, UVH_TLS_ID_SIZE);
    facts[2 * UVH_TLS_ID_SIZE] = host->client_auth;
    uvh_hash_wide(facts, sizeof(facts), id);
    uvh_hash_wide(name, length, id + UVH_TLS_ID_SIZE);
    return SSL_set_session_id_context(ssl, id, sizeof(id)) == 1;
}

static void demand_certificate(SSL *ssl, uvhttp_tls_client_auth_t level)
{
    int mode = SSL_VERIFY_NONE;
    if (level != UVHTTP_TLS_CLIENT_AUTH_OFF)
        mode = SSL_VERIFY_PEER;
    if (level == UVHTTP_TLS_CLIENT_AUTH_REQUIRED)
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_set_verify(ssl, mode, NULL);
}

static int on_client_hello(SSL *ssl, int *alert, void *arg)
{
    const struct uvh_tls_context *context = arg;
    const struct uvh_tls_generation *generation = context->generation;
    const unsigned char *name = (const unsigned char *)"";
    size_t length = server_name(ssl, &name);
    const struct uvh_tls_host *host =
        uvh_tls_generation_host(generation, (const char *)name, length);
    uvh_tls_session_of(ssl)->host = host;
    demand_certificate(ssl, (uvhttp_tls_client_auth_t)host->client_auth);
    if (host->client_auth != UVHTTP_TLS_CLIENT_AUTH_OFF)
        SSL_set_max_early_data(ssl, 0); /* its tickets promise none */
    bool usual = host->count == generation->default_host.count &&
                 memcmp(host->certificates, generation->default_host.certificates,
                        sizeof(host->certificates)) == 0;
    if ((usual || use_certificates(ssl, generation, host)) &&
        bind_session(ssl, generation, host, name, length))
        return SSL_CLIENT_HELLO_SUCCESS;
    *alert = SSL_AD_INTERNAL_ERROR;
    return SSL_CLIENT_HELLO_ERROR;
}

/* Makes OpenSSL store the name in the session: it reports that name when a TLS 1.2 session is
 * resumed. */
static int on_server_name(SSL *ssl, int *alert, void *arg)
{
    (void)ssl;
    (void)alert;
    (void)arg;
    return SSL_TLSEXT_ERR_OK;
}

/* ---- ALPN ---- */

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_length,
                   const unsigned char *in, unsigned int in_length, void *arg)
{
    static const unsigned char all[] = "\x02h2\x08http/1.1";
    const struct uvh_tls_context *context = arg;
    unsigned skipped = context->http2 ? 0 : sizeof("\x02h2") - 1;
    (void)ssl;
    unsigned char *chosen;
    int result = SSL_select_next_proto(&chosen, out_length, all + skipped,
                                       (unsigned)sizeof(all) - 1 - skipped, in, in_length);
    *out = chosen;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* ---- OCSP ---- */

static int on_status_request(SSL *ssl, void *arg)
{
    const struct uvh_tls_certificate *certificates =
        ((struct uvh_tls_context *)arg)->generation->certificates;
    const struct uvh_tls_host *host = uvh_tls_session_of(ssl)->host;
    const X509 *leaf = SSL_get_certificate(ssl);
    int64_t now = uvh_clock_unix_ms() / 1000;
    for (size_t i = 0; i < host->count; i++) {
        const struct uvh_tls_certificate *one = &certificates[host->certificates[i]];
        if (one->leaf != leaf)
            continue;
        if (one->ocsp == NULL || now >= one->ocsp_until)
            break;
        unsigned char *copy = OPENSSL_memdup(one->ocsp, one->ocsp_size); /* OpenSSL frees it */
        if (copy == NULL)
            break;
        SSL_set_tlsext_status_ocsp_resp(ssl, copy, (long)one->ocsp_size);
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_NOACK;
}

/* ---- tickets ---- */

static bool find_ticket_key(const struct uvh_tls_context *context,
                            const unsigned char name[UVH_TLS_TICKET_NAME_SIZE],
                            struct uvh_tls_ticket_key *key, bool *newest)
{
    const struct uvh_tls_generation *generation = context->generation;
    const struct uvh_tls_ticket_files *files = &generation->ticket_files;
    if (files->count == 0)
        return uvh_tls_tickets_find(context->tickets, uvh_clock_unix_ms() / 1000,
                                    generation->session_lifetime, name, key, newest);
    for (unsigned i = 0; i < files->count; i++) {
        if (memcmp(files->keys[i].name, name, UVH_TLS_TICKET_NAME_SIZE) != 0)
            continue;
        *key = files->keys[i];
        *newest = i == 0;
        return true;
    }
    return false;
}

static bool current_ticket_key(const struct uvh_tls_context *context,
                               struct uvh_tls_ticket_key *key)
{
    const struct uvh_tls_generation *generation = context->generation;
    if (generation->ticket_files.count == 0)
        return uvh_tls_tickets_current(context->tickets, uvh_clock_unix_ms() / 1000,
                                       generation->session_lifetime, key);
    *key = generation->ticket_files.keys[0];
    return true;
}

static bool start_hmac(EVP_MAC_CTX *hmac, struct uvh_tls_ticket_key *key)
{
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key->hmac, sizeof(key->hmac)),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)(uintptr_t) "SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_CTX_set_params(hmac, params) == 1;
}

/* See SSL_CTX_set_tlsext_ticket_key_evp_cb(3): 1: done, 2: done, and the client gets a new ticket,
 * 0: unknown key, -1: failure. */
static int on_ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                         EVP_MAC_CTX *hmac, int encrypting)
{
    const struct uvh_tls_context *context = context_of(ssl);
    struct uvh_tls_ticket_key key;
    bool newest = true, good;
    if (encrypting) {
        good = current_ticket_key(context, &key) &&
               RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1;
        if (!good)
            return -1;
        memcpy(name, key.name, sizeof(key.name));
        good = EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key.aes, iv) == 1;
    } else {
        if (!find_ticket_key(context, name, &key, &newest))
            return 0;
        good = EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), NULL, key.aes, iv) == 1;
    }
    good = good && start_hmac(hmac, &key);
    OPENSSL_cleanse(&key, sizeof(key));
    return !good ? -1 : newest ? 1 : 2;
}

/* Our data in a ticket. */
struct ticket_data {
    int64_t begun; /* time of the handshake that verified the client, seconds since 1970 */
    uint64_t id;   /* random, unique for this ticket */
};

static bool read_ticket_data(SSL_SESSION *session, struct ticket_data *ticket)
{
    void *data;
    size_t size;
    if (SSL_SESSION_get0_ticket_appdata(session, &data, &size) != 1 || size != sizeof(*ticket))
        return false;
    memcpy(ticket, data, sizeof(*ticket));
    return true;
}

/* A resumed session gets a new ticket (TLS 1.3), which does not restart its lifetime. */
static int on_new_ticket(SSL *ssl, void *arg)
{
    SSL_SESSION *session = SSL_get_session(ssl);
    struct ticket_data ticket;
    (void)arg;
    if (!read_ticket_data(session, &ticket))
        ticket.begun = uvh_clock_unix_ms() / 1000;
    return RAND_bytes((unsigned char *)&ticket.id, sizeof(ticket.id)) == 1 &&
           SSL_SESSION_set1_ticket_appdata(session, &ticket, sizeof(ticket)) == 1;
}

static bool is_fresh(SSL_SESSION *session, const struct ticket_data *ticket, int64_t lifetime,
                     int64_t now)
{
    const X509 *client = SSL_SESSION_get0_peer(session);
    if (now >= ticket->begun + lifetime || now < ticket->begun - lifetime)
        return false;
    return client == NULL || now <= uvh_tls_time(X509_get0_notAfter(client));
}

/* TLS 1.2 clients reuse a ticket. */
static bool is_one_time(SSL *ssl)
{
    return context_of(ssl)->generation->one_time_tickets && SSL_version(ssl) >= TLS1_3_VERSION;
}

/* True at the first use of a one-time ticket. A handshake calls this twice for one ticket after a
 * HelloRetryRequest (RFC 8446 section 4.1.4). */
static bool claim_ticket(SSL *ssl, const struct ticket_data *ticket, int64_t now)
{
    struct uvh_tls_session *session = uvh_tls_session_of(ssl);
    if (!is_one_time(ssl))
        return true;
    if (session->has_ticket && session->ticket_id == ticket->id)
        return true;
    if (!uvh_tls_used_tickets_claim(session->context->used_tickets, ticket->id, ticket->begun, now))
        return false;
    session->has_ticket = true;
    session->ticket_id = ticket->id;
    return true;
}

static SSL_TICKET_RETURN on_ticket(SSL *ssl, SSL_SESSION *session, const unsigned char *name,
                                   size_t length, SSL_TICKET_STATUS status, void *arg)
{
    const struct uvh_tls_generation *generation = ((const struct uvh_tls_context *)arg)->generation;
    int64_t now = uvh_clock_unix_ms() / 1000;
    struct ticket_data ticket;
    (void)name;
    (void)length;
    bool good = status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW;
    if (!good || !read_ticket_data(session, &ticket) ||
        !is_fresh(session, &ticket, generation->session_lifetime, now) ||
        !claim_ticket(ssl, &ticket, now))
        return SSL_TICKET_RETURN_IGNORE_RENEW;
    bool renew = status == SSL_TICKET_SUCCESS_RENEW || is_one_time(ssl);
    return renew ? SSL_TICKET_RETURN_USE_RENEW : SSL_TICKET_RETURN_USE;
}

/* ---- early data ---- */

/* Other servers with the same ticket keys, and this one before a restart, may have accepted the
 * same early data. OpenSSL rejects early data that is more than ten seconds late. */
static bool is_started_lately(const struct uvh_tls_context *context)
{
    return context->generation->ticket_files.count > 0 &&
           uvh_clock_unix_ms() / 1000 < context->used_tickets->since + EARLY_DATA_PAUSE;
}

/* Accepted only with a one-time ticket that promises no more than is allowed now, and not if a
 * client certificate would be required. */
static int on_early_data(SSL *ssl, void *arg)
{
    const struct uvh_tls_session *session = uvh_tls_session_of(ssl);
    const struct uvh_tls_context *context = arg;
    const SSL_SESSION *resumed = SSL_get0_session(ssl);
    return session->has_ticket && session->host->client_auth == UVHTTP_TLS_CLIENT_AUTH_OFF &&
           SSL_SESSION_get0_peer((SSL_SESSION *)(uintptr_t)resumed) == NULL &&
           SSL_SESSION_get_max_early_data(resumed) <= context->generation->options->early_data &&
           !is_started_lately(context);
}

static void set_early_data(struct uvh_tls_context *context)
{
    uint32_t most = (uint32_t)context->generation->options->early_data;
    /* Rejected early data of this size is skipped: earlier tickets may have promised it. */
    SSL_CTX_set_recv_max_early_data(context->ctx, UVH_TLS_EARLY_DATA_MAX);
    if (most == 0)
        return;
    /* OpenSSL's replay protection is a session cache instead of tickets. */
    SSL_CTX_set_options(context->ctx, SSL_OP_NO_ANTI_REPLAY);
    SSL_CTX_set_max_early_data(context->ctx, most);
    SSL_CTX_set_allow_early_data_cb(context->ctx, on_early_data, context);
}

/* ---- key log ---- */

static void on_key_log(const SSL *ssl, const char *line)
{
    const char *path = context_of((SSL *)(uintptr_t)ssl)->generation->options->key_log_file;
    char text[512];
    size_t length = strlen(line);
    if (length + 1 > sizeof(text))
        return;
    memcpy(text, line, length);
    text[length] = '\n';
    /* A debugging aid: write errors are ignored. */
    uvh_file_append(path, text, length + 1);
    OPENSSL_cleanse(text, length);
}

/* ---- create and free ---- */

static bool set_authorities(const struct uvh_tls_context *context)
{
    const struct uvh_tls_generation *generation = context->generation;
    if (generation->authorities == NULL)
        return true;
    STACK_OF(X509_NAME) *names = SSL_dup_CA_list(generation->authority_names);
    SSL_CTX_set_client_CA_list(context->ctx, names);
    return names != NULL &&
           SSL_CTX_set1_verify_cert_store(context->ctx, generation->authorities) == 1;
}

static bool set_certificates(const struct uvh_tls_context *context)
{
    const struct uvh_tls_generation *generation = context->generation;
    const struct uvh_tls_host *host = &generation->default_host;
    for (size_t i = 0; i < host->count; i++) {
        const struct uvh_tls_certificate *one = &generation->certificates[host->certificates[i]];
        if (SSL_CTX_use_cert_and_key(context->ctx, one->leaf, one->key, one->chain, 1) != 1)
            return false;
    }
    return true;
}

static void set_callbacks(struct uvh_tls_context *context)
{
    const uvhttp_tls_options_t *options = context->generation->options;
    SSL_CTX_set_client_hello_cb(context->ctx, on_client_hello, context);
    SSL_CTX_set_alpn_select_cb(context->ctx, on_alpn, context);
    SSL_CTX_set_tlsext_status_cb(context->ctx, on_status_request);
    SSL_CTX_set_tlsext_status_arg(context->ctx, context);
    SSL_CTX_set_timeout(context->ctx, (long)context->generation->session_lifetime);
    SSL_CTX_set_tlsext_servername_callback(context->ctx, on_server_name);
    if (!options->no_tickets) {
        SSL_CTX_set_tlsext_ticket_key_evp_cb(context->ctx, on_ticket_key);
        SSL_CTX_set_session_ticket_cb(context->ctx, on_new_ticket, on_ticket, context);
    }
    set_early_data(context);
    if (options->key_log_file != NULL)
        SSL_CTX_set_keylog_callback(context->ctx, on_key_log);
}

struct uvh_tls_context *uvh_tls_context_new(struct uvh_tls_generation *generation,
                                            struct uvh_tls_tickets *tickets,
                                            struct uvh_tls_used_tickets *used_tickets, bool http2)
{
    const uvhttp_allocator_t *allocator = generation->hosts.table.allocator;
    struct uvh_tls_context *context = uvh_alloc_zero(allocator, sizeof(*context));
    if (context == NULL) {
        uvh_tls_generation_unref(generation);
        return NULL;
    }
    *context = (struct uvh_tls_context){.generation = generation,
                                        .tickets = tickets,
                                        .used_tickets = used_tickets,
                                        .http2 = http2,
                                        .refs = 1};
    context->ctx = SSL_CTX_new(TLS_server_method());
    context->bio_method = uvh_tls_session_bio_method();
    /* All settings were checked when the generation was loaded, so only out of memory can fail. */
    bool good = context->ctx != NULL && context->bio_method != NULL &&
                uvh_tls_settings_apply(context->ctx, generation->options, NULL) == 0 &&
                set_certificates(context) && set_authorities(context);
    if (good)
        set_callbacks(context);
    ERR_clear_error();
    if (good)
        return context;
    uvh_tls_context_unref(context);
    return NULL;
}

void uvh_tls_context_unref(struct uvh_tls_context *context)
{
    if (--context->refs > 0)
        return;
    struct uvh_tls_generation *generation = context->generation;
    const uvhttp_allocator_t *allocator = generation->hosts.table.allocator;
    SSL_CTX_free(context->ctx);
    BIO_meth_free(context->bio_method);
    uvh_free(allocator, context);
    uvh_tls_generation_unref(generation);
}
