/* What a certificate says, as text. With OpenSSL's libcrypto alone: the build leaves these files out without it. */
#ifndef UVH_APP_CERTIFICATE_H
#define UVH_APP_CERTIFICATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <openssl/x509.h>

#define UVH_CERTIFICATE_FINGERPRINT_SIZE 96

/* SHA-256 of the certificate: "AB:CD:...". False when memory ran out. */
bool uvh_certificate_fingerprint(const X509 *certificate, char text[UVH_CERTIFICATE_FINGERPRINT_SIZE]);

/* Seconds since 1970; 0 for what is no time. */
int64_t uvh_certificate_seconds(const ASN1_TIME *time);

/* A name as RFC 2253 has it, and those of subjectAltName, separated by commas. Control characters are shown as '?'. */
void uvh_certificate_print_name(const X509_NAME *name, FILE *out);
void uvh_certificate_print_names(const X509 *certificate, FILE *out);

/* "ECDSA P-256 (256 bits)" */
void uvh_certificate_print_key(const EVP_PKEY *key, FILE *out);

/* Of the last error of OpenSSL; its queue is empty then. */
const char *uvh_certificate_reason(char *text, size_t size);

#endif
