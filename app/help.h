/* The help pages of the commands that serve. */
#ifndef UVH_APP_HELP_H
#define UVH_APP_HELP_H

#include <stdio.h>

#include "options.h"

/* The ten most common options of `serve`. */
void uvh_help_common(FILE *out);

/* The page of `serve`, with the common options only or with `all` options by group. */
void uvh_help_serve(FILE *out, bool all);

/* The page of `run` or `check`. */
void uvh_help_run(FILE *out, enum uvh_command command);

#endif
