/* A certificate of our own, for localhost, its addresses and the name of this machine: a file with certificate and
 * key in the user's state directory, which is used again until it is about to expire. */
#ifndef UVH_APP_SELF_SIGNED_H
#define UVH_APP_SELF_SIGNED_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define UVH_SELF_SIGNED_PATH_SIZE PATH_MAX

struct uvh_self_signed {
    char path[UVH_SELF_SIGNED_PATH_SIZE];
    char fingerprint[96]; /* SHA-256, "AB:CD:..."; "" when there is none yet */
};

/* Finds the file, and makes it when that is allowed and there is none that will do. False with a NUL-terminated
 * message of at most `size` bytes. */
bool uvh_self_signed_open(struct uvh_self_signed *found, bool make, char *message, size_t size);

#endif
