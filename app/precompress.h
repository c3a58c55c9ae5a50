/* `uvhttp precompress`: coded siblings for the files of a folder. */
#ifndef UVH_APP_PRECOMPRESS_H
#define UVH_APP_PRECOMPRESS_H

#include <stdio.h>

/* The command with the arguments behind its name; an exit code. */
int uvh_precompress_run(int count, char **arguments);

/* Its help page. */
void uvh_precompress_help(FILE *out);

#endif
