/* What the program prints once it listens. */
#ifndef UVH_APP_BANNER_H
#define UVH_APP_BANNER_H

#include "options.h"

/* `root` is absolute; `addresses` are those listened on, with their final ports. */
void uvh_banner_print(const struct uvh_options *options, const char *root,
                      const struct uvh_address *addresses, size_t count);

#endif
