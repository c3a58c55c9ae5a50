/* The output after the program has started to listen: addresses and enabled features. Nothing is
 * printed if the log level is below info (--quiet). */
#ifndef UVH_APP_BANNER_H
#define UVH_APP_BANNER_H

#include "metrics.h"
#include "redirect.h"
#include "tls_setup.h"

/* What is printed besides the addresses. The servers listen already. */
struct uvh_banner_parts {
    const struct uvh_metrics *metrics, *status;
    const struct uvh_redirect *redirect; /* listen_count 0: no redirects */
    const struct uvh_tls *tls;           /* its self-signed certificate, if it has one */
};

/* `source` is an absolute directory, or a configuration file; `addresses` are the listen addresses
 * with their final ports and schemes. */
void uvh_banner_print(const struct uvh_options *options, const char *source,
                      const struct uvh_address *addresses, size_t count,
                      const struct uvh_banner_parts *parts);

#endif
