/* The command cert: prints the certificates in a file. */
#ifndef UVH_APP_CERT_COMMAND_H
#define UVH_APP_CERT_COMMAND_H

#include <stdio.h>

/* `argv[0]` is "uvhttp cert". Returns an exit code. */
int uvh_cert_run(int argc, char **argv);

void uvh_cert_help(FILE *out);

#endif
