/* See route_loop.h. Only locations that surely lead back are found: those with the same text as the
 * route's path, and paths without placeholders that no other route has. */
#include "route_loop.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Whether `*text` begins with `word`, which is then skipped. */
static bool skip(const char **text, const char *word)
{
    size_t length = strlen(word);
    bool found = strncasecmp(*text, word, length) == 0;
    *text += found ? length : 0;
    return found;
}

/* The location without a scheme and host that are those of the site; NULL for others. */
static const char *local_part(const char *location, const struct uvh_setup_site *site, bool tls)
{
    if (*location == '/' && location[1] != '/')
        return location;
    if (*location == '{')
        return skip(&location, "{scheme}://{host}") || location[1] != 's' ? location : NULL;
    if (!skip(&location, tls ? "https://" : "http://"))
        return NULL;
    if (skip(&location, "{host}"))
        return location;
    for (size_t i = 0; i < site->hosts.count; i++) {
        const char *rest = location;
        if (skip(&rest, site->hosts.items[i].text) && (*rest == '/' || *rest == '{'))
            return rest;
    }
    return NULL;
}

/* The template that gives each path of a pattern: "/users/{id}/{rest}" for "/users/:id(int)/" and a
 * final "*". */
static void write_template(const char *pattern, char *text, size_t size)
{
    size_t used = 0;
    while (*pattern != '\0' && used + 1 < size) {
        size_t name = *pattern == ':' ? strcspn(pattern + 1, "(./") : 0;
        if (*pattern == '*')
            used += (size_t)snprintf(text + used, size - used, "{rest}");
        else if (name > 0)
            used += (size_t)snprintf(text + used, size - used, "{%.*s}", (int)name, pattern + 1);
        else
            text[used++] = *pattern;
        pattern += 1 + name;
        if (name > 0 && *pattern == '(') {
            pattern += strcspn(pattern, ")");
            pattern += *pattern != '\0'; /* the router refuses a pattern without it */
        }
    }
    text[used < size ? used : size - 1] = '\0';
}

/* The length of the part of a route's path that is before a final "*"; for other paths 0 unless
 * they are `path`, and then more than for any "*". */
static size_t weight(const struct uvh_setup_route *route, const char *path, size_t length)
{
    const char *own = route->path.text;
    size_t own_length = own == NULL ? 0 : strlen(own);
    bool below =
        own_length > 0 && (own[own_length - 1] == '*' ||
                           (route->kind == UVH_ROUTE_STATIC && own[own_length - 1] == '/'));
    if (own_length == length && memcmp(own, path, length) == 0)
        return SIZE_MAX;
    size_t prefix = below ? own_length - (own[own_length - 1] == '*') : 0;
    return prefix > 0 && prefix <= length && memcmp(own, path, prefix) == 0 ? prefix : 0;
}

/* Whether a path without placeholders belongs to this route and no other one. */
static bool has_path(const struct uvh_setup_site *site, const struct uvh_setup_route *route,
                     const char *location)
{
    size_t length = strcspn(location, "?#"), own = weight(route, location, length);
    if (strpbrk(location, "{%") != NULL || own == 0)
        return false;
    for (size_t i = 0; i < site->route_count; i++) {
        const char *path = site->routes[i].path.text;
        if (weight(&site->routes[i], location, length) > own ||
            (own != SIZE_MAX && path != NULL && strchr(path, ':') != NULL))
            return false;
    }
    return true;
}

static bool leads_back(const struct uvh_setup_site *site, const struct uvh_setup_route *route,
                       bool tls)
{
    const char *location = local_part(route->text.text, site, tls);
    char same[512];
    if (location == NULL)
        return false;
    write_template(route->path.text, same, sizeof(same));
    size_t length = strlen(same);
    if (strcmp(location, "{target}") == 0 || strcmp(location, "{path}") == 0 ||
        strcmp(location, "{path}{query}") == 0)
        return true;
    if (strncmp(location, same, length) == 0 &&
        (location[length] == '\0' || strcmp(location + length, "{query}") == 0))
        return true;
    return has_path(site, route, location);
}

/* One for other methods only leads to a GET. */
static bool has_get(const struct uvh_setup_route *route)
{
    bool found = route->methods.count == 0;
    for (size_t i = 0; i < route->methods.count && !found; i++)
        found = strcmp(route->methods.items[i].text, "GET") == 0;
    return found;
}

void uvh_route_loop_check(const struct uvh_setup_site *site, bool tls,
                          struct uvh_problems *problems)
{
    for (size_t i = 0; i < site->route_count && site->rewrite_count == 0; i++) {
        const struct uvh_setup_route *route = &site->routes[i];
        if (route->kind != UVH_ROUTE_REDIRECT || route->text.text == NULL ||
            route->path.text == NULL || !has_get(route) || !leads_back(site, route, tls))
            continue;
        uvh_problems_add(problems, route->text.mark,
                         "%s: '%s' leads to itself at '%s', so clients would give up; change the "
                         "location%s",
                         route->text.mark.line != 0 ? "redirect" : "--redirect", route->text.text,
                         route->path.text,
                         tls && strncasecmp(route->text.text, "https://{host}", 14) == 0
                             ? ", or use redirect_http"
                             : "");
    }
}
