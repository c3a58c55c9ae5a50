/* See file_rules.h. Called by serve_site.c. */
#include "file_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Splits a flag's text into pattern, which is NUL-terminated in place, field and value. False if it
 * does not have the form. */
typedef bool (*split_cb)(char *text, uvhttp_static_rule_t *rule);

/* A flag that makes rules. */
struct rule_flag {
    const char *option;
    const char *form; /* of its text, for messages */
    split_cb split;
};

static int refuse(const char *option, const char *message)
{
    fprintf(stderr, "uvhttp: --%s: %s\n", option, message);
    return UVH_EXIT_USAGE;
}

static int check(const char *option, const uvhttp_static_options_t *files)
{
    uvhttp_error_t error;
    int err = uvhttp_static_check(files, &error);
    if (err == 0)
        return UVH_EXIT_OK;
    refuse(option, error.text);
    return err == UVHTTP_ECONFIG ? UVH_EXIT_USAGE : UVH_EXIT_FAILED;
}

/* Splits a text at the first such character; returns the part after it, or NULL. */
static char *cut(char *text, char at)
{
    char *found = strchr(text, at);
    if (found == NULL)
        return NULL;
    *found = '\0';
    return found + 1;
}

/* PATTERN=VALUE; a '=' in a file name can be matched by `?`. */
static bool split_cache_control(char *text, uvhttp_static_rule_t *rule)
{
    rule->field = "Cache-Control";
    rule->value = cut(text, '=');
    return rule->value != NULL;
}

static bool split_download(char *text, uvhttp_static_rule_t *rule)
{
    (void)text;
    rule->field = "Content-Disposition";
    rule->value = "attachment";
    return true;
}

/* PATTERN=NAME: VALUE */
static bool split_header(char *text, uvhttp_static_rule_t *rule)
{
    char *field = cut(text, '=');
    char *value = field == NULL ? NULL : cut(field, ':');
    if (value == NULL)
        return false;
    rule->field = field;
    rule->value = value + strspn(value, " ");
    return true;
}

static int add_rule(struct uvh_file_rules *rules, uvhttp_static_options_t *files,
                    const struct rule_flag *flag, const char *given)
{
    char *text = strdup(given);
    if (text == NULL) {
        refuse(flag->option, uvhttp_strerror(UVHTTP_ENOMEM));
        return UVH_EXIT_FAILED;
    }
    rules->texts[files->rule_count] = text;
    files->rules = rules->items;
    uvhttp_static_rule_t *rule = &rules->items[files->rule_count++];
    rule->pattern = text;
    if (!flag->split(text, rule)) {
        fprintf(stderr, "uvhttp: --%s: '%s' is not a rule; the format is %s\n", flag->option, given,
                flag->form);
        return UVH_EXIT_USAGE;
    }
    return check(flag->option, &(uvhttp_static_options_t){.rules = rule, .rule_count = 1});
}

int uvh_file_rules_make(struct uvh_file_rules *rules, const struct uvh_options *options,
                        uvhttp_static_options_t *files)
{
    /* The last rule for a field wins: --header is the most specific, so it overrides the others. */
    static const struct rule_flag flags[] = {
        {"cache-control", "PATTERN=VALUE, such as '*.css=max-age=60'", split_cache_control},
        {"download", "PATTERN", split_download},
        {"header", "PATTERN=NAME: VALUE, such as '*.html=X-Robots-Tag: none'", split_header},
    };
    const struct uvh_option_list *const given[] = {&options->cache_control, &options->downloads,
                                                   &options->headers};
    memset(rules, 0, sizeof(*rules));
    files->rules = NULL; /* until there is one */
    files->types = options->types.count > 0 ? options->types.items : NULL;
    files->type_count = options->types.count;
    int code = check(
        "type", &(uvhttp_static_options_t){.types = files->types, .type_count = files->type_count});
    if (code == UVH_EXIT_OK)
        code =
            check("default-type", &(uvhttp_static_options_t){.default_type = files->default_type});
    for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
        for (size_t i = 0; i < given[f]->count && code == UVH_EXIT_OK; i++)
            code = add_rule(rules, files, &flags[f], given[f]->items[i]);
    }
    return code;
}

void uvh_file_rules_release(struct uvh_file_rules *rules)
{
    for (size_t i = 0; i < UVH_FILE_RULES_MAX; i++)
        free(rules->texts[i]);
}
