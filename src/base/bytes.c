/* The capacity doubles, so appending n bytes copies O(n) bytes. */
#include "base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { FIRST_CAPACITY = 256 };

static int fail(struct uvh_bytes *bytes)
{
    bytes->failed = true;
    return -1;
}

/* Reserves `extra` bytes after `length`. */
static int reserve(struct uvh_bytes *bytes, size_t extra)
{
    if (bytes->failed || extra > bytes->maximum - bytes->length)
        return fail(bytes);
    size_t needed = bytes->length + extra;
    if (needed <= bytes->capacity)
        return 0;
    size_t capacity = bytes->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : bytes->capacity;
    while (capacity < needed)
        capacity = capacity > bytes->maximum / 2 ? bytes->maximum : capacity * 2;
    if (capacity > bytes->maximum)
        capacity = bytes->maximum;
    char *data = uvh_realloc(bytes->allocator, bytes->data, capacity);
    if (data == NULL)
        return fail(bytes);
    bytes->data = data;
    bytes->capacity = capacity;
    return 0;
}

void uvh_bytes_init(struct uvh_bytes *bytes, const uvhttp_allocator_t *allocator, size_t maximum)
{
    *bytes = (struct uvh_bytes){.allocator = allocator, .maximum = maximum};
}

void uvh_bytes_release(struct uvh_bytes *bytes)
{
    uvh_free(bytes->allocator, bytes->data);
    uvh_bytes_init(bytes, bytes->allocator, bytes->maximum);
}

int uvh_bytes_append(struct uvh_bytes *bytes, const void *data, size_t length)
{
    if (reserve(bytes, length) != 0)
        return -1;
    if (length > 0)
        memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
    return 0;
}

char *uvh_bytes_extend(struct uvh_bytes *bytes, size_t length)
{
    if (reserve(bytes, length) != 0)
        return NULL;
    bytes->length += length;
    return bytes->data + bytes->length - length;
}

int uvh_bytes_append_text(struct uvh_bytes *bytes, const char *text)
{
    return uvh_bytes_append(bytes, text, strlen(text));
}

int uvh_bytes_append_format(struct uvh_bytes *bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    /* vsnprintf also writes a NUL, which needs space but is not counted. */
    if (length < 0 || reserve(bytes, (size_t)length + 1) != 0)
        return fail(bytes);
    va_start(arguments, format);
    vsnprintf(bytes->data + bytes->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    bytes->length += (size_t)length;
    return 0;
}
