/* See file_rules.h. Called by serve.c. */
#include "file_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(const char *option, const char *message)
{
    fprintf(stderr, "uvhttp: --%s: %s\n", option, message);
    return UVH_EXIT_FAILED;
}

static int check(const char *option, const uvhttp_static_config_t *files)
{
    char message[UVHTTP_CONFIG_MESSAGE_SIZE] = "";
    int err = uvhttp_static_check(files, message, sizeof(message));
    if (err == 0)
        return UVH_EXIT_OK;
    return refuse(option, err == UVHTTP_ECONFIG ? message : uvhttp_strerror(err));
}

/* PATTERN=VALUE; no pattern for a file's name needs a '=', which `?` stands for as well. */
static int add_rule(struct uvh_file_rules *rules, uvhttp_static_config_t *files, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL) {
        fprintf(stderr,
                "uvhttp: --cache-control: '%s' is no rule; allowed is PATTERN=VALUE, such as "
                "'*.css=max-age=60'\n",
                text);
        return UVH_EXIT_FAILED;
    }
    char *pattern = strndup(text, (size_t)(equals - text));
    if (pattern == NULL)
        return refuse("cache-control", uvhttp_strerror(UVHTTP_ENOMEM));
    rules->patterns[files->rule_count] = pattern;
    uvhttp_static_rule_t *rule = &rules->items[files->rule_count++];
    *rule = (uvhttp_static_rule_t){pattern, "Cache-Control", equals + 1};
    return check("cache-control", &(uvhttp_static_config_t){.rules = rule, .rule_count = 1});
}

int uvh_file_rules_make(struct uvh_file_rules *rules, const struct uvh_options *options,
                        uvhttp_static_config_t *files)
{
    memset(rules, 0, sizeof(*rules));
    files->rules = rules->items;
    files->types = options->types.items;
    files->type_count = options->types.count;
    int code =
        check("type", &(uvhttp_static_config_t){.types = files->types, .type_count = files->type_count});
    if (code == UVH_EXIT_OK)
        code = check("default-type", &(uvhttp_static_config_t){.default_type = files->default_type});
    for (size_t i = 0; i < options->cache_control.count && code == UVH_EXIT_OK; i++)
        code = add_rule(rules, files, options->cache_control.items[i]);
    return code;
}

void uvh_file_rules_release(struct uvh_file_rules *rules)
{
    for (size_t i = 0; i < UVH_OPTIONS_LIST_MAX; i++)
        free(rules->patterns[i]);
}
