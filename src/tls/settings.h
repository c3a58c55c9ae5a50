/* Applies versions, ciphers, curves and modes of a configuration to an SSL_CTX. */
#ifndef UVH_TLS_SETTINGS_H
#define UVH_TLS_SETTINGS_H

#include <openssl/ssl.h>

#include <uvhttp/tls.h>

#include "tls/failure.h"

/* Returns 0, or
 *   UVHTTP_ENOMEM,
 *   UVHTTP_ECONFIG with a filled `error`. */
int uvh_tls_settings_apply(SSL_CTX *ctx, const uvhttp_tls_options_t *options,
                           uvhttp_error_t *error);

#endif
