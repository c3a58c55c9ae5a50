/* A growing byte string with a maximum size, for texts and bodies built by appending.
 *
 * Always true: length <= capacity <= maximum; data is NULL only while capacity is 0. A failed call
 * sets `failed` and all further appends do nothing, so a sequence needs one check at its end. */
#ifndef UVH_BASE_BYTES_H
#define UVH_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include <uvhttp/types.h>

struct uvh_bytes {
    const uvhttp_allocator_t *allocator;
    char *data;
    size_t length;
    size_t capacity;
    size_t maximum;
    bool failed; /* out of memory, or the maximum would be exceeded */
};

/* `maximum` is required (bytes). */
void uvh_bytes_init(struct uvh_bytes *bytes, const uvhttp_allocator_t *allocator, size_t maximum);
void uvh_bytes_release(struct uvh_bytes *bytes);

/* Returns 0, or -1 with `failed` set. */
int uvh_bytes_append(struct uvh_bytes *bytes, const void *data, size_t length);
/* `length` more bytes at the end, for the caller to write; NULL with `failed` set. */
char *uvh_bytes_extend(struct uvh_bytes *bytes, size_t length);
int uvh_bytes_append_text(struct uvh_bytes *bytes, const char *text);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int uvh_bytes_append_format(struct uvh_bytes *bytes, const char *format, ...);

#endif
