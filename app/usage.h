/* Usage errors of the commands whose options are read by getopt_long(3). */
#ifndef UVH_APP_USAGE_H
#define UVH_APP_USAGE_H

#include <getopt.h>

/* After getopt_long has printed an error: suggests the nearest option for an unknown one, and names
 * the help page. `argv[0]` is the program and the command. Returns UVH_EXIT_USAGE. */
int uvh_usage_refuse(char *const *argv, const struct option *options);

#endif
