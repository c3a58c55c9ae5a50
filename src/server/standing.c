/* A place has one answer for each edition, the first that was asked for: another whose id leads there is sent as ever, so that two do not push each other
 * out again and again. */
#include "server/standing.h"

#include <errno.h>

#include "base/alloc.h"
#include "platform/file.h"
#include "platform/memory_file.h"

void uvh_standing_init(struct uvh_standing *standing, const uvhttp_allocator_t *allocator, size_t most)
{
    *standing = (struct uvh_standing){.allocator = allocator, .most = most, .edition = 1, .descriptor = -1};
}

/* What has been counted so far does not count any more, and the places say of nothing that it is kept. */
static void begin_edition(struct uvh_standing *standing)
{
    uvh_file_close(standing->descriptor);
    standing->descriptor = -1;
    standing->size = 0;
    standing->edition++;
}

void uvh_standing_release(struct uvh_standing *standing)
{
    begin_edition(standing);
    uvh_free(standing->allocator, standing->places);
    standing->places = NULL;
}

void uvh_standing_expire(struct uvh_standing *standing, uint64_t now)
{
    if (standing->descriptor >= 0 && now >= standing->until)
        begin_edition(standing);
}

struct uvh_standing_answer *uvh_standing_ask(struct uvh_standing *standing, uint64_t id, uint64_t until)
{
    if (standing->most == 0)
        return NULL;
    if (standing->places == NULL) {
        size_t size = UVH_STANDING_PLACES * sizeof(*standing->places);
        standing->places = uvh_alloc_zero(standing->allocator, size);
    }
    if (standing->places == NULL)
        return NULL;
    if (standing->until != until) {
        begin_edition(standing);
        standing->until = until;
    }
    struct uvh_standing_answer *answer = &standing->places[id & (UVH_STANDING_PLACES - 1)];
    if (answer->edition != standing->edition) {
        bool again =
            answer->id == id && answer->size > 0 && answer->asked >= uvh_standing_often(answer->size);
        *answer = (struct uvh_standing_answer){.id = id, .edition = standing->edition, .again = again};
    }
    if (answer->id != id)
        return NULL;
    answer->asked++;
    return answer;
}

/* False: without a file, answers are sent as if they were not asked for often. */
static bool open_file(struct uvh_standing *standing)
{
    if (standing->descriptor < 0)
        standing->descriptor = uvh_memory_file_open();
    if (standing->descriptor == -ENOSYS) {
        standing->most = 0;
        uvh_standing_release(standing);
    }
    return standing->descriptor >= 0;
}

void uvh_standing_keep(struct uvh_standing *standing, struct uvh_standing_answer *answer, uvhttp_slice_t head,
                       uvhttp_slice_t body)
{
    size_t size = head.length + body.length;
    if (size > UVH_STANDING_MOST || standing->size + size > standing->most || !open_file(standing))
        return;
    const uvhttp_slice_t areas[] = {head, body};
    if (uvh_memory_file_write(standing->descriptor, standing->size, areas) != 0)
        return;
    answer->offset = standing->size;
    answer->size = (uint32_t)size;
    answer->asked = 0;
    /* The next one begins with a page. */
    standing->size += (size + UVH_MEMORY_FILE_PAGE - 1) / UVH_MEMORY_FILE_PAGE * UVH_MEMORY_FILE_PAGE;
}
