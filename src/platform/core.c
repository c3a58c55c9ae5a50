/* See the header: sched_getaffinity(2), which knows machines of up to 1,024 cores this way. */
#include "platform/core.h"

#if defined(__linux__)

#include <sched.h>

int uvh_core_at(size_t index)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof(cores), &cores) != 0)
        return -1;
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET((size_t)core, &cores) && index-- == 0)
            return core;
    }
    return -1;
}

#else

int uvh_core_at(size_t index)
{
    (void)index;
    return -1;
}

#endif
