/* See the header: the order of arming is the order of expiry. */
#include "net/timeouts.h"

#include <stddef.h>

#include "base/compiler.h"

struct uvh_timeout *uvh_timeout_first(struct uvh_timeout_list *list)
{
    if (uvh_list_empty(&list->members))
        return NULL;
    return UVH_CONTAINER_OF(list->members.next, struct uvh_timeout, link);
}

struct uvh_timeout *uvh_timeout_expired(struct uvh_timeout_list *list, uint64_t now)
{
    struct uvh_timeout *first = uvh_timeout_first(list);
    return first != NULL && first->deadline <= now ? first : NULL;
}
