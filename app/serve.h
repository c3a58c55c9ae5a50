/* The command `uvhttp serve`. */
#ifndef UVH_APP_SERVE_H
#define UVH_APP_SERVE_H

#include "options.h"

/* Serves until stopped by a signal. Returns an exit code; errors were printed. */
int uvh_serve_run(struct uvh_options *options);

#endif
