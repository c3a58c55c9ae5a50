/* See the header: members expire in the order in which they were armed. */
#include "net/timeouts.h"

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

void uvh_timeout_lengths_add(struct uvh_timeout_lengths *lengths, uint64_t length_ms)
{
    for (const struct uvh_timeout_lengths *each = lengths; each != NULL; each = each->next) {
        for (size_t i = 0; i < each->count; i++) {
            if (each->lists[i].length_ms == length_ms)
                return;
        }
    }
    uvh_timeout_list_init(&lengths->lists[lengths->count++], length_ms);
}

/* Step i is length i + 1 up to 16; after that, (9 .. 16) << shift for each shift from 1 on. */
size_t uvh_timeout_step(uint32_t length_ms)
{
    uint32_t last = length_ms - 1; /* so that a length equal to a step is not rounded up */
    unsigned shift = 0;
    while ((last >> shift) >= 1u << UVH_TIMEOUT_STEP_FIRST_BITS)
        shift++;
    return (size_t)(last >> shift) + (size_t)shift * 8;
}

uint32_t uvh_timeout_step_length(size_t step)
{
    if (step < 1u << UVH_TIMEOUT_STEP_FIRST_BITS)
        return (uint32_t)step + 1;
    uint32_t shift = (uint32_t)step / 8 - 1;
    return ((uint32_t)step - shift * 8 + 1) << shift;
}
