/* Prints a setup as a configuration file. */
#ifndef UVH_APP_PRINT_CONFIG_H
#define UVH_APP_PRINT_CONFIG_H

#include "setup.h"

/* Prints the setup as YAML that loads to the same setup, every limit followed by a comment with its
 * unit and range. */
void uvh_print_config(const struct uvh_setup *setup, FILE *out);

#endif
