/* The ring buffer of uvhttp/ring.h. Always true: start < capacity (0 without memory), length <=
 * capacity; an empty ring starts at the start of its memory. Called by users of the parser
 * library. */
#include <uvhttp/ring.h>

#include <string.h>

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

void uvhttp_ring_init(uvhttp_ring_t *ring, char *memory, size_t capacity)
{
    if (ring != NULL)
        *ring = (uvhttp_ring_t){.memory = memory, .capacity = memory != NULL ? capacity : 0};
}

size_t uvhttp_ring_readable(const uvhttp_ring_t *ring, uvhttp_slice_t slices[2])
{
    if (slices == NULL)
        return 0;
    slices[0] = slices[1] = (uvhttp_slice_t){NULL, 0};
    if (ring == NULL || ring->length == 0)
        return 0;
    size_t first = smaller(ring->length, ring->capacity - ring->start);
    slices[0] = (uvhttp_slice_t){ring->memory + ring->start, first};
    if (first == ring->length)
        return 1;
    slices[1] = (uvhttp_slice_t){ring->memory, ring->length - first};
    return 2;
}

size_t uvhttp_ring_writable(const uvhttp_ring_t *ring, uvhttp_span_t slices[2])
{
    if (slices == NULL)
        return 0;
    slices[0] = slices[1] = (uvhttp_span_t){NULL, 0};
    if (ring == NULL)
        return 0;
    size_t space = ring->capacity - ring->length;
    if (space == 0)
        return 0;
    /* from the first byte held to the end of the memory */
    size_t after = ring->capacity - ring->start;
    size_t end = ring->length < after ? ring->start + ring->length : ring->length - after;
    size_t first = smaller(space, ring->capacity - end);
    slices[0] = (uvhttp_span_t){ring->memory + end, first};
    if (first == space)
        return 1;
    slices[1] = (uvhttp_span_t){ring->memory, space - first};
    return 2;
}

size_t uvhttp_ring_commit(uvhttp_ring_t *ring, size_t length)
{
    if (ring == NULL)
        return 0;
    size_t taken = smaller(length, ring->capacity - ring->length);
    ring->length += taken;
    return taken;
}

size_t uvhttp_ring_write(uvhttp_ring_t *ring, const void *data, size_t length)
{
    const char *from = data;
    uvhttp_span_t slices[2];
    size_t count = data != NULL ? uvhttp_ring_writable(ring, slices) : 0;
    size_t written = 0;
    for (size_t i = 0; i < count && written < length; i++) {
        size_t part = smaller(slices[i].length, length - written);
        memcpy(slices[i].base, from + written, part);
        written += part;
    }
    return uvhttp_ring_commit(ring, written);
}

size_t uvhttp_ring_consume(uvhttp_ring_t *ring, size_t length)
{
    if (ring == NULL)
        return 0;
    size_t taken = smaller(length, ring->length);
    ring->length -= taken;
    if (ring->length == 0)
        ring->start = 0;
    else if (taken < ring->capacity - ring->start)
        ring->start += taken;
    else
        ring->start = taken - (ring->capacity - ring->start);
    return taken;
}
