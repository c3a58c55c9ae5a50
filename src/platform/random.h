/* Random numbers from the system. */
#ifndef UVH_PLATFORM_RANDOM_H
#define UVH_PLATFORM_RANDOM_H

#include <stdint.h>

/* An unpredictable number: seeds of hash tables. Returns 0 or a negative errno. */
int uvh_random_number(uint64_t *number);

#endif
