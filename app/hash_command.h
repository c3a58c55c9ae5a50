/* The command hash-password: prints the hash of a password, for `--auth` and `basic_auth`. */
#ifndef UVH_APP_HASH_COMMAND_H
#define UVH_APP_HASH_COMMAND_H

#include <stdio.h>

/* `argv[0]` is "uvhttp hash-password". Returns an exit code. */
int uvh_hash_run(int argc, char **argv);

void uvh_hash_help(FILE *out);

#endif
