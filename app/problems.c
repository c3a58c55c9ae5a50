/* Collects and prints the problems of a configuration file. Guarantees one line for each problem,
 * whatever characters its values contain. Called by all modules that read the file or build from
 * it. */
#include "problems.h"

#include <stdarg.h>
#include <stdlib.h>

void uvh_problems_add(struct uvh_problems *problems, struct uvh_mark mark, const char *format, ...)
{
    if (problems->count++ >= UVH_PROBLEMS_MAX)
        return;
    struct uvh_problem *problem = &problems->items[problems->count - 1];
    problem->mark = mark;
    va_list values;
    va_start(values, format);
    vsnprintf(problem->text, sizeof(problem->text), format, values);
    va_end(values);
    for (char *c = problem->text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    }
}

static int compare_positions(const void *one, const void *other)
{
    const struct uvh_mark *a = &((const struct uvh_problem *)one)->mark;
    const struct uvh_mark *b = &((const struct uvh_problem *)other)->mark;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->column < b->column ? -1 : a->column > b->column;
}

void uvh_problems_print(struct uvh_problems *problems, FILE *out)
{
    size_t kept = problems->count < UVH_PROBLEMS_MAX ? problems->count : UVH_PROBLEMS_MAX;
    qsort(problems->items, kept, sizeof(problems->items[0]), compare_positions);
    for (size_t i = 0; i < kept; i++) {
        const struct uvh_problem *problem = &problems->items[i];
        if (problem->mark.line == 0)
            fprintf(out, "%s: %s\n", problems->file, problem->text);
        else
            fprintf(out, "%s:%zu:%zu: %s\n", problems->file, problem->mark.line,
                    problem->mark.column, problem->text);
    }
    if (problems->count > kept)
        fprintf(out, "%s: %zu more errors are not shown\n", problems->file, problems->count - kept);
}
