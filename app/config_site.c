/* Reads the sites of a configuration file: hosts, fields, routes. The kind of a route's response
 * decides which keys it may have. Called by config_file.c. */
#include "config_site.h"

#include "config_auth.h"
#include "config_rules.h"
#include "config_static.h"

#include <stdio.h>
#include <string.h>

#define HOSTS_MAX 10000 /* limit for all sites together */

/* The route being read, and the nodes that check_route and check_status need. */
struct route_reader {
    struct uvh_setup_route *route;
    /* the values of 'static', 'redirect' and 'respond', in the order of the file */
    const struct uvh_yaml_node *responses[3];
    size_t response_count;
    const struct uvh_yaml_node *status; /* the value of 'status', or NULL */
    const struct uvh_yaml_node
        *static_option; /* the first option that requires 'static', or NULL */
};

static void read_path(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    struct route_reader *read = into;
    read->route->path = (struct uvh_text){uvh_config_text(reader, value), value->mark};
}

static void read_methods(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    struct route_reader *read = into;
    uvh_config_read_texts(reader, value, &read->route->methods);
    if (value->kind == UVH_YAML_LIST && value->count == 0)
        uvh_problems_add(reader->problems, value->mark,
                         "methods is an empty list; omit it for the default methods");
}

static void read_headers(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    struct route_reader *read = into;
    uvh_config_read_fields(reader, value, &read->route->headers);
}

static void read_auth(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    uvh_config_auth_read(reader, value, &((struct route_reader *)into)->route->auth);
}

static void read_static(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        void *into)
{
    struct route_reader *read = into;
    read->responses[read->response_count++] = value;
    read->route->kind = UVH_ROUTE_STATIC;
    read->route->root = (struct uvh_text){uvh_config_path(reader, value), value->mark};
}

/* Notes the first option that requires 'static', for the error of a route without it. Returns the
 * route. */
static struct uvh_setup_route *begin_static_option(struct route_reader *read,
                                                   const struct uvh_yaml_node *value)
{
    if (read->static_option == NULL)
        read->static_option = value;
    return read->route;
}

static void read_static_option(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                               void *into)
{
    uvh_config_static_read_option(reader, value, &begin_static_option(into, value)->files);
}

/* The key "file" has no row in the option table: `serve` has --alias=/PATH=FILE instead. */
static void read_file(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    begin_static_option(into, value)->files.file = uvh_config_text(reader, value);
}

static void read_more_roots(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            void *into)
{
    struct uvh_text_list *roots = &begin_static_option(into, value)->more_roots;
    uvh_config_read_texts(reader, value, roots);
    for (size_t i = 0; i < roots->count; i++) {
        if (roots->items[i].text != NULL && *roots->items[i].text != '\0')
            roots->items[i].text =
                uvh_config_below_directory(reader, roots->items[i].mark, roots->items[i].text);
        else
            uvh_problems_add(reader->problems, roots->items[i].mark,
                             "more_roots has an empty path");
    }
}

static void read_prewarm(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    uvh_config_read_texts(reader, value, &begin_static_option(into, value)->prewarm);
}

static void read_types(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    uvh_config_rules_read_types(reader, value, &begin_static_option(into, value)->files);
}

static void read_rules(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    uvh_config_rules_read(reader, value, &begin_static_option(into, value)->files);
}

static const char target_word[] = "{target}";

/* True if a location is complete up to its host. The client chooses the target that follows, which
 * may begin with "//"; it must not choose the host. So "https://", "https:" and "/" are not enough:
 * browsers accept any number of slashes and backslashes before a host, and ignore tabs. */
static bool has_host_or_path(const char *location, size_t length)
{
    static const char scheme_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789+-.";
    const char *end = location + length;
    const char *at = location + strspn(location, " ");
    size_t scheme = strspn(at, scheme_chars);
    bool has_scheme = scheme > 0 && at[scheme] == ':';
    at += has_scheme ? scheme + 1 : 0;
    size_t slashes = strspn(at, "/\\ ");
    at += slashes;
    if (at == end || memchr(location, '\t', length) != NULL)
        return false;
    bool ends_in_host = (has_scheme || slashes > 1) && at + strcspn(at, "/\\?#") >= end;
    return !ends_in_host || (end[-1] != '@' && end[-1] != ':');
}

/* Reads a URL, or a URL followed by "{target}". */
static void read_location(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                          struct uvh_setup_route *route, const char *text)
{
    const char *word = strstr(text, target_word);
    route->location = text;
    if (word == NULL)
        return;
    size_t length = (size_t)(word - text);
    if (word[sizeof(target_word) - 1] != '\0' || !has_host_or_path(text, length)) {
        uvh_problems_add(
            reader->problems, value->mark,
            "{target} (path and query of the request) must be at the end, after a host or a path, "
            "such as https://example.com{target}");
        return;
    }
    char *location = uvh_config_allocate(reader, 1, length + 1);
    if (location == NULL)
        return;
    memcpy(location, text, length);
    route->location = location;
    route->with_target = true;
}

/* Notes a problem if the value of a field is empty or invalid. */
static void check_value(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        const char *name, const char *text)
{
    const char *fault = *text == '\0'                          ? "is empty"
                        : uvhttp_header_check(name, text) != 0 ? "contains a control character"
                                                               : NULL;
    if (fault != NULL)
        uvh_problems_add(reader->problems, value->mark, "%s is invalid: it %s", value->key->text,
                         fault);
}

static void read_redirect(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                          void *into)
{
    struct route_reader *read = into;
    read->responses[read->response_count++] = value;
    read->route->kind = UVH_ROUTE_REDIRECT;
    const char *text = uvh_config_text(reader, value);
    if (text == NULL)
        return;
    check_value(reader, value, "Location", text);
    read_location(reader, value, read->route, text);
}

static void read_status(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        void *into)
{
    (void)reader;
    struct route_reader *read = into;
    read->status = value;
}

static void read_respond_status(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                                void *into)
{
    struct uvh_setup_route *route = into;
    size_t status = 200;
    uvh_config_read_number(reader, value, "", 200, 599, &status);
    route->status = (int)status;
}

static void read_body(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    ((struct uvh_setup_route *)into)->body = uvh_config_text(reader, value);
}

static void read_type(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    const char *text = uvh_config_text(reader, value);
    if (text != NULL)
        check_value(reader, value, "Content-Type", text);
    ((struct uvh_setup_route *)into)->type = text;
}

static void read_respond(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    static const struct uvh_config_key keys[] = {
        {"status", read_respond_status}, {"body", read_body}, {"type", read_type}, {NULL, NULL}};
    struct route_reader *read = into;
    struct uvh_setup_route *route = read->route;
    read->responses[read->response_count++] = value;
    route->kind = UVH_ROUTE_RESPOND;
    route->status = 200;
    uvh_config_read_map(reader, value, "respond", keys, route);
    if ((route->status == 204 || route->status == 205 || route->status == 304) &&
        route->body != NULL)
        uvh_problems_add(reader->problems, value->mark, "a response with status %d has no body",
                         route->status);
    if (route->body != NULL && route->type == NULL)
        route->type = "text/plain; charset=utf-8";
}

static void check_status(struct uvh_config_reader *reader, const struct route_reader *read)
{
    static const char *const words[] = {"301", "302", "303", "307", "308"};
    static const int statuses[] = {301, 302, 303, 307, 308}; /* in the order of `words` */
    if (read->route->kind != UVH_ROUTE_REDIRECT) {
        if (read->status != NULL)
            uvh_problems_add(reader->problems, read->status->key->mark,
                             "'status' requires 'redirect', or must be in 'respond'");
        return;
    }
    read->route->status = 302;
    if (read->status == NULL)
        return;
    int index = uvh_config_read_word(reader, read->status, words, sizeof(words) / sizeof(words[0]));
    if (index >= 0)
        read->route->status = statuses[index];
}

static void check_route(struct uvh_config_reader *reader, const struct uvh_yaml_node *node,
                        const struct route_reader *read)
{
    const struct uvh_setup_route *route = read->route;
    if (route->path.mark.line == 0)
        uvh_problems_add(reader->problems, node->mark, "a route requires 'path'");
    if (read->response_count == 0)
        uvh_problems_add(reader->problems, node->mark,
                         "a route requires 'static', 'redirect' or 'respond'");
    if (read->response_count > 1)
        uvh_problems_add(reader->problems, read->responses[1]->key->mark,
                         "this route already has '%s'; only one of 'static', 'redirect' and "
                         "'respond' is allowed",
                         read->responses[0]->key->text);
    if (read->static_option != NULL && route->kind != UVH_ROUTE_STATIC)
        uvh_problems_add(reader->problems, read->static_option->key->mark, "'%s' requires 'static'",
                         read->static_option->key->text);
    for (size_t i = 0; i < route->methods.count && route->kind == UVH_ROUTE_STATIC; i++) {
        if (strcmp(route->methods.items[i].text, "GET") != 0)
            uvh_problems_add(reader->problems, route->methods.items[i].mark,
                             "'static' allows only GET (which includes HEAD)");
    }
    if (route->kind == UVH_ROUTE_STATIC)
        uvh_config_static_check(reader, node, route);
    check_status(reader, read);
}

static void read_route(struct uvh_config_reader *reader, const struct uvh_yaml_node *node,
                       struct uvh_setup_route *route)
{
    static const struct uvh_config_key keys[] = {{"path", read_path},
                                                 {"methods", read_methods},
                                                 {"headers", read_headers},
                                                 {"basic_auth", read_auth},
                                                 {"static", read_static},
                                                 {"index", read_static_option},
                                                 {"listing", read_static_option},
                                                 {"listing_max", read_static_option},
                                                 {"archive", read_static_option},
                                                 {"archive_entries", read_static_option},
                                                 {"archive_size", read_static_option},
                                                 {"hidden", read_static_option},
                                                 {"cache_memory", read_static_option},
                                                 {"cache_entries", read_static_option},
                                                 {"memory_file_size", read_static_option},
                                                 {"revalidate_ms", read_static_option},
                                                 {"precompressed", read_static_option},
                                                 {"compress", read_static_option},
                                                 {"compress_min_size", read_static_option},
                                                 {"compress_max_size", read_static_option},
                                                 {"gzip_level", read_static_option},
                                                 {"brotli_level", read_static_option},
                                                 {"zstd_level", read_static_option},
                                                 {"watch", read_static_option},
                                                 {"negative_ms", read_static_option},
                                                 {"cache_descriptors", read_static_option},
                                                 {"types", read_types},
                                                 {"default_type", read_static_option},
                                                 {"rules", read_rules},
                                                 {"immutable_assets", read_static_option},
                                                 {"rate_limit", read_static_option},
                                                 {"rate_burst", read_static_option},
                                                 {"uploads", read_static_option},
                                                 {"upload_max_size", read_static_option},
                                                 {"upload_overwrite", read_static_option},
                                                 {"upload_directories", read_static_option},
                                                 {"upload_sync", read_static_option},
                                                 {"clean_urls", read_static_option},
                                                 {"spa", read_static_option},
                                                 {"fallback", read_static_option},
                                                 {"try_files", read_static_option},
                                                 {"error_pages", read_static_option},
                                                 {"symlinks", read_static_option},
                                                 {"file", read_file},
                                                 {"more_roots", read_more_roots},
                                                 {"prewarm", read_prewarm},
                                                 {"redirect", read_redirect},
                                                 {"status", read_status},
                                                 {"respond", read_respond},
                                                 {NULL, NULL}};
    struct route_reader read = {.route = route};
    if (uvh_config_read_map(reader, node, "a route", keys, &read))
        check_route(reader, node, &read);
}

static void read_routes(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        void *into)
{
    struct uvh_setup_site *site = into;
    if (!uvh_config_is_list(reader, value))
        return;
    site->routes = uvh_config_allocate(reader, value->count, sizeof(*site->routes));
    if (site->routes == NULL)
        return;
    for (const struct uvh_yaml_node *one = value->first; one != NULL; one = one->next)
        read_route(reader, one, &site->routes[site->route_count++]);
}

static void read_hosts(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    struct uvh_setup_site *site = into;
    uvh_config_read_texts(reader, value, &site->hosts);
    if (value->kind == UVH_YAML_LIST && value->count == 0)
        uvh_problems_add(reader->problems, value->mark,
                         "hosts is an empty list; omit it if this is the site for all other hosts");
}

static void read_slash(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    /* in the order of uvhttp_slash_t */
    static const char *const words[] = {"strict", "redirect", "ignore"};
    int slash = uvh_config_read_word(reader, value, words, sizeof(words) / sizeof(words[0]));
    if (slash >= 0)
        ((struct uvh_setup_site *)into)->slash = (uvhttp_slash_t)slash;
}

static void read_site_headers(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                              void *into)
{
    uvh_config_read_fields(reader, value, &((struct uvh_setup_site *)into)->headers);
}

static void read_site_auth(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                           void *into)
{
    uvh_config_auth_read(reader, value, &((struct uvh_setup_site *)into)->auth);
}

/* An origin, or a list of them, which are joined with spaces. */
static void read_cors(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    struct uvh_text_list list = {.count = 0};
    size_t size = 1;
    uvh_config_read_texts(reader, value, &list);
    for (size_t i = 0; i < list.count; i++)
        size += strlen(list.items[i].text) + 1;
    char *text = uvh_config_allocate(reader, 1, size);
    for (size_t i = 0, used = 0; i < list.count && text != NULL; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : " ",
                                 list.items[i].text);
    ((struct uvh_setup_site *)into)->cors = (struct uvh_text){text, value->mark};
}

static void read_site(struct uvh_config_reader *reader, const struct uvh_yaml_node *node,
                      struct uvh_setup_site *site)
{
    static const struct uvh_config_key keys[] = {
        {"hosts", read_hosts}, {"headers", read_site_headers}, {"basic_auth", read_site_auth},
        {"slash", read_slash}, {"routes", read_routes},        {"cors", read_cors},
        {NULL, NULL}};
    site->mark = node->mark;
    bool good = uvh_config_read_map(reader, node, "a site", keys, site);
    if (good && site->route_count == 0)
        uvh_problems_add(reader->problems, node->mark, "a site requires 'routes'");
}

void uvh_config_site_read_all(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                              void *into)
{
    struct uvh_setup *setup = into;
    if (!uvh_config_is_list(reader, value))
        return;
    setup->sites = uvh_config_allocate(reader, value->count, sizeof(*setup->sites));
    if (setup->sites == NULL)
        return;
    size_t hosts = 0;
    const struct uvh_setup_site *default_site = NULL;
    for (const struct uvh_yaml_node *one = value->first; one != NULL; one = one->next) {
        struct uvh_setup_site *site = &setup->sites[setup->site_count++];
        read_site(reader, one, site);
        hosts += site->hosts.count;
        char where[UVH_MARK_TEXT];
        if (site->hosts.count == 0 && default_site != NULL)
            uvh_problems_add(reader->problems, site->mark,
                             "this site and the one in %s have no 'hosts'; only one site can "
                             "serve all other hosts",
                             uvh_mark_describe(&default_site->mark, &site->mark, where));
        else if (site->hosts.count == 0)
            default_site = site;
    }
    if (hosts > HOSTS_MAX)
        uvh_problems_add(reader->problems, value->mark, "too many hosts; at most %d are allowed",
                         HOSTS_MAX);
}
