/* Warnings about certificates and revocation lists that are valid but probably not intended:
 * clients would be rejected, or a file would never be used. */
#ifndef UVH_APP_TLS_ADVICE_H
#define UVH_APP_TLS_ADVICE_H

#include <uvhttp/tls.h>

/* Receives one warning, without a final period. */
typedef void (*uvh_advice_cb)(const char *text, void *arg);

/* Checks the files of a loadable configuration. `dates`: also those of revocation lists, as the
 * library does in a running server. Unreadable files are skipped. */
void uvh_tls_advise(const uvhttp_tls_options_t *config, bool dates, uvh_advice_cb tell, void *arg);

/* Reads the settings of OpenSSL (openssl.cnf and the files that it includes) now. */
void uvh_tls_read_settings(void);

#endif
