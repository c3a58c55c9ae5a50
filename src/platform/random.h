/* Random numbers from the system. */
#ifndef UVH_PLATFORM_RANDOM_H
#define UVH_PLATFORM_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* An unpredictable number: seeds of hash tables. Returns 0 or a negative errno. */
int uvh_random_number(uint64_t *number);

/* The same for up to 32 numbers, in one system call. */
int uvh_random_numbers(uint64_t *numbers, size_t count);

#endif
