/* See site_text.h. */
#include "site_text.h"

#include <string.h>

#include "placeholder_hint.h"
#include "suggest.h"

/* The names of placeholders that an error lists as "{path}, {id}". */
struct names {
    char text[1024];
    const char *items[64];
    size_t count;
};

static const char *name_at(size_t index, const void *arg)
{
    const struct names *names = arg;
    return index < names->count ? names->items[index] : NULL;
}

static void find_names(struct names *names, const char *list)
{
    snprintf(names->text, sizeof(names->text), "%s", list);
    names->text[strcspn(names->text, ";")] = '\0';
    for (char *at = strchr(names->text, '{'); at != NULL && names->count < 64;
         at = strchr(at + 1, '{')) {
        char *end = strchr(at, '}');
        if (end == NULL)
            return;
        *end = '\0';
        names->items[names->count++] = at + 1;
        at = end;
    }
}

void uvh_site_text_note(struct uvh_problems *problems, struct uvh_mark mark,
                        const uvhttp_error_t *error)
{
    static const char list_begin[] = "; allowed are {";
    const char *list = strstr(error->text, list_begin);
    char word[sizeof(error->value)];
    struct names names = {.count = 0};
    size_t length;
    const char *ours = uvh_placeholder_hint(error->value, &length);
    const char *meant = ours != NULL ? ours : error->value;
    snprintf(word, sizeof(word), "%s", meant + (*meant == '{'));
    word[strcspn(word, "}")] = '\0';
    if (list != NULL)
        find_names(&names, list + 2);
    const char *nearest = uvh_suggest(word, name_at, &names);
    if (nearest == NULL)
        uvh_problems_add(problems, mark, "%s", error->text);
    else
        uvh_problems_add(problems, mark, "%.*s; did you mean {%s}? Allowed are %s",
                         (int)(list - error->text), error->text, nearest,
                         list + sizeof(list_begin) - 2);
}

bool uvh_site_text_check(const char *text, struct uvh_mark mark, struct uvh_problems *problems)
{
    for (const char *at = text; (at = strstr(at, "{http.request.")) != NULL; at++) {
        size_t length;
        const char *ours = uvh_placeholder_hint(at, &length);
        if (length == 0 || (at > text && at[-1] == '{')) /* doubled braces are text */
            continue;
        uvh_problems_add(problems, mark, "%.*s is a placeholder of Caddy; use %s", (int)length, at,
                         ours != NULL ? ours
                                      : "one of {target}, {path}, {query}, {host}, {scheme}, "
                                        "{method} and {client}");
        return false;
    }
    return true;
}

static uvhttp_template_t *make(uvhttp_server_t *server, const uvhttp_template_options_t *options,
                               struct uvh_mark mark, struct uvh_problems *problems)
{
    uvhttp_template_t *made;
    uvhttp_error_t error;
    if (!uvh_site_text_check(options->text, mark, problems))
        return NULL;
    if (uvhttp_template_new(&made, options, &error) != 0) {
        uvh_site_text_note(problems, mark, &error);
        return NULL;
    }
    int err = uvhttp_server_own(server, uvhttp_template_free, made);
    if (err == 0)
        return made;
    uvh_problems_add(problems, mark, "%s", uvhttp_strerror(err));
    uvhttp_template_free(made);
    return NULL;
}

bool uvh_site_text_make_fields(uvhttp_server_t *server, struct uvh_field_list *fields,
                               const char *pattern, struct uvh_problems *problems)
{
    bool good = true;
    for (size_t i = 0; i < fields->count; i++) {
        struct uvh_field *field = &fields->items[i];
        field->made =
            make(server,
                 &(uvhttp_template_options_t){
                     .text = field->value, .kind = UVHTTP_TEMPLATE_HEADER, .pattern = pattern},
                 field->mark, problems);
        good = field->made != NULL && good;
    }
    return good;
}

/* Values are escaped as the type of the body requires. */
static uvhttp_template_kind_t kind_of_body(const char *type)
{
    uvhttp_slice_t given = {type, strlen(type)};
    if (uvhttp_media_type_is(given, "text/html application/xml text/xml +xml"))
        return UVHTTP_TEMPLATE_HTML;
    if (uvhttp_media_type_is(given, "application/json +json text/javascript "
                                    "application/javascript application/ecmascript"))
        return UVHTTP_TEMPLATE_JSON;
    return UVHTTP_TEMPLATE_TEXT;
}

static bool is_status(const char *text)
{
    return strncmp(text, "30", 2) == 0 && text[2] != '\0' && strchr("12378", text[2]) != NULL;
}

/* A location with a status, as other servers have it: "301 /b", "/b 301". "/b,301" is a path. */
static bool check_status(const char *text, struct uvh_mark mark, struct uvh_problems *problems)
{
    size_t length = strlen(text);
    const char *status = text;
    if (length < 5)
        return true;
    if (!is_status(status) || text[3] != ' ')
        status = text + length - 3;
    if (!is_status(status) || (status != text && status[-1] != ' '))
        return true;
    uvh_problems_add(problems, mark,
                     "'%.80s' has a status; write the location alone, and 'status: %.3s' beside "
                     "'redirect'%s",
                     text, status, mark.line == 0 ? ", in a file for 'uvhttp run'" : "");
    return false;
}

/* A location that is no path. True if it is a URL with a scheme. */
static bool check_url(const char *text, struct uvh_mark mark, struct uvh_problems *problems)
{
    size_t scheme =
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    size_t http = strncmp(text, "https", 5) == 0 ? 5 : strncmp(text, "http", 4) == 0 ? 4 : 0;
    size_t slashes = strspn(text + http, ":/");
    if (strncmp(text + scheme, "://", 3) == 0 && scheme > 0)
        return true;
    if (slashes > 0)
        uvh_problems_add(problems, mark, "'%.80s' is no URL; write '%.*s://%.80s'", text,
                         http == 4 ? 4 : 5, http > 0 ? text : "https", text + http + slashes);
    else if (text[scheme] == ':' && (text[scheme + 1] < '0' || text[scheme + 1] > '9'))
        uvh_problems_add(problems, mark,
                         "'%.80s' is neither a path nor a URL with a host, such as "
                         "https://example.com/",
                         text);
    else
        uvh_problems_add(problems, mark,
                         "'%.80s' is neither a path nor a URL with a scheme; write '/%.80s' or "
                         "'https://%.80s'",
                         text, text, text);
    return false;
}

/* The library allows every reference of RFC 3986, but "x.test" is one to a file beside the path. */
static bool check_location(const char *text, struct uvh_mark mark, struct uvh_problems *problems)
{
    if (strpbrk(text, " \t") != NULL)
        uvh_problems_add(problems, mark, "'%.80s' has a space or tab; write %%20 or %%09", text);
    else if (strncmp(text, "//", 2) == 0)
        uvh_problems_add(problems, mark,
                         "'%.80s' has no scheme; write 'https:%.80s' or '{scheme}:%.80s'", text,
                         text, text);
    else if (*text == '/' || strncmp(text, "{path}", 6) == 0 || strncmp(text, "{target}", 8) == 0 ||
             strncmp(text, "{scheme}://", 11) == 0)
        return true;
    else if (*text == '?' || *text == '#')
        uvh_problems_add(problems, mark, "'%.80s' has no path; write '{path}%.80s'", text, text);
    else
        return check_url(text, mark, problems);
    return false;
}

bool uvh_site_text_make(uvhttp_server_t *server, struct uvh_setup_route *route, const char *pattern,
                        struct uvh_problems *problems)
{
    bool good = uvh_site_text_make_fields(server, &route->headers, pattern, problems);
    if (route->text.text == NULL)
        return good;
    if (route->kind == UVH_ROUTE_REDIRECT &&
        !check_status(route->text.text, route->text.mark, problems))
        return false;
    const uvhttp_template_options_t options = {.text = route->text.text,
                                               .kind = route->kind == UVH_ROUTE_REDIRECT
                                                           ? UVHTTP_TEMPLATE_LOCATION
                                                           : kind_of_body(route->type),
                                               .pattern = pattern};
    route->made = make(server, &options, route->text.mark, problems);
    if (route->made != NULL && route->kind == UVH_ROUTE_REDIRECT)
        good = check_location(route->text.text, route->text.mark, problems) && good;
    return good && route->made != NULL;
}
