/* A self-signed certificate for localhost, its addresses, the name of this machine and its
 * addresses: one file with certificate and key in the user's state directory. It is reused until
 * shortly before it expires. */
#ifndef UVH_APP_SELF_SIGNED_H
#define UVH_APP_SELF_SIGNED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "machine.h"

#define UVH_SELF_SIGNED_PATH_SIZE PATH_MAX

struct uvh_self_signed {
    char path[UVH_SELF_SIGNED_PATH_SIZE];
    char fingerprint[96]; /* SHA-256, "AB:CD:..."; "" if there is no certificate yet */
};

/* Finds the directory of the file, and creates it with `make`. False if there is none. */
bool uvh_self_signed_find_directory(char directory[PATH_MAX], bool make);

/* Finds the file. `make`: creates it if it is missing, not valid, or does not cover all
 * `addresses`; the new certificate keeps the addresses of the old one. False with a NUL-terminated
 * message of at most `size` bytes. */
bool uvh_self_signed_open(struct uvh_self_signed *found,
                          const struct uvh_machine_addresses *addresses, bool make, char *message,
                          size_t size);

#endif
