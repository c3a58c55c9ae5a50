/* The boundary is a random number per response. It must not occur in the body (RFC 2046 section
 * 5.1.1), and a file is too large to search. A client that can store files here could include a
 * known boundary in one, and so forge parts with a type and range the server never sent. See
 * byte_ranges.h. */
#include "files/byte_ranges.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>

#include "platform/random.h"

enum { BOUNDARY_SIZE = 16 + 1 };

static const char head_format[] = "%s--%s\r\nContent-Type: %s\r\nContent-Range: %.*s\r\n\r\n";
static const char end_format[] = "\r\n--%s--\r\n";

static void add_part(struct uvh_byte_ranges *made, const uvhttp_part_t *part)
{
    made->parts[made->count++] = *part;
    made->size += part->size;
}

static void add_text(struct uvh_byte_ranges *made, const char *text, size_t length)
{
    add_part(made, &(uvhttp_part_t){.data = text, .descriptor = -1, .size = length});
}

static void add_content(struct uvh_byte_ranges *made, const struct uvh_file_entry *entry,
                        const struct uvh_range *range)
{
    uvhttp_part_t part = {.descriptor = entry->descriptor, .size = range->last - range->first + 1};
    if (entry->descriptor < 0)
        part.data = entry->body + range->first;
    else
        part.offset = range->first;
    add_part(made, &part);
}

int uvh_byte_ranges_make(uvhttp_request_t *request, const struct uvh_file_entry *entry,
                         const struct uvh_range_set *set, struct uvh_byte_ranges *made)
{
    uint64_t number;
    char boundary[BOUNDARY_SIZE];
    char range[UVH_RANGE_CONTENT_RANGE_SIZE];
    size_t head_size =
        sizeof(head_format) + BOUNDARY_SIZE + strlen(entry->type) + sizeof(range) + 2;
    size_t size = head_size * set->count + sizeof(end_format) + BOUNDARY_SIZE;
    int err = uvh_random_number(&number);
    if (err != 0)
        return err;
    char *text = uvhttp_request_allocate(request, size);
    made->parts = uvhttp_request_allocate(request, (2 * set->count + 1) * sizeof(*made->parts));
    if (text == NULL || made->parts == NULL)
        return UVHTTP_ENOMEM;
    made->count = 0;
    made->size = 0;
    snprintf(boundary, sizeof(boundary), "%016" PRIx64, number);
    snprintf(made->type, sizeof(made->type), "multipart/byteranges; boundary=%s", boundary);
    for (size_t i = 0; i < set->count; i++) {
        size_t length =
            uvh_range_format(range, set->items[i].first, set->items[i].last, entry->size);
        int written = snprintf(text, head_size, head_format, i == 0 ? "" : "\r\n", boundary,
                               entry->type, (int)length, range);
        add_text(made, text, (size_t)written);
        add_content(made, entry, &set->items[i]);
        text += written;
    }
    int written = snprintf(text, sizeof(end_format) + BOUNDARY_SIZE, end_format, boundary);
    add_text(made, text, (size_t)written);
    return 0;
}
