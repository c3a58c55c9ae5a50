/* A thread is known by the address of a variable that each thread has for itself. */
#include "base/owner.h"

#if defined(UVH_DEBUG_CHECKS)

const void *uvh_owner_this_thread(void)
{
    static _Thread_local char here;
    return &here;
}

#endif
