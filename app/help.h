/* The help pages. */
#ifndef UVH_APP_HELP_H
#define UVH_APP_HELP_H

#include <stdio.h>

void uvh_help_program(FILE *out);
void uvh_help_serve(FILE *out);

#endif
