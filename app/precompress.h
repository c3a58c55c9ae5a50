/* `uvhttp precompress`: compressed siblings of the files of a directory. */
#ifndef UVH_APP_PRECOMPRESS_H
#define UVH_APP_PRECOMPRESS_H

#include <stdio.h>

/* Runs the command; `argv[0]` is "uvhttp precompress". Returns an exit code. */
int uvh_precompress_run(int argc, char **argv);

/* Its help page. */
void uvh_precompress_help(FILE *out);

#endif
