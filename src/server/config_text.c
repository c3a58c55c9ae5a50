/* Configuration from text: numbers by name, with units, also from the environment. A rejected text
 * changes nothing; the error names the option, the text and what is allowed. Called by programs
 * that read settings. */
#include <uvhttp/config.h>
#include <uvhttp/server.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "options/error.h"
#include "server/config_field.h"

#define PREFIX_MAX   64
#define NAME_SIZE    128 /* of a variable */
#define SHOWN_LENGTH 64  /* bytes of a text that a message quotes */

/* A suffix after the digits, and its factor. Of two rows for one unit the first that fits is
 * used. */
struct scale {
    const char *unit;
    const char *suffix; /* lower case */
    size_t factor;
};

static const struct scale scales[] = {
    {"bytes", "b", 1},
    {"bytes", "k", 1 << 10},
    {"bytes", "kib", 1 << 10},
    {"bytes", "m", 1 << 20},
    {"bytes", "mib", 1 << 20},
    {"bytes", "g", 1 << 30},
    {"bytes", "gib", 1 << 30},
    {"seconds", "s", 1},
    {"seconds", "m", 60},
    {"seconds", "min", 60},
    {"seconds", "h", 3600},
    {"seconds", "d", 86400},
    {"milliseconds", "ms", 1},
    {"milliseconds", "s", 1000},
    {"milliseconds", "m", 60000},
    {"milliseconds", "min", 60000},
    {"milliseconds", "h", 3600000},
    {"milliseconds", "d", 86400000},
};

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *text, const char *word)
{
    while (*word != '\0' && small(*text) == *word) {
        text++;
        word++;
    }
    return *text == *word;
}

/* Returns the factor of a suffix, 0 when the unit has none such. Only bytes allow upper case: "M"
 * is not a minute. */
static size_t factor_of(const char *suffix, const char *unit)
{
    bool bytes = strcmp(unit, "bytes") == 0;
    for (size_t i = 0; i < UVH_COUNT_OF(scales); i++) {
        if (strcmp(scales[i].unit, unit) != 0)
            continue;
        if (bytes ? same_word(suffix, scales[i].suffix) : strcmp(suffix, scales[i].suffix) == 0)
            return scales[i].factor;
    }
    return 0;
}

static bool is_boolean(const char *unit)
{
    return strcmp(unit, "boolean") == 0;
}

static int parse_boolean(const char *text, size_t *value)
{
    static const char *const words[][2] = {
        {"0", "1"}, {"no", "yes"}, {"off", "on"}, {"false", "true"}};
    for (size_t i = 0; i < UVH_COUNT_OF(words); i++) {
        for (size_t number = 0; number < 2; number++) {
            if (strcmp(text, words[i][number]) == 0) {
                *value = number;
                return 0;
            }
        }
    }
    return UVHTTP_EINVAL;
}

int uvhttp_config_parse(const char *text, const char *unit, size_t *value)
{
    if (text == NULL || unit == NULL || value == NULL)
        return UVHTTP_EINVAL;
    if (is_boolean(unit))
        return parse_boolean(text, value);
    size_t number = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9'; c++) {
        size_t digit = (size_t)(*c - '0');
        number = number > (SIZE_MAX - digit) / 10 ? SIZE_MAX : number * 10 + digit;
    }
    if (c == text)
        return UVHTTP_EINVAL;
    size_t factor = 1;
    if (*c != '\0') {
        factor = factor_of(*c == ' ' ? c + 1 : c, unit);
        if (factor == 0)
            return UVHTTP_EINVAL;
    }
    *value = number > SIZE_MAX / factor ? SIZE_MAX : number * factor;
    return 0;
}

int uvhttp_config_get(const uvhttp_config_t *config, const char *name, size_t *value)
{
    const uvhttp_limit_t *row;
    const size_t *field = uvh_config_field((uvhttp_config_t *)(uintptr_t)config, name, &row);
    if (field == NULL || value == NULL)
        return UVHTTP_EINVAL;
    *value = *field;
    return 0;
}

static const char *kind_of(const char *unit)
{
    if (strcmp(unit, "bytes") == 0)
        return "a size (such as 65536, 64K or 64KiB)";
    if (strcmp(unit, "seconds") == 0)
        return "a time (such as 90, 90s or 2min)";
    return "a number";
}

static int set(uvhttp_config_t *config, const char *name, const char *text, uvhttp_error_t *error)
{
    const uvhttp_limit_t *row;
    if (config == NULL)
        return UVHTTP_EINVAL;
    size_t *field = uvh_config_field(config, name, &row);
    if (field == NULL) {
        name = name != NULL ? name : "";
        uvh_error_sentence(error, name, NULL, "unknown limit '%.*s'",
                           uvh_error_quoted(name, SHOWN_LENGTH), name);
        return UVHTTP_EINVAL;
    }
    if (text == NULL) {
        uvh_error_sentence(error, row->name, NULL, "%s: the value is NULL", row->name);
        return UVHTTP_EINVAL;
    }
    size_t value;
    unsigned long long min = (unsigned long long)row->min;
    unsigned long long max = (unsigned long long)row->max;
    if (field == &config->workers && (strcmp(text, "auto") == 0 || strcmp(text, "0") == 0)) {
        config->workers = uvhttp_core_count();
        return 0;
    }
    if (field == &config->heavy_threads && strcmp(text, "auto") == 0)
        text = "0";
    int err = uvhttp_config_parse(text, row->unit, &value);
    if (err != 0 && is_boolean(row->unit)) {
        return uvh_error_sentence(error, row->name, text,
                                  "%s is '%.*s'; allowed are true and false", row->name,
                                  uvh_error_quoted(text, SHOWN_LENGTH), text);
    }
    if (err != 0) {
        return uvh_error_sentence(
            error, row->name, text, "%s: '%.*s' is not %s; allowed are %llu to %llu %s", row->name,
            uvh_error_quoted(text, SHOWN_LENGTH), text, kind_of(row->unit), min, max, row->unit);
    }
    if (value < row->min || value > row->max) {
        return uvh_error_sentence(error, row->name, text, "%s is %.*s; allowed are %llu to %llu %s",
                                  row->name, uvh_error_quoted(text, SHOWN_LENGTH), text, min, max,
                                  row->unit);
    }
    *field = value;
    return 0;
}

int uvhttp_config_set(uvhttp_config_t *config, const char *name, const char *text,
                      uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, set(config, name, text, error));
}

/* "UVHTTP_" and "max_connections" give "UVHTTP_MAX_CONNECTIONS". */
static void name_variable(const char *prefix, const char *name, char variable[NAME_SIZE])
{
    size_t at = (size_t)snprintf(variable, NAME_SIZE, "%s", prefix);
    snprintf(variable + at, NAME_SIZE - at, "%s", name);
    for (; variable[at] != '\0'; at++) {
        if (variable[at] >= 'a' && variable[at] <= 'z')
            variable[at] = (char)(variable[at] - 'a' + 'A');
    }
}

static int set_from_env(uvhttp_config_t *config, const char *prefix, uvhttp_error_t *error)
{
    if (config == NULL || prefix == NULL)
        return UVHTTP_EINVAL;
    if (strlen(prefix) > PREFIX_MAX) {
        uvh_error_sentence(error, "prefix", prefix,
                           "the prefix of the variables is longer than %d bytes", PREFIX_MAX);
        return UVHTTP_EINVAL;
    }
    const uvhttp_limit_t *row;
    for (size_t i = 0; (row = uvhttp_config_limit(i)) != NULL; i++) {
        char variable[NAME_SIZE];
        name_variable(prefix, row->name, variable);
        const char *text = getenv(variable);
        if (text == NULL || *text == '\0')
            continue;
        int err = set(config, row->name, text, error);
        if (err != 0) {
            if (error != NULL)
                uvh_error_set_text(error, "%s: %s", variable, error->reason);
            return err;
        }
    }
    return 0;
}

int uvhttp_config_from_env(uvhttp_config_t *config, const char *prefix, uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, set_from_env(config, prefix, error));
}
