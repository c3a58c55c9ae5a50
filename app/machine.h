/* A list of addresses, and the addresses of this machine. */
#ifndef UVH_APP_MACHINE_H
#define UVH_APP_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#define UVH_MACHINE_ADDRESSES    64 /* at most, in the list */
#define UVH_MACHINE_ADDRESS_SIZE 64

struct uvh_machine_addresses {
    size_t count;
    char items[UVH_MACHINE_ADDRESSES][UVH_MACHINE_ADDRESS_SIZE]; /* numeric */
};

/* Adds an address once, if the list is not full. */
void uvh_machine_add(struct uvh_machine_addresses *list, const char *address);

/* Adds the addresses of this machine that the wildcard `host` (uvh_address_is_any) includes: IPv4
 * ones first; none of loopback interfaces or of those that are down, none with a zone. */
void uvh_machine_add_any(struct uvh_machine_addresses *list, const char *host);

/* True if the machine has the loopback address ::1. */
bool uvh_machine_has_ipv6(void);

#endif
