/* Problems of a configuration file: a list of messages with positions, so that a user sees several
 * errors at once. */
#ifndef UVH_APP_PROBLEMS_H
#define UVH_APP_PROBLEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define UVH_PROBLEMS_MAX 20

/* A file of the configuration: the main one, or one that `include` names. */
struct uvh_source {
    const char *name;      /* as messages show it */
    const char *directory; /* base of its relative paths; "": the current directory */
    size_t number;         /* in the order of reading; 0: the main file */
    const struct uvh_source *includer;
    const struct uvh_source *next; /* read before it, or NULL */
};

/* A position in a file, line and column counted from 1; line 0: the file as a whole. */
struct uvh_mark {
    size_t line;
    size_t column;
    const struct uvh_source *source; /* NULL: no file, or the main one */
};

#define UVH_MARK_NONE ((struct uvh_mark){.line = 0})

enum { UVH_MARK_TEXT = 300 };

struct uvh_problems {
    const char *file; /* the main file */
    size_t count;     /* may exceed the number kept */
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

/* The order of two positions, as strcmp: by file, line and column. */
int uvh_mark_compare(const struct uvh_mark *one, const struct uvh_mark *other);

/* "line 9", or "line 9 of a.yaml" if that is not the file of `from`, which is the position of the
 * message. */
const char *uvh_mark_describe(const struct uvh_mark *mark, const struct uvh_mark *from,
                              char text[UVH_MARK_TEXT]);

/* Prints one line each, in the order of the files: "site.yaml:12:5: message". */
void uvh_problems_print(struct uvh_problems *problems, FILE *out);

/* The same lines as errors in the log on standard error. */
void uvh_problems_log(struct uvh_problems *problems);

#endif
