/* Fills struct uvh_options from the environment and the command line, driven by the table of
 * option_table.c. Guarantees that an error message names the flag or variable, its value and what
 * is allowed, and that a flag always overrides its variable. */
#include "options.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_hint.h"
#include "option_hint.h"
#include "placeholder_hint.h"
#include "suggest.h"

/* The source of an option's value, for error messages. */
struct source {
    const char *text; /* NULL: default value */
    bool from_environment;
};

struct parser {
    struct uvh_options *options;
    enum uvh_command command;
    struct source sources[UVH_OPTION_MAX];
    /* the first flag replaces the addresses of the environment or the file, further ones add to
     * them */
    bool listen_by_flag;
};

static void *field_of(struct uvh_options *options, const struct uvh_option *option)
{
    return (char *)options + option->offset;
}

static bool is_config_field(const struct uvh_option *option)
{
    return (option->kind == UVH_OPTION_NUMBER || option->kind == UVH_OPTION_SIZE) &&
           option->high == 0;
}

static void print_origin(const struct uvh_option *option, bool from_environment)
{
    char variable[UVH_OPTIONS_VARIABLE_SIZE];
    uvh_options_variable(option, variable);
    if (from_environment)
        fprintf(stderr, "uvhttp: %s: ", variable);
    else
        fprintf(stderr, "uvhttp: --%s: ", option->name);
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int
usage_error(const struct parser *parser, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("uvhttp: ", stderr);
    vfprintf(stderr, format, values);
    va_end(values);
    static const char *const names[] = {"serve", "run", "check", "reload", "upgrade"};
    fprintf(stderr, "\nTry 'uvhttp %s --help'.\n", names[parser->command]);
    return UVH_EXIT_USAGE;
}

static int number_error(const struct uvh_option *option, const struct source *source,
                        const char *what)
{
    print_origin(option, source->from_environment);
    const char *unit = option->kind == UVH_OPTION_SIZE   ? " bytes"
                       : option->kind == UVH_OPTION_TIME ? " seconds"
                                                         : "";
    fprintf(stderr, "'%s' %s; allowed are %zu to %zu%s\n", source->text, what, option->low,
            option->high, unit);
    return UVH_EXIT_USAGE;
}

/* A field of uvhttp_config_t: the library knows its units and its range. */
static int set_limit(struct uvh_options *options, const struct uvh_option *option,
                     const struct source *source)
{
    char name[UVH_OPTIONS_VARIABLE_SIZE];
    uvhttp_error_t error;
    uvh_options_key(option, name);
    if (uvhttp_config_set(&options->config, name, source->text, &error) == 0)
        return UVH_EXIT_OK;
    print_origin(option, source->from_environment);
    fprintf(stderr, "%s\n", error.text);
    return UVH_EXIT_USAGE;
}

static int set_number(struct uvh_options *options, const struct uvh_option *option,
                      const struct source *source)
{
    if (is_config_field(option))
        return set_limit(options, option, source);
    bool size = option->kind == UVH_OPTION_SIZE;
    size_t number;
    if (uvhttp_config_parse(source->text, size ? "bytes" : "", &number) != 0)
        return number_error(option, source, size ? UVH_OPTIONS_NOT_A_SIZE : "is not a number");
    if (number < option->low || number > option->high)
        return number_error(option, source, "is out of range");
    if (option->kind == UVH_OPTION_MS)
        *(uint32_t *)field_of(options, option) = (uint32_t)number;
    else
        *(size_t *)field_of(options, option) = number;
    return UVH_EXIT_OK;
}

/* A port or a time that is off by default. */
static int set_or_off(struct uvh_options *options, const struct uvh_option *option,
                      const struct source *source)
{
    size_t *field = field_of(options, option);
    bool time = option->kind == UVH_OPTION_TIME;
    size_t number;
    if (strcmp(source->text, "off") == 0) {
        *field = UVH_OPTION_OFF;
        return UVH_EXIT_OK;
    }
    if (uvhttp_config_parse(source->text, time ? "seconds" : "", &number) != 0)
        return number_error(option, source, time ? UVH_OPTIONS_NOT_A_TIME : "is not a number");
    if (number < option->low || number > option->high)
        return number_error(option, source, "is out of range");
    *field = number;
    return UVH_EXIT_OK;
}

/* One or more addresses, separated by spaces or commas, as a variable has them. */
static int add_listen(struct uvh_options *options, const struct uvh_option *option,
                      const struct source *source)
{
    static const char separators[] = " ,";
    const char *text = source->text + strspn(source->text, separators);
    if (*text == '\0' && !source->from_environment)
        text = source->text; /* rejected below, also if empty */
    do {
        size_t length = strcspn(text, separators);
        struct uvh_address address;
        char error[UVH_ADDRESS_ERROR_SIZE];
        if (!uvh_address_parse(text, length, &address, error)) {
            print_origin(option, source->from_environment);
            fprintf(stderr, "%s\n", error);
            return UVH_EXIT_USAGE;
        }
        if (options->listen_count == UVH_OPTIONS_LISTEN_MAX) {
            print_origin(option, source->from_environment);
            fprintf(stderr, "too many addresses; at most %d are allowed\n", UVH_OPTIONS_LISTEN_MAX);
            return UVH_EXIT_USAGE;
        }
        options->listen[options->listen_count++] = address;
        text += length;
        text += strspn(text, separators);
    } while (*text != '\0');
    return UVH_EXIT_OK;
}

bool uvh_options_switch(const char *text, bool *on)
{
    size_t number;
    if (uvhttp_config_parse(text, "boolean", &number) != 0)
        return false;
    *on = number != 0;
    return true;
}

static int set_switch(struct uvh_options *options, const struct uvh_option *option,
                      const struct source *source)
{
    bool on;
    if (!uvh_options_switch(source->text, &on)) {
        print_origin(option, source->from_environment);
        fprintf(stderr, "'%s' is invalid; allowed are 1, yes, on, true, 0, no, off, false\n",
                source->text);
        return UVH_EXIT_USAGE;
    }
    if (option->kind == UVH_OPTION_SWITCH && option->help == NULL) /* of uvhttp_config_t */
        *(size_t *)field_of(options, option) = on;
    else if (option->kind == UVH_OPTION_SWITCH)
        *(bool *)field_of(options, option) = on;
    else if (on)
        *(uvhttp_log_level_t *)field_of(options, option) = (uvhttp_log_level_t)option->low;
    return UVH_EXIT_OK;
}

/* The first flag replaces the environment's list, further ones add to it. */
static int add_to_list(struct uvh_options *options, const struct uvh_option *option,
                       const struct source *before, const struct source *source)
{
    struct uvh_option_list *list = field_of(options, option);
    if (before->text == NULL || before->from_environment)
        list->count = 0;
    if (list->count == UVH_OPTIONS_LIST_MAX) {
        print_origin(option, source->from_environment);
        fprintf(stderr, "too many values; at most %d are allowed\n", UVH_OPTIONS_LIST_MAX);
        return UVH_EXIT_USAGE;
    }
    list->items[list->count++] = source->text;
    return UVH_EXIT_OK;
}

/* One of the words of the option. */
static int set_word(struct uvh_options *options, const struct uvh_option *option,
                    const struct source *source)
{
    for (unsigned i = 0; option->words[i] != NULL; i++) {
        if (strcmp(source->text, option->words[i]) == 0) {
            *(unsigned *)field_of(options, option) = i;
            return UVH_EXIT_OK;
        }
    }
    print_origin(option, source->from_environment);
    fprintf(stderr, "'%s' is invalid; allowed are", source->text);
    for (size_t i = 0; option->words[i] != NULL; i++)
        fprintf(stderr, "%s%s", i == 0 ? " " : ", ", option->words[i]);
    fputc('\n', stderr);
    return UVH_EXIT_USAGE;
}

static bool has_placeholders(const struct uvh_option *option)
{
    return option->offset == offsetof(struct uvh_options, rewrites) ||
           option->offset == offsetof(struct uvh_options, redirects) ||
           option->offset == offsetof(struct uvh_options, files.try_files);
}

/* Refuses an empty text if the option needs one, and variables of nginx. */
static int check_text(const struct uvh_option *option, const struct source *source)
{
    if (*source->text == '\0' && !uvh_option_may_be_empty(option)) {
        print_origin(option, source->from_environment);
        fprintf(stderr, "the value is empty; allowed is %s, or omit the option\n", option->value);
        return UVH_EXIT_USAGE;
    }
    const char *at = has_placeholders(option) ? source->text : "";
    for (; (at = strchr(at, '$')) != NULL; at++) {
        size_t length;
        const char *ours = uvh_placeholder_hint(at, &length);
        if (ours == NULL)
            continue;
        print_origin(option, source->from_environment);
        fprintf(stderr, "'%.*s' is a variable of nginx; the placeholder is %s\n", (int)length, at,
                ours);
        return UVH_EXIT_USAGE;
    }
    return UVH_EXIT_OK;
}

static int apply(struct parser *parser, const struct uvh_option *option, const char *text,
                 bool from_environment)
{
    struct source *source = &parser->sources[option - uvh_option_table];
    const struct source before = *source;
    *source = (struct source){.text = text, .from_environment = from_environment};
    bool is_text = option->kind == UVH_OPTION_TEXT || option->kind == UVH_OPTION_LIST;
    if (is_text && check_text(option, source) != UVH_EXIT_OK)
        return UVH_EXIT_USAGE;
    const char *allowed = option->check == NULL ? NULL : option->check(text);
    if (allowed != NULL) {
        print_origin(option, from_environment);
        fprintf(stderr, "'%s' is invalid; allowed are %s\n", text, allowed);
        return UVH_EXIT_USAGE;
    }
    switch (option->kind) {
    case UVH_OPTION_NUMBER:
    case UVH_OPTION_MS:
    case UVH_OPTION_SIZE:
        parser->options->port_given |= option->offset == offsetof(struct uvh_options, port);
        return set_number(parser->options, option, source);
    case UVH_OPTION_PORT:
    case UVH_OPTION_TIME:
        return set_or_off(parser->options, option, source);
    case UVH_OPTION_LISTEN:
        if (!parser->listen_by_flag)
            parser->options->listen_count = 0;
        parser->listen_by_flag = !from_environment;
        return add_listen(parser->options, option, source);
    case UVH_OPTION_LIST:
        return add_to_list(parser->options, option, &before, source);
    case UVH_OPTION_TEXT:
        *(const char **)field_of(parser->options, option) = text;
        return UVH_EXIT_OK;
    case UVH_OPTION_WORD:
        return set_word(parser->options, option, source);
    case UVH_OPTION_SWITCH:
    case UVH_OPTION_LEVEL:
        return set_switch(parser->options, option, source);
    }
    return UVH_EXIT_OK;
}

static bool is_offered(const struct parser *parser, const struct uvh_option *option)
{
    return option->name != NULL && (parser->command == UVH_COMMAND_SERVE || !option->serve_only);
}

/* Limits without an option: they have no effect for `serve`, but may have one for a file of
 * `run`. */
static int read_other_limits(struct parser *parser)
{
    uvhttp_error_t error;
    if (uvhttp_config_from_env(&parser->options->config, "UVHTTP_", &error) == 0)
        return UVH_EXIT_OK;
    fprintf(stderr, "uvhttp: %s\n", error.text);
    return UVH_EXIT_USAGE;
}

static int read_environment(struct parser *parser)
{
    for (size_t i = 0; i < uvh_option_count; i++) {
        const struct uvh_option *option = &uvh_option_table[i];
        if (!is_offered(parser, option))
            continue;
        char variable[UVH_OPTIONS_VARIABLE_SIZE];
        uvh_options_variable(option, variable);
        const char *text = getenv(variable);
        if (text == NULL || *text == '\0')
            continue;
        int code = apply(parser, option, text, true);
        if (code != UVH_EXIT_OK)
            return code;
    }
    return read_other_limits(parser);
}

static bool takes_value(const struct uvh_option *option)
{
    return option->kind != UVH_OPTION_SWITCH && option->kind != UVH_OPTION_LEVEL;
}

/* The option with this name; `*negated` if a switch has the prefix "no-". */
static const struct uvh_option *find_by_name(const struct parser *parser, const char *name,
                                             size_t length, bool *negated)
{
    *negated = false;
    for (size_t i = 0; i < uvh_option_count; i++) {
        const struct uvh_option *option = &uvh_option_table[i];
        if (!is_offered(parser, option))
            continue;
        size_t own = strlen(option->name);
        if (own == length && memcmp(option->name, name, length) == 0)
            return option;
        if (option->kind == UVH_OPTION_SWITCH && length == own + 3 && memcmp(name, "no-", 3) == 0 &&
            memcmp(option->name, name + 3, own) == 0) {
            *negated = true;
            return option;
        }
    }
    return NULL;
}

static const struct uvh_option *find_by_letter(const struct parser *parser, char letter)
{
    for (size_t i = 0; i < uvh_option_count; i++) {
        if (is_offered(parser, &uvh_option_table[i]) && uvh_option_table[i].letter == letter)
            return &uvh_option_table[i];
    }
    return NULL;
}

/* Names of the command's options and actions. */
static const char *name_at(size_t index, const void *arg)
{
    static const char *const actions[] = {"help", "print-config", "test"};
    const struct parser *parser = arg;
    for (size_t i = 0; i < uvh_option_count; i++) {
        if (is_offered(parser, &uvh_option_table[i]) && index-- == 0)
            return uvh_option_table[i].name;
    }
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        bool offered = i == 0 || (i == 1 && parser->command < UVH_COMMAND_CHECK) ||
                       (i == 2 && parser->command == UVH_COMMAND_RUN);
        if (offered && index-- == 0)
            return actions[i];
    }
    return NULL;
}

/* How a file for `run` says what this option of `serve` does; NULL if it is no such option. */
static const char *hint_of_key(const struct parser *parser, const char *name, size_t length,
                               char text[UVH_CONFIG_HINT_SIZE])
{
    char key[UVH_OPTIONS_VARIABLE_SIZE];
    bool no = length > 3 && memcmp(name, "no-", 3) == 0;
    snprintf(key, sizeof(key), "%.*s", (int)(length - (no ? 3 : 0)), name + (no ? 3 : 0));
    size_t i = 0;
    while (i < uvh_option_count &&
           (uvh_option_table[i].name == NULL || strcmp(uvh_option_table[i].name, key) != 0))
        i++;
    if (i == uvh_option_count || is_offered(parser, &uvh_option_table[i]))
        return NULL;
    for (char *c = key; *c != '\0'; c++)
        *c = *c == '-' ? '_' : *c;
    const char *hint = uvh_config_hint(key, text);
    if (hint == NULL)
        hint = strncmp(key, "tls_", 4) == 0 ? "use a key of 'tls'" : "use a key of a site or route";
    return hint;
}

/* `name` follows two dashes. */
static int refuse_name(struct parser *parser, const char *name, size_t length)
{
    char word[UVH_OPTIONS_VARIABLE_SIZE], text[UVH_CONFIG_HINT_SIZE];
    const char *hint = uvh_option_hint(name - strlen("--"), length + strlen("--"));
    if (hint != NULL)
        return usage_error(parser, "unknown option '--%.*s'; did you mean %s?", (int)length, name,
                           hint);
    hint = hint_of_key(parser, name, length, text);
    if (hint != NULL)
        return usage_error(parser, "unknown option '--%.*s' of this command; in the file %s",
                           (int)length, name, hint);
    snprintf(word, sizeof(word), "%.*s", (int)length, name);
    const char *no = strncmp(word, "no-", 3) == 0 ? "no-" : "";
    const char *nearest =
        length < sizeof(word) ? uvh_suggest(word + strlen(no), name_at, parser) : NULL;
    bool negated;
    /* "--no-port" resembles no option: --port exists, but is no switch. */
    if (nearest != NULL && *no != '\0') {
        snprintf(word, sizeof(word), "no-%s", nearest);
        if (find_by_name(parser, word, strlen(word), &negated) == NULL)
            nearest = NULL;
    }
    if (nearest == NULL)
        return usage_error(parser, "unknown option '--%.*s'", (int)length, name);
    return usage_error(parser, "unknown option '--%.*s'; did you mean '--%s%s'?", (int)length, name,
                       no, nearest);
}

static int refuse_letter(const struct parser *parser, char letter)
{
    const char *hint = uvh_option_hint((const char[]){'-', letter}, 2);
    if (hint == NULL)
        return usage_error(parser, "unknown option '-%c'", letter);
    return usage_error(parser, "unknown option '-%c'; did you mean %s?", letter, hint);
}

/* Actions such as --help that replace serving. */
static bool read_action(struct parser *parser, const char *name)
{
    if (strcmp(name, "help") == 0)
        parser->options->help = true;
    else if (strcmp(name, "print-config") == 0 && parser->command < UVH_COMMAND_CHECK)
        parser->options->print_config = true;
    else if (strcmp(name, "test") == 0 && parser->command == UVH_COMMAND_RUN)
        parser->options->test = true;
    else
        return false;
    return true;
}

/* True if an argument after an option without its value is meant as the value: it is not what the
 * command serves. */
static bool is_value(const struct parser *parser, const char *argument)
{
    struct stat found;
    if (argument[0] == '-')
        return false;
    return stat(argument, &found) != 0 ||
           (parser->command == UVH_COMMAND_SERVE && !S_ISDIR(found.st_mode));
}

/* "--name", "--name=VALUE" or "--name VALUE"; `*used` receives the number of arguments used. */
static int read_long(struct parser *parser, int count, char **arguments, int *used)
{
    const char *name = arguments[0] + 2;
    size_t length = strcspn(name, "=");
    bool has_value = name[length] == '=';
    *used = 1;
    if (read_action(parser, name))
        return UVH_EXIT_OK;
    bool negated;
    const struct uvh_option *option = find_by_name(parser, name, length, &negated);
    if (option == NULL)
        return refuse_name(parser, name, length);
    if (!takes_value(option)) {
        if (has_value)
            return usage_error(parser, "option '--%.*s' takes no value", (int)length, name);
        return apply(parser, option, negated ? "off" : "on", false);
    }
    if (option->preset != NULL && !has_value && count > 1 && is_value(parser, arguments[1]))
        return usage_error(parser, "option '--%s' has its value after '=': --%s=%s", option->name,
                           option->name, arguments[1]);
    if (has_value || option->preset != NULL)
        return apply(parser, option, has_value ? name + length + 1 : option->preset, false);
    if (count < 2)
        return usage_error(parser, "option '--%s' requires a value (%s)", option->name,
                           option->value);
    *used = 2;
    return apply(parser, option, arguments[1], false);
}

/* "-q", "-qp8080" or "-p 8080"; `*used` receives the number of arguments used. */
static int read_messages(struct parser *parser, int count, char **arguments, int *used)
{
    *used = 1;
    for (const char *c = arguments[0] + 1; *c != '\0'; c++) {
        if (*c == 'h') {
            parser->options->help = true;
            return UVH_EXIT_OK;
        }
        if (*c == 't' && parser->command == UVH_COMMAND_RUN) {
            parser->options->test = true;
            continue;
        }
        const struct uvh_option *option = find_by_letter(parser, *c);
        if (option == NULL)
            return refuse_letter(parser, *c);
        if (takes_value(option)) {
            if (c[1] != '\0')
                return apply(parser, option, c + 1, false);
            if (count < 2)
                return usage_error(parser, "option '-%c' requires a value (%s)", *c, option->value);
            *used = 2;
            return apply(parser, option, arguments[1], false);
        }
        int code = apply(parser, option, "on", false);
        if (code != UVH_EXIT_OK)
            return code;
    }
    return UVH_EXIT_OK;
}

static int read_arguments(struct parser *parser, int count, char **arguments)
{
    struct uvh_options *options = parser->options;
    bool only_dirs = false; /* after "--" */
    bool serve = parser->command == UVH_COMMAND_SERVE;
    options->root = NULL;
    options->from_file = !serve;
    for (int i = 0, used = 1; i < count; i += used) {
        const char *argument = arguments[i];
        int code = UVH_EXIT_OK;
        used = 1;
        if (!only_dirs && strcmp(argument, "--") == 0) {
            only_dirs = true;
        } else if (!only_dirs && strncmp(argument, "--", 2) == 0) {
            code = read_long(parser, count - i, arguments + i, &used);
        } else if (!only_dirs && argument[0] == '-' && argument[1] != '\0') {
            code = read_messages(parser, count - i, arguments + i, &used);
        } else if (options->root != NULL) {
            code = usage_error(
                parser,
                serve ? "only one directory or file can be served; '%s' and '%s' are given"
                      : "only one configuration file is allowed; '%s' and '%s' are given",
                options->root, argument);
        } else if (*argument == '\0') {
            code = usage_error(parser,
                               serve ? "'' is not a directory or file; the current directory is '.'"
                                     : "'' is not a configuration file; without one it is "
                                       "'" UVH_OPTIONS_CONFIG "'");
        } else {
            options->root = argument;
        }
        if (code != UVH_EXIT_OK || options->help)
            return code;
    }
    if (options->root == NULL && serve)
        options->root = ".";
    if (options->root == NULL && access(UVH_OPTIONS_CONFIG, F_OK) == 0)
        options->root = UVH_OPTIONS_CONFIG;
    if (options->root == NULL)
        return usage_error(parser, "missing configuration file: none is given, and the current "
                                   "directory has no " UVH_OPTIONS_CONFIG);
    return UVH_EXIT_OK;
}

/* The option of a config field: --max-connections for "max_connections". */
static const struct uvh_option *find_by_field(const char *field, size_t length)
{
    for (size_t i = 0; i < uvh_option_count; i++) {
        char key[UVH_OPTIONS_VARIABLE_SIZE];
        if (uvh_option_table[i].name == NULL)
            continue;
        uvh_options_key(&uvh_option_table[i], key);
        if (strlen(key) == length && memcmp(key, field, length) == 0)
            return &uvh_option_table[i];
    }
    return NULL;
}

/* Our message adds the source of the value to that of the library, which is about several limits.
 */
static int check_config(const struct parser *parser)
{
    uvhttp_error_t error;
    if (uvhttp_config_check(&parser->options->config, &error) == 0)
        return UVH_EXIT_OK;
    const struct uvh_option *option = find_by_field(error.field, strlen(error.field));
    const struct source *source =
        option == NULL ? NULL : &parser->sources[option - uvh_option_table];
    bool given = source != NULL && source->text != NULL;
    bool from_file = !given && parser->command != UVH_COMMAND_SERVE;
    if (given)
        print_origin(option, source->from_environment);
    else
        fprintf(stderr, "%s: ", from_file ? parser->options->root : "uvhttp");
    char text[UVH_OPTION_TEXT_SIZE];
    bool serve = parser->command == UVH_COMMAND_SERVE;
    fprintf(stderr, "%s\n", serve ? uvh_option_rename_keys(error.text, text) : error.text);
    return from_file ? UVH_EXIT_FAILED : UVH_EXIT_USAGE;
}

/* A group of the file is checked with the file. */
static int check_group(const struct parser *parser)
{
    const struct uvh_option *group = find_by_field("group", strlen("group"));
    const struct source *source = &parser->sources[group - uvh_option_table];
    if (parser->options->user != NULL || source->text == NULL)
        return UVH_EXIT_OK;
    print_origin(group, source->from_environment);
    fprintf(stderr, "'%s' requires --user\n", source->text);
    return UVH_EXIT_USAGE;
}

/* A port that no address uses, unless it is the default of a variable. */
static int check_port(const struct parser *parser)
{
    const struct uvh_options *options = parser->options;
    const struct uvh_option *port = find_by_field("port", strlen("port"));
    const struct source *source = &parser->sources[port - uvh_option_table];
    size_t own = 0;
    while (own < options->listen_count && options->listen[own].port != UVH_ADDRESS_NO_PORT)
        own++;
    if (source->text == NULL || source->from_environment || options->listen_count == 0 ||
        own < options->listen_count)
        return UVH_EXIT_OK;
    print_origin(port, false);
    fprintf(stderr, "'%s' has no effect: every address of %s has a port; omit one of them\n",
            source->text, parser->listen_by_flag || !options->from_file ? "--listen" : "'listen'");
    return UVH_EXIT_USAGE;
}

bool uvh_options_init(struct uvh_options *options)
{
    uvhttp_config_t *defaults = uvhttp_config_new();
    if (defaults == NULL)
        return false;
    *options = (struct uvh_options){
        .port = 8080,
        .files = {.listing = true},
        .tls = {.watch = true, .redirect_http = UVH_OPTION_OFF, .hsts = UVH_OPTION_OFF},
        .config = *defaults,
        .log_level = UVHTTP_LOG_INFO,
    };
    uvhttp_config_free(defaults);
    /* The body of a request for a file is not used, and every connection could have one in
     * memory. */
    options->config.max_body_size = 4096;
    options->config.workers = uvhttp_core_count();
    options->config.drain_grace = 1;
    options->config.stuck_loop_ms = 1000;
    return true;
}

int uvh_options_scan(struct uvh_options *options, enum uvh_command command, int count,
                     char **arguments)
{
    struct parser parser = {.options = options, .command = command};
    return read_arguments(&parser, count, arguments);
}

int uvh_options_parse(struct uvh_options *options, enum uvh_command command, int count,
                      char **arguments)
{
    struct parser parser = {.options = options, .command = command};
    int code = read_environment(&parser);
    if (code == UVH_EXIT_OK)
        code = read_arguments(&parser, count, arguments);
    if (code != UVH_EXIT_OK || options->help)
        return code;
    code = check_config(&parser);
    if (code == UVH_EXIT_OK)
        code = check_port(&parser);
    return code == UVH_EXIT_OK ? check_group(&parser) : code;
}
