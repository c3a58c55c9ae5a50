/* The commands `uvhttp run` and `uvhttp check`. */
#ifndef UVH_APP_RUN_H
#define UVH_APP_RUN_H

#include "options.h"

/* Reads the options and the configuration file they name, then serves it until stopped by a signal,
 * or does what is asked for instead. An exit code; what failed was printed. */
int uvh_run(enum uvh_command command, int count, char **arguments);

#endif
