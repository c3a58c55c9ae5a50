/* A server certificate with its chain, key and OCSP response, loaded and checked.
 *
 * Always true: the key matches the certificate. Shared by all contexts of a generation. */
#ifndef UVH_TLS_CERTIFICATE_H
#define UVH_TLS_CERTIFICATE_H

#include <stdint.h>

#include <openssl/x509.h>

#include <uvhttp/tls.h>

#include "tls/failure.h"

enum { UVH_TLS_ID_SIZE = 16 };

struct uvh_tls_certificate {
    const char *source; /* for error messages: its file, or "certificates[2]" */
    X509 *leaf;
    STACK_OF(X509) * chain; /* intermediates, or NULL */
    EVP_PKEY *key;
    uvhttp_tls_client_auth_t client_auth;
    unsigned char *ocsp; /* DER, or NULL */
    size_t ocsp_size;
    int64_t ocsp_until;                /* nextUpdate, not sent after it; INT64_MAX: not set */
    int64_t expires;                   /* notAfter, seconds since 1970 */
    unsigned char id[UVH_TLS_ID_SIZE]; /* the first bytes of its SHA-256 fingerprint */
    char label[32];                    /* `source` of a certificate without a file */
};

/* Loads the certificate at `index` of a configuration into zeroed memory.
 * Returns 0, or
 *   UVHTTP_ENOMEM,
 *   UVHTTP_ECONFIG with a filled `error`; in every case call uvh_tls_certificate_release. */
int uvh_tls_certificate_load(struct uvh_tls_certificate *made, const uvhttp_tls_options_t *options,
                             size_t index, uvhttp_error_t *error);

/* For errors: the option that has the certificate, and its file, NULL without one. */
static inline const char *uvh_tls_certificate_field(const struct uvh_tls_certificate *certificate)
{
    return certificate->source == certificate->label ? "certificate" : "certificate_file";
}

static inline const char *uvh_tls_certificate_path(const struct uvh_tls_certificate *certificate)
{
    return certificate->source == certificate->label ? NULL : certificate->source;
}

void uvh_tls_certificate_release(struct uvh_tls_certificate *certificate,
                                 const uvhttp_allocator_t *allocator);

/* Calls `each` for every DNS name of the certificate: those of subjectAltName, or without it the
 * common name. Stops at a non-zero result and returns it.
 * Returns 0, or
 *   UVHTTP_ENOMEM,
 *   UVHTTP_ECONFIG: subjectAltName is malformed. */
typedef int (*uvh_tls_name_cb)(const char *name, size_t length, void *arg);
int uvh_tls_certificate_names(const struct uvh_tls_certificate *certificate, uvh_tls_name_cb each,
                              void *arg);

/* Seconds since 1970; 0 for an invalid time. */
int64_t uvh_tls_time(const ASN1_TIME *time);

#endif
