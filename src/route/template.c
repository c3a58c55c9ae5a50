/* Parses templates. Called at set-up, by users of templates and by rewriting.c. */
#include "route/template.h"

#include <stdio.h>
#include <string.h>

#include <uvhttp/parser.h>

#include "base/slice.h"
#include "codec/text/chars.h"
#include "options/error.h"
#include "route/pattern.h"

enum { NAMES_SIZE = 512 };

static const char *const names[UVH_TEMPLATE_NAMES] = {
    [UVH_TEMPLATE_LITERAL] = "",      [UVH_TEMPLATE_TARGET] = "target",
    [UVH_TEMPLATE_PATH] = "path",     [UVH_TEMPLATE_QUERY] = "query",
    [UVH_TEMPLATE_HOST] = "host",     [UVH_TEMPLATE_SCHEME] = "scheme",
    [UVH_TEMPLATE_METHOD] = "method", [UVH_TEMPLATE_CLIENT] = "client",
    [UVH_TEMPLATE_REST] = "rest",
};

/* Where in a location the next part is. */
enum place {
    AT_START,
    AT_SCHEME_END, /* after {scheme}: "://" must follow */
    IN_HOST,
    IN_PATH,
    IN_QUERY, /* or fragment */
    IN_OTHER  /* where no placeholder is allowed */
};

struct parser {
    struct uvhttp_template *made;
    const uvhttp_template_options_t *options;
    uvhttp_error_t *error;
    struct uvh_param_name params[UVH_REQUEST_MAX_PARAMS];
    size_t param_count;
    size_t placeholders;
    enum place place;
    size_t host_length; /* what of the host is complete, IN_HOST */
    char host_end;      /* its last character */
};

/* ---- syntax ---- */

static size_t word_length(const char *text)
{
    size_t length = 0;
    while ((text[length] >= 'a' && text[length] <= 'z') ||
           (text[length] >= 'A' && text[length] <= 'Z') ||
           uvh_chars_is(text[length], UVH_CHAR_DIGIT) || text[length] == '_' || text[length] == '-')
        length++;
    return length;
}

/* The length of the name in "{name}", 0 if the text does not begin with a placeholder. */
static size_t placeholder_at(const char *text)
{
    size_t length = text[0] == '{' ? word_length(text + 1) : 0;
    return length > 0 && text[1 + length] == '}' ? length : 0;
}

/* The length of the name in "{{name}}". */
static size_t escape_at(const char *text)
{
    size_t length = text[0] == '{' ? placeholder_at(text + 1) : 0;
    return length > 0 && text[length + 3] == '}' ? length : 0;
}

static bool is_location(const struct parser *parser)
{
    return parser->options->kind == UVHTTP_TEMPLATE_LOCATION ||
           parser->options->kind == UVHTTP_TEMPLATE_TARGET;
}

/* ---- errors ---- */

/* "{target}, {path}, {id}" */
static void list_names(const struct parser *parser, char text[NAMES_SIZE])
{
    size_t used = 0;
    bool has_rest = false;
    for (size_t i = 0; i < parser->param_count; i++)
        has_rest = has_rest || parser->params[i].wildcard;
    text[0] = '\0';
    for (size_t i = UVH_TEMPLATE_TARGET; i < UVH_TEMPLATE_NAMES; i++) {
        if (i != UVH_TEMPLATE_REST || has_rest)
            used += (size_t)snprintf(text + used, NAMES_SIZE - used, "%s{%s}",
                                     used == 0 ? "" : ", ", names[i]);
    }
    for (size_t i = 0; i < parser->param_count && used < NAMES_SIZE; i++) {
        const struct uvh_param_name *param = &parser->params[i];
        if (param->base[0] != '*')
            used += (size_t)snprintf(text + used, NAMES_SIZE - used, ", {%.*s}", (int)param->length,
                                     param->base);
    }
}

static int refuse(const struct parser *parser, const char *name, size_t length, const char *reason)
{
    char value[128];
    snprintf(value, sizeof(value), "{%.*s}", uvh_error_quoted(name, length < 100 ? length : 100),
             name);
    return uvh_error_sentence(parser->error, "text", value, "%s %s", value, reason);
}

static int refuse_unknown(const struct parser *parser, const char *name, size_t length)
{
    char list[NAMES_SIZE], reason[NAMES_SIZE + 128];
    if (length == strlen("rest") && memcmp(name, "rest", length) == 0)
        return refuse(parser, name, length, "requires a path that ends with '*'");
    list_names(parser, list);
    snprintf(
        reason, sizeof(reason),
        "is not a placeholder; allowed are %s; for the text itself double the braces: {{%.*s}}",
        list, uvh_error_quoted(name, length < 100 ? length : 100), name);
    return refuse(parser, name, length, reason);
}

static int refuse_text(const struct parser *parser, const char *reason)
{
    return uvh_error_string(parser->error, "text", parser->options->text, reason);
}

/* ---- the place in a location ---- */

/* True if a host is complete: nothing can be added to it. */
static bool has_host(const struct parser *parser)
{
    return parser->host_length > 0 && parser->host_end != '@' && parser->host_end != ':';
}

/* The length of "https:" at the begin of a text, 0 without a scheme. */
static size_t scheme_length(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length && (uvh_chars_is(text[i], UVH_CHAR_DIGIT) ||
                          ((text[i] | 0x20) >= 'a' && (text[i] | 0x20) <= 'z') || text[i] == '+' ||
                          text[i] == '-' || text[i] == '.'))
        i++;
    return i > 0 && i < length && text[i] == ':' ? i + 1 : 0;
}

/* The first text of a location, or what follows {scheme}. Returns what it skips: "https://". */
static size_t enter(struct parser *parser, const char *text, size_t length)
{
    bool after_scheme = parser->place == AT_SCHEME_END;
    size_t scheme = after_scheme ? text[0] == ':' : scheme_length(text, length);
    size_t slashes = 0;
    while (scheme + slashes < length && slashes < 2 && text[scheme + slashes] == '/')
        slashes++;
    parser->place = IN_OTHER;
    if (parser->options->kind == UVHTTP_TEMPLATE_TARGET) {
        parser->place = text[0] == '/' ? IN_PATH : IN_OTHER;
        return 0;
    }
    if (slashes == 2 && (!after_scheme || scheme == 1)) {
        parser->place = IN_HOST;
        return scheme + slashes;
    }
    if (!after_scheme && scheme == 0 && slashes == 1) {
        parser->made->rooted = true;
        parser->place = IN_PATH;
    } else if (!after_scheme && (text[0] == '?' || text[0] == '#')) {
        parser->place = IN_QUERY;
    }
    return 0;
}

static void pass_literal(struct parser *parser, const char *text, size_t length)
{
    size_t i = parser->place == AT_START || parser->place == AT_SCHEME_END
                   ? enter(parser, text, length)
                   : 0;
    for (; i < length; i++) {
        bool ends_path = text[i] == '?' || text[i] == '#';
        if (parser->place == IN_HOST && (ends_path || text[i] == '/'))
            parser->place = !has_host(parser) ? IN_OTHER : ends_path ? IN_QUERY : IN_PATH;
        else if (parser->place == IN_HOST)
            parser->host_length++, parser->host_end = text[i];
        else if (parser->place == IN_PATH && ends_path)
            parser->place = IN_QUERY;
    }
}

/* Returns 0 if a placeholder is allowed here. */
static int pass_placeholder(struct parser *parser, enum uvh_template_name name, const char *text,
                            size_t length)
{
    bool is_path = name == UVH_TEMPLATE_PATH || name == UVH_TEMPLATE_TARGET;
    bool is_target = parser->options->kind == UVHTTP_TEMPLATE_TARGET;
    if (parser->place == AT_START && is_path) {
        parser->made->rooted = !is_target;
        parser->place = IN_PATH;
    } else if (parser->place == AT_START && name == UVH_TEMPLATE_SCHEME && !is_target) {
        parser->place = AT_SCHEME_END;
    } else if (parser->place == IN_HOST && name == UVH_TEMPLATE_HOST && parser->host_length == 0) {
        parser->host_length = 1;
        parser->host_end = 'h';
    } else if (parser->place == IN_HOST && is_path && has_host(parser)) {
        parser->place = IN_PATH;
    } else if (parser->place != IN_PATH && parser->place != IN_QUERY) {
        return refuse(parser, text, length,
                      is_target ? "must follow a path, such as /new/"
                                : "must follow a host and '/', or a path, such as "
                                  "https://example.com/ or /new/: the client must not choose the "
                                  "host");
    }
    if (name == UVH_TEMPLATE_QUERY || name == UVH_TEMPLATE_TARGET)
        parser->place = IN_QUERY;
    return 0;
}

/* ---- parts ---- */

static void add_literal(struct parser *parser, const char *text, size_t length)
{
    struct uvhttp_template *made = parser->made;
    if (length == 0)
        return;
    if (is_location(parser))
        pass_literal(parser, text, length);
    made->parts[made->part_count++] = (struct uvh_template_part){.text = text, .length = length};
}

static enum uvh_template_encoding encoding_of(const struct parser *parser, bool in_query)
{
    switch (parser->options->kind) {
    case UVHTTP_TEMPLATE_TEXT:
        return UVH_TEMPLATE_PLAIN;
    case UVHTTP_TEMPLATE_HTML:
        return UVH_TEMPLATE_AS_HTML;
    case UVHTTP_TEMPLATE_JSON:
        return UVH_TEMPLATE_AS_JSON;
    case UVHTTP_TEMPLATE_HEADER:
        return UVH_TEMPLATE_AS_HEADER;
    case UVHTTP_TEMPLATE_LOCATION:
    case UVHTTP_TEMPLATE_TARGET:
        break;
    }
    return in_query ? UVH_TEMPLATE_AS_COMPONENT : UVH_TEMPLATE_AS_URL;
}

/* Finds a name: a parameter, else a value of every request. Returns its number or LITERAL. */
static enum uvh_template_name find_name(const struct parser *parser, const char *name,
                                        size_t length)
{
    bool has_rest = false;
    for (size_t i = 0; i < parser->param_count; i++) {
        const struct uvh_param_name *param = &parser->params[i];
        has_rest = has_rest || param->wildcard;
        if (param->length == length && memcmp(param->base, name, length) == 0)
            return UVH_TEMPLATE_PARAM;
    }
    for (size_t i = UVH_TEMPLATE_TARGET; i < UVH_TEMPLATE_NAMES; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return i == UVH_TEMPLATE_REST && !has_rest ? UVH_TEMPLATE_LITERAL
                                                       : (enum uvh_template_name)i;
    }
    return UVH_TEMPLATE_LITERAL;
}

static int add_placeholder(struct parser *parser, const char *text, size_t length)
{
    struct uvhttp_template *made = parser->made;
    enum uvh_template_name name = find_name(parser, text, length);
    bool in_query = parser->place == IN_QUERY, in_host = parser->place == IN_HOST;
    if (name == UVH_TEMPLATE_LITERAL)
        return refuse_unknown(parser, text, length);
    if (parser->placeholders++ == UVH_TEMPLATE_MOST_PLACEHOLDERS)
        return refuse(parser, text, length, "is one too many: at most 64 placeholders are allowed");
    int err = is_location(parser) ? pass_placeholder(parser, name, text, length) : 0;
    if (err != 0)
        return err;
    struct uvh_template_part part = {.name = (unsigned char)name,
                                     .encoding = (unsigned char)encoding_of(parser, in_query),
                                     .joined = name == UVH_TEMPLATE_QUERY && in_query,
                                     .in_host = name == UVH_TEMPLATE_HOST && in_host,
                                     .length = length};
    if (name == UVH_TEMPLATE_QUERY && is_location(parser))
        part.encoding = UVH_TEMPLATE_AS_URL;
    part.url_form = part.encoding == UVH_TEMPLATE_AS_URL || part.encoding == UVH_TEMPLATE_AS_HEADER;
    if (name == UVH_TEMPLATE_PARAM &&
        (part.text = uvh_owned_string(&made->owned, text, length)) == NULL)
        return UVHTTP_ENOMEM;
    made->parts[made->part_count++] = part;
    made->dynamic = true;
    return 0;
}

/* Splits the text into parts; there is space for them. */
static int split(struct parser *parser, const char *text)
{
    const char *begin = text;
    int err = 0;
    while (*text != '\0' && err == 0) {
        size_t escape = escape_at(text), name = placeholder_at(text);
        if (escape > 0) { /* the inner braces are text */
            add_literal(parser, begin, (size_t)(text - begin));
            add_literal(parser, text + 1, escape + 2);
            text += escape + 4;
            begin = text;
        } else if (name > 0) {
            add_literal(parser, begin, (size_t)(text - begin));
            err = add_placeholder(parser, text + 1, name);
            text += name + 2;
            begin = text;
        } else {
            text++;
        }
    }
    if (err == 0)
        add_literal(parser, begin, (size_t)(text - begin));
    return err;
}

/* ---- checks of the whole ---- */

/* A placeholder or escape is one part, and so is the text before it. */
static size_t count_parts(const char *text)
{
    size_t count = 1;
    for (; *text != '\0'; text++)
        count += placeholder_at(text) > 0 || escape_at(text) > 0 ? 2 : 0;
    return count;
}

static int check_literals(const struct parser *parser)
{
    bool url = is_location(parser) &&
               (parser->made->dynamic || parser->options->kind == UVHTTP_TEMPLATE_TARGET);
    bool field = is_location(parser) || parser->options->kind == UVHTTP_TEMPLATE_HEADER;
    for (const char *at = parser->options->text; *at != '\0' && field; at++) {
        if (!uvh_chars_is(*at, UVH_CHAR_VALUE))
            return refuse_text(parser, "it contains a control character");
        if (url && (*at == ' ' || *at == '\t' || *at == '\\'))
            return refuse_text(parser, "a location with placeholders has no space, tab or "
                                       "backslash; write %20, %09 and %5C");
    }
    return 0;
}

/* The path of a target must be one for every value: tries it with "x" for each. */
static int check_target(const struct parser *parser)
{
    const struct uvhttp_template *made = parser->made;
    char *path = uvh_owned_alloc(&parser->made->owned, 2 * strlen(parser->options->text) + 2);
    size_t used = 0, length;
    if (path == NULL)
        return UVHTTP_ENOMEM;
    for (size_t i = 0; i < made->part_count; i++) {
        const struct uvh_template_part *part = &made->parts[i];
        bool literal = part->name == UVH_TEMPLATE_LITERAL;
        memcpy(path + used, literal ? part->text : "/x", literal ? part->length : 2);
        used += literal ? part->length : 2;
    }
    if (memchr(path, '#', used) != NULL)
        return refuse_text(parser, "a target has no fragment");
    used = strcspn(path, "?");
    if (path[0] != '/')
        return refuse_text(parser, "a target is a path that begins with '/'");
    if (uvhttp_path_normalize((uvhttp_slice_t){path, used}, path, &length) != UVHTTP_REASON_NONE)
        return refuse_text(parser, "its path has an invalid escape, or leads above '/'");
    return 0;
}

/* Joins the parts of a text without placeholders. */
static int join(struct uvhttp_template *made, size_t size)
{
    char *text = uvh_owned_alloc(&made->owned, size);
    size_t length = 0;
    if (text == NULL)
        return UVHTTP_ENOMEM;
    for (size_t i = 0; i < made->part_count; i++) {
        memcpy(text + length, made->parts[i].text, made->parts[i].length);
        length += made->parts[i].length;
    }
    made->text = (uvhttp_slice_t){text, length};
    return 0;
}

static int parse(struct parser *parser)
{
    const uvhttp_template_options_t *options = parser->options;
    struct uvhttp_template *made = parser->made;
    size_t length = strlen(options->text);
    const char *wrong = NULL;
    if (options->kind > UVHTTP_TEMPLATE_TARGET)
        return uvh_error_int(parser->error, "kind", (int)options->kind, "allowed are 0 to 5");
    if (length > UVH_TEMPLATE_MOST_SIZE)
        return refuse_text(parser, "it is longer than 1 MiB");
    if (options->pattern != NULL) {
        wrong = options->pattern[0] != '/'
                    ? "it does not begin with \"/\""
                    : uvh_pattern_params(options->pattern, parser->params, &parser->param_count);
    }
    if (wrong != NULL)
        return uvh_error_string(parser->error, "pattern", options->pattern, wrong);
    const char *text = uvh_owned_string(&made->owned, options->text, length);
    made->parts = uvh_owned_alloc(&made->owned, count_parts(options->text) * sizeof(*made->parts));
    if (text == NULL || made->parts == NULL)
        return UVHTTP_ENOMEM;
    int err = split(parser, text);
    if (err == 0)
        err = check_literals(parser);
    if (err == 0 && !made->dynamic)
        err = join(made, length + 1);
    return err == 0 && options->kind == UVHTTP_TEMPLATE_TARGET ? check_target(parser) : err;
}

static int create(uvhttp_template_t **made, const uvhttp_template_options_t *options,
                  uvhttp_error_t *error)
{
    if (made == NULL)
        return UVHTTP_EINVAL;
    *made = NULL;
    if (options == NULL || options->text == NULL)
        return UVHTTP_EINVAL;
    struct parser parser = {.options = options, .error = error};
    parser.made = uvh_owned_new(options->allocator, sizeof(*parser.made));
    if (parser.made == NULL)
        return UVHTTP_ENOMEM;
    int err = parse(&parser);
    if (err != 0)
        uvhttp_template_free(parser.made);
    else
        *made = parser.made;
    return err;
}

int uvhttp_template_new(uvhttp_template_t **made, const uvhttp_template_options_t *options,
                        uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(made, options, error));
}

void uvhttp_template_free(void *made)
{
    uvh_owned_free(made);
}

bool uvhttp_template_is_dynamic(const uvhttp_template_t *made)
{
    return made != NULL && made->dynamic;
}
