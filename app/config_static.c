/* Reads options of static files with the ranges of the option table. */
#include "config_static.h"

#include <assert.h>
#include <string.h>

static bool is_static_option(const struct uvh_option *option)
{
    return option->offset >= offsetof(struct uvh_options, files) &&
           option->offset < offsetof(struct uvh_options, files) + sizeof(uvhttp_static_options_t);
}

static void *static_member(uvhttp_static_options_t *files, const struct uvh_option *option)
{
    return (char *)files + (option->offset - offsetof(struct uvh_options, files));
}

/* The option for a member of uvhttp_static_options_t with this key ("cache_memory" for
 * --cache-memory), or NULL. */
static const struct uvh_option *find_option(const char *wanted)
{
    for (size_t i = 0; i < uvh_option_count; i++) {
        const struct uvh_option *option = &uvh_option_table[i];
        char key[UVH_OPTIONS_VARIABLE_SIZE];
        if (option->name == NULL || !is_static_option(option))
            continue;
        uvh_options_key(option, key);
        if (strcmp(key, wanted) == 0)
            return option;
    }
    return NULL;
}

static void read_word(struct uvh_config_reader *reader, const struct uvh_yaml_node *value,
                      const struct uvh_option *option, unsigned *member)
{
    size_t count = 0;
    while (option->words[count] != NULL)
        count++;
    int index = uvh_config_read_word(reader, value, option->words, count);
    if (index >= 0)
        *member = (unsigned)index;
}

/* Words, or a list of them. */
static const char *read_list(struct uvh_config_reader *reader, const struct uvh_yaml_node *value)
{
    if (value->kind != UVH_YAML_MAP)
        return uvh_config_read_joined(reader, value);
    uvh_problems_add(reader->problems, value->mark,
                     "%s: expected words such as '%s', or a list of them, found a map",
                     value->key->text,
                     strcmp(value->key->text, "error_pages") == 0 ? "404=/404.html 5xx=/sorry.html"
                                                                  : "{path} /index.html");
    return NULL;
}

void uvh_config_static_read_option(struct uvh_config_reader *reader,
                                   const struct uvh_yaml_node *value,
                                   uvhttp_static_options_t *files)
{
    const struct uvh_option *option = find_option(value->key->text);
    assert(option != NULL);
    void *member = static_member(files, option);
    switch (option->kind) {
    case UVH_OPTION_TEXT:
        *(const char **)member = uvh_option_may_be_empty(option) ? uvh_config_text(reader, value)
                                 : strcmp(option->value, "LIST") == 0
                                     ? read_list(reader, value)
                                     : uvh_config_filled_text(reader, value);
        break;
    case UVH_OPTION_SWITCH:
        uvh_config_read_switch(reader, value, member);
        break;
    case UVH_OPTION_SIZE:
        uvh_config_read_number(reader, value, "bytes", option->low, option->high, member);
        break;
    case UVH_OPTION_NUMBER:
        uvh_config_read_number(reader, value, "", option->low, option->high, member);
        break;
    case UVH_OPTION_MS:
        uvh_config_read_ms(reader, value, "", option->low, option->high, member);
        break;
    case UVH_OPTION_WORD:
        read_word(reader, value, option, member);
        break;
    case UVH_OPTION_LIST:
    case UVH_OPTION_PORT:
    case UVH_OPTION_TIME:
    case UVH_OPTION_LISTEN:
    case UVH_OPTION_LEVEL:
        assert(false); /* no member has this kind */
    }
}

/* Sets an option to its default. False if there is none of that name, or its kind cannot be
 * reset. */
static bool reset_option(uvhttp_static_options_t *files, const char *key)
{
    const struct uvh_option *option = find_option(key);
    if (option == NULL)
        return false;
    void *member = static_member(files, option);
    if (option->kind == UVH_OPTION_TEXT)
        *(const char **)member = NULL;
    else if (option->kind == UVH_OPTION_SWITCH)
        *(bool *)member = false;
    else if (option->kind == UVH_OPTION_NUMBER || option->kind == UVH_OPTION_SIZE)
        *(size_t *)member = 0;
    else if (option->kind == UVH_OPTION_MS)
        *(uint32_t *)member = 0;
    else
        return false;
    return true;
}

/* The library stops at the first error. To find all, each rejected option is reset and the check
 * repeated. Options that depend on it are reset, too: their errors would only be consequences. */
void uvh_config_static_check(struct uvh_config_reader *reader, const struct uvh_yaml_node *node,
                             const struct uvh_setup_route *route)
{
    static const struct {
        const char *option, *depends_on;
    } dependencies[] = {
        {"archive_entries", "archive"}, {"archive_size", "archive"}, {"error_pages", "try_files"}};
    uvhttp_error_t error;
    uvhttp_static_options_t files = route->files;
    /* config_rules.c has checked each of them. */
    files.types = NULL, files.type_count = 0;
    files.rules = NULL, files.rule_count = 0;
    while (uvhttp_static_check(&files, &error) == UVHTTP_ECONFIG) {
        uvh_problems_add(reader->problems, uvh_yaml_mark_of(node, error.field, route->root.mark),
                         "%s", error.text);
        if (!reset_option(&files, error.field))
            return;
        for (size_t i = 0; i < sizeof(dependencies) / sizeof(dependencies[0]); i++) {
            if (strcmp(dependencies[i].depends_on, error.field) == 0)
                reset_option(&files, dependencies[i].option);
        }
    }
}
