/* See certificate.h. */
#include "certificate.h"

#include <arpa/inet.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

bool uvh_certificate_fingerprint(const X509 *certificate,
                                 char text[UVH_CERTIFICATE_FINGERPRINT_SIZE])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    text[0] = '\0';
    if (X509_digest(certificate, EVP_sha256(), digest, &length) != 1)
        return false;
    for (unsigned i = 0; i < length; i++)
        snprintf(text + 3 * i, 4, i + 1 < length ? "%02X:" : "%02X", digest[i]);
    return true;
}

int64_t uvh_certificate_seconds(const ASN1_TIME *time)
{
    struct tm parts;
    return ASN1_TIME_to_tm(time, &parts) == 1 ? (int64_t)timegm(&parts) : 0;
}

/* The text in a certificate may contain any bytes. */
static void print_clean(const unsigned char *bytes, size_t length, FILE *out)
{
    for (size_t i = 0; i < length; i++)
        fputc(bytes[i] < 0x20 || bytes[i] == 0x7f ? '?' : bytes[i], out);
}

void uvh_certificate_print_name(const X509_NAME *name, FILE *out)
{
    BIO *text = BIO_new(BIO_s_mem());
    char *bytes;
    if (text == NULL)
        return;
    /* Keeps UTF-8 characters unescaped. */
    X509_NAME_print_ex(text, name, 0, XN_FLAG_RFC2253 & ~(unsigned long)ASN1_STRFLGS_ESC_MSB);
    long length = BIO_get_mem_data(text, &bytes);
    print_clean((const unsigned char *)bytes, length > 0 ? (size_t)length : 0, out);
    BIO_free(text);
}

static void print_general_name(const GENERAL_NAME *name, FILE *out)
{
    char address[INET6_ADDRSTRLEN];
    int type;
    const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);
    switch (type) {
    case GEN_DNS:
    case GEN_EMAIL:
    case GEN_URI:
        print_clean(ASN1_STRING_get0_data(value), (size_t)ASN1_STRING_length(value), out);
        break;
    case GEN_IPADD:
        if ((ASN1_STRING_length(value) == 4 &&
             inet_ntop(AF_INET, ASN1_STRING_get0_data(value), address, sizeof(address)) != NULL) ||
            (ASN1_STRING_length(value) == 16 &&
             inet_ntop(AF_INET6, ASN1_STRING_get0_data(value), address, sizeof(address)) != NULL))
            fputs(address, out);
        else
            fputs("(address of invalid length)", out);
        break;
    default:
        fputs("(name of unsupported type)", out);
        break;
    }
}

void uvh_certificate_print_names(const X509 *certificate, FILE *out)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    int count = names == NULL ? 0 : sk_GENERAL_NAME_num(names);
    for (int i = 0; i < count; i++) {
        fputs(i == 0 ? "" : ", ", out);
        print_general_name(sk_GENERAL_NAME_value(names, i), out);
    }
    GENERAL_NAMES_free(names);
    if (count == 0)
        fputs("none", out);
}

bool uvh_certificate_is_issued_by(X509 *certificate, X509 *issuer)
{
    EVP_PKEY *key = X509_get0_pubkey(issuer);
    bool issued = key != NULL && X509_check_issued(issuer, certificate) == X509_V_OK &&
                  X509_verify(certificate, key) == 1;
    ERR_clear_error();
    return issued;
}

void uvh_certificate_print_key(const EVP_PKEY *key, FILE *out)
{
    static const char *const curves[][2] = {
        {"prime256v1", "P-256"}, {"secp384r1", "P-384"}, {"secp521r1", "P-521"}};
    char curve[64];
    size_t length;
    if (key == NULL) {
        fputs("unknown type", out);
        return;
    }
    if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC ||
        EVP_PKEY_get_group_name(key, curve, sizeof(curve), &length) != 1) {
        const char *name = EVP_PKEY_get0_type_name(key);
        fprintf(out, "%s (%d bits)", name == NULL ? "unknown" : name, EVP_PKEY_get_bits(key));
        return;
    }
    const char *shown = curve;
    for (size_t i = 0; i < sizeof(curves) / sizeof(curves[0]); i++) {
        if (strcmp(curve, curves[i][0]) == 0)
            shown = curves[i][1];
    }
    fprintf(out, "ECDSA %s (%d bits)", shown, EVP_PKEY_get_bits(key));
}

const char *uvh_certificate_reason(char *text, size_t size)
{
    unsigned long code = ERR_peek_last_error();
    const char *reason = ERR_reason_error_string(code);
    if (ERR_GET_LIB(code) == ERR_LIB_OSSL_DECODER && ERR_GET_REASON(code) == ERR_R_UNSUPPORTED)
        reason = "it contains no private key in PEM format"; /* OpenSSL's text: unsupported */
    snprintf(text, size, "%s", reason == NULL ? "unknown error" : reason);
    ERR_clear_error();
    return text;
}
