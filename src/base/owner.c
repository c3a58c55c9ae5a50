/* The address of a thread-local variable identifies a thread. */
#include "base/owner.h"

#if defined(UVH_DEBUG_CHECKS)

const void *uvh_owner_this_thread(void)
{
    static _Thread_local char here;
    return &here;
}

#endif
