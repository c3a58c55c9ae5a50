/* Each map in the list `rules` gives one uvhttp_static_rule_t for each pattern and field. */
#include "config_rules.h"

#include <stdio.h>
#include <string.h>

/* One map of the list while it is read. */
struct rule_reader {
    struct uvh_text_list patterns;
    const struct uvh_yaml_node *match, *type, *cache_control, *download, *headers;
};

void uvh_config_rules_check(struct uvh_config_reader *reader, struct uvh_mark mark,
                            const uvhttp_static_options_t *files)
{
    uvhttp_error_t error;
    if (uvhttp_static_check(files, &error) != 0)
        uvh_problems_add(reader->problems, mark, "%s", error.text);
}

void uvh_config_rules_read_types(struct uvh_config_reader *reader,
                                 const struct uvh_yaml_node *value, uvhttp_static_options_t *files)
{
    if (value->kind != UVH_YAML_MAP) {
        uvh_problems_add(
            reader->problems, value->mark,
            "types: expected a map of extensions and types, such as {md: text/markdown}");
        return;
    }
    const char **types = uvh_config_allocate(reader, value->count, sizeof(*types));
    size_t count = 0;
    for (const struct uvh_yaml_node *one = value->first; one != NULL && types != NULL;
         one = one->next) {
        const char *type = uvh_config_text(reader, one);
        size_t size = strlen(one->key->text) + (type == NULL ? 0 : strlen(type)) + 2;
        char *text = type == NULL ? NULL : uvh_config_allocate(reader, 1, size);
        if (text == NULL)
            continue;
        snprintf(text, size, "%s=%s", one->key->text, type);
        types[count++] = text;
        uvh_config_rules_check(
            reader, one->mark,
            &(uvhttp_static_options_t){.types = (const char *const *)&types[count - 1],
                                       .type_count = 1});
    }
    files->types = count > 0 ? (const char *const *)types : NULL;
    files->type_count = count;
}

static void read_match(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                       void *into)
{
    struct rule_reader *read = into;
    read->match = value;
    uvh_config_read_texts(reader, value, &read->patterns);
}

static void read_type(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      void *into)
{
    (void)reader;
    ((struct rule_reader *)into)->type = value;
}

static void read_cache_control(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                               void *into)
{
    (void)reader;
    ((struct rule_reader *)into)->cache_control = value;
}

static void read_download(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                          void *into)
{
    (void)reader;
    ((struct rule_reader *)into)->download = value;
}

static void read_headers(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         void *into)
{
    (void)reader;
    ((struct rule_reader *)into)->headers = value;
}

/* `items` has room for the sum of most_rules. */
struct rule_list {
    struct uvh_config_reader *reader;
    uvhttp_static_rule_t *items;
    size_t count;
};

static void add(struct rule_list *list, const struct rule_reader *read, struct uvh_mark mark,
                const char *field, const char *value)
{
    for (size_t i = 0; i < read->patterns.count && value != NULL; i++) {
        uvhttp_static_rule_t *rule = &list->items[list->count++];
        *rule = (uvhttp_static_rule_t){read->patterns.items[i].text, field, value};
        /* An error in the field is reported for the first pattern only. */
        if (i == 0)
            uvh_config_rules_check(list->reader, mark,
                                   &(uvhttp_static_options_t){.rules = rule, .rule_count = 1});
    }
}

static void add_scalar(struct rule_list *list, const struct rule_reader *read,
                       const struct uvh_yaml_node *value, const char *field)
{
    if (value != NULL)
        add(list, read, value->mark, field, uvh_config_text(list->reader, value));
}

static void add_download(struct rule_list *list, const struct rule_reader *read)
{
    bool on = false;
    const char *text =
        read->download == NULL ? NULL : uvh_config_text(list->reader, read->download);
    if (text == NULL)
        return;
    if (!uvh_options_switch(text, &on))
        uvh_problems_add(list->reader->problems, read->download->mark,
                         "download is '%s'; allowed are true and false", text);
    else
        add(list, read, read->download->mark, "Content-Disposition", on ? "attachment" : "inline");
}

static void check_patterns(struct uvh_config_reader *reader, const struct rule_reader *read,
                           const struct uvh_yaml_node *node)
{
    for (size_t i = 0; i < read->patterns.count; i++) {
        /* With a valid field, so that only the pattern can be wrong. */
        const uvhttp_static_rule_t rule = {read->patterns.items[i].text, "X-Value", "x"};
        uvh_config_rules_check(reader, read->patterns.items[i].mark,
                               &(uvhttp_static_options_t){.rules = &rule, .rule_count = 1});
    }
    if (read->type == NULL && read->cache_control == NULL && read->download == NULL &&
        read->headers == NULL)
        uvh_problems_add(reader->problems, node->mark,
                         "a rule requires 'type', 'cache_control', 'download' or 'headers'");
}

static void read_rule(struct rule_list *list, const struct uvh_yaml_node *node)
{
    static const struct uvh_config_key keys[] = {{"match", read_match},
                                                 {"type", read_type},
                                                 {"cache_control", read_cache_control},
                                                 {"download", read_download},
                                                 {"headers", read_headers},
                                                 {NULL, NULL}};
    struct uvh_text all_files = {"**", node->mark};
    struct rule_reader read = {.match = NULL};
    struct uvh_field_list fields = {NULL, 0};
    size_t before = list->reader->problems->count;
    if (!uvh_config_read_map(list->reader, node, "a rule", keys, &read))
        return;
    if (read.match == NULL)
        read.patterns = (struct uvh_text_list){&all_files, 1};
    check_patterns(list->reader, &read, node);
    if (list->reader->problems->count > before)
        return;
    add_scalar(list, &read, read.type, "Content-Type");
    add_scalar(list, &read, read.cache_control, "Cache-Control");
    add_download(list, &read);
    if (read.headers != NULL)
        uvh_config_read_fields(list->reader, read.headers, &fields);
    for (size_t i = 0; i < fields.count; i++)
        add(list, &read, fields.items[i].mark, fields.items[i].name, fields.items[i].value);
}

/* An upper limit of the rules of one map, even if keys are invalid. */
static size_t most_rules(const struct uvh_yaml_node *node)
{
    size_t patterns = 1, fields = 3;
    for (const struct uvh_yaml_node *one = node->kind == UVH_YAML_MAP ? node->first : NULL;
         one != NULL; one = one->next) {
        if (strcmp(one->key->text, "match") == 0 && one->kind == UVH_YAML_LIST)
            patterns = one->count;
        if (strcmp(one->key->text, "headers") == 0 && one->kind == UVH_YAML_MAP)
            fields += one->count;
    }
    return patterns * fields;
}

void uvh_config_rules_read(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                           uvhttp_static_options_t *files)
{
    size_t most = 0, before = reader->problems->count;
    if (!uvh_config_is_list(reader, value))
        return;
    for (const struct uvh_yaml_node *one = value->first; one != NULL; one = one->next)
        most += most_rules(one);
    struct rule_list list = {reader, uvh_config_allocate(reader, most, sizeof(*list.items)), 0};
    if (list.items == NULL)
        return;
    for (const struct uvh_yaml_node *one = value->first; one != NULL; one = one->next)
        read_rule(&list, one);
    files->rules = list.count > 0 ? list.items : NULL;
    files->rule_count = list.count;
    if (reader->problems->count == before)
        uvh_config_rules_check(
            reader, value->mark,
            &(uvhttp_static_options_t){.rules = files->rules, .rule_count = list.count});
}
