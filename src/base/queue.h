/* A queue of bytes: appended at its end, taken from its front.
 *
 * Bytes that were taken are overwritten before the queue grows, so its memory is bounded by what it
 * has held at a time, also when it is never empty. */
#ifndef UVH_BASE_QUEUE_H
#define UVH_BASE_QUEUE_H

#include "base/bytes.h"

struct uvh_queue {
    struct uvh_bytes bytes;
    size_t begin; /* bytes that were taken, and are still in `bytes` */
};

static inline void uvh_queue_init(struct uvh_queue *queue, const uvhttp_allocator_t *allocator)
{
    uvh_bytes_init(&queue->bytes, allocator, SIZE_MAX / 2);
    queue->begin = 0;
}

static inline size_t uvh_queue_size(const struct uvh_queue *queue)
{
    return queue->bytes.length - queue->begin;
}

/* Valid until the next append or release. */
static inline char *uvh_queue_front(const struct uvh_queue *queue)
{
    return queue->bytes.data + queue->begin;
}

/* Returns 0, or -1 without memory; then nothing was appended. */
int uvh_queue_append(struct uvh_queue *queue, const void *data, size_t size);

static inline void uvh_queue_take(struct uvh_queue *queue, size_t size)
{
    queue->begin += size;
}

static inline void uvh_queue_release(struct uvh_queue *queue)
{
    uvh_bytes_release(&queue->bytes);
    queue->begin = 0;
}

#endif
