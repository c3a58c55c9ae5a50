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

/* The lines of a key of that map; empty if it is missing. */
static uvhttp_slice_t lines_within(uvhttp_slice_t lines, const char *key)
{
    const char *end = lines.base + lines.length, *begin = lines.base;
    while (begin < end && strncmp(begin, key, strlen(key)) != 0)
        begin = next_line(begin);
    const char *next = begin < end ? next_line(begin) : end;
    while (next < end && strncmp(next, "   ", 3) == 0)
        next = next_line(next);
    return (uvhttp_slice_t){begin, (size_t)(next - begin)};
}

static bool same(uvhttp_slice_t one, uvhttp_slice_t other)
{
    return one.length == other.length && memcmp(one.base, other.base, one.length) == 0;
}

/* Metrics and status at the address of the sites are routes, and their path may change. Of TLS a
 * reload replaces certificates, versions, and what else is for new connections. */
static bool differ(const char *one, const char *other, const char *key)
{
    uvhttp_slice_t a = lines_of(one, key), b = lines_of(other, key);
    if (strcmp(key, "metrics") == 0 || strcmp(key, "status") == 0)
        return !same(lines_within(a, "  listen:"), lines_within(b, "  listen:"));
    if (strcmp(key, "tls") != 0)
        return !same(a, b);
    return (a.length == 0) != (b.length == 0) ||
           !same(lines_within(a, "  watch:"), lines_within(b, "  watch:")) ||
           !same(lines_within(a, "  redirect_http:"), lines_within(b, "  redirect_http:"));
}

void uvh_fixed_keys_warn(const char *start, const struct uvh_setup *next, uvhttp_server_t *server)
{
    static const struct {
        const char *name;
        bool restart; /* an upgrade cannot change it */
    } keys[] = {{"server", false},  {"user", true},     {"group", true}, {"no_new_privs", true},
                {"confine", true},  {"pid_file", true}, {"tls", false},  {"log", false},
                {"metrics", false}, {"status", false}};
    char *now = start == NULL ? NULL : uvh_fixed_keys_of(next);
    for (size_t i = 0; now != NULL && i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (differ(start, now, keys[i].name))
            uvhttp_server_log(server, UVHTTP_LOG_WARNING,
                              "reload: '%s' has changed since the start; this needs %sa restart",
                              keys[i].name, keys[i].restart ? "" : "uvhttp upgrade, or ");
    }
    free(now);
}
