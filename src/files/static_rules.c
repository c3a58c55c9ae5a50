/* Rules are few and applied only when a file is read from the disk, so they are tried in order. The
 * last match wins. */
#include "files/static_rules.h"

#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/text.h>

#include "base/alloc.h"
#include "base/slice.h"
#include "codec/fields/field.h"
#include "codec/fields/hashed_name.h"
#include "codec/fields/mime.h"
#include "codec/text/chars.h"
#include "codec/text/glob.h"
#include "options/error.h"
#include "options/option_check.h"
#include "options/owned.h"

enum { MOST_RULES = 256, MOST_TYPES = 1000, MOST_TYPE = 255 };

static const char forever[] = "public, max-age=31536000, immutable";

struct type {
    uvhttp_slice_t end; /* of a name: "." and the extension */
    const char *type;
};

struct rule {
    uvhttp_slice_t pattern;
    const char *field;
    const char *value; /* NULL: removes the field of earlier rules */
    bool in_304;
};

struct uvh_static_rules {
    struct uvh_owned owned;
    struct type *types;
    size_t type_count;
    const char *default_type; /* or NULL */
    struct rule *rules;
    size_t rule_count;
    bool immutable_assets;
};

static bool same_name(const char *a, const char *b)
{
    return uvh_field_name_equal(uvh_slice(a), uvh_slice(b));
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (same_name(name, names[i]))
            return true;
    }
    return false;
}

/* ---- validation ---- */

/* type "/" subtype, and optional parameters (RFC 9110 section 8.3.1). */
static bool is_type(const char *text)
{
    const char *p = text;
    while (uvh_chars_is(*p, UVH_CHAR_TOKEN))
        p++;
    if (p == text || *p != '/')
        return false;
    const char *subtype = ++p;
    while (uvh_chars_is(*p, UVH_CHAR_TOKEN))
        p++;
    if (p == subtype || p[strspn(p, " \t")] != (*p == '\0' ? '\0' : ';') ||
        strlen(text) > MOST_TYPE)
        return false;
    while (uvh_chars_is(*p, UVH_CHAR_VALUE))
        p++;
    return *p == '\0';
}

static int check_type(const char *type, const char *name, uvhttp_error_t *error)
{
    if (is_type(type))
        return 0;
    return uvh_error_string(error, name, type,
                            "must be a media type, such as text/plain or text/html; charset=utf-8");
}

/* "extension=type", optionally with a dot before the extension. Extensions with a type contain
 * token characters only. */
static int check_types(const uvhttp_static_options_t *options, uvhttp_error_t *error)
{
    if (options->type_count > MOST_TYPES)
        return uvh_error_sentence(error, "types", NULL,
                                  "types has %zu elements; at most %d are allowed",
                                  options->type_count, MOST_TYPES);
    for (size_t i = 0; i < options->type_count; i++) {
        const char *given = options->types[i] != NULL ? options->types[i] : "";
        const char *extension = given + (given[0] == '.');
        const char *equals = extension;
        while (uvh_chars_is(*equals, UVH_CHAR_TOKEN))
            equals++;
        if (equals == extension || *equals != '=')
            return uvh_error_string(error, "types", given,
                                    "must be an extension and its type, such as md=text/markdown");
        int err = check_type(equals + 1, "types", error);
        if (err != 0)
            return err;
    }
    return options->default_type == NULL ? 0
                                         : check_type(options->default_type, "default_type", error);
}

/* Fields set by each response: a second one would be invalid. */
static bool is_own_field(const char *field)
{
    static const char *const names[] = {"Accept-Ranges", "Content-Encoding", "Content-Range",
                                        "ETag",          "Last-Modified",    "Location"};
    return is_among(field, names, sizeof(names) / sizeof(names[0]));
}

static int check_rule(const uvhttp_static_rule_t *rule, uvhttp_prepared_t *trial,
                      uvhttp_error_t *error)
{
    const char *pattern = rule->pattern != NULL ? rule->pattern : "";
    const char *field = rule->field != NULL ? rule->field : "";
    const char *value = rule->value != NULL ? rule->value : "x";
    if (!uvh_glob_is_valid(uvh_slice(pattern)))
        return uvh_error_string(error, "pattern", pattern, UVH_STATIC_RULES_PATTERN);
    int err = uvhttp_prepared_add(trial, field, "x");
    if (is_own_field(field) || err == UVHTTP_EHEADER)
        return uvh_error_string(error, "field", field,
                                "must be the name of a field that the server does not set itself");
    if (same_name(field, "Content-Type"))
        return rule->value == NULL ? 0 : check_type(value, "value", error);
    if (err == 0)
        err = uvhttp_prepared_add(trial, field, value);
    if (err == UVHTTP_EHEADER || value[0] == '\0')
        return uvh_error_string(error, "value", err == 0 ? "" : NULL,
                                "must be a non-empty text without control characters");
    return err;
}

int uvh_static_rules_check(const uvhttp_static_options_t *options, uvhttp_error_t *error)
{
    if (options == NULL)
        return UVHTTP_EINVAL;
    int err = uvh_option_check_array("types", options->types, options->type_count, error);
    if (err == 0)
        err = uvh_option_check_array("rules", options->rules, options->rule_count, error);
    if (err == 0)
        err = check_types(options, error);
    if (err == 0 && options->rule_count > MOST_RULES)
        err = uvh_error_sentence(error, "rules", NULL,
                                 "rules has %zu elements; at most %d are allowed",
                                 options->rule_count, MOST_RULES);
    for (size_t i = 0; i < options->rule_count && err == 0; i++) {
        uvhttp_prepared_t *trial = uvhttp_prepared_new(options->allocator);
        err = trial == NULL ? UVHTTP_ENOMEM : check_rule(&options->rules[i], trial, error);
        uvhttp_prepared_free(trial);
        if (err != 0)
            uvh_error_within(error, "rules", i);
    }
    return err;
}

/* ---- create and destroy ---- */

static char *keep(struct uvh_static_rules *rules, const char *text)
{
    return uvh_owned_string(&rules->owned, text, strlen(text));
}

static int copy_types(struct uvh_static_rules *rules, const uvhttp_static_options_t *options)
{
    rules->types = uvh_owned_alloc(&rules->owned, options->type_count * sizeof(*rules->types));
    if (rules->types == NULL)
        return UVHTTP_ENOMEM;
    for (; rules->type_count < options->type_count; rules->type_count++) {
        const char *given = options->types[rules->type_count];
        const char *extension = given + (given[0] == '.');
        size_t length = (size_t)(strchr(given, '=') - extension);
        struct type *type = &rules->types[rules->type_count];
        char *end = uvh_owned_alloc(&rules->owned, length + 2);
        type->type = keep(rules, extension + length + 1);
        if (end == NULL || type->type == NULL)
            return UVHTTP_ENOMEM;
        end[0] = '.';
        memcpy(end + 1, extension, length);
        type->end = (uvhttp_slice_t){end, length + 1};
    }
    rules->default_type = options->default_type == NULL ? NULL : keep(rules, options->default_type);
    return rules->default_type == NULL && options->default_type != NULL ? UVHTTP_ENOMEM : 0;
}

static int copy_rules(struct uvh_static_rules *rules, const uvhttp_static_options_t *options)
{
    /* RFC 9110 section 15.4.5; Date and ETag are always present. */
    static const char *const in_304[] = {"Cache-Control", "Content-Location", "Expires", "Vary"};
    rules->rules = uvh_owned_alloc(&rules->owned, options->rule_count * sizeof(*rules->rules));
    if (rules->rules == NULL)
        return UVHTTP_ENOMEM;
    for (; rules->rule_count < options->rule_count; rules->rule_count++) {
        const uvhttp_static_rule_t *given = &options->rules[rules->rule_count];
        struct rule *rule = &rules->rules[rules->rule_count];
        rule->pattern = (uvhttp_slice_t){keep(rules, given->pattern), strlen(given->pattern)};
        rule->field = keep(rules, given->field);
        rule->value = given->value == NULL ? NULL : keep(rules, given->value);
        rule->in_304 = is_among(given->field, in_304, sizeof(in_304) / sizeof(in_304[0]));
        if (rule->pattern.base == NULL || rule->field == NULL ||
            (rule->value == NULL && given->value != NULL))
            return UVHTTP_ENOMEM;
    }
    return 0;
}

int uvh_static_rules_new(struct uvh_static_rules **rules, const uvhttp_static_options_t *options,
                         const uvhttp_allocator_t *allocator, uvhttp_error_t *error)
{
    *rules = NULL;
    int err = uvh_static_rules_check(options, error);
    if (err != 0)
        return err;
    if (options->type_count == 0 && options->rule_count == 0 && options->default_type == NULL &&
        !options->immutable_assets)
        return 0;
    struct uvh_static_rules *made = uvh_owned_new(allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    made->immutable_assets = options->immutable_assets;
    err = copy_types(made, options);
    if (err == 0)
        err = copy_rules(made, options);
    if (err != 0) {
        uvh_static_rules_free(made);
        return err;
    }
    *rules = made;
    return 0;
}

void uvh_static_rules_free(struct uvh_static_rules *rules)
{
    if (rules != NULL)
        uvh_owned_free(&rules->owned);
}

/* ---- lookup ---- */

static uvhttp_slice_t name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return uvh_slice(slash != NULL ? slash + 1 : path);
}

/* The type of the longest extension; of equal ones the last. */
static const char *type_by_extension(const struct uvh_static_rules *rules, uvhttp_slice_t name)
{
    const struct type *best = NULL;
    for (size_t i = 0; i < rules->type_count; i++) {
        const struct type *type = &rules->types[i];
        size_t length = type->end.length;
        if (length > name.length || (best != NULL && best->end.length > length))
            continue;
        if (uvh_field_name_equal((uvhttp_slice_t){name.base + name.length - length, length},
                                 type->end))
            best = type;
    }
    return best == NULL ? NULL : best->type;
}

const char *uvh_static_rules_type(const struct uvh_static_rules *rules, const char *path)
{
    uvhttp_slice_t whole = uvh_slice(path);
    if (rules == NULL)
        return uvh_mime_type(whole);
    for (size_t i = rules->rule_count; i > 0; i--) {
        const struct rule *rule = &rules->rules[i - 1];
        if (!same_name(rule->field, "Content-Type") || !uvh_glob_matches(rule->pattern, whole))
            continue;
        if (rule->value != NULL)
            return rule->value;
        break;
    }
    const char *type = type_by_extension(rules, name_of(path));
    if (type == NULL)
        type = uvh_mime_known_type(whole);
    if (type == NULL)
        type = rules->default_type;
    return type != NULL ? type : uvh_mime_type(whole);
}

bool uvh_static_rules_keep_bytes(const struct uvh_static_rules *rules, const char *path)
{
    for (size_t i = rules == NULL ? 0 : rules->rule_count; i > 0; i--) {
        const struct rule *rule = &rules->rules[i - 1];
        if (same_name(rule->field, "Cache-Control") &&
            uvh_glob_matches(rule->pattern, uvh_slice(path)))
            return rule->value != NULL &&
                   uvh_field_list_has(uvh_slice(rule->value), uvh_slice("no-transform"));
    }
    return false;
}

/* Whether a later matching rule has the same field. */
static bool is_replaced(const struct uvh_static_rules *rules, const bool *fits, size_t index)
{
    for (size_t i = index + 1; i < rules->rule_count; i++) {
        if (fits[i] && same_name(rules->rules[i].field, rules->rules[index].field))
            return true;
    }
    return false;
}

/* Content-Disposition has the file's own name unless the rule has one. */
static int add_disposition(const struct rule *rule, const char *path, uvhttp_prepared_t *fields,
                           const uvhttp_allocator_t *allocator)
{
    uvhttp_slice_t name = name_of(path);
    size_t size = uvhttp_content_disposition(rule->value, name.base, name.length, NULL, 0) + 1;
    char *value = uvh_alloc(allocator, size);
    if (value == NULL)
        return UVHTTP_ENOMEM;
    uvhttp_content_disposition(rule->value, name.base, name.length, value, size);
    int err = uvhttp_prepared_add(fields, rule->field, value);
    uvh_free(allocator, value);
    return err;
}

static int add_rule(const struct uvh_static_rules *rules, const struct rule *rule, const char *path,
                    uvhttp_prepared_t *fields, uvhttp_prepared_t *validators)
{
    if (rule->value == NULL || same_name(rule->field, "Content-Type"))
        return 0;
    if (same_name(rule->field, "Content-Disposition") && strchr(rule->value, ';') == NULL)
        return add_disposition(rule, path, fields, rules->owned.allocator);
    int err = uvhttp_prepared_add(fields, rule->field, rule->value);
    if (err == 0 && rule->in_304)
        err = uvhttp_prepared_add(validators, rule->field, rule->value);
    return err;
}

/* The value by `immutable_assets` for a file; NULL: none. */
static const char *preset(const struct uvh_static_rules *rules, const char *path)
{
    if (!rules->immutable_assets)
        return NULL;
    const char *type = uvh_static_rules_type(rules, path);
    size_t length = strcspn(type, "; \t");
    if (uvh_field_name_equal((uvhttp_slice_t){type, length}, uvh_slice("text/html")) ||
        uvh_field_name_equal((uvhttp_slice_t){type, length}, uvh_slice("application/xhtml+xml")))
        return "no-cache";
    return uvh_hashed_name(uvh_slice(path)) ? forever : NULL;
}

int uvh_static_rules_add(const struct uvh_static_rules *rules, const char *path,
                         uvhttp_prepared_t *fields, uvhttp_prepared_t *validators)
{
    bool fits[MOST_RULES] = {false};
    bool has_cache_control = false;
    int err = 0;
    if (rules == NULL)
        return 0;
    for (size_t i = 0; i < rules->rule_count; i++) {
        fits[i] = uvh_glob_matches(rules->rules[i].pattern, uvh_slice(path));
        has_cache_control =
            has_cache_control || (fits[i] && same_name(rules->rules[i].field, "Cache-Control"));
    }
    for (size_t i = 0; i < rules->rule_count && err == 0; i++) {
        if (fits[i] && !is_replaced(rules, fits, i))
            err = add_rule(rules, &rules->rules[i], path, fields, validators);
    }
    const char *value = has_cache_control || err != 0 ? NULL : preset(rules, path);
    if (value != NULL)
        err = uvhttp_prepared_add(fields, "Cache-Control", value);
    if (value != NULL && err == 0)
        err = uvhttp_prepared_add(validators, "Cache-Control", value);
    return err;
}
