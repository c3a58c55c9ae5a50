/* Reads the test vectors of tests/vectors: Markdown with a heading, a fenced block with the input
 * bytes, and a fenced block with the expected result. tests/vectors/README.md describes the format.
 * Used by test_vectors.c only. */
#ifndef UVH_TESTS_VECTOR_FILE_H
#define UVH_TESTS_VECTOR_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vector {
    char *name;  /* file and heading */
    char *kind;  /* type of the input and options: the words after the first fence */
    char *bytes; /* decoded */
    size_t size;
    char *expected; /* the second block, unmodified */
};

struct vector_list {
    struct vector *items;
    size_t count;
};

static void vector_file_die(const char *what, const char *where)
{
    fprintf(stderr, "%s: %s\n", where, what);
    exit(2);
}

static void *vector_file_grow(void *memory, size_t size)
{
    void *grown = realloc(memory, size);
    if (grown == NULL)
        vector_file_die("out of memory", "test_vectors");
    return grown;
}

static void vector_file_append(char **text, size_t *size, const char *bytes, size_t length)
{
    *text = vector_file_grow(*text, *size + length + 1);
    memcpy(*text + *size, bytes, length);
    *size += length;
    (*text)[*size] = '\0';
}

/* \repeat(N,text): N times the text, which contains neither escapes nor a closing parenthesis.
 * Returns the position after it. */
static const char *vector_file_repeat(struct vector *vector, const char *p)
{
    char *comma;
    unsigned long times = strtoul(p, &comma, 10);
    const char *close = *comma == ',' ? strchr(comma, ')') : NULL;
    if (close == NULL)
        vector_file_die("malformed \\repeat", vector->name);
    while (times-- > 0)
        vector_file_append(&vector->bytes, &vector->size, comma + 1, (size_t)(close - comma - 1));
    return close + 1;
}

/* Decodes one line of the first block without its line end, since line ends of the input are
 * written as \r\n. */
static void vector_file_decode(struct vector *vector, const char *p, const char *end)
{
    while (p < end) {
        char byte = *p++;
        if (byte == '\\' && p < end) {
            char kind = *p++;
            if (kind == 'r' && strncmp(p, "epeat(", 6) == 0) {
                p = vector_file_repeat(vector, p + 6);
                continue;
            }
            if (kind == 'x') {
                char digits[3] = {p[0], p[1], '\0'};
                char *stop;
                byte = (char)strtoul(digits, &stop, 16);
                if (*stop != '\0' || stop == digits)
                    vector_file_die("malformed \\x", vector->name);
                p += 2;
            } else if (kind == 'r' || kind == 'n' || kind == 't' || kind == '0' || kind == '\\') {
                byte = (char)(kind == 'r'   ? '\r'
                              : kind == 'n' ? '\n'
                              : kind == 't' ? '\t'
                              : kind == '0' ? '\0'
                                            : '\\');
            } else {
                vector_file_die("unknown escape", vector->name);
            }
        }
        vector_file_append(&vector->bytes, &vector->size, &byte, 1);
    }
}

static char *vector_file_text(const char *path, const char *separator, const char *start,
                              size_t length)
{
    char *text = NULL;
    size_t size = 0;
    vector_file_append(&text, &size, path, strlen(path));
    vector_file_append(&text, &size, separator, strlen(separator));
    vector_file_append(&text, &size, start, length);
    return text;
}

static char *vector_file_load(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        vector_file_die("cannot be opened", path);
    char *text = NULL;
    size_t size = 0;
    char part[4096];
    for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;)
        vector_file_append(&text, &size, part, got);
    fclose(file);
    return text;
}

/* Adds the vectors of one file to `list`. `label` is the file's name in the names of the tests. */
static void vector_file_read(struct vector_list *list, const char *path, const char *label)
{
    char *text = vector_file_load(path);
    enum { OUTSIDE, INPUT, BETWEEN, EXPECTED } state = OUTSIDE;
    char *heading = NULL;
    struct vector *vector = NULL;
    size_t expected_size = 0;
    for (const char *line = text; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        size_t length = end != NULL ? (size_t)(end - line) : strlen(line);
        bool fence = length >= 3 && strncmp(line, "```", 3) == 0;
        if (state == OUTSIDE && length > 3 && strncmp(line, "## ", 3) == 0) {
            free(heading);
            heading = vector_file_text(label, ": ", line + 3, length - 3);
        } else if (fence && state == OUTSIDE && heading != NULL) {
            list->items = vector_file_grow(list->items, (list->count + 1) * sizeof *list->items);
            vector = &list->items[list->count++];
            *vector = (struct vector){.name = heading,
                                      .kind = vector_file_text("", "", line + 3, length - 3)};
            vector_file_append(&vector->bytes, &vector->size, "", 0);
            heading = NULL;
            state = INPUT;
        } else if (fence && state != OUTSIDE) {
            state = state == INPUT ? BETWEEN : state == BETWEEN ? EXPECTED : OUTSIDE;
            expected_size = 0;
        } else if (state == INPUT) {
            vector_file_decode(vector, line, line + length);
        } else if (state == EXPECTED) {
            vector_file_append(&vector->expected, &expected_size, line, length);
            vector_file_append(&vector->expected, &expected_size, "\n", 1);
        }
        line = end != NULL ? end + 1 : NULL;
    }
    if (state != OUTSIDE)
        vector_file_die("ends inside a vector", path);
    free(heading);
    free(text);
}

static void vector_file_release(struct vector_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].kind);
        free(list->items[i].bytes);
        free(list->items[i].expected);
    }
    free(list->items);
}

#endif
