/* See file_rules.h. */
#include "file_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Splits a flag's text in place into pattern, field and value. False if it does not have the
 * form. */
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
    if (strcmp(error.field, "types") == 0 || strcmp(error.field, "default_type") == 0)
        fprintf(stderr, "uvhttp: --%s: '%s' %s\n", option, error.value, error.reason);
    else
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

static const char all_files[] = "**";

/* True if a text is a value of Cache-Control and not PATTERN=VALUE: it begins with a directive of
 * RFC 9111 section 5.2, RFC 5861 or RFC 8246, with "=" only where that has an argument. */
static bool is_cache_control(const char *text)
{
    static const struct {
        const char *name;
        const char *argument; /* characters with which its argument begins */
    } directives[] = {
        {"max-age", "0123456789"},
        {"s-maxage", "0123456789"},
        {"stale-while-revalidate", "0123456789"},
        {"stale-if-error", "0123456789"},
        {"no-cache", "\""},
        {"private", "\""},
        {"no-store", ""},
        {"no-transform", ""},
        {"must-revalidate", ""},
        {"proxy-revalidate", ""},
        {"must-understand", ""},
        {"public", ""},
        {"immutable", ""},
    };
    size_t length = strcspn(text, "=, ");
    for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++) {
        if (strlen(directives[i].name) != length ||
            strncasecmp(text, directives[i].name, length) != 0)
            continue;
        return text[length] != '=' || strcspn(text + length + 1, directives[i].argument) == 0;
    }
    return false;
}

/* VALUE or PATTERN=VALUE; a '=' in a file name can be matched by `?`. */
static bool split_cache_control(char *text, uvhttp_static_rule_t *rule)
{
    bool all = is_cache_control(text);
    rule->field = "Cache-Control";
    rule->pattern = all ? all_files : text;
    rule->value = all ? text : cut(text, '=');
    return rule->value != NULL;
}

static bool split_download(char *text, uvhttp_static_rule_t *rule)
{
    rule->pattern = text;
    rule->field = "Content-Disposition";
    rule->value = "attachment";
    return true;
}

/* NAME: VALUE or PATTERN=NAME: VALUE */
static bool split_header(char *text, uvhttp_static_rule_t *rule)
{
    bool all = text[strcspn(text, "=:")] == ':';
    char *field = all ? text : cut(text, '=');
    char *value = field == NULL ? NULL : cut(field, ':');
    if (value == NULL)
        return false;
    rule->pattern = all ? all_files : text;
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
        {"cache-control", "VALUE or PATTERN=VALUE, such as '*.css=max-age=60'",
         split_cache_control},
        {"download", "PATTERN", split_download},
        {"header", "NAME: VALUE or PATTERN=NAME: VALUE, such as '*.html=X-Robots-Tag: none'",
         split_header},
    };
    const struct uvh_option_list *const given[] = {&options->cache_control, &options->downloads,
                                                   &options->headers};
    memset(rules, 0, sizeof(*rules));
    memcpy(rules->hide, options->hide.items, options->hide.count * sizeof(rules->hide[0]));
    files->hide = options->hide.count > 0 ? rules->hide : NULL;
    files->rules = NULL; /* until there is one */
    files->types = options->types.count > 0 ? options->types.items : NULL;
    files->type_count = options->types.count;
    int code = check(
        "type", &(uvhttp_static_options_t){.types = files->types, .type_count = files->type_count});
    if (code == UVH_EXIT_OK)
        code =
            check("default-type", &(uvhttp_static_options_t){.default_type = files->default_type});
    if (code == UVH_EXIT_OK)
        code = check("hide", &(uvhttp_static_options_t){.hide = files->hide});
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
