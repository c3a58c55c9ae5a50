/* What is allowed with certificates and revocation lists, and hardly meant: clients would be
 * refused, or a file would never be used. */
#ifndef UVH_APP_TLS_ADVICE_H
#define UVH_APP_TLS_ADVICE_H

#include <uvhttp/tls.h>

/* Hears of one thing, in a sentence without an end. */
typedef void (*uvh_advice_cb)(const char *text, void *arg);

/* Looks at the files of a configuration that can be loaded. `dates`: at those of revocation lists
 * as well, as the library does in a server that runs. What cannot be read is left out. */
void uvh_tls_advise(const uvhttp_tls_config_t *config, bool dates, uvh_advice_cb tell, void *arg);

#endif
