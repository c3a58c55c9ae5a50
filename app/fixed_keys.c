/* See fixed_keys.h. Values are compared as uvh_print_config writes them. */
#include "fixed_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "print_config.h"

char *uvh_fixed_keys_of(const struct uvh_setup *setup)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    uvh_print_config(setup, out);
    fclose(out);
    return text;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end == NULL ? line + strlen(line) : end + 1;
}

/* The lines of a key at the top level; empty if it is missing. */
static uvhttp_slice_t lines_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    const char *begin = text;
    while (*begin != '\0' && (strncmp(begin, key, length) != 0 || begin[length] != ':'))
        begin = next_line(begin);
    const char *end = next_line(begin);
    while (*end == ' ')
        end = next_line(end);
    return (uvhttp_slice_t){begin, (size_t)(end - begin)};
}

/* Metrics at the address of the sites are a route, and their path may change. */
static uvhttp_slice_t fixed_lines_of(const char *text, const char *key)
{
    uvhttp_slice_t lines = lines_of(text, key);
    const char *end = lines.base + lines.length, *line = lines.base;
    if (strcmp(key, "metrics") != 0)
        return lines;
    while (line < end && strncmp(line, "  listen:", 9) != 0)
        line = next_line(line);
    return (uvhttp_slice_t){line, (size_t)(end - line)};
}

static bool differ(const char *one, const char *other, const char *key)
{
    uvhttp_slice_t a = fixed_lines_of(one, key), b = fixed_lines_of(other, key);
    return a.length != b.length || memcmp(a.base, b.base, a.length) != 0;
}

void uvh_fixed_keys_warn(const char *start, const struct uvh_setup *next, uvhttp_server_t *server)
{
    static const char *const keys[] = {"server",   "listen", "user", "group",
                                       "pid_file", "tls",    "log",  "metrics"};
    char *now = start == NULL ? NULL : uvh_fixed_keys_of(next);
    for (size_t i = 0; now != NULL && i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (differ(start, now, keys[i]))
            uvhttp_server_log(server, UVHTTP_LOG_WARNING,
                              "reload: '%s' has changed since the start; this needs a restart",
                              keys[i]);
    }
    free(now);
}
