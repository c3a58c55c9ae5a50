/* What is on, for the start output of `uvhttp serve`. */
#ifndef UVH_APP_SWITCHED_ON_H
#define UVH_APP_SWITCHED_ON_H

#include "options.h"

/* Writes the names of the options for files that are not as usual, with their values where those
 * are short, as "hidden, rate-limit 1M"; "" when there is none. Cut to `size` bytes, without
 * control characters. `addresses` are those that are listened on. `--no-listing` is not told;
 * `--hidden` and `--index` with `complete` only. */
void uvh_switched_on_write(const struct uvh_options *options, const struct uvh_address *addresses,
                           size_t count, bool complete, char *text, size_t size);

#endif
