/* The fields of a certificate as text. Needs OpenSSL's libcrypto; not part of builds without it. */
#ifndef UVH_APP_CERTIFICATE_H
#define UVH_APP_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <openssl/x509.h>

#define UVH_CERTIFICATE_FINGERPRINT_SIZE 96

/* SHA-256 of the certificate: "AB:CD:...". False if out of memory. */
bool uvh_certificate_fingerprint(const X509 *certificate,
                                 char text[UVH_CERTIFICATE_FINGERPRINT_SIZE]);

/* Seconds since 1970; 0: not a valid time. */
int64_t uvh_certificate_seconds(const ASN1_TIME *time);

/* A name in the format of RFC 2253, and the names of subjectAltName, separated by commas. Control
 * characters are printed as '?'. */
void uvh_certificate_print_name(const X509_NAME *name, FILE *out);
void uvh_certificate_print_names(const X509 *certificate, FILE *out);

/* True if the issuer's key has signed it. */
bool uvh_certificate_is_issued_by(X509 *certificate, X509 *issuer);

/* "ECDSA P-256 (256 bits)" */
void uvh_certificate_print_key(const EVP_PKEY *key, FILE *out);

/* The reason of OpenSSL's last error. Clears its queue. */
const char *uvh_certificate_reason(char *text, size_t size);

#endif
