/* Memory between two protected pages: a read or write outside it ends the process, in every build.
 *
 * A test copies its input to the end (or the front), so that a read of one byte too many (or too
 * early) is detected. The memory is never released; it lasts until the process ends. */
#ifndef UVH_TESTS_GUARDED_H
#define UVH_TESTS_GUARDED_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct guarded {
    char *front; /* first byte after the leading protected page */
    char *end;   /* first byte of the trailing protected page */
};

/* Allocates at least `least` bytes. Ends the process when there is no memory. */
static inline struct guarded guarded_make(size_t least)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (least + page - 1) / page * page;
    char *memory =
        mmap(NULL, size + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0 ||
        mprotect(memory + page + size, page, PROT_NONE) != 0) {
        fputs("there is no memory with protected pages\n", stderr);
        exit(2);
    }
    return (struct guarded){memory + page, memory + page + size};
}

/* Copies the bytes so that they end at the trailing protected page. */
static inline char *guarded_copy(const struct guarded *memory, const char *bytes, size_t length)
{
    char *copy = memory->end - length;
    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

/* Copies the bytes so that they begin after the leading protected page. */
static inline char *guarded_copy_front(const struct guarded *memory, const char *bytes,
                                       size_t length)
{
    if (length > 0)
        memcpy(memory->front, bytes, length);
    return memory->front;
}

#endif
