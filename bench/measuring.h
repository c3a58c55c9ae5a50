/* Shared by the benchmarks of parser and router: the build that is measured, the clock (CPU time of
 * the thread), rounds and medians.
 *
 * CMake defines UVH_VERSION, UVH_COMPILER, UVH_BUILD_TYPE and UVH_FLAGS (the compiler flags of that
 * build type). */
#ifndef UVH_BENCH_MEASURING_H
#define UVH_BENCH_MEASURING_H

#include <ctype.h>
#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "arguments.h"

#define BUILD UVH_VERSION " " UVH_COMPILER " " UVH_BUILD_TYPE

enum { ROUNDS_MAX = 1000, MILLISECONDS_MAX = 10000 };

/* Nanoseconds per operation of each round. */
struct rounds {
    double ns[ROUNDS_MAX];
    int count;
};

/* The CPU time of this thread, which does not advance while the thread is not running. */
static inline uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void add_round(struct rounds *rounds, uint64_t elapsed, uint64_t operations)
{
    rounds->ns[rounds->count++] = (double)elapsed / (double)operations;
}

static inline int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Sorts the rounds. Returns their median. */
static inline double sort_rounds(struct rounds *rounds)
{
    qsort(rounds->ns, (size_t)rounds->count, sizeof(*rounds->ns), compare_doubles);
    return (rounds->ns[(rounds->count - 1) / 2] + rounds->ns[rounds->count / 2]) / 2;
}

static inline void write_rounds(FILE *file, const struct rounds *rounds)
{
    putc('[', file);
    for (int i = 0; i < rounds->count; i++)
        fprintf(file, "%s%.3f", i > 0 ? ", " : "", rounds->ns[i]);
    putc(']', file);
}

/* Figures of other builds do not apply to users, so those builds are not measured. */
static inline void require_release(void)
{
    if (strcmp(UVH_BUILD_TYPE, "Release") != 0)
        errx(1,
             "refused: this is not a Release build (" BUILD "), so its figures would mean nothing");
}

/* Parses a decimal number from 1 to `high`. */
static inline bool read_number(const char *text, uint64_t high, uint64_t *number)
{
    char *end;
    *number = strtoull(text, &end, 10);
    return isdigit((unsigned char)*text) && *end == '\0' && *number >= 1 && *number <= high;
}

/* Removes "NAME NUMBER" from the arguments, if it is there. Returns false for an invalid number. */
static inline bool take_number(const char *name, uint64_t high, int *argc, char **argv,
                               uint64_t *number)
{
    const char *text = take_option(name, argc, argv);
    return text == NULL || read_number(text, high, number);
}

#endif
