/* The enabled features in the start output of `uvhttp serve`. */
#ifndef UVH_APP_SWITCHED_ON_H
#define UVH_APP_SWITCHED_ON_H

#include "options.h"

/* Writes the names of the static file options that differ from the defaults, with short values, as
 * "hidden, rate-limit 1M"; "" if there are none. Truncated to `size` bytes, without control
 * characters. `addresses` are the listen addresses. `--no-listing` is omitted; `--hidden` and
 * `--index` are included with `complete` only. */
void uvh_switched_on_write(const struct uvh_options *options, const struct uvh_address *addresses,
                           size_t count, bool complete, char *text, size_t size);

#endif
