/* A certificate that is its own issuer, for development: uvhttp/tls.h. */
#include <stdio.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <uvhttp/error.h>
#include <uvhttp/tls.h>

#include "base/alloc.h"
#include "options/error.h"

enum {
    DAY = 86400,
    VALID_DAYS = 397, /* most days that clients with a limit accept */
    MOST_COMMON_NAME = 64,
};

/* ---- names ---- */

static bool is_alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Labels of letters, digits and hyphens (RFC 1123), which clients compare; the first may be "*". */
static bool is_host_name(const char *host)
{
    if (strlen(host) > 253)
        return false;
    host += strncmp(host, "*.", 2) == 0 ? 2 : 0;
    bool any = *host != '\0';
    for (size_t length; *host != '\0'; host += length) {
        length = strcspn(host, ".");
        if (length == 0 || length > 63 || !is_alphanumeric(host[0]) ||
            !is_alphanumeric(host[length - 1]))
            return false;
        for (size_t i = 0; i < length; i++) {
            if (host[i] != '-' && !is_alphanumeric(host[i]))
                return false;
        }
        length += host[length] == '.';
    }
    return any;
}

/* An address without zeros before its IPv4 numbers. a2i_IPADDRESS skips white space, and ignores
 * what follows an IPv4 address. NULL for other texts. */
static ASN1_OCTET_STRING *read_address(const char *text)
{
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(text);
    const char *colon = strrchr(text, ':'), *last = colon == NULL ? text : colon + 1;
    char plain[sizeof("255.255.255.255")];
    if (address == NULL || strchr(last, '.') == NULL)
        return address;
    const unsigned char *end = ASN1_STRING_get0_data(address) + ASN1_STRING_length(address);
    snprintf(plain, sizeof(plain), "%d.%d.%d.%d", end[-4], end[-3], end[-2], end[-1]);
    if (strcmp(last, plain) == 0)
        return address;
    ASN1_OCTET_STRING_free(address);
    return NULL;
}

/* Adds a host name or an address. Returns 0, UVHTTP_ECONFIG or UVHTTP_ENOMEM. */
static int add_name(GENERAL_NAMES *names, const char *text, uvhttp_error_t *error)
{
    ASN1_STRING *value = read_address(text);
    int kind = value != NULL ? GEN_IPADD : GEN_DNS;
    if (value == NULL && !is_host_name(text))
        return uvh_error_string(error, "names", text, "must be a host name or an IP address");
    if (value == NULL && (value = ASN1_IA5STRING_new()) != NULL &&
        ASN1_STRING_set(value, text, -1) != 1) {
        ASN1_STRING_free(value);
        value = NULL;
    }
    GENERAL_NAME *name = value == NULL ? NULL : GENERAL_NAME_new();
    if (name == NULL) {
        ASN1_STRING_free(value);
        return UVHTTP_ENOMEM;
    }
    GENERAL_NAME_set0_value(name, kind, value);
    if (sk_GENERAL_NAME_push(names, name) > 0)
        return 0;
    GENERAL_NAME_free(name);
    return UVHTTP_ENOMEM;
}

static int add_names(X509 *certificate, const char *const *given, uvhttp_error_t *error)
{
    static const char *const own[] = {"localhost", "127.0.0.1", "::1", NULL};
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    int err = names == NULL ? UVHTTP_ENOMEM : 0;
    for (const char *const *one = own; err == 0 && *one != NULL; one++)
        err = add_name(names, *one, error);
    for (const char *const *one = given; err == 0 && one != NULL && *one != NULL; one++)
        err = add_name(names, *one, error);
    if (err == 0 && X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, 0) != 1)
        err = UVHTTP_ENOMEM;
    sk_GENERAL_NAME_pop_free(names, GENERAL_NAME_free);
    return err;
}

/* ---- the certificate ---- */

static bool add_extension(X509 *certificate, int name, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, name, value);
    bool added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

/* A random positive number of 127 bits, unique in practice. */
static bool set_serial(X509 *certificate)
{
    unsigned char bytes[16];
    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    bytes[0] = (unsigned char)((bytes[0] & 0x7f) | 0x40);
    BIGNUM *number = BN_bin2bn(bytes, sizeof(bytes), NULL);
    bool set =
        number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
    BN_free(number);
    return set;
}

/* Lists of certificates show the first name, which so differs between machines. */
static bool set_subject(X509 *certificate, const char *const *names)
{
    const char *first = names == NULL ? NULL : names[0];
    const char *common = first == NULL || strlen(first) > MOST_COMMON_NAME ? "localhost" : first;
    X509_NAME *name = X509_get_subject_name(certificate);
    return X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC,
                                      (const unsigned char *)"uvhttp self-signed", -1, -1,
                                      0) == 1 &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)common, -1,
                                      -1, 0) == 1 &&
           X509_set_issuer_name(certificate, name) == 1;
}

static int fill(X509 *certificate, EVP_PKEY *key, const char *const *names, uvhttp_error_t *error)
{
    int err = add_names(certificate, names, error);
    if (err != 0)
        return err;
    bool filled =
        X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
        set_subject(certificate, names) &&
        /* An hour ago: the clock of a client may be slow. */
        X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) != NULL &&
        X509_gmtime_adj(X509_getm_notAfter(certificate), (long)VALID_DAYS * DAY - 3600) != NULL &&
        X509_set_pubkey(certificate, key) == 1 &&
        add_extension(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
        add_extension(certificate, NID_key_usage, "critical,digitalSignature") &&
        add_extension(certificate, NID_ext_key_usage, "serverAuth") &&
        add_extension(certificate, NID_subject_key_identifier, "hash") &&
        X509_sign(certificate, key, EVP_sha256()) > 0;
    return filled ? 0 : UVHTTP_ENOMEM;
}

/* Both as text, which uvhttp_file_release frees. */
static int write_pem(X509 *certificate, EVP_PKEY *key, char **pem)
{
    char *text;
    BIO *memory = BIO_new(BIO_s_secmem());
    bool written = memory != NULL && PEM_write_bio_X509(memory, certificate) == 1 &&
                   PEM_write_bio_PKCS8PrivateKey(memory, key, NULL, NULL, 0, NULL, NULL) == 1;
    long length = written ? BIO_get_mem_data(memory, &text) : 0;
    if (written)
        *pem = uvh_alloc_string(uvh_alloc_default(), text, (size_t)length);
    BIO_free(memory);
    return written && *pem != NULL ? 0 : UVHTTP_ENOMEM;
}

static int make(char **pem, const char *const *names, uvhttp_error_t *error)
{
    if (pem == NULL)
        return UVHTTP_EINVAL;
    *pem = NULL;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    int err =
        key == NULL || certificate == NULL ? UVHTTP_ENOMEM : fill(certificate, key, names, error);
    if (err == 0)
        err = write_pem(certificate, key, pem);
    X509_free(certificate);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return err;
}

int uvhttp_tls_make_self_signed(char **pem, const char *const *names, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, make(pem, names, error));
}
