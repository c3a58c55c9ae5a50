/* Converts PEM text to OpenSSL's objects. Text and pass phrases are overwritten after use. */
#include "tls/certificate.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "tls/read_file.h"

/* PEM text: borrowed from the configuration, or read from a file. */
struct pem {
    const char *path; /* for error messages */
    const char *text;
    size_t size;
    char *owned;
};

static int pem_open(struct pem *pem, const char *field, const char *path, const char *text,
                    const uvhttp_allocator_t *allocator, uvhttp_error_t *error)
{
    *pem = (struct pem){.path = path, .text = text, .size = text == NULL ? 0 : strlen(text)};
    if (text != NULL)
        return 0;
    int err = uvh_tls_read_file(field, path, allocator, &pem->owned, &pem->size, error);
    pem->text = pem->owned;
    return err;
}

static void pem_close(struct pem *pem, const uvhttp_allocator_t *allocator)
{
    if (pem->owned != NULL)
        uvh_tls_forget_file(allocator, pem->owned, pem->size);
}

int64_t uvh_tls_time(const ASN1_TIME *time)
{
    struct tm parts;
    return ASN1_TIME_to_tm(time, &parts) == 1 ? (int64_t)timegm(&parts) : 0;
}

/* ---- certificates ---- */

static int read_chain(struct uvh_tls_certificate *made, BIO *bio, uvhttp_error_t *error)
{
    X509 *next;
    while ((next = PEM_read_bio_X509(bio, NULL, uvh_tls_no_passphrase, NULL)) != NULL) {
        if (made->chain == NULL)
            made->chain = sk_X509_new_null();
        if (made->chain == NULL || sk_X509_push(made->chain, next) == 0) {
            X509_free(next);
            return UVHTTP_ENOMEM;
        }
    }
    if (uvh_tls_is_end_of_text())
        return 0;
    return uvh_tls_refuse_by_openssl(
        error, uvh_tls_certificate_field(made), uvh_tls_certificate_path(made),
        "an intermediate certificate of %s cannot be read", made->source);
}

static int note_facts(struct uvh_tls_certificate *made)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (X509_digest(made->leaf, EVP_sha256(), digest, NULL) != 1)
        return UVHTTP_ENOMEM;
    memcpy(made->id, digest, sizeof(made->id));
    made->expires = uvh_tls_time(X509_get0_notAfter(made->leaf));
    return 0;
}

static int read_certificates(struct uvh_tls_certificate *made, const struct pem *pem,
                             uvhttp_error_t *error)
{
    BIO *bio = BIO_new_mem_buf(pem->text, (int)pem->size);
    if (bio == NULL)
        return UVHTTP_ENOMEM;
    int err = 0;
    ERR_clear_error();
    made->leaf = PEM_read_bio_X509_AUX(bio, NULL, uvh_tls_no_passphrase, NULL);
    if (made->leaf == NULL)
        err = uvh_tls_refuse_because(
            error, uvh_tls_no_certificate(pem->text, pem->size), uvh_tls_certificate_field(made),
            uvh_tls_certificate_path(made), "the certificate of %s cannot be read", made->source);
    else
        err = read_chain(made, bio, error);
    BIO_free(bio);
    return err == 0 ? note_facts(made) : err;
}

/* ---- keys ---- */

struct passphrase {
    const uvhttp_tls_certificate_t *from;
    const char *text; /* content of `passphrase_file`, or NULL */
    bool used;        /* OpenSSL has requested it */
};

static int give_passphrase(char *buffer, int size, int writing, void *arg)
{
    struct passphrase *phrase = arg;
    (void)writing;
    if (phrase->text != NULL) {
        size_t length = strcspn(phrase->text, "\r\n");
        phrase->used = true;
        if (length > (size_t)size)
            return -1;
        memcpy(buffer, phrase->text, length);
        return (int)length;
    }
    if (phrase->from->passphrase == NULL)
        return -1;
    int length = phrase->from->passphrase(buffer, (size_t)size, phrase->from->key_file,
                                          phrase->from->passphrase_arg);
    phrase->used = length >= 0;
    return length > size ? -1 : length;
}

/* A wrong pass phrase may decrypt a key without an error, one time in about 256, to bytes that are
 * no key. */
static const char *why_no_key(const struct pem *pem, bool own_file, bool has_passphrase)
{
    const char *reason = uvh_tls_no_key(pem->text, pem->size, own_file);
    return reason == NULL && has_passphrase ? "the pass phrase is wrong, or the key is damaged"
                                            : reason;
}

/* The option that has the key, or should have it. */
static const char *key_field(const uvhttp_tls_certificate_t *from)
{
    return from->key != NULL ? "key" : "key_file";
}

static int read_key(struct uvh_tls_certificate *made, const uvhttp_tls_certificate_t *from,
                    const struct pem *pem, bool own_file, const uvhttp_allocator_t *allocator,
                    uvhttp_error_t *error)
{
    struct pem phrase = {0};
    int err = 0;
    if (from->passphrase_file != NULL)
        err = pem_open(&phrase, "passphrase_file", from->passphrase_file, NULL, allocator, error);
    BIO *bio = err == 0 ? BIO_new_mem_buf(pem->text, (int)pem->size) : NULL;
    if (err == 0 && bio == NULL)
        err = UVHTTP_ENOMEM;
    if (err == 0) {
        struct passphrase given = {from, phrase.text, false};
        ERR_clear_error();
        made->key = PEM_read_bio_PrivateKey(bio, NULL, give_passphrase, &given);
        if (made->key == NULL)
            err = uvh_tls_refuse_because(error, why_no_key(pem, own_file, given.used),
                                         key_field(from), from->key_file,
                                         "the key of %s cannot be read from %s", made->source,
                                         pem->path == NULL ? "its text" : pem->path);
    }
    BIO_free(bio);
    pem_close(&phrase, allocator);
    if (err != 0 || X509_check_private_key(made->leaf, made->key) == 1)
        return err;
    return uvh_tls_refuse_by_openssl(error, key_field(from), from->key_file,
                                     "the key in %s and the certificate of %s",
                                     pem->path == NULL ? "the text" : pem->path, made->source);
}

static int load_pair(struct uvh_tls_certificate *made, const uvhttp_tls_certificate_t *from,
                     const uvhttp_allocator_t *allocator, uvhttp_error_t *error)
{
    struct pem certificate, key = {0};
    bool own_key = from->key_file != NULL || from->key != NULL;
    int err = pem_open(&certificate, "certificate_file", from->certificate_file, from->certificate,
                       allocator, error);
    if (err == 0)
        err = read_certificates(made, &certificate, error);
    if (err == 0 && own_key)
        err = pem_open(&key, "key_file", from->key_file, from->key, allocator, error);
    if (err == 0)
        err = read_key(made, from, own_key ? &key : &certificate, own_key, allocator, error);
    pem_close(&certificate, allocator);
    pem_close(&key, allocator);
    return err;
}

/* ---- OCSP ---- */

/* The relevant fields of an OCSP response. */
struct ocsp_facts {
    bool good;     /* a successful response */
    bool fits;     /* ... for the serial number of the certificate */
    int64_t until; /* nextUpdate */
};

static struct ocsp_facts read_ocsp(const unsigned char *data, size_t size, X509 *leaf)
{
    struct ocsp_facts facts = {.until = INT64_MAX};
    OCSP_RESPONSE *response = d2i_OCSP_RESPONSE(NULL, &data, (long)size);
    OCSP_BASICRESP *basic = NULL;
    if (response != NULL && OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL)
        basic = OCSP_response_get1_basic(response);
    facts.good = basic != NULL && OCSP_resp_count(basic) > 0;
    for (int i = 0; facts.good && i < OCSP_resp_count(basic); i++) {
        OCSP_SINGLERESP *single = OCSP_resp_get0(basic, i);
        ASN1_GENERALIZEDTIME *next = NULL;
        ASN1_INTEGER *serial = NULL;
        OCSP_single_get0_status(single, NULL, NULL, NULL, &next);
        int64_t at = next == NULL ? INT64_MAX : uvh_tls_time(next);
        if (at < facts.until)
            facts.until = at;
        OCSP_id_get0_info(NULL, NULL, NULL, &serial,
                          (OCSP_CERTID *)(uintptr_t)OCSP_SINGLERESP_get0_id(single));
        facts.fits |= serial != NULL && ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(leaf)) == 0;
    }
    OCSP_BASICRESP_free(basic);
    OCSP_RESPONSE_free(response);
    ERR_clear_error();
    return facts;
}

/* A response for another certificate is not sent. It is not an error: after a renewal the new
 * certificate is installed before its response. */
static int load_ocsp(struct uvh_tls_certificate *made, const uvhttp_tls_options_t *options,
                     const char *path, uvhttp_error_t *error)
{
    char *data, text[512];
    int err =
        uvh_tls_read_file("ocsp_file", path, options->allocator, &data, &made->ocsp_size, error);
    if (err != 0)
        return err;
    made->ocsp = (unsigned char *)data;
    struct ocsp_facts facts = read_ocsp(made->ocsp, made->ocsp_size, made->leaf);
    made->ocsp_until = facts.until;
    if (!facts.good)
        return uvh_error_sentence(error, "ocsp_file", path,
                                  "ocsp_file '%s' contains no successful OCSP response in DER "
                                  "format",
                                  path);
    if (facts.fits)
        return 0;
    uvh_free(options->allocator, made->ocsp);
    made->ocsp = NULL;
    snprintf(text, sizeof(text),
             "ocsp_file '%s' does not match the certificate of %s and is not sent", path,
             made->source);
    if (options->log != NULL)
        options->log(UVHTTP_LOG_WARNING, text, options->log_arg);
    return 0;
}

/* ---- loading ---- */

static int refuse_client_auth(uvhttp_tls_client_auth_t level, size_t index, uvhttp_error_t *error)
{
    char value[24];
    snprintf(value, sizeof(value), "%d", (int)level);
    return uvh_error_sentence(error, "client_auth", value,
                              "client_auth of certificates[%zu] is %s; allowed are 0 to 2", index,
                              value);
}

static int check_options(const uvhttp_tls_certificate_t *from, size_t index, uvhttp_error_t *error)
{
    if (from->certificate_file == NULL && from->certificate == NULL)
        return uvh_error_sentence(error, "certificate_file", NULL,
                                  "certificates[%zu] has neither certificate_file nor certificate",
                                  index);
    if (from->certificate_file != NULL && from->certificate != NULL)
        return uvh_error_sentence(error, "certificate_file", NULL,
                                  "certificates[%zu] has both certificate_file and certificate",
                                  index);
    if (from->key_file != NULL && from->key != NULL)
        return uvh_error_sentence(error, "key_file", NULL,
                                  "certificates[%zu] has both key_file and key", index);
    if ((unsigned)from->client_auth > UVHTTP_TLS_CLIENT_AUTH_REQUIRED)
        return refuse_client_auth(from->client_auth, index, error);
    return 0;
}

int uvh_tls_certificate_load(struct uvh_tls_certificate *made, const uvhttp_tls_options_t *options,
                             size_t index, uvhttp_error_t *error)
{
    const uvhttp_tls_certificate_t *from = &options->certificates[index];
    int err = check_options(from, index, error);
    if (err != 0)
        return err;
    snprintf(made->label, sizeof(made->label), "certificates[%zu]", index);
    made->source = from->certificate_file != NULL ? from->certificate_file : made->label;
    made->client_auth =
        from->client_auth > options->client_auth ? from->client_auth : options->client_auth;
    err = load_pair(made, from, options->allocator, error);
    if (err == 0 && from->ocsp_file != NULL)
        err = load_ocsp(made, options, from->ocsp_file, error);
    return err;
}

void uvh_tls_certificate_release(struct uvh_tls_certificate *certificate,
                                 const uvhttp_allocator_t *allocator)
{
    X509_free(certificate->leaf);
    sk_X509_pop_free(certificate->chain, X509_free);
    EVP_PKEY_free(certificate->key);
    uvh_free(allocator, certificate->ocsp);
}

/* ---- names ---- */

static int tell_common_name(const struct uvh_tls_certificate *certificate, uvh_tls_name_cb each,
                            void *arg)
{
    X509_NAME *subject = X509_get_subject_name(certificate->leaf);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0)
        return 0;
    const ASN1_STRING *name = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
    return each((const char *)ASN1_STRING_get0_data(name), (size_t)ASN1_STRING_length(name), arg);
}

int uvh_tls_certificate_names(const struct uvh_tls_certificate *certificate, uvh_tls_name_cb each,
                              void *arg)
{
    int found, result = 0;
    ERR_clear_error();
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate->leaf, NID_subject_alt_name, &found, NULL);
    if (names == NULL && found == -1)
        return tell_common_name(certificate, each, arg);
    if (names == NULL)
        return uvh_tls_failure_is_memory() ? UVHTTP_ENOMEM : UVHTTP_ECONFIG;
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && result == 0; i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type != GEN_DNS)
            continue;
        const ASN1_IA5STRING *text = name->d.dNSName;
        result =
            each((const char *)ASN1_STRING_get0_data(text), (size_t)ASN1_STRING_length(text), arg);
    }
    GENERAL_NAMES_free(names);
    return result;
}
