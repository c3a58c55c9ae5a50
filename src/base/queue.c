#include "base/queue.h"

#include <string.h>

int uvh_queue_append(struct uvh_queue *queue, const void *data, size_t size)
{
    struct uvh_bytes *bytes = &queue->bytes;
    size_t left = uvh_queue_size(queue);
    /* not before half was taken: then a byte is moved once for each one that was taken */
    if (size > bytes->capacity - bytes->length && queue->begin > 0 && queue->begin >= left) {
        memmove(bytes->data, bytes->data + queue->begin, left);
        bytes->length = left;
        queue->begin = 0;
    }
    if (uvh_bytes_append(bytes, data, size) == 0)
        return 0;
    bytes->failed = false;
    return -1;
}
