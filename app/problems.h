/* What is wrong with a configuration file: a list of messages with their places, so that a user
 * hears of several mistakes at once. */
#ifndef UVH_APP_PROBLEMS_H
#define UVH_APP_PROBLEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define UVH_PROBLEMS_MAX 20

/* A place in the file, both counted from 1; line 0: the file as a whole. */
struct uvh_mark {
    size_t line;
    size_t column;
};

struct uvh_problems {
    const char *file;
    size_t count; /* may be more than are kept */
    struct uvh_problem {
        struct uvh_mark mark;
        char text[1000]; /* cut; control characters are shown as '?' */
    } items[UVH_PROBLEMS_MAX];
};

/* Notes one, printf-style. Beyond UVH_PROBLEMS_MAX it is only counted. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void
uvh_problems_add(struct uvh_problems *problems, struct uvh_mark mark, const char *format, ...);

/* Prints each in a line, in the order of the file: "site.yaml:12:5: message". */
void uvh_problems_print(struct uvh_problems *problems, FILE *out);

#endif
