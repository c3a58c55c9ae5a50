/* The command cert: prints the certificates in a file. */
#ifndef UVH_APP_CERT_COMMAND_H
#define UVH_APP_CERT_COMMAND_H

#include <stdio.h>

/* `arguments` without program and command name. Returns an exit code. */
int uvh_cert_run(int count, char **arguments);

void uvh_cert_help(FILE *out);

#endif
