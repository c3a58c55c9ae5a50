/* Memory between two protected pages, so that a byte read or written outside it ends the process,
 * in every build.
 *
 * Inputs are put against its end (or its front), where reading one byte too many (or too early)
 * shows. Used by the vectors and the comparison with the reference parser. Never released: the
 * test's process ends with it. */
#ifndef UVH_TESTS_GUARDED_H
#define UVH_TESTS_GUARDED_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct guarded {
    char *front; /* the first byte behind the protected page in front */
    char *end;   /* the first protected byte behind */
};

/* At least `room` bytes; ends the process when there is no memory. */
static inline struct guarded guarded_make(size_t room)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (room + page - 1) / page * page;
    char *memory =
        mmap(NULL, size + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0 ||
        mprotect(memory + page + size, page, PROT_NONE) != 0) {
        fputs("there is no memory with protected pages\n", stderr);
        exit(2);
    }
    return (struct guarded){memory + page, memory + page + size};
}

/* A copy of the bytes that ends at the protected page. */
static inline char *guarded_copy(const struct guarded *memory, const char *bytes, size_t length)
{
    char *copy = memory->end - length;
    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

/* A copy of the bytes that begins behind the protected page. */
static inline char *guarded_copy_front(const struct guarded *memory, const char *bytes,
                                       size_t length)
{
    if (length > 0)
        memcpy(memory->front, bytes, length);
    return memory->front;
}

#endif
