/* See the header. The first error in the queue is the cause; later ones are added by its
 * callers. */
#include "tls/failure.h"

#include <stdarg.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pemerr.h>
#include <openssl/proverr.h>
#include <openssl/sslerr.h>
#include <openssl/x509err.h>

#include <uvhttp/error.h>

int uvh_tls_failure_is_memory(void)
{
    for (unsigned long error; (error = ERR_peek_error()) != 0; ERR_get_error()) {
        if (ERR_GET_REASON(error) != ERR_R_MALLOC_FAILURE)
            continue;
        ERR_clear_error();
        return 1;
    }
    return 0;
}

/* OpenSSL's text if it describes the cause; our own where it names internal functions. */
static const char *reason_of(unsigned long error)
{
    int library = ERR_GET_LIB(error), reason = ERR_GET_REASON(error);
    if (library == ERR_LIB_PEM && reason == PEM_R_NO_START_LINE)
        return "it contains no such PEM block";
    if (library == ERR_LIB_PEM &&
        (reason == PEM_R_BAD_PASSWORD_READ || reason == PEM_R_PROBLEMS_GETTING_PASSWORD))
        return "the key is encrypted, but no pass phrase is set (passphrase_file)";
    if (reason == ERR_R_INTERRUPTED_OR_CANCELLED)
        return "the key is encrypted, but no pass phrase is set (passphrase_file)";
    if (library == ERR_LIB_PROV && reason == PROV_R_BAD_DECRYPT)
        return "the pass phrase is wrong";
    if (library == ERR_LIB_X509 && reason == X509_R_KEY_VALUES_MISMATCH)
        return "the key does not match the certificate";
    if ((library == ERR_LIB_X509 && reason == X509_R_KEY_TYPE_MISMATCH) ||
        (library == ERR_LIB_EVP && reason == EVP_R_DIFFERENT_KEY_TYPES))
        return "the key does not match the certificate: the key type differs";
    if (library == ERR_LIB_SSL && reason == SSL_R_NO_CIPHER_MATCH)
        return "OpenSSL supports none of them";
    if (library == ERR_LIB_OSSL_DECODER && reason == ERR_R_UNSUPPORTED)
        return "it contains no private key in PEM format";
    const char *text = ERR_reason_error_string(error);
    return text == NULL ? "unknown error" : text;
}

const char *uvh_tls_failure_reason(void)
{
    unsigned long error = ERR_get_error();
    ERR_clear_error();
    return error == 0 ? "unknown error" : reason_of(error);
}

/* Appends the reason to the error that says what cannot be used; NULL: that of the first OpenSSL
 * error. An out-of-memory error in the queue replaces it. */
static int explain(uvhttp_error_t *error, const char *reason)
{
    unsigned long first = ERR_peek_error();
    if (uvh_tls_failure_is_memory()) {
        uvh_error_clear(error);
        return UVHTTP_ENOMEM;
    }
    if (reason == NULL)
        reason = first == 0 ? "unknown error" : reason_of(first);
    uvh_error_append(error, ": ");
    uvh_error_append(error, reason);
    ERR_clear_error();
    return UVHTTP_ECONFIG;
}

int uvh_tls_refuse_by_openssl(uvhttp_error_t *error, const char *field, const char *value,
                              const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    uvh_error_sentence_list(error, field, value, format, arguments);
    va_end(arguments);
    return explain(error, NULL);
}

int uvh_tls_refuse_because(uvhttp_error_t *error, const char *reason, const char *field,
                           const char *value, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    uvh_error_sentence_list(error, field, value, format, arguments);
    va_end(arguments);
    return explain(error, reason);
}
