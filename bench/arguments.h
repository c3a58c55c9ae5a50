/* Shared by the benchmark programs: options with a value, anywhere among the arguments. */
#ifndef UVH_BENCH_ARGUMENTS_H
#define UVH_BENCH_ARGUMENTS_H

#include <stddef.h>
#include <string.h>

/* Removes the first "NAME VALUE" from the arguments. Returns the value, or NULL. NAME without a
 * value stays, so the program rejects it like an unknown option. */
static inline char *take_option(const char *name, int *argc, char **argv)
{
    for (int i = 1; i + 1 < *argc; i++) {
        if (strcmp(argv[i], name) != 0)
            continue;
        char *value = argv[i + 1];
        *argc -= 2;
        memmove(argv + i, argv + i + 2, (size_t)(*argc - i) * sizeof(*argv));
        return value;
    }
    return NULL;
}

#endif
