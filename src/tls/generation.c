/* A load in steps; the first error ends it. */
#include "tls/generation.h"

#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/hash.h"
#include "tls/config_copy.h"
#include "tls/read_file.h"
#include "tls/settings.h"
#include "tls/used_tickets.h"
#include "tls/watch.h"

enum {
    DEFAULT_LIFETIME_MS = 7200 * 1000,
    LEAST_LIFETIME_MS = 1000,
    MOST_LIFETIME_MS = 7 * 86400 * 1000 /* RFC 8446 section 4.6.1 */
};

/* ---- options ---- */

static int check_config(const uvhttp_tls_options_t *options, uvhttp_error_t *error)
{
    if (options->certificates == NULL || options->certificate_count == 0)
        return uvh_error_sentence(error, "certificates", NULL,
                                  "certificates is empty; at least one is needed");
    if ((unsigned)options->client_auth > UVHTTP_TLS_CLIENT_AUTH_REQUIRED)
        return uvh_error_int(error, "client_auth", (int)options->client_auth, "allowed are 0 to 2");
    uint32_t lifetime = options->session_lifetime_ms;
    if (lifetime != 0 && (lifetime < LEAST_LIFETIME_MS || lifetime > MOST_LIFETIME_MS))
        return uvh_error_size(error, "session_lifetime_ms", lifetime,
                              "allowed are %d to %d milliseconds", LEAST_LIFETIME_MS,
                              MOST_LIFETIME_MS);
    if (options->one_time_tickets && options->no_tickets)
        return uvh_error_sentence(error, "one_time_tickets", NULL,
                                  "one_time_tickets and no_tickets are both set");
    if (options->early_data > UVH_TLS_EARLY_DATA_MAX)
        return uvh_error_size(error, "early_data", options->early_data, "allowed are 0 to %d bytes",
                              UVH_TLS_EARLY_DATA_MAX);
    if (options->early_data > 0 && options->no_tickets)
        return uvh_error_sentence(
            error, "early_data", NULL,
            "early_data and no_tickets are both set; early data requires tickets");
    if (options->early_data > 0 && options->max_version == UVHTTP_TLS_1_2)
        return uvh_error_sentence(
            error, "early_data", NULL,
            "early_data is set, but max_version is TLS 1.2; early data requires TLS 1.3");
    if (options->max_used_tickets > UVH_TLS_USED_TICKETS_MAX)
        return uvh_error_size(error, "max_used_tickets", options->max_used_tickets,
                              "allowed are 1 to %d", UVH_TLS_USED_TICKETS_MAX);
    if (options->ticket_key_file_count > UVH_TLS_TICKET_KEYS_MAX)
        return uvh_error_sentence(error, "ticket_key_files", NULL,
                                  "ticket_key_files has %zu files; at most %d are allowed",
                                  options->ticket_key_file_count, UVH_TLS_TICKET_KEYS_MAX);
    if (options->ticket_key_file_count > 0 && options->ticket_key_files == NULL)
        return uvh_error_sentence(error, "ticket_key_files", NULL,
                                  "ticket_key_files is NULL, but ticket_key_file_count is %zu",
                                  options->ticket_key_file_count);
    if (options->ticket_key_file_count > 0 && options->no_tickets)
        return uvh_error_sentence(error, "ticket_key_files", NULL,
                                  "ticket_key_files is set, but tickets are off (no_tickets)");
    if (options->client_crl_file != NULL && options->client_ca_file == NULL)
        return uvh_error_sentence(error, "client_crl_file", options->client_crl_file,
                                  "client_crl_file is set, but client_ca_file is not");
    return 0;
}

/* ---- names ---- */

struct adding {
    struct uvh_tls_generation *generation;
    uint32_t index;
};

static int type_of(const struct uvh_tls_generation *generation, uint32_t index)
{
    return EVP_PKEY_get_base_id(generation->certificates[index].key);
}

/* For each key type, the first certificate serves the name. */
static void add_to_host(struct adding *adding, struct uvh_tls_host *host)
{
    const struct uvh_tls_generation *generation = adding->generation;
    uvhttp_tls_client_auth_t demanded = generation->certificates[adding->index].client_auth;
    if ((unsigned)demanded > host->client_auth)
        host->client_auth = (unsigned char)demanded;
    for (size_t i = 0; i < host->count; i++)
        if (type_of(generation, host->certificates[i]) == type_of(generation, adding->index))
            return;
    if (host->count < UVH_TLS_HOST_CERTIFICATES)
        host->certificates[host->count++] = adding->index;
}

static int add_name(const char *name, size_t length, void *arg)
{
    struct adding *adding = arg;
    bool ignored;
    struct uvh_tls_host *host =
        uvh_tls_hosts_add(&adding->generation->hosts, name, length, &ignored);
    if (host == NULL)
        return ignored ? 0 : UVHTTP_ENOMEM;
    add_to_host(adding, host);
    return 0;
}

static int add_names(struct uvh_tls_generation *generation, uint32_t index, uvhttp_error_t *error)
{
    const struct uvh_tls_certificate *certificate = &generation->certificates[index];
    struct adding adding = {generation, index};
    int err = uvh_tls_certificate_names(certificate, add_name, &adding);
    if (err == UVHTTP_ECONFIG)
        return uvh_error_sentence(
            error, uvh_tls_certificate_field(certificate), uvh_tls_certificate_path(certificate),
            "the names (subjectAltName) of %s cannot be read", certificate->source);
    return err;
}

/* Clients without SNI get the first certificate, and certificates of its first name with other key
 * types. */
static int set_default_host(const char *name, size_t length, void *arg)
{
    struct uvh_tls_generation *generation = arg;
    const struct uvh_tls_host *host = uvh_tls_hosts_find(&generation->hosts, name, length);
    if (host == NULL || host->certificates[0] != 0)
        return 0;
    generation->default_host = *host;
    return 1;
}

static void find_default_host(struct uvh_tls_generation *generation)
{
    const struct uvh_tls_certificate *first = &generation->certificates[0];
    generation->default_host =
        (struct uvh_tls_host){.count = 1, .client_auth = (unsigned char)first->client_auth};
    uvh_tls_certificate_names(first, set_default_host, generation);
}

/* ---- certificates ---- */

static int load_certificates(struct uvh_tls_generation *generation, uvhttp_error_t *error)
{
    const uvhttp_tls_options_t *options = generation->options;
    size_t count = options->certificate_count;
    if (count > UINT32_MAX)
        return UVHTTP_ENOMEM;
    generation->certificates =
        uvh_alloc_zero(options->allocator, count * sizeof(*generation->certificates));
    if (generation->certificates == NULL)
        return UVHTTP_ENOMEM;
    generation->expires = INT64_MAX;
    int err = 0;
    for (uint32_t i = 0; i < count && err == 0; i++) {
        struct uvh_tls_certificate *made = &generation->certificates[i];
        generation->count++;
        err = uvh_tls_certificate_load(made, options, i, error);
        if (err == 0)
            err = add_names(generation, i, error);
        if (err != 0)
            uvh_error_within(error, "certificates", i);
        if (made->expires < generation->expires)
            generation->expires = made->expires;
        generation->auth_differs |= made->client_auth != generation->certificates[0].client_auth;
    }
    if (err == 0)
        find_default_host(generation);
    return err;
}

/* Certificates that OpenSSL would reject in a handshake (a weak key or signature) are rejected at
 * load. */
static int try_certificates(const struct uvh_tls_generation *generation, uvhttp_error_t *error)
{
    SSL_CTX *trial = SSL_CTX_new(TLS_server_method());
    if (trial == NULL)
        return UVHTTP_ENOMEM;
    int err = uvh_tls_settings_apply(trial, generation->options, error);
    for (size_t i = 0; i < generation->count && err == 0; i++) {
        const struct uvh_tls_certificate *one = &generation->certificates[i];
        ERR_clear_error();
        if (SSL_CTX_use_cert_and_key(trial, one->leaf, one->key, one->chain, 1) != 1)
            err = uvh_tls_refuse_by_openssl(error, uvh_tls_certificate_field(one),
                                            uvh_tls_certificate_path(one),
                                            "the certificate of %s cannot be used", one->source);
        if (err != 0)
            uvh_error_within(error, "certificates", i);
    }
    SSL_CTX_free(trial);
    return err;
}

/* ---- client authorities ---- */

static bool verifies_clients(const struct uvh_tls_generation *generation)
{
    bool wants = false;
    for (size_t i = 0; i < generation->count; i++)
        wants |= generation->certificates[i].client_auth != UVHTTP_TLS_CLIENT_AUTH_OFF;
    return wants;
}

/* Adds the certificates, or the revocation lists, of PEM text; returns their number. */
static int add_authorities(struct uvh_tls_generation *generation, BIO *bio)
{
    STACK_OF(X509_INFO) *infos = PEM_X509_INFO_read_bio(bio, NULL, uvh_tls_no_passphrase, NULL);
    int count = 0;
    for (int i = 0; i < sk_X509_INFO_num(infos); i++) {
        const X509_INFO *info = sk_X509_INFO_value(infos, i);
        X509_NAME *name = NULL;
        if (info->x509 != NULL && X509_STORE_add_cert(generation->authorities, info->x509) == 1)
            name = X509_NAME_dup(X509_get_subject_name(info->x509));
        if (name != NULL && sk_X509_NAME_push(generation->authority_names, name) != 0)
            count++;
        else
            X509_NAME_free(name);
    }
    sk_X509_INFO_pop_free(infos, X509_INFO_free);
    return count;
}

/* Also keeps the list for its nextUpdate. */
static bool add_list(struct uvh_tls_generation *generation, X509_CRL *list)
{
    const ASN1_TIME *next = X509_CRL_get0_nextUpdate(list);
    int64_t expires = next == NULL ? INT64_MAX : uvh_tls_time(next);
    if (X509_STORE_add_crl(generation->authorities, list) != 1 ||
        sk_X509_CRL_push(generation->lists, list) == 0)
        return false;
    if (expires < generation->lists_expire)
        generation->lists_expire = expires;
    return true;
}

static int add_lists(struct uvh_tls_generation *generation, BIO *bio)
{
    X509_CRL *list;
    int count = 0;
    generation->lists = sk_X509_CRL_new_null();
    if (generation->lists == NULL)
        return 0;
    while ((list = PEM_read_bio_X509_CRL(bio, NULL, uvh_tls_no_passphrase, NULL)) != NULL) {
        if (add_list(generation, list))
            count++;
        else
            X509_CRL_free(list);
    }
    return uvh_tls_is_end_of_text() ? count : 0;
}

static int add_file(struct uvh_tls_generation *generation, const char *field, const char *path,
                    int (*add)(struct uvh_tls_generation *generation, BIO *bio), const char *what,
                    uvhttp_error_t *error)
{
    const uvhttp_allocator_t *allocator = generation->options->allocator;
    unsigned char id[2 * UVH_TLS_ID_SIZE];
    char *data;
    size_t size;
    int err = uvh_tls_read_file(field, path, allocator, &data, &size, error);
    if (err != 0)
        return err;
    memcpy(id, generation->authorities_id, UVH_TLS_ID_SIZE);
    uvh_hash_wide(data, size, id + UVH_TLS_ID_SIZE);
    uvh_hash_wide(id, sizeof(id), generation->authorities_id);
    ERR_clear_error();
    BIO *bio = BIO_new_mem_buf(data, (int)size);
    int count = bio == NULL ? 0 : add(generation, bio);
    BIO_free(bio);
    uvh_tls_forget_file(allocator, data, size);
    if (bio == NULL)
        return UVHTTP_ENOMEM;
    if (count == 0 && ERR_peek_error() != 0)
        return uvh_tls_refuse_by_openssl(error, field, path, "%s '%s' cannot be read", field, path);
    if (uvh_tls_failure_is_memory())
        return UVHTTP_ENOMEM;
    ERR_clear_error();
    return count > 0
               ? 0
               : uvh_error_sentence(error, field, path, "%s '%s' contains no %s in PEM format",
                                    field, path, what);
}

static int load_authorities(struct uvh_tls_generation *generation, uvhttp_error_t *error)
{
    const uvhttp_tls_options_t *options = generation->options;
    bool verifies_clients_now = verifies_clients(generation);
    /* probably client certificates were meant to be required */
    if (!verifies_clients_now && options->client_ca_file != NULL)
        return uvh_error_sentence(error, "client_ca_file", options->client_ca_file,
                                  "client_ca_file is set, but client_auth is off");
    if (verifies_clients_now && options->client_ca_file == NULL)
        return uvh_error_sentence(error, "client_auth", NULL,
                                  "client_auth is on, but client_ca_file is not set");
    if (!verifies_clients_now)
        return 0;
    generation->authorities = X509_STORE_new();
    generation->authority_names = sk_X509_NAME_new_null();
    if (generation->authorities == NULL || generation->authority_names == NULL)
        return UVHTTP_ENOMEM;
    int err = add_file(generation, "client_ca_file", options->client_ca_file, add_authorities,
                       "certificate", error);
    if (err != 0 || options->client_crl_file == NULL)
        return err;
    X509_STORE_set_flags(generation->authorities,
                         X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    return add_file(generation, "client_crl_file", options->client_crl_file, add_lists,
                    "revocation list", error);
}

/* ---- load ---- */

static int load(struct uvh_tls_generation *generation, uvhttp_error_t *error)
{
    const uvhttp_tls_options_t *options = generation->options;
    uint32_t lifetime = options->session_lifetime_ms;
    generation->files_state = uvh_tls_watch_state(options);
    generation->lists_expire = INT64_MAX;
    generation->session_lifetime =
        (lifetime == 0 ? DEFAULT_LIFETIME_MS : (int64_t)lifetime + 999) / 1000;
    generation->one_time_tickets = options->one_time_tickets || options->early_data > 0;
    generation->max_used_tickets =
        options->max_used_tickets == 0 ? UVH_TLS_USED_TICKETS_DEFAULT : options->max_used_tickets;
    int err = load_certificates(generation, error);
    if (err == 0)
        err = try_certificates(generation, error);
    if (err == 0)
        err = load_authorities(generation, error);
    if (err == 0)
        err = uvh_tls_tickets_load(&generation->ticket_files, options, error);
    return err;
}

int uvh_tls_generation_load(struct uvh_tls_generation **out, const uvhttp_tls_options_t *options,
                            const uvhttp_allocator_t *allocator, uvhttp_error_t *error)
{
    *out = NULL;
    int err = check_config(options, error);
    if (err != 0)
        return err;
    struct uvh_tls_generation *generation = uvh_alloc_zero(allocator, sizeof(*generation));
    if (generation == NULL)
        return UVHTTP_ENOMEM;
    atomic_init(&generation->refs, 1);
    uvh_tls_hosts_init(&generation->hosts, allocator);
    generation->options = uvh_tls_config_copy(options, allocator);
    if (generation->options == NULL) {
        uvh_free(allocator, generation);
        return UVHTTP_ENOMEM;
    }
    err = load(generation, error);
    ERR_clear_error();
    if (err == 0)
        *out = generation;
    else
        uvh_tls_generation_unref(generation);
    return err;
}

void uvh_tls_generation_unref(struct uvh_tls_generation *generation)
{
    if (atomic_fetch_sub_explicit(&generation->refs, 1, memory_order_acq_rel) > 1)
        return;
    const uvhttp_allocator_t *allocator = generation->hosts.table.allocator;
    for (size_t i = 0; i < generation->count; i++)
        uvh_tls_certificate_release(&generation->certificates[i], allocator);
    uvh_free(allocator, generation->certificates);
    uvh_tls_hosts_release(&generation->hosts);
    X509_STORE_free(generation->authorities);
    sk_X509_NAME_pop_free(generation->authority_names, X509_NAME_free);
    sk_X509_CRL_pop_free(generation->lists, X509_CRL_free);
    uvh_tls_config_free(generation->options);
    OPENSSL_cleanse(&generation->ticket_files, sizeof(generation->ticket_files));
    uvh_free(allocator, generation);
}

const struct uvh_tls_host *uvh_tls_generation_host(const struct uvh_tls_generation *generation,
                                                   const char *name, size_t length)
{
    const struct uvh_tls_host *host = uvh_tls_hosts_find(&generation->hosts, name, length);
    return host != NULL ? host : &generation->default_host;
}
