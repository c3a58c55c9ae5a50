/* The help pages. */
#ifndef UVH_APP_HELP_H
#define UVH_APP_HELP_H

#include <stdio.h>

#include "options.h"

void uvh_help_program(FILE *out);
void uvh_help_command(FILE *out, enum uvh_command command);

#endif
