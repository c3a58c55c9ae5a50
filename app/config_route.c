/* Reads a route of a configuration file. The kind of its response decides which keys it may
 * have. */
#include "config_route.h"

#include <stdio.h>
#include <string.h>

#include "config_auth.h"
#include "config_clients.h"
#include "config_rules.h"
#include "config_static.h"

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
    read->route->path = (struct uvh_text){uvh_config_pattern(reader, value), value->mark};
}

static void read_methods(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    struct route_reader *read = into;
    uvh_config_read_texts(reader, value, &read->route->methods);
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

static void read_upload_auth(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                             void *into)
{
    uvh_config_auth_read(reader, value, &((struct route_reader *)into)->route->upload_auth);
}

static void read_cors(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    ((struct route_reader *)into)->route->cors =
        (struct uvh_text){uvh_config_read_joined(reader, value), value->mark};
}

static void read_log(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                     void *into)
{
    ((struct route_reader *)into)->route->no_log = true;
    if (value->kind != UVH_YAML_SCALAR || strcmp(value->text, "off") != 0)
        uvh_problems_add(reader->problems, value->mark,
                         "access_log of a route can only be off; a site can have a log of its own");
}

static void read_clients(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    uvh_config_clients_read(reader, value, &((struct route_reader *)into)->route->clients);
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
    uvh_config_read_paths(reader, value, &begin_static_option(into, value)->more_roots);
}

static void read_hide(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    struct uvh_text_list list = {.count = 0};
    uvh_config_read_texts(reader, value, &list);
    const char **patterns = uvh_config_allocate(reader, list.count + 1, sizeof(*patterns));
    for (size_t i = 0; i < list.count && patterns != NULL; i++)
        patterns[i] = list.items[i].text;
    begin_static_option(into, value)->files.hide = patterns;
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
    read->route->text = (struct uvh_text){text, value->mark};
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
    ((struct uvh_setup_route *)into)->text =
        (struct uvh_text){uvh_config_text(reader, value), value->mark};
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
        route->text.text != NULL)
        uvh_problems_add(reader->problems, value->mark, "a response with status %d has no body",
                         route->status);
    if (route->text.text != NULL && route->type == NULL)
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
    read->route->node = node;
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
    if (route->upload_auth.mark.line != 0 && !route->files.uploads)
        uvh_problems_add(reader->problems, route->upload_auth.mark,
                         "upload_auth requires 'uploads: true'");
    check_status(reader, read);
}

void uvh_config_route_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *node,
                           struct uvh_setup_route *route)
{
    static const struct uvh_config_key keys[] = {{"path", read_path},
                                                 {"methods", read_methods},
                                                 {"headers", read_headers},
                                                 {"basic_auth", read_auth},
                                                 {"upload_auth", read_upload_auth},
                                                 {"cors", read_cors},
                                                 {"access_log", read_log},
                                                 {"allow", read_clients},
                                                 {"deny", read_clients},
                                                 {"limit_requests", read_clients},
                                                 {"static", read_static},
                                                 {"hide", read_hide},
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
