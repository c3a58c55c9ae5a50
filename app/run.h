/* The commands `uvhttp run` and `uvhttp check`. */
#ifndef UVH_APP_RUN_H
#define UVH_APP_RUN_H

#include "options.h"

/* Reads the options and the configuration file they name, then serves until stopped by a signal, or
 * performs another action such as --help. Returns an exit code; errors were printed. */
int uvh_run(enum uvh_command command, int count, char **arguments);

#endif
