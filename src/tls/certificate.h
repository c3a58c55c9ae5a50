/* A certificate of the server with its chain, key and OCSP response, loaded and checked.
 *
 * Always true: the key belongs to the certificate. Shared by all contexts of a generation. */
#ifndef UVH_TLS_CERTIFICATE_H
#define UVH_TLS_CERTIFICATE_H

#include <stdint.h>

#include <openssl/x509.h>

#include <uvhttp/tls.h>

#include "tls/failure.h"

enum { UVH_TLS_ID_SIZE = 16 };

struct uvh_tls_certificate {
    const char *source; /* for messages: its file, or "certificates[2]" */
    X509 *leaf;
    STACK_OF(X509) * chain; /* intermediates; NULL: none */
    EVP_PKEY *key;
    uvhttp_tls_client_auth_t client_auth;
    unsigned char *ocsp; /* DER; NULL: none */
    size_t ocsp_size;
    int64_t ocsp_until;                /* not sent from then on; INT64_MAX: it does not say */
    int64_t expires;                   /* seconds since 1970 */
    unsigned char id[UVH_TLS_ID_SIZE]; /* the beginning of its SHA-256 fingerprint */
    char label[32];                    /* what `source` is without a file */
};

/* Loads the one at `index` of a configuration, into zeroed memory.
 * Returns 0, or
 *   UVHTTP_ENOMEM,
 *   UVHTTP_ECONFIG with a message; either way uvh_tls_certificate_release is to be called. */
int uvh_tls_certificate_load(struct uvh_tls_certificate *made, const uvhttp_tls_config_t *config,
                             size_t index, struct uvh_tls_message message);

void uvh_tls_certificate_release(struct uvh_tls_certificate *certificate,
                                 const uvhttp_allocator_t *allocator);

/* Calls `each` for every DNS name of the certificate: those of subjectAltName, or without it the
 * common name. Stops at a result other than 0 and returns it.
 * Returns 0, or
 *   UVHTTP_ENOMEM,
 *   UVHTTP_ECONFIG: subjectAltName cannot be read. */
typedef int (*uvh_tls_name_cb)(const char *name, size_t length, void *arg);
int uvh_tls_certificate_names(const struct uvh_tls_certificate *certificate, uvh_tls_name_cb each,
                              void *arg);

/* Seconds since 1970; 0 for a time that cannot be read. */
int64_t uvh_tls_time(const ASN1_TIME *time);

#endif
