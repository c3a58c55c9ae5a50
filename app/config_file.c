/* Reads a configuration file: all keys except those of sites. Guarantees that nothing in it is
 * ignored: an unknown key or an invalid value is a problem, and all problems are reported
 * together. */
#include "config_file.h"

#include <stdlib.h>
#include <string.h>

#include "absolute_path.h"
#include "client_rules.h"
#include "config_clients.h"
#include "config_listen.h"
#include "config_log.h"
#include "config_site.h"
#include "config_source.h"
#include "config_tls.h"

static const char *limit_name(size_t index, const void *arg)
{
    (void)arg;
    const uvhttp_limit_t *limit = uvhttp_config_limit(index);
    return limit == NULL ? NULL : limit->name;
}

/* All limits, by the library's names. */
static void read_server(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        void *into)
{
    static const struct uvh_config_key none[] = {{NULL, NULL}};
    struct uvh_setup *setup = into;
    if (value->kind != UVH_YAML_MAP) {
        uvh_config_read_map(reader, value, "server", none, into);
        return;
    }
    for (const struct uvh_yaml_node *one = value->first; one != NULL; one = one->next) {
        uvhttp_error_t error;
        size_t known;
        if (uvhttp_config_get(&setup->config, one->key->text, &known) != 0) {
            uvh_config_refuse_key(reader, one->key, "server", limit_name, NULL);
            continue;
        }
        const char *text = uvh_config_text(reader, one);
        if (text != NULL && uvhttp_config_set(&setup->config, one->key->text, text, &error) != 0)
            uvh_problems_add(reader->problems, one->mark, "%s", error.text);
    }
}

static void read_user(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    const char *name = uvh_config_text(reader, value);
    ((struct uvh_setup *)into)->user = (struct uvh_text){name, value->mark};
}

static void read_pid_file(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                          void *into)
{
    const char *path = uvh_config_path(reader, value);
    ((struct uvh_setup *)into)->pid_file = (struct uvh_text){path, value->mark};
}

static void read_group(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    const char *name = uvh_config_text(reader, value);
    ((struct uvh_setup *)into)->group = (struct uvh_text){name, value->mark};
}

static void read_no_new_privs(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                              void *into)
{
    /* in the order of enum uvh_no_new_privs */
    static const char *const words[] = {"auto", "off", "on"};
    struct uvh_setup *setup = into;
    int word = uvh_config_read_switch_or_word(reader, value, words, 3);
    setup->no_new_privs_mark = value->mark;
    if (word >= 0)
        setup->no_new_privs = (unsigned)word;
}

static void read_confine_mode(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                              void *into)
{
    /* in the order of enum uvh_confine_mode */
    static const char *const words[] = {"off", "on", "best-effort"};
    struct uvh_setup_confine *confine = into;
    int word = uvh_config_read_switch_or_word(reader, value, words, 3);
    if (word >= 0)
        confine->mode = (unsigned)word;
}

static void read_confine_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                              void *into)
{
    uvh_config_read_paths(reader, value, &((struct uvh_setup_confine *)into)->read);
}

static void read_confine_write(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                               void *into)
{
    uvh_config_read_paths(reader, value, &((struct uvh_setup_confine *)into)->write);
}

static void read_confine(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    static const struct uvh_config_key keys[] = {{"mode", read_confine_mode},
                                                 {"read", read_confine_read},
                                                 {"write", read_confine_write},
                                                 {NULL, NULL}};
    struct uvh_setup_confine *confine = &((struct uvh_setup *)into)->confine;
    confine->mark = value->mark;
    if (value->kind != UVH_YAML_MAP) {
        read_confine_mode(reader, value, confine);
        return;
    }
    confine->mode = UVH_CONFINE_ON;
    uvh_config_read_map(reader, value, "confine", keys, confine);
}

static void read_level(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    static const char *const words[] = {"error", "warning", "info", "debug"};
    int level = uvh_config_read_word(reader, value, words, sizeof(words) / sizeof(words[0]));
    if (level >= 0)
        ((struct uvh_setup *)into)->log_level = (uvhttp_log_level_t)level;
}

static void read_log(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                     void *into)
{
    static const struct uvh_config_key keys[] = {{"level", read_level}, {NULL, NULL}};
    uvh_config_read_map(reader, value, "log", keys, into);
}

static void read_access_log(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            void *into)
{
    uvh_config_log_read(reader, value, &((struct uvh_setup *)into)->access_log);
}

static void read_proxies(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    uvh_config_clients_read_addresses(reader, value, uvh_client_rules_check_proxy,
                                      &((struct uvh_setup *)into)->proxies);
}

static void read_proxy_fields(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                              void *into)
{
    /* in the order of uvhttp_forwarding_t */
    static const char *const words[] = {"x-forwarded", "forwarded"};
    struct uvh_setup *setup = into;
    int word = uvh_config_read_word(reader, value, words, sizeof(words) / sizeof(words[0]));
    setup->proxy_fields_mark = value->mark;
    if (word >= 0)
        setup->proxy_fields = (unsigned)word;
}

static void read_proxy_sources(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                               void *into)
{
    uvh_config_clients_read_addresses(reader, value, uvh_client_rules_check_proxy,
                                      &((struct uvh_setup *)into)->proxy_sources);
}

static void read_proxy_others(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                              void *into)
{
    /* in the order of uvhttp_proxy_others_t */
    static const char *const words[] = {"direct", "ignore", "refuse"};
    struct uvh_setup *setup = into;
    int word = uvh_config_read_word(reader, value, words, sizeof(words) / sizeof(words[0]));
    setup->proxy_others_mark = value->mark;
    if (word >= 0)
        setup->proxy_others = (unsigned)word;
}

static void read_metrics_path(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                              void *into)
{
    ((struct uvh_setup_metrics *)into)->path =
        (struct uvh_text){uvh_config_text(reader, value), value->mark};
}

static void read_metrics_listen(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                                void *into)
{
    struct uvh_setup_metrics *metrics = into;
    bool is_status = metrics == &reader->setup->status;
    metrics->has_listen = true;
    if (!uvh_config_listen_read_address(reader, value, &metrics->listen))
        return;
    if (metrics->listen.scheme == UVH_SCHEME_HTTPS)
        uvh_problems_add(reader->problems, value->mark,
                         "'%s' is invalid: TLS is not supported for %s", value->text,
                         is_status ? "the status page" : "metrics");
    else if (metrics->listen.port == UVH_ADDRESS_NO_PORT)
        uvh_problems_add(reader->problems, value->mark,
                         "'%s' has no port; %s a separate one, such as 127.0.0.1:9100", value->text,
                         is_status ? "the status page needs" : "metrics need");
}

static void read_own_server(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            struct uvh_setup_metrics *into, const char *key, const char *path)
{
    static const struct uvh_config_key keys[] = {
        {"path", read_metrics_path}, {"listen", read_metrics_listen}, {NULL, NULL}};
    if (value->kind != UVH_YAML_MAP) {
        read_metrics_path(reader, value, into);
        return;
    }
    if (value->count == 0)
        uvh_problems_add(reader->problems, value->mark,
                         "%s is an empty map; it requires 'path' or 'listen'", key);
    into->path = (struct uvh_text){path, value->mark};
    uvh_config_read_map(reader, value, key, keys, into);
}

static void read_metrics(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    read_own_server(reader, value, &((struct uvh_setup *)into)->metrics, "metrics", "/metrics");
}

static void read_status(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        void *into)
{
    read_own_server(reader, value, &((struct uvh_setup *)into)->status, "status", "/status");
}

static void read_health(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        void *into)
{
    uvh_config_read_switch(reader, value, &((struct uvh_setup *)into)->health);
}

static bool init_setup(struct uvh_setup *setup)
{
    struct uvh_options defaults;
    if (!uvh_options_init(&defaults))
        return false;
    *setup = (struct uvh_setup){.config = defaults.config, .log_level = defaults.log_level};
    setup->tls.redirect_http = setup->tls.hsts = UVH_OPTION_OFF;
    setup->access_log.options.format = UVHTTP_ACCESS_COMBINED;
    return true;
}

/* An https address needs a certificate. */
static void check_schemes(const struct uvh_setup *setup, struct uvh_problems *problems)
{
    for (size_t i = 0; i < setup->listen_count && !setup->tls.wanted; i++) {
        if (setup->listen[i].scheme == UVH_SCHEME_HTTPS)
            uvh_problems_add(problems, setup->listen_marks[i],
                             "an address with https:// requires 'tls' with a certificate");
    }
}

static void refuse_format(const struct uvh_yaml *yaml, struct uvh_problems *problems)
{
    uvh_problems_add(problems, (struct uvh_mark){.source = yaml->source},
                     "not a configuration of uvhttp, which is YAML, a map of keys and values: see "
                     "'uvhttp help config'; to translate one of nginx, Caddy or Apache see 'uvhttp "
                     "help nginx' and docs/coming-from.md");
}

/* True if the first line that is no comment is one of nginx, Caddy or Apache, whatever YAML makes
 * of it: "user www;", "http {", "<VirtualHost *:80>". */
static bool is_foreign(const char *bytes, size_t size)
{
    const char *end = bytes + size;
    for (const char *line = bytes, *next; line < end; line = next + 1) {
        next = memchr(line, '\n', (size_t)(end - line));
        next = next == NULL ? end : next;
        const char *last = next;
        while (last > line && strchr(" \t\r", last[-1]) != NULL)
            last--;
        if (last == line || *line == '#')
            continue;
        bool key = memmem(line, (size_t)(last - line), ": ", 2) != NULL;
        return !key && last - line > 1 && strchr(";{>", last[-1]) != NULL;
    }
    return false;
}

/* Fills the setup from the tree. */
static bool interpret(struct uvh_config_file *file, struct uvh_problems *problems)
{
    static const struct uvh_config_key keys[] = {{"server", read_server},
                                                 {"listen", uvh_config_listen_read},
                                                 {"user", read_user},
                                                 {"group", read_group},
                                                 {"no_new_privs", read_no_new_privs},
                                                 {"confine", read_confine},
                                                 {"pid_file", read_pid_file},
                                                 {"log", read_log},
                                                 {"access_log", read_access_log},
                                                 {"trusted_proxies", read_proxies},
                                                 {"proxy_fields", read_proxy_fields},
                                                 {"proxy_protocol", read_proxy_sources},
                                                 {"proxy_protocol_others", read_proxy_others},
                                                 {"tls", uvh_config_tls_read},
                                                 {"metrics", read_metrics},
                                                 {"status", read_status},
                                                 {"health", read_health},
                                                 {"sites", uvh_config_site_read_all},
                                                 {NULL, NULL}};
    struct uvh_config_reader reader = {
        .yaml = &file->yaml, .problems = problems, .setup = &file->setup};
    const struct uvh_yaml_node *root = file->yaml.root;
    if (root->kind != UVH_YAML_MAP) {
        refuse_format(&file->yaml, problems);
        return false;
    }
    uvh_config_read_map(&reader, root, "the configuration", keys, &file->setup);
    check_schemes(&file->setup, problems);
    if (problems->count == 0 && file->setup.site_count == 0)
        uvh_problems_add(problems, root->mark, "the configuration requires 'sites'");
    return problems->count == 0;
}

static bool parse(struct uvh_config_file *file, const char *bytes, size_t size,
                  uvh_variable_cb variable, struct uvh_problems *problems)
{
    if (!init_setup(&file->setup)) {
        uvh_problems_add(problems, UVH_MARK_NONE, "out of memory");
        return false;
    }
    if (!uvh_yaml_read(&file->yaml, bytes, size, problems)) {
        if (is_foreign(bytes, size))
            refuse_format(&file->yaml, problems);
        return false;
    }
    return (file->yaml.root->kind != UVH_YAML_MAP || uvh_expand(&file->yaml, variable, problems));
}

bool uvh_config_file_read(struct uvh_config_file *file, const char *bytes, size_t size,
                          const char *directory, uvh_variable_cb variable,
                          struct uvh_problems *problems)
{
    *file = (struct uvh_config_file){.yaml = {.root = NULL}};
    struct uvh_source *source = uvh_yaml_allocate(&file->yaml, sizeof(*source));
    if (source == NULL) {
        uvh_problems_add(problems, UVH_MARK_NONE, "out of memory");
        return false;
    }
    *source = (struct uvh_source){.name = problems->file, .directory = directory};
    file->yaml.source = source;
    return parse(file, bytes, size, variable, problems) && interpret(file, problems);
}

static const char *variable_of(const char *name)
{
    return getenv(name);
}

bool uvh_config_file_load(struct uvh_config_file *file, const char *path,
                          struct uvh_problems *problems)
{
    struct uvh_config_bytes read;
    *file = (struct uvh_config_file){.yaml = {.root = NULL}};
    const char *why = uvh_config_source_read(&file->yaml, path, &read);
    if (why != NULL) {
        uvh_problems_add(problems, UVH_MARK_NONE, "%s", why);
        return false;
    }
    file->yaml.source = read.source;
    bool parsed = parse(file, read.bytes, read.size, variable_of, problems);
    free(read.bytes);
    /* An invalid included file does not prevent the check of the rest. */
    bool included = parsed && uvh_config_source_include(&file->yaml, variable_of, problems);
    file->setup.sources = strcmp(path, "-") == 0 ? NULL : file->yaml.sources;
    return parsed && interpret(file, problems) && included;
}

void uvh_config_file_release(struct uvh_config_file *file)
{
    uvh_yaml_release(&file->yaml);
}
