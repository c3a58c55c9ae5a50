/* Reads the sites of a configuration file: hosts, fields, origins. */
#include "config_site.h"

#include "config_auth.h"
#include "config_clients.h"
#include "config_log.h"
#include "config_route.h"

#define HOSTS_MAX 10000 /* limit for all sites together */

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
        uvh_config_route_read(reader, one, &site->routes[site->route_count++]);
}

static void read_hosts(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    struct uvh_setup_site *site = into;
    uvh_config_read_texts(reader, value, &site->hosts);
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

static void read_cors(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    ((struct uvh_setup_site *)into)->cors =
        (struct uvh_text){uvh_config_read_joined(reader, value), value->mark};
}

static void read_site_clients(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                              void *into)
{
    uvh_config_clients_read(reader, value, &((struct uvh_setup_site *)into)->clients);
}

static void read_rewrite_path(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                              void *into)
{
    ((struct uvh_setup_rewrite *)into)->path =
        (struct uvh_text){uvh_config_pattern(reader, value), value->mark};
}

static void read_rewrite_to(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            void *into)
{
    ((struct uvh_setup_rewrite *)into)->to =
        (struct uvh_text){uvh_config_text(reader, value), value->mark};
}

static void read_rewrites(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                          void *into)
{
    static const struct uvh_config_key keys[] = {
        {"path", read_rewrite_path}, {"to", read_rewrite_to}, {NULL, NULL}};
    struct uvh_setup_site *site = into;
    if (!uvh_config_is_list(reader, value))
        return;
    site->rewrites = uvh_config_allocate(reader, value->count, sizeof(*site->rewrites));
    for (const struct uvh_yaml_node *one = value->first; one != NULL && site->rewrites != NULL;
         one = one->next) {
        struct uvh_setup_rewrite *rewrite = &site->rewrites[site->rewrite_count++];
        if (uvh_config_read_map(reader, one, "a rewrite", keys, rewrite) &&
            (rewrite->path.mark.line == 0 || rewrite->to.mark.line == 0))
            uvh_problems_add(reader->problems, one->mark, "a rewrite requires 'path' and 'to'");
    }
}

static void read_site_log(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                          void *into)
{
    uvh_config_log_read(reader, value, &((struct uvh_setup_site *)into)->access_log);
}

static void read_site(struct uvh_config_reader *reader, const struct uvh_yaml_node *node,
                      struct uvh_setup_site *site)
{
    static const struct uvh_config_key keys[] = {{"hosts", read_hosts},
                                                 {"headers", read_site_headers},
                                                 {"basic_auth", read_site_auth},
                                                 {"slash", read_slash},
                                                 {"routes", read_routes},
                                                 {"cors", read_cors},
                                                 {"access_log", read_site_log},
                                                 {"rewrites", read_rewrites},
                                                 {"allow", read_site_clients},
                                                 {"deny", read_site_clients},
                                                 {"limit_requests", read_site_clients},
                                                 {NULL, NULL}};
    size_t before = reader->problems->count;
    site->mark = node->mark;
    bool good = uvh_config_read_map(reader, node, "a site", keys, site);
    if (good && site->route_count == 0 && reader->problems->count == before)
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
        if (one->kind != UVH_YAML_MAP || uvh_yaml_mark_of(one, "hosts", UVH_MARK_NONE).line != 0)
            continue; /* also if they are invalid */
        if (default_site != NULL)
            uvh_problems_add(reader->problems, site->mark,
                             "this site and the one in %s have no 'hosts'; only one site can "
                             "serve all other hosts",
                             uvh_mark_describe(&default_site->mark, &site->mark, where));
        else
            default_site = site;
    }
    if (hosts > HOSTS_MAX)
        uvh_problems_add(reader->problems, value->mark, "too many hosts; at most %d are allowed",
                         HOSTS_MAX);
}
