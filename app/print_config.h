/* A setup as a configuration file. */
#ifndef UVH_APP_PRINT_CONFIG_H
#define UVH_APP_PRINT_CONFIG_H

#include "setup.h"

/* Prints the setup as YAML that reads to the same setup again, every limit with its unit and range
 * behind it. */
void uvh_print_config(const struct uvh_setup *setup, FILE *out);

#endif
