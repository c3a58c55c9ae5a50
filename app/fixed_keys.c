/* See fixed_keys.h. Values are compared as uvh_print_config writes them. */
#include "fixed_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uvhttp/config.h>

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

static const char *next_line(const char *line, const char *end)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    return newline == NULL ? end : newline + 1;
}

/* The lines of a key at the top level; empty if it is missing. */
static uvhttp_slice_t lines_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    const char *end = text + strlen(text), *begin = text;
    while (begin < end && (strncmp(begin, key, length) != 0 || begin[length] != ':'))
        begin = next_line(begin, end);
    const char *next = next_line(begin, end);
    while (*next == ' ')
        next = next_line(next, end);
    return (uvhttp_slice_t){begin, (size_t)(next - begin)};
}

/* The line of a key of that map; empty if it is missing. */
static uvhttp_slice_t line_within(uvhttp_slice_t lines, const char *key)
{
    size_t length = strlen(key);
    const char *end = lines.base + lines.length, *begin = lines.base;
    while (begin < end && (strncmp(begin, "  ", 2) != 0 || strncmp(begin + 2, key, length) != 0 ||
                           begin[2 + length] != ':'))
        begin = next_line(begin, end);
    return (uvhttp_slice_t){begin, (size_t)(next_line(begin, end) - begin)};
}

static bool same(uvhttp_slice_t one, uvhttp_slice_t other)
{
    return one.length == other.length && memcmp(one.base, other.base, one.length) == 0;
}

/* A key of the file, or of a map of it. */
struct fixed {
    const char *map, *key; /* `map`: NULL at the top level */
    bool restart;          /* an upgrade cannot change it */
};

static void check(const char *start, const char *now, const struct fixed *fixed,
                  uvhttp_server_t *server)
{
    const char *top = fixed->map != NULL ? fixed->map : fixed->key;
    uvhttp_slice_t a = lines_of(start, top), b = lines_of(now, top);
    if (fixed->map != NULL) {
        a = line_within(a, fixed->key);
        b = line_within(b, fixed->key);
    }
    if (!same(a, b))
        uvhttp_server_log(server, UVHTTP_LOG_WARNING,
                          "reload: '%s'%s%s has changed since the start; this needs %sa restart",
                          fixed->key, fixed->map != NULL ? " of " : "",
                          fixed->map != NULL ? fixed->map : "",
                          fixed->restart ? "" : "uvhttp upgrade, or ");
}

static void check_limits(const char *start, const char *now, uvhttp_server_t *server)
{
    const uvhttp_limit_t *limit;
    for (size_t i = 0; (limit = uvhttp_config_limit(i)) != NULL; i++)
        check(start, now, &(struct fixed){.map = "server", .key = limit->name}, server);
}

static bool has_tls(const char *text)
{
    return lines_of(text, "tls").length > 0;
}

/* Metrics and status at the address of the sites are routes, and their path may change. Of TLS a
 * reload replaces certificates, versions, and what else is for new connections. */
void uvh_fixed_keys_warn(const char *start, const struct uvh_setup *next, uvhttp_server_t *server)
{
    static const struct fixed keys[] = {{NULL, "user", true},         {NULL, "group", true},
                                        {NULL, "no_new_privs", true}, {NULL, "confine", true},
                                        {NULL, "pid_file", true},     {NULL, "log", false},
                                        {"metrics", "listen", false}, {"status", "listen", false}};
    static const struct fixed tls[] = {{"tls", "watch", false}, {"tls", "redirect_http", false}};
    char *now = start == NULL ? NULL : uvh_fixed_keys_of(next);
    if (now == NULL)
        return;
    check_limits(start, now, server);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        check(start, now, &keys[i], server);
    if (has_tls(start) != has_tls(now))
        check(start, now, &(struct fixed){.key = "tls"}, server);
    for (size_t i = 0; has_tls(start) && has_tls(now) && i < sizeof(tls) / sizeof(tls[0]); i++)
        check(start, now, &tls[i], server);
    free(now);
}
