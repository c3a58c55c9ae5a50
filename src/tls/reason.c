/* OpenSSL reports "certificate verify failed" for every certificate, and "sslv3 alert handshake
 * failure" for a TLS 1.3 peer. */
#include "tls/reason.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "tls/failure.h"

static const char *certificate_reason(long result)
{
    switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return "the peer's certificate has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return "the peer's certificate is not valid yet";
    case X509_V_ERR_HOSTNAME_MISMATCH:
        return "the peer's certificate is not for this name";
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return "the peer's certificate is not for this address";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        return "the peer's certificate is not signed by a trusted CA";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        return "the peer's certificate is self-signed and not trusted";
    case X509_V_ERR_INVALID_PURPOSE:
        return "the peer's certificate is not valid for this purpose";
    default:
        return X509_verify_cert_error_string(result);
    }
}

/* NULL: use OpenSSL's text. */
static const char *handshake_reason(int reason)
{
    switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
        return "the peer does not speak TLS";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return "the peer requires a certificate";
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
        return "the peer rejected the handshake";
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        return "the peer does not support the TLS version";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return "the peer does not trust the CA of our certificate";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        return "the peer reports that our certificate has expired";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        return "the peer rejected our certificate";
    case SSL_R_TLSV1_UNRECOGNIZED_NAME:
        return "the peer does not serve this host name";
    default:
        return NULL;
    }
}

const char *uvh_tls_reason(const SSL *ssl)
{
    unsigned long error = ERR_peek_error();
    const char *reason = NULL;
    if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
        long result = SSL_get_verify_result(ssl);
        if (ERR_GET_REASON(error) != SSL_R_CERTIFICATE_VERIFY_FAILED)
            reason = handshake_reason(ERR_GET_REASON(error));
        else if (result != X509_V_OK)
            reason = certificate_reason(result);
    }
    const char *words = uvh_tls_failure_reason();
    return reason != NULL ? reason : words;
}
