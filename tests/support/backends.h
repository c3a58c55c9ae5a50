/* Runs the body of a loop once for each back end of the head parser that this machine supports:
 *
 *     for (size_t at = 0; backends_next(&at);)
 *
 * The fastest back end is in use again after the loop. */
#ifndef UVH_TESTS_BACKENDS_H
#define UVH_TESTS_BACKENDS_H

#include <stdbool.h>
#include <stddef.h>

#include <uvhttp/parser.h>

static inline bool backends_next(size_t *at)
{
    static const char *const names[] = {"swar", "sse42", "avx2", "avx512", "neon"};
    while (*at < sizeof names / sizeof *names) {
        if (uvhttp_parser_use_backend(names[(*at)++]))
            return true;
    }
    uvhttp_parser_use_backend(NULL);
    return false;
}

#endif
