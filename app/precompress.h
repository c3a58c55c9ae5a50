/* `uvhttp precompress`: compressed siblings of the files of a directory. */
#ifndef UVH_APP_PRECOMPRESS_H
#define UVH_APP_PRECOMPRESS_H

#include <stdio.h>

/* Runs the command; `arguments` follow its name. Returns an exit code. */
int uvh_precompress_run(int count, char **arguments);

/* Its help page. */
void uvh_precompress_help(FILE *out);

#endif
