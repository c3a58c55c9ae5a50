/* Problems of a configuration file: a list of messages with positions, so that a user sees several
 * errors at once. */
#ifndef UVH_APP_PROBLEMS_H
#define UVH_APP_PROBLEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define UVH_PROBLEMS_MAX 20

/* A position in the file, line and column counted from 1; line 0: the file as a whole. */
struct uvh_mark {
    size_t line;
    size_t column;
};

struct uvh_problems {
    const char *file;
    size_t count; /* may exceed the number kept */
    struct uvh_problem {
        struct uvh_mark mark;
        char text[1000]; /* truncated; control characters are shown as '?' */
    } items[UVH_PROBLEMS_MAX];
};

/* Notes a problem, printf-style. After UVH_PROBLEMS_MAX it is only counted. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void
uvh_problems_add(struct uvh_problems *problems, struct uvh_mark mark, const char *format, ...);

/* Prints one line each, in the order of the file: "site.yaml:12:5: message". */
void uvh_problems_print(struct uvh_problems *problems, FILE *out);

#endif
