/* See usage.h. Called by the commands cert, hash-password and precompress. */
#include "usage.h"

#include <stdio.h>
#include <string.h>

#include "options.h"
#include "suggest.h"

static const char *name_at(size_t index, const void *arg)
{
    return ((const struct option *)arg)[index].name;
}

int uvh_usage_refuse(char *const *argv, const struct option *options)
{
    const char *word = argv[optind - 1];
    if (optopt == 0 && strncmp(word, "--", 2) == 0) {
        char name[UVH_OPTIONS_VARIABLE_SIZE];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
        const char *nearest = uvh_suggest(name, name_at, options);
        if (nearest != NULL)
            fprintf(stderr, "%s: did you mean '--%s'?\n", argv[0], nearest);
    }
    fprintf(stderr, "Try '%s --help'.\n", argv[0]);
    return UVH_EXIT_USAGE;
}
