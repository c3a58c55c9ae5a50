/* The processor cores of the machine. */
#ifndef UVH_PLATFORM_CORE_H
#define UVH_PLATFORM_CORE_H

#include <stddef.h>

/* The number of the index-th core, counted from 0, of those that the calling thread may use; -1 when there are fewer, or nobody can tell. */
int uvh_core_at(size_t index);

#endif
