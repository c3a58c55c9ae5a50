/* The addresses of this machine. */
#ifndef UVH_APP_MACHINE_H
#define UVH_APP_MACHINE_H

#include <stddef.h>

#define UVH_MACHINE_ADDRESSES    64 /* one with more needs no list of them */
#define UVH_MACHINE_ADDRESS_SIZE 64

struct uvh_machine_addresses {
    size_t count;
    char items[UVH_MACHINE_ADDRESSES][UVH_MACHINE_ADDRESS_SIZE]; /* numeric */
};

/* Adds one, once and if there is room. */
void uvh_machine_add(struct uvh_machine_addresses *list, const char *address);

/* Adds those of one family (AF_INET, AF_INET6) that others can reach this machine under. */
void uvh_machine_add_all(struct uvh_machine_addresses *list, int family);

#endif
