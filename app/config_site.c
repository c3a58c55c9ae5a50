/* Reads the sites of a configuration file: hosts, fields, routes. The kind of a route's response
 * decides which keys it may have. Called by config_file.c. */
#include "config_site.h"

#include "config_auth.h"
#include "config_rules.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define HOSTS_MAX 10000 /* of all sites together */

/* A route and its nodes. */
struct route_reader {
    struct uvh_setup_route *route;
    const struct uvh_yaml_node *responses[3]; /* the values of 'static', 'redirect' and 'respond' */
    size_t response_count;
    const struct uvh_yaml_node *status; /* that of 'status' */
    const struct uvh_yaml_node *files;  /* the first key that only 'static' allows */
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

static void read_option_word(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                             const struct uvh_option *option, unsigned *field)
{
    size_t count = 0;
    while (option->words[count] != NULL)
        count++;
    int index = uvh_config_read_word(reader, value, option->words, count);
    if (index >= 0)
        *field = (unsigned)index;
}

static bool is_of_files(const struct uvh_option *option)
{
    return option->offset >= offsetof(struct uvh_options, files) &&
           option->offset < offsetof(struct uvh_options, files) + sizeof(uvhttp_static_options_t);
}

static void *file_field(uvhttp_static_options_t *files, const struct uvh_option *option)
{
    return (char *)files + (option->offset - offsetof(struct uvh_options, files));
}

/* Keys of uvhttp_static_options_t, with the ranges of the options of `serve`. */
static void read_file_option(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                             const struct uvh_option *option, uvhttp_static_options_t *files)
{
    void *field = file_field(files, option);
    switch (option->kind) {
    case UVH_OPTION_TEXT:
        *(const char **)field = uvh_config_text(reader, value);
        break;
    case UVH_OPTION_SWITCH:
        uvh_config_read_switch(reader, value, field);
        break;
    case UVH_OPTION_SIZE:
        uvh_config_read_number(reader, value, "bytes", option->low, option->high, field);
        break;
    case UVH_OPTION_NUMBER:
        uvh_config_read_number(reader, value, "", option->low, option->high, field);
        break;
    case UVH_OPTION_MS:
        uvh_config_read_ms(reader, value, "", option->low, option->high, field);
        break;
    case UVH_OPTION_LIST:
    case UVH_OPTION_WORD:
        read_option_word(reader, value, option, field);
        break;
    case UVH_OPTION_PORT:
    case UVH_OPTION_TIME:
    case UVH_OPTION_LISTEN:
    case UVH_OPTION_LEVEL:
        break;
    }
}

/* The option of `serve` for static files with this key, "cache_memory" for --cache-memory; or
 * NULL. */
static const struct uvh_option *file_option(const char *wanted)
{
    for (size_t i = 0; i < uvh_option_count; i++) {
        const struct uvh_option *option = &uvh_option_table[i];
        char key[UVH_OPTIONS_VARIABLE_SIZE];
        if (option->name == NULL || !option->serve_only)
            continue;
        uvh_options_key(option, key);
        if (strcmp(key, wanted) == 0)
            return option;
    }
    return NULL;
}

static void read_files(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    struct route_reader *read = into;
    read->files = value;
    read_file_option(reader, value, file_option(value->key->text), &read->route->files);
}

/* The two keys that are no options of `serve`, which serves one whole directory. */
static void read_file(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    struct route_reader *read = into;
    read->files = value;
    read->route->files.file = uvh_config_text(reader, value);
}

static void read_more_roots(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            void *into)
{
    struct route_reader *read = into;
    struct uvh_text_list *roots = &read->route->more_roots;
    read->files = value;
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
    struct route_reader *read = into;
    read->files = value;
    uvh_config_read_texts(reader, value, &read->route->prewarm);
}

static void read_types(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    struct route_reader *read = into;
    read->files = value;
    uvh_config_rules_read_types(reader, value, &read->route->files);
}

static void read_rules(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    struct route_reader *read = into;
    read->files = value;
    uvh_config_rules_read(reader, value, &read->route->files);
}

static const char target_word[] = "{target}";

/* "{target}" must be at the end, after text that prevents the client from changing the host: a
 * target may begin with "//". */
static void read_location(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                          struct uvh_setup_route *route, const char *text)
{
    const char *word = strstr(text, target_word);
    route->location = text;
    if (word == NULL)
        return;
    size_t length = (size_t)(word - text);
    if (word[sizeof(target_word) - 1] != '\0' || strspn(text, "/") == length) {
        uvh_problems_add(
            reader->problems, value->mark,
            "{target} (path and query of the request) must be at the end of a URL, such "
            "as https://example.com{target}");
        return;
    }
    char *location = uvh_config_allocate(reader, 1, length + 1);
    if (location == NULL)
        return;
    memcpy(location, text, length);
    route->location = location;
    route->with_target = true;
}

/* Notes the error of an invalid field value. */
static void check_value(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        const char *name, const char *text)
{
    int err = uvhttp_header_check(name, text);
    if (err != 0 || *text == '\0')
        uvh_problems_add(reader->problems, value->mark, "%s is invalid: it %s", value->key->text,
                         *text == '\0'           ? "is empty"
                         : err == UVHTTP_EHEADER ? "contains a control character"
                                                 : uvhttp_strerror(err));
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
    if ((route->status == 204 || route->status == 304) && route->body != NULL)
        uvh_problems_add(reader->problems, value->mark, "a response with status %d has no body",
                         route->status);
    if (route->body != NULL && route->type == NULL)
        route->type = "text/plain; charset=utf-8";
}

static void check_status(struct uvh_config_reader *reader, const struct route_reader *read)
{
    static const char *const words[] = {"301", "302", "303", "307", "308"};
    static const int statuses[] = {301, 302, 303, 307, 308};
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

/* Notes errors in options whose values have their own grammar, each at its mark. The check stops at
 * the first error, so that option is removed and the check repeated. */
static void check_files(struct uvh_config_reader *reader, const struct uvh_yaml_node *node,
                        const struct uvh_setup_route *route)
{
    uvhttp_error_t error;
    uvhttp_static_options_t files = route->files;
    files.types = NULL, files.type_count = 0; /* checked already, */
    files.rules = NULL, files.rule_count = 0; /* one by one */
    while (uvhttp_static_check(&files, &error) == UVHTTP_ECONFIG) {
        uvh_problems_add(reader->problems, uvh_yaml_mark_of(node, error.field, route->root.mark),
                         "%s", error.text);
        const struct uvh_option *option = file_option(error.field);
        if (option == NULL || !is_of_files(option))
            return;
        if (option->kind == UVH_OPTION_TEXT)
            *(const char **)file_field(&files, option) = NULL;
        else if (option->kind == UVH_OPTION_SWITCH)
            *(bool *)file_field(&files, option) = false;
        else if (option->kind == UVH_OPTION_NUMBER || option->kind == UVH_OPTION_SIZE)
            *(size_t *)file_field(&files, option) = 0;
        else if (option->kind == UVH_OPTION_MS)
            *(uint32_t *)file_field(&files, option) = 0;
        else
            return;
    }
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
    if (read->files != NULL && route->kind != UVH_ROUTE_STATIC)
        uvh_problems_add(reader->problems, read->files->key->mark, "'%s' requires 'static'",
                         read->files->key->text);
    for (size_t i = 0; i < route->methods.count && route->kind == UVH_ROUTE_STATIC; i++) {
        if (strcmp(route->methods.items[i].text, "GET") != 0)
            uvh_problems_add(reader->problems, route->methods.items[i].mark,
                             "'static' allows only GET (which includes HEAD)");
    }
    if (route->kind == UVH_ROUTE_STATIC)
        check_files(reader, node, route);
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
                                                 {"index", read_files},
                                                 {"listing", read_files},
                                                 {"listing_max", read_files},
                                                 {"archive", read_files},
                                                 {"archive_entries", read_files},
                                                 {"archive_size", read_files},
                                                 {"hidden", read_files},
                                                 {"cache_memory", read_files},
                                                 {"cache_entries", read_files},
                                                 {"memory_file_size", read_files},
                                                 {"revalidate_ms", read_files},
                                                 {"precompressed", read_files},
                                                 {"compress", read_files},
                                                 {"compress_min_size", read_files},
                                                 {"compress_max_size", read_files},
                                                 {"gzip_level", read_files},
                                                 {"brotli_level", read_files},
                                                 {"zstd_level", read_files},
                                                 {"watch", read_files},
                                                 {"negative_ms", read_files},
                                                 {"cache_descriptors", read_files},
                                                 {"types", read_types},
                                                 {"default_type", read_files},
                                                 {"rules", read_rules},
                                                 {"immutable_assets", read_files},
                                                 {"rate_limit", read_files},
                                                 {"rate_burst", read_files},
                                                 {"uploads", read_files},
                                                 {"upload_max_size", read_files},
                                                 {"upload_overwrite", read_files},
                                                 {"upload_directories", read_files},
                                                 {"upload_sync", read_files},
                                                 {"clean_urls", read_files},
                                                 {"spa", read_files},
                                                 {"fallback", read_files},
                                                 {"try_files", read_files},
                                                 {"error_pages", read_files},
                                                 {"symlinks", read_files},
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
                         "hosts is an empty list; omit it for the site of all other hosts");
}

static void read_slash(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
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
    const struct uvh_setup_site *rest = NULL;
    for (const struct uvh_yaml_node *one = value->first; one != NULL; one = one->next) {
        struct uvh_setup_site *site = &setup->sites[setup->site_count++];
        read_site(reader, one, site);
        hosts += site->hosts.count;
        char where[UVH_MARK_TEXT];
        if (site->hosts.count == 0 && rest != NULL)
            uvh_problems_add(reader->problems, site->mark,
                             "this site and the one in %s have no 'hosts'; only one site can "
                             "serve all other hosts",
                             uvh_mark_describe(&rest->mark, &site->mark, where));
        else if (site->hosts.count == 0)
            rest = site;
    }
    if (hosts > HOSTS_MAX)
        uvh_problems_add(reader->problems, value->mark, "too many hosts; at most %d are allowed",
                         HOSTS_MAX);
}
