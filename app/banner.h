/* What the program prints once it listens. */
#ifndef UVH_APP_BANNER_H
#define UVH_APP_BANNER_H

#include "metrics.h"
#include "redirect.h"
#include "tls_setup.h"

/* What there may be besides the addresses. All listen already. */
struct uvh_banner_more {
    const struct uvh_metrics *metrics; /* NULL: there are none */
    const struct uvh_redirect *redirect;
    const struct uvh_tls *tls;
};

/* `what` is served: an absolute folder, or a configuration file; `addresses` are those listened on,
 * with their final ports and schemes. */
void uvh_banner_print(const struct uvh_options *options, const char *what,
                      const struct uvh_address *addresses, size_t count,
                      const struct uvh_banner_more *more);

#endif
