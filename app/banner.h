/* What the program prints once it listens. */
#ifndef UVH_APP_BANNER_H
#define UVH_APP_BANNER_H

#include "metrics.h"

/* `what` is served: an absolute folder, or a configuration file; `addresses` are those listened on, with
 * their final ports. `metrics` listen already, if they have a server; NULL: there are none. */
void uvh_banner_print(const struct uvh_options *options, const char *what,
                      const struct uvh_address *addresses, size_t count, const struct uvh_metrics *metrics);

#endif
