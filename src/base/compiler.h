/* Compiler features beyond C11: branch hints, ASan poisoning of freed memory, container_of. */
#ifndef UVH_BASE_COMPILER_H
#define UVH_BASE_COMPILER_H

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define UVH_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UVH_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* For functions where measurements show that the compiler's own choice is slower. */
#define UVH_ALWAYS_INLINE inline __attribute__((always_inline))
#define UVH_NEVER_INLINE  __attribute__((noinline))

/* For data that other files of the library read. Without it the compiler loads the address from the
 * GOT, because the data might be defined in another library. */
#define UVH_INTERNAL __attribute__((visibility("hidden")))

#define UVH_CONTAINER_OF(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Hides the origin of a pointer from the compiler, so that it stays in one register. A pointer into
 * an array is often recomputed for each member. */
#define UVH_OPAQUE(pointer) __asm__("" : "+r"(pointer))

#define UVH_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#if defined(__SANITIZE_ADDRESS__)
#define UVH_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define UVH_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UVH_ASAN 1
#elif __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define UVH_SANITIZED 1
#endif
#endif
#if defined(UVH_ASAN) /* or any other */
#define UVH_SANITIZED 1
#endif

/* Recycled memory stays mapped, so it is poisoned for ASan while it is free. */
#if defined(UVH_ASAN)
#include <sanitizer/asan_interface.h>
#define UVH_POISON(address, size)   __asan_poison_memory_region((address), (size))
#define UVH_UNPOISON(address, size) __asan_unpoison_memory_region((address), (size))
#else
#define UVH_POISON(address, size)   ((void)(address), (void)(size))
#define UVH_UNPOISON(address, size) ((void)(address), (void)(size))
#endif

/* Zeroes a struct of at least 32 bytes. For about 100 to some thousand bytes GCC compiles memset to
 * `rep stos`, which takes some 40 cycles to start. Measured: 10 ns less for each parsed head. */
static inline void uvh_clear(void *memory, size_t size)
{
    char *end = (char *)memory + size;
#pragma GCC unroll 8
    for (char *p = memory; p < end - 32; p += 32)
        memset(p, 0, 32);
    memset(end - 32, 0, 32);
}

#endif
