/* Random numbers from the system. */
#ifndef UVH_PLATFORM_RANDOM_H
#define UVH_PLATFORM_RANDOM_H

#include <stdint.h>

/* A number nobody outside the process can foresee: seeds of hash tables. -errno when the system has
 * none to give. */
int uvh_random_number(uint64_t *number);

#endif
