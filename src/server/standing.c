/* Each place has one answer at a time: of two whose ids meet there, the one that was asked for last. */
#include "server/standing.h"

#include <errno.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "platform/file.h"
#include "platform/memory_file.h"

void uvh_standing_init(struct uvh_standing *standing, const uvhttp_allocator_t *allocator, size_t most)
{
    *standing = (struct uvh_standing){.allocator = allocator, .most = most};
}

struct uvh_standing_file *uvh_standing_file_ref(struct uvh_standing_file *file)
{
    file->references++;
    return file;
}

void uvh_standing_file_unref(struct uvh_standing_file *file)
{
    if (file == NULL || --file->references > 0)
        return;
    uvh_file_close(file->descriptor);
    uvh_free(file->allocator, file);
}

static void put_away(struct uvh_standing *standing)
{
    uvh_standing_file_unref(standing->file);
    standing->file = NULL;
}

void uvh_standing_release(struct uvh_standing *standing)
{
    put_away(standing);
    uvh_free(standing->allocator, standing->places);
    standing->places = NULL;
}

void uvh_standing_expire(struct uvh_standing *standing, uint64_t now)
{
    if (now >= standing->until)
        put_away(standing);
}

/* NULL: without memory or descriptors, answers are sent as if they were not asked for often. */
static struct uvh_standing_file *open_file(struct uvh_standing *standing)
{
    struct uvh_standing_file *file = uvh_alloc(standing->allocator, sizeof(*file));
    int descriptor = file == NULL ? UVHTTP_ENOMEM : uvh_memory_file_open();
    if (descriptor == -ENOSYS)
        standing->most = 0;
    if (descriptor < 0) {
        uvh_free(standing->allocator, file);
        return NULL;
    }
    *file = (struct uvh_standing_file){standing->allocator, descriptor, 1, 0};
    return file;
}

static void begin_second(struct uvh_standing *standing, uint64_t until)
{
    put_away(standing);
    standing->until = until;
}

struct uvh_standing_answer *uvh_standing_ask(struct uvh_standing *standing, uint64_t id, uint64_t until)
{
    if (standing->most == 0)
        return NULL;
    if (standing->places == NULL)
        standing->places =
            uvh_alloc_zero(standing->allocator, UVH_STANDING_PLACES * sizeof(*standing->places));
    if (standing->places == NULL)
        return NULL;
    if (standing->until != until)
        begin_second(standing, until);
    struct uvh_standing_answer *answer = &standing->places[id & (UVH_STANDING_PLACES - 1)];
    if (answer->id != id || answer->until != until)
        *answer = (struct uvh_standing_answer){.id = id, .until = until};
    answer->asked++;
    return answer;
}

void uvh_standing_keep(struct uvh_standing *standing, struct uvh_standing_answer *answer, uvhttp_slice_t head,
                       uvhttp_slice_t body)
{
    if (standing->file == NULL)
        standing->file = open_file(standing);
    struct uvh_standing_file *file = standing->file;
    size_t size = head.length + body.length;
    if (file == NULL || size > UVH_STANDING_MOST || file->size + size > standing->most)
        return;
    const uvhttp_slice_t areas[] = {head, body};
    uint64_t offset = file->size;
    if (uvh_memory_file_write(file->descriptor, offset, areas, 2) != 0)
        return;
    answer->offset = offset;
    answer->size = (uint32_t)size;
    file->size = (offset + size + UVH_MEMORY_FILE_PAGE - 1) / UVH_MEMORY_FILE_PAGE * UVH_MEMORY_FILE_PAGE;
}
