/* Reads the values of a configuration file and reports invalid ones with their positions. */
#include "config_value.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "config_hint.h"
#include "mapping.h"
#include "suggest.h"

#define SHOWN 80 /* most bytes of a value in a message */

static const char *kind_name(const struct uvh_yaml_node *value)
{
    switch (value->kind) {
    case UVH_YAML_LIST:
        return "a list";
    case UVH_YAML_MAP: /* {path} without quotes is a flow map, which begins left of its key */
        return value->first != NULL && value->first->nothing &&
                       value->first->key->mark.column > value->mark.column
                   ? "a map; quote a value that begins with '{'"
                   : "a map";
    case UVH_YAML_SCALAR:
        break;
    }
    if (value->nothing)
        return "nothing";
    return *value->text == '\0' ? "an empty value" : "a single value";
}

static void refuse_kind(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        const char *wanted)
{
    if (value->key != NULL)
        uvh_problems_add(reader->problems, value->mark, "%.*s: expected %s, found %s", SHOWN,
                         value->key->text, wanted, kind_name(value));
    else
        uvh_problems_add(reader->problems, value->mark, "expected %s, found %s", wanted,
                         kind_name(value));
}

void uvh_config_refuse_key(struct uvh_config_reader *reader, const struct uvh_yaml_node *key,
                           const char *what, const char *(*name)(size_t index, const void *arg),
                           const void *arg)
{
    char text[UVH_CONFIG_HINT_SIZE];
    const char *hint = uvh_config_hint(key->text, text);
    const char *near = uvh_suggest(key->text, name, arg);
    if (hint != NULL)
        uvh_problems_add(reader->problems, key->mark, "unknown key '%s' in %s: %s", key->text, what,
                         hint);
    else if (near != NULL)
        uvh_problems_add(reader->problems, key->mark,
                         "unknown key '%.*s' in %s; did you mean '%s'?", SHOWN, key->text, what,
                         near);
    else
        uvh_problems_add(reader->problems, key->mark, "unknown key '%.*s' in %s", SHOWN, key->text,
                         what);
}

static const char *key_name(size_t index, const void *arg)
{
    return ((const struct uvh_config_key *)arg)[index].name;
}

bool uvh_config_read_map(struct uvh_config_reader *reader, const struct uvh_yaml_node *map,
                         const char *what, const struct uvh_config_key *keys, void *into)
{
    if (map->kind != UVH_YAML_MAP) {
        refuse_kind(reader, map, "a map of keys and values");
        return false;
    }
    for (const struct uvh_yaml_node *value = map->first; value != NULL; value = value->next) {
        const struct uvh_config_key *key = keys;
        while (key->name != NULL && strcmp(key->name, value->key->text) != 0)
            key++;
        if (key->name != NULL)
            key->read(reader, value, into);
        else
            uvh_config_refuse_key(reader, value->key, what, key_name, keys);
    }
    return true;
}

const char *uvh_config_text(struct uvh_config_reader *reader, const struct uvh_yaml_node *value)
{
    if (value->kind == UVH_YAML_SCALAR && !value->nothing)
        return value->text;
    refuse_kind(reader, value, "a single value");
    return NULL;
}

const char *uvh_config_filled_text(struct uvh_config_reader *reader,
                                   const struct uvh_yaml_node *value)
{
    const char *text = uvh_config_text(reader, value);
    if (text == NULL || *text != '\0')
        return text;
    uvh_problems_add(reader->problems, value->mark, "%s is empty; give a value, or omit the key",
                     value->key->text);
    return NULL;
}

/* Notes a list without values: it would have no effect, or admit nothing. */
static bool is_filled(struct uvh_config_reader *reader, const struct uvh_yaml_node *list)
{
    if (list->count == 0)
        uvh_problems_add(reader->problems, list->mark,
                         "%s is an empty list; give a value, or omit the key", list->key->text);
    return list->count > 0;
}

bool uvh_config_is_list(struct uvh_config_reader *reader, const struct uvh_yaml_node *value)
{
    if (value->kind != UVH_YAML_LIST)
        refuse_kind(reader, value, "a list");
    return value->kind == UVH_YAML_LIST && is_filled(reader, value);
}

void *uvh_config_allocate(struct uvh_config_reader *reader, size_t count, size_t size)
{
    /* A file has at most 1 MiB, so this cannot overflow. */
    void *memory = uvh_yaml_allocate(reader->yaml, count * size);
    if (memory == NULL)
        uvh_problems_add(reader->problems, UVH_MARK_NONE, "out of memory");
    return memory;
}

void uvh_config_read_texts(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                           struct uvh_text_list *list)
{
    const struct uvh_yaml_node *first = value;
    size_t count = 1;
    if (value->kind == UVH_YAML_LIST) {
        first = value->first;
        count = value->count;
        if (!is_filled(reader, value))
            return;
    }
    struct uvh_text *items = uvh_config_allocate(reader, count, sizeof(*items));
    if (items == NULL)
        return;
    size_t read = 0;
    for (const struct uvh_yaml_node *one = first; read < count; one = one->next) {
        const char *text = uvh_config_text(reader, one);
        if (text == NULL)
            return;
        items[read++] = (struct uvh_text){text, one->mark};
    }
    list->items = items;
    list->count = count;
}

const char *uvh_config_read_joined(struct uvh_config_reader *reader,
                                   const struct uvh_yaml_node *value)
{
    struct uvh_text_list list = {.count = 0};
    size_t size = 1, used = 0;
    if (value->kind == UVH_YAML_SCALAR && uvh_config_filled_text(reader, value) == NULL)
        return NULL;
    uvh_config_read_texts(reader, value, &list);
    for (size_t i = 0; i < list.count; i++)
        size += strlen(list.items[i].text) + 1;
    char *text = list.count == 0 ? NULL : uvh_config_allocate(reader, 1, size);
    for (size_t i = 0; i < list.count && text != NULL; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : " ",
                                 list.items[i].text);
    return text;
}

/* Fields that the server sets itself; a second value would be a duplicate or invalid. */
static bool is_own_field(const char *name)
{
    static const char *const names[] = {
        "Accept-Ranges", "Content-Encoding", "Content-Range", "Content-Type",
        "ETag",          "Last-Modified",    "Location"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static bool check_field(struct uvh_config_reader *reader, const struct uvh_yaml_node *value)
{
    const char *name = value->key->text;
    int err = uvhttp_header_check(name, value->text);
    if (err == UVHTTP_EHEADER)
        uvh_problems_add(reader->problems, value->key->mark,
                         "the field '%.*s' cannot be set: its name is invalid or reserved for the "
                         "server, or its value contains a control character",
                         SHOWN, name);
    else if (err != 0)
        uvh_problems_add(reader->problems, value->key->mark, "the field '%.*s' cannot be set: %s",
                         SHOWN, name, uvhttp_strerror(err));
    else if (is_own_field(name))
        uvh_problems_add(reader->problems, value->key->mark,
                         "the field '%s' cannot be set: responses set it themselves", name);
    else
        return true;
    return false;
}

void uvh_config_read_fields(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            struct uvh_field_list *list)
{
    if (value->kind != UVH_YAML_MAP) {
        refuse_kind(reader, value, "a map of field names and values");
        return;
    }
    struct uvh_field *items = uvh_config_allocate(reader, value->count, sizeof(*items));
    size_t count = 0;
    for (const struct uvh_yaml_node *one = value->first; one != NULL && items != NULL;
         one = one->next) {
        const char *text = uvh_config_text(reader, one);
        if (text == NULL || !check_field(reader, one))
            continue;
        for (size_t i = 0; i < count; i++) {
            if (strcasecmp(items[i].name, one->key->text) == 0)
                uvh_problems_add(reader->problems, one->key->mark,
                                 "duplicate field '%s'; field names are case-insensitive",
                                 one->key->text);
        }
        items[count++] = (struct uvh_field){one->key->text, text, one->mark, NULL};
    }
    list->items = items;
    list->count = count;
}

void uvh_config_read_number(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            const char *unit, size_t low, size_t high, size_t *number)
{
    const char *text = uvh_config_text(reader, value);
    if (text == NULL)
        return;
    size_t read;
    const char *wrong = NULL;
    if (uvhttp_config_parse(text, unit, &read) != 0)
        wrong = strcmp(unit, "bytes") == 0     ? UVH_OPTIONS_NOT_A_SIZE
                : strcmp(unit, "seconds") == 0 ? UVH_OPTIONS_NOT_A_TIME
                                               : "is not a number";
    else if (read < low || read > high)
        wrong = "is out of range";
    else
        *number = read;
    if (wrong != NULL)
        uvh_problems_add(reader->problems, value->mark, "%s: '%.*s' %s; allowed are %zu to %zu%s%s",
                         value->key->text, SHOWN, text, wrong, low, high, *unit == '\0' ? "" : " ",
                         unit);
}

void uvh_config_read_ms(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                        const char *unit, size_t low, size_t high, uint32_t *ms)
{
    size_t number = *ms;
    uvh_config_read_number(reader, value, unit, low, high, &number);
    *ms = (uint32_t)number;
}

void uvh_config_read_switch(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                            bool *on)
{
    const char *text = uvh_config_text(reader, value);
    if (text != NULL && !uvh_options_switch(text, on))
        uvh_problems_add(reader->problems, value->mark, "%s is '%.*s'; allowed are true and false",
                         value->key->text, SHOWN, text);
}

void uvh_config_read_number_or_off(struct uvh_config_reader *reader,
                                   const struct uvh_yaml_node *value, const char *unit, size_t low,
                                   size_t high, size_t *number)
{
    if (value->kind == UVH_YAML_SCALAR && strcmp(value->text, "off") == 0)
        *number = UVH_OPTION_OFF;
    else
        uvh_config_read_number(reader, value, unit, low, high, number);
}

int uvh_config_read_word(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                         const char *const *words, size_t count)
{
    const char *text = uvh_config_text(reader, value);
    if (text == NULL)
        return -1;
    char list[160] = "";
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], text) == 0)
            return (int)i;
        length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s", i == 0 ? "" : ", ",
                                   words[i]);
    }
    uvh_problems_add(reader->problems, value->mark, "%s is '%.*s'; allowed are %s",
                     value->key->text, SHOWN, text, list);
    return -1;
}

int uvh_config_read_switch_or_word(struct uvh_config_reader *reader,
                                   const struct uvh_yaml_node *value, const char *const *words,
                                   size_t count)
{
    bool on;
    for (size_t i = 0; value->kind == UVH_YAML_SCALAR && i < count; i++) {
        if (uvh_options_switch(value->text, &on) && strcmp(words[i], on ? "on" : "off") == 0)
            return (int)i;
    }
    return uvh_config_read_word(reader, value, words, count);
}

const char *uvh_config_pattern(struct uvh_config_reader *reader, const struct uvh_yaml_node *value)
{
    const char *text = uvh_config_text(reader, value);
    const char *allowed = text == NULL ? NULL : uvh_mapping_check_path(text, strlen(text));
    if (allowed != NULL)
        uvh_problems_add(reader->problems, value->mark, "'%.*s' is invalid; allowed are %s", SHOWN,
                         text, allowed);
    return text;
}

const char *uvh_config_path(struct uvh_config_reader *reader, const struct uvh_yaml_node *value)
{
    const char *text = uvh_config_text(reader, value);
    if (text == NULL)
        return NULL;
    if (*text == '\0') {
        refuse_kind(reader, value, "a path");
        return NULL;
    }
    return uvh_config_below_directory(reader, value->mark, text);
}

void uvh_config_read_paths(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                           struct uvh_text_list *list)
{
    uvh_config_read_texts(reader, value, list);
    for (size_t i = 0; i < list->count; i++) {
        struct uvh_text *path = &list->items[i];
        if (path->text != NULL && *path->text != '\0')
            path->text = uvh_config_below_directory(reader, path->mark, path->text);
        else
            uvh_problems_add(reader->problems, path->mark, "%s has an empty path",
                             value->key->text);
    }
}

const char *uvh_config_below_directory(struct uvh_config_reader *reader, struct uvh_mark mark,
                                       const char *text)
{
    const char *directory = mark.source == NULL ? "" : mark.source->directory;
    if (*text == '/' || *directory == '\0')
        return text;
    size_t size = strlen(directory) + strlen(text) + 2;
    char *path = uvh_config_allocate(reader, 1, size);
    if (path != NULL)
        snprintf(path, size, "%s/%s", directory, text);
    return path;
}
