/* All back ends of the head parser that can be had here, one after the other, for tests in which
 * each has to give the same:
 *
 *     for (size_t at = 0; backends_next(&at);)
 *
 * One is in use while the loop's body runs, and behind the loop the quickest. */
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
