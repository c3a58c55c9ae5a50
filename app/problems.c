/* Collects and prints the problems of a configuration file. Guarantees one line for each problem,
 * whatever characters its values contain. Called by all modules that read the file or build from
 * it. */
#include "problems.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/embedding.h>

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
    /* Such as two words of one value with the same variable. */
    if (problems->count > 1 && uvh_mark_compare(&problem->mark, &problem[-1].mark) == 0 &&
        strcmp(problem->text, problem[-1].text) == 0)
        problems->count--;
}

int uvh_mark_compare(const struct uvh_mark *one, const struct uvh_mark *other)
{
    size_t a = one->source == NULL ? 0 : one->source->number;
    size_t b = other->source == NULL ? 0 : other->source->number;
    if (a != b)
        return a < b ? -1 : 1;
    if (one->line != other->line)
        return one->line < other->line ? -1 : 1;
    return one->column < other->column ? -1 : one->column > other->column;
}

static int compare_problems(const void *one, const void *other)
{
    return uvh_mark_compare(&((const struct uvh_problem *)one)->mark,
                            &((const struct uvh_problem *)other)->mark);
}

const char *uvh_mark_describe(const struct uvh_mark *mark, const struct uvh_mark *from,
                              char text[UVH_MARK_TEXT])
{
    if (mark->source == from->source || mark->source == NULL)
        snprintf(text, UVH_MARK_TEXT, "line %zu", mark->line);
    else
        snprintf(text, UVH_MARK_TEXT, "line %zu of %s", mark->line, mark->source->name);
    return text;
}

enum { LINE_SIZE = 6000 }; /* a path, the position and the text */

/* Calls `each` with each line, without its end. */
static void each_line(struct uvh_problems *problems, void (*each)(const char *line, void *arg),
                      void *arg)
{
    char line[LINE_SIZE], position[64];
    size_t kept = problems->count < UVH_PROBLEMS_MAX ? problems->count : UVH_PROBLEMS_MAX;
    qsort(problems->items, kept, sizeof(problems->items[0]), compare_problems);
    for (size_t i = 0; i < kept; i++) {
        const struct uvh_problem *problem = &problems->items[i];
        const struct uvh_mark *mark = &problem->mark;
        snprintf(position, sizeof(position), ":%zu:%zu", mark->line, mark->column);
        snprintf(line, sizeof(line), "%s%s: %s",
                 mark->source == NULL ? problems->file : mark->source->name,
                 mark->line != 0 ? position : "", problem->text);
        each(line, arg);
    }
    if (problems->count > kept) {
        snprintf(line, sizeof(line), "%s: %zu more errors are not shown", problems->file,
                 problems->count - kept);
        each(line, arg);
    }
}

static void print_line(const char *line, void *out)
{
    fprintf(out, "%s\n", line);
}

void uvh_problems_print(struct uvh_problems *problems, FILE *out)
{
    each_line(problems, print_line, out);
}

static void log_line(const char *line, void *level)
{
    uvhttp_log_to_stderr(UVHTTP_LOG_ERROR, line, level);
}

void uvh_problems_log(struct uvh_problems *problems)
{
    uvhttp_log_level_t level = UVHTTP_LOG_ERROR;
    each_line(problems, log_line, &level);
}
