/* See config_clients.h. */
#include "config_clients.h"

#include <string.h>

#include "client_rules.h"

void uvh_config_clients_read_addresses(struct uvh_config_reader *reader,
                                       const struct uvh_yaml_node *value,
                                       const char *(*check)(const char *text),
                                       struct uvh_text_list *list)
{
    uvh_config_read_texts(reader, value, list);
    for (size_t i = 0; i < list->count; i++) {
        const char *allowed = check(list->items[i].text);
        if (allowed != NULL)
            uvh_problems_add(reader->problems, list->items[i].mark,
                             "%s: '%s' is invalid; allowed are %s", value->key->text,
                             list->items[i].text, allowed);
    }
}

static void read_requests(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                          void *into)
{
    uvh_config_read_number(reader, value, "", 1, 1000000,
                           &((uvhttp_rate_limit_options_t *)into)->requests);
}

static void read_period(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        void *into)
{
    size_t seconds = 1;
    uvh_config_read_number(reader, value, "seconds", 1, 86400, &seconds);
    ((uvhttp_rate_limit_options_t *)into)->period_ms = (uint32_t)(seconds * 1000);
}

static void read_burst(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    uvh_config_read_number(reader, value, "", 1, 1000000,
                           &((uvhttp_rate_limit_options_t *)into)->burst);
}

static void read_by(struct uvh_config_reader *reader, const struct uvh_yaml_node *value, void *into)
{
    static const char *const words[] = {"client", "all"};
    int word = uvh_config_read_word(reader, value, words, sizeof(words) / sizeof(words[0]));
    ((uvhttp_rate_limit_options_t *)into)->global = word == 1;
}

static void read_max_clients(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                             void *into)
{
    uvh_config_read_number(reader, value, "", 1, 16777216,
                           &((uvhttp_rate_limit_options_t *)into)->max_clients);
}

/* Notes what the library rejects although each value is valid. */
static void check_limit(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        const uvhttp_rate_limit_options_t *options)
{
    uvhttp_rate_limit_options_t small = *options;
    uvhttp_rate_limit_t *limit;
    uvhttp_error_t error;
    if (options->global && options->max_clients != 0) {
        uvh_problems_add(reader->problems, value->mark,
                         "'max_clients' requires 'by: client': all clients count together");
        return;
    }
    small.max_clients = options->global ? 0 : 1;
    if (uvhttp_rate_limit_new(&limit, &small, &error) == UVHTTP_ECONFIG)
        uvh_problems_add(reader->problems, value->mark, "limit_requests: %s", error.text);
    uvhttp_rate_limit_free(limit);
}

static void read_limit(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       struct uvh_setup_limit *limit)
{
    static const struct uvh_config_key keys[] = {{"requests", read_requests},
                                                 {"period", read_period},
                                                 {"burst", read_burst},
                                                 {"by", read_by},
                                                 {"max_clients", read_max_clients},
                                                 {NULL, NULL}};
    limit->mark = value->mark;
    if (value->kind == UVH_YAML_MAP) {
        size_t before = reader->problems->count;
        uvh_config_read_map(reader, value, "limit_requests", keys, &limit->options);
        if (reader->problems->count > before)
            return;
        if (limit->options.requests == 0)
            uvh_problems_add(reader->problems, value->mark, "limit_requests requires 'requests'");
        else
            check_limit(reader, value, &limit->options);
        return;
    }
    const char *text = uvh_config_text(reader, value);
    limit->off = text != NULL && strcmp(text, "off") == 0;
    if (text == NULL || limit->off)
        return;
    const char *allowed = uvh_client_rules_read_limit(text, &limit->options);
    if (allowed != NULL)
        uvh_problems_add(reader->problems, value->mark,
                         "limit_requests: '%s' is invalid; allowed are %s, off, and a map", text,
                         allowed);
}

void uvh_config_clients_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                             struct uvh_setup_clients *clients)
{
    const char *key = value->key->text;
    if (strcmp(key, "limit_requests") == 0)
        read_limit(reader, value, &clients->requests);
    else
        uvh_config_clients_read_addresses(reader, value, uvh_client_rules_check_address,
                                          strcmp(key, "allow") == 0 ? &clients->allow
                                                                    : &clients->deny);
}
