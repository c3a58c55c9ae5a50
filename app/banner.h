/* The output after the program has started to listen. */
#ifndef UVH_APP_BANNER_H
#define UVH_APP_BANNER_H

#include "metrics.h"
#include "redirect.h"
#include "tls_setup.h"

/* Optional parts besides the addresses. All listen already. */
struct uvh_banner_more {
    const struct uvh_metrics *metrics; /* or NULL */
    const struct uvh_redirect *redirect;
    const struct uvh_tls *tls;
};

/* `what` is served: an absolute directory, or a configuration file; `addresses` are the listen
 * addresses with their final ports and schemes. */
void uvh_banner_print(const struct uvh_options *options, const char *what,
                      const struct uvh_address *addresses, size_t count,
                      const struct uvh_banner_more *more);

#endif
