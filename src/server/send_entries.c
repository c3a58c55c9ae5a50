/* Bodies as entries of the output. */
#include "server/send.h"

static struct uvh_output_entry entry_of(const uvhttp_part_t *part)
{
    return (struct uvh_output_entry){.base = part->data,
                                     .offset = part->offset,
                                     .size = part->size,
                                     .descriptor = part->descriptor};
}

struct uvh_output_entry *uvh_send_entries(const struct uvh_body *body, struct uvh_arena *arena,
                                          struct uvh_output_entry *single)
{
    if (body->parts == NULL) {
        int descriptor = body->source == UVH_BODY_FILE ? body->descriptor : -1;
        *single = (struct uvh_output_entry){.base = body->base,
                                            .offset = body->offset,
                                            .size = body->size,
                                            .descriptor = descriptor};
        return single;
    }
    struct uvh_output_entry *entries =
        uvh_arena_alloc(arena, body->parts->count * sizeof(*entries));
    if (entries == NULL)
        return NULL;
    struct uvh_output_entry *last = NULL;
    size_t count = 0;
    for (size_t i = 0; i < body->parts->count; i++) {
        if (body->parts->next[i].size == 0)
            continue;
        entries[count] = entry_of(&body->parts->next[i]);
        if (last != NULL)
            last->next = &entries[count];
        last = &entries[count++];
    }
    return entries;
}
