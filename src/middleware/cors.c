/* CORS, on public functions only: uvhttp/cors.h.
 *
 * The response fields are set just before it is sent, so errors and files have them, too. Names
 * follow the Fetch standard. */
#include <uvhttp/cors.h>

#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>

#include "base/slice.h"
#include "codec/fields/authority.h"
#include "codec/fields/field.h"
#include "codec/text/chars.h"
#include "middleware/accepted_coding.h"
#include "options/error.h"
#include "options/option_check.h"
#include "options/owned.h"
#include "options/use.h"

enum { MAX_AGE_LIMIT = 86400, MAX_LIST = 4096, AGE_SIZE = 24 };

/* The text before and after a star: "https://" and ".example.com:8443". */
struct pattern {
    uvhttp_slice_t before; /* the whole text without a star */
    uvhttp_slice_t after;  /* base NULL without a star */
};

struct uvhttp_cors {
    struct uvh_owned owned;
    struct pattern *patterns;
    size_t pattern_count;
    bool anybody; /* "*", which needs no field of the request */
    bool credentials;
    uvhttp_cors_origin_cb allow;
    void *allow_arg;
    /* Field values; NULL: the field is not sent. For methods and headers NULL: the requested
     * value. */
    const char *methods;
    const char *headers;
    const char *exposed;
    bool any_header;
    char max_age[AGE_SIZE]; /* "" when not configured */
};

/* The state of one middleware for one request. The innermost one is attached to the request. */
struct session {
    const struct uvhttp_cors *cors;
    const char *allowed; /* value of Access-Control-Allow-Origin; NULL: refused, or no origin */
    bool preflight;
};

static const char session_key;

/* ---- origins ---- */

static bool ends_with(uvhttp_slice_t text, uvhttp_slice_t end)
{
    return text.length >= end.length &&
           memcmp(text.base + text.length - end.length, end.base, end.length) == 0;
}

static bool begins_with(uvhttp_slice_t text, uvhttp_slice_t beginning)
{
    return text.length >= beginning.length &&
           memcmp(text.base, beginning.base, beginning.length) == 0;
}

/* The text matched by the star: at least one byte, one or more labels, without a character that
 * ends a host. */
static bool is_host_part(uvhttp_slice_t text)
{
    if (text.base[0] == '.')
        return false;
    for (size_t i = 0; i < text.length; i++) {
        char byte = text.base[i];
        if (!(byte >= 'a' && byte <= 'z') && !uvh_chars_is(byte, UVH_CHAR_DIGIT) && byte != '-' &&
            byte != '_' && byte != '.')
            return false;
    }
    return true;
}

static bool matches(const struct pattern *pattern, uvhttp_slice_t origin)
{
    if (pattern->after.base == NULL)
        return origin.length == pattern->before.length && begins_with(origin, pattern->before);
    size_t fixed = pattern->before.length + pattern->after.length;
    if (origin.length <= fixed || !begins_with(origin, pattern->before) ||
        !ends_with(origin, pattern->after))
        return false;
    return is_host_part(
        (uvhttp_slice_t){origin.base + pattern->before.length, origin.length - fixed});
}

/* The value of Access-Control-Allow-Origin for a request; NULL when there is none. */
static const char *allowed_origin(const struct uvhttp_cors *cors, uvhttp_request_t *request,
                                  const char *origin)
{
    if (cors->anybody)
        return "*";
    if (origin == NULL)
        return NULL;
    uvhttp_slice_t text = uvh_slice(origin);
    for (size_t i = 0; i < cors->pattern_count; i++) {
        if (matches(&cors->patterns[i], text))
            return origin;
    }
    return cors->allow != NULL && cors->allow(request, origin, cors->allow_arg) ? origin : NULL;
}

/* ---- responses ---- */

static int set_if(int err, uvhttp_response_t *response, const char *name, const char *value)
{
    if (err != 0 || value == NULL || *value == '\0')
        return err;
    return uvhttp_response_set_header(response, name, value);
}

/* A uvhttp_send_cb. */
static int add_fields(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const struct session *session = arg;
    const struct uvhttp_cors *cors = session->cors;
    /* Also without or with a refused origin: a cache must not serve this response to other
     * origins. */
    int err = cors->anybody ? 0 : uvh_vary_add(response, "Origin", "origin");
    bool decides = uvhttp_request_attached(request, &session_key) == session;
    if (err != 0 || !decides || session->allowed == NULL ||
        uvhttp_response_header_slice(response, "Access-Control-Allow-Origin").base != NULL)
        return err;
    err = uvhttp_response_set_header(response, "Access-Control-Allow-Origin", session->allowed);
    err = set_if(err, response, "Access-Control-Allow-Credentials",
                 cors->credentials ? "true" : NULL);
    return set_if(err, response, "Access-Control-Expose-Headers",
                  session->preflight ? NULL : cors->exposed);
}

/* A list of tokens, in the syntax of the field. */
static bool is_name_list(const char *text)
{
    uvhttp_slice_t rest = {text, strlen(text)}, name;
    while (uvh_field_list_next(&rest, &name)) {
        if (!uvh_field_name_valid(name))
            return false;
    }
    return true;
}

static int respond_to_preflight(uvhttp_request_t *request, uvhttp_response_t *response,
                                const struct session *session, const char *method)
{
    const struct uvhttp_cors *cors = session->cors;
    const char *headers = uvhttp_request_header(request, "Access-Control-Request-Headers");
    int err = 0;
    if (cors->methods == NULL)
        err = uvh_vary_add(response, "Access-Control-Request-Method",
                           "access-control-request-method");
    if (err == 0 && cors->any_header)
        err = uvh_vary_add(response, "Access-Control-Request-Headers",
                           "access-control-request-headers");
    if (err != 0)
        return err;
    if (session->allowed == NULL) {
        const char *origin = uvhttp_request_header(request, "Origin");
        uvhttp_response_log(response, UVHTTP_LOG_DEBUG, "cors: the origin %s is denied",
                            origin == NULL ? "" : origin);
        return uvhttp_response_send_status(response, 403);
    }
    /* "any" is sent as the requested names: with credentials browsers take a star literally, and it
     * never covers Authorization. */
    if (cors->methods != NULL)
        method = cors->methods;
    if (!cors->any_header)
        headers = cors->headers;
    err =
        set_if(err, response, "Access-Control-Allow-Methods", is_name_list(method) ? method : NULL);
    err = set_if(err, response, "Access-Control-Allow-Headers",
                 headers != NULL && is_name_list(headers) ? headers : NULL);
    err = set_if(err, response, "Access-Control-Max-Age", cors->max_age);
    return err != 0 ? err : uvhttp_response_send_status(response, 204);
}

int uvhttp_cors_handle_request(uvhttp_request_t *request, uvhttp_response_t *response, void *cors)
{
    if (cors == NULL)
        return UVHTTP_EINVAL;
    struct session *session = uvhttp_request_allocate(request, sizeof(*session));
    if (session == NULL)
        return UVHTTP_ENOMEM;
    const char *origin = uvhttp_request_header(request, "Origin");
    const char *method = NULL;
    if (origin != NULL && uvhttp_request_method(request) == UVHTTP_METHOD_OPTIONS)
        method = uvhttp_request_header(request, "Access-Control-Request-Method");
    *session = (struct session){.cors = cors,
                                .allowed = allowed_origin(cors, request, origin),
                                .preflight = method != NULL};
    int err = uvhttp_request_attach(request, &session_key, session, NULL);
    if (err == 0)
        err = uvhttp_response_on_send(response, add_fields, session);
    if (err != 0)
        return err;
    return method == NULL ? UVHTTP_DECLINED
                          : respond_to_preflight(request, response, session, method);
}

/* ---- create and destroy ---- */

/* The next element of a list. */
static bool next_element(const char **list, uvhttp_slice_t *element)
{
    *list += strspn(*list, ", ");
    *element = (uvhttp_slice_t){*list, strcspn(*list, ", ")};
    *list += element->length;
    return element->length > 0;
}

static bool is(uvhttp_slice_t text, const char *other)
{
    return text.length == strlen(other) && memcmp(text.base, other, text.length) == 0;
}

/* An origin as browsers serialize it (HTML, "serialization of an origin"): another notation would
 * never match. */
static bool is_origin(uvhttp_slice_t text)
{
    uvhttp_slice_t host, port, scheme = {text.base, 0};
    while (scheme.length < text.length && text.base[scheme.length] != ':')
        scheme.length++;
    if (scheme.length == 0 || text.length < scheme.length + 4 ||
        memcmp(text.base + scheme.length, "://", 3) != 0)
        return false;
    uvhttp_slice_t authority = {text.base + scheme.length + 3, text.length - scheme.length - 3};
    for (size_t i = 0; i < text.length; i++) {
        if (uvh_chars_lower(text.base[i]) != text.base[i])
            return false;
    }
    if (!uvh_authority_split(authority, &host, &port) ||
        memchr(host.base, '*', host.length) != NULL)
        return false;
    if (port.base == NULL)
        return true;
    bool usual = (is(scheme, "http") && is(port, "80")) || (is(scheme, "https") && is(port, "443"));
    return port.length > 0 && port.base[0] != '0' && !usual;
}

/* A pattern is an origin once its "*." is removed. */
static bool is_pattern(uvhttp_slice_t text, size_t star)
{
    char origin[512];
    if (text.length > sizeof(origin) || text.length < star + 3 || text.base[star + 1] != '.' ||
        star < 3 || memcmp(text.base + star - 3, "://", 3) != 0)
        return false;
    memcpy(origin, text.base, star);
    memcpy(origin + star, text.base + star + 2, text.length - star - 2);
    return is_origin((uvhttp_slice_t){origin, text.length - 2});
}

static int add_origin(struct uvhttp_cors *cors, uvhttp_slice_t text, uvhttp_error_t *error)
{
    const char *copy = uvh_owned_string(&cors->owned, text.base, text.length);
    if (copy == NULL)
        return UVHTTP_ENOMEM;
    const char *star = strchr(copy, '*');
    struct pattern *pattern = &cors->patterns[cors->pattern_count++];
    *pattern = (struct pattern){.before = {copy, text.length}};
    if (is(text, "null") || is_origin(pattern->before))
        return 0;
    if (star == NULL || !is_pattern(pattern->before, (size_t)(star - copy)))
        return uvh_error_string(
            error, "origins", copy,
            "allowed are \"*\", \"null\", and scheme://host[:port] in lower case, without the "
            "default port and a trailing slash; a host may begin with \"*.\"");
    pattern->before.length = (size_t)(star - copy);
    pattern->after = (uvhttp_slice_t){star + 1, text.length - pattern->before.length - 1};
    return 0;
}

static int read_origins(struct uvhttp_cors *cors, const uvhttp_cors_options_t *options,
                        uvhttp_error_t *error)
{
    const char *list = options->origins;
    size_t count = 0;
    uvhttp_slice_t element;
    for (; next_element(&list, &element); count++)
        cors->anybody |= is(element, "*");
    if (cors->anybody && (count > 1 || options->allow != NULL))
        return uvh_error_string(error, "origins", options->origins,
                                "\"*\" cannot be combined with other origins or `allow`");
    if (cors->anybody && options->credentials)
        return uvh_error_string(
            error, "origins", options->origins,
            "browsers reject \"*\" with credentials: list the origins, or set `allow`");
    if (cors->anybody)
        return 0;
    cors->patterns = uvh_owned_alloc(&cors->owned, (count + 1) * sizeof(*cors->patterns));
    int err = cors->patterns == NULL ? UVHTTP_ENOMEM : 0;
    for (list = options->origins; err == 0 && next_element(&list, &element);)
        err = add_origin(cors, element, error);
    return err;
}

/* Writes a list in the syntax of the field, "a, b", to `*out`. Sets `*any` for "*" instead. */
static int read_names(struct uvhttp_cors *cors, const char *field, const char *list,
                      const char **out, bool *any, uvhttp_error_t *error)
{
    char text[MAX_LIST + 2];
    size_t length = 0, count = 0;
    uvhttp_slice_t name;
    for (const char *rest = list; next_element(&rest, &name); count++) {
        if (!uvh_field_name_valid(name) || length + name.length + 2 > MAX_LIST)
            return uvh_error_string(error, field, list,
                                    "allowed are names of at most 4096 bytes in total, or \"*\"");
        *any |= is(name, "*");
        if (count > 0)
            length += (size_t)snprintf(text + length, sizeof(text) - length, ", ");
        memcpy(text + length, name.base, name.length);
        length += name.length;
    }
    if (*any && count > 1)
        return uvh_error_string(error, field, list, "\"*\" cannot be combined with names");
    *out = *any ? NULL : uvh_owned_string(&cors->owned, text, length);
    return !*any && *out == NULL ? UVHTTP_ENOMEM : 0;
}

static int read_lists(struct uvhttp_cors *cors, const uvhttp_cors_options_t *options,
                      uvhttp_error_t *error)
{
    static const char usual_methods[] = "GET, HEAD, POST, PUT, PATCH, DELETE";
    bool any_method = false, all_exposed = false;
    int err =
        read_names(cors, "methods", options->methods != NULL ? options->methods : usual_methods,
                   &cors->methods, &any_method, error);
    if (err == 0)
        err = read_names(cors, "headers", options->headers != NULL ? options->headers : "",
                         &cors->headers, &cors->any_header, error);
    if (err == 0)
        err = read_names(cors, "exposed", options->exposed != NULL ? options->exposed : "",
                         &cors->exposed, &all_exposed, error);
    if (err != 0 || !all_exposed)
        return err;
    if (options->credentials)
        return uvh_error_string(
            error, "exposed", options->exposed,
            "browsers treat \"*\" as a field name with credentials: list the fields");
    cors->exposed = "*";
    return 0;
}

static int create(uvhttp_cors_t **cors, const uvhttp_cors_options_t *options, uvhttp_error_t *error)
{
    if (cors == NULL)
        return UVHTTP_EINVAL;
    *cors = NULL;
    if (options == NULL)
        return UVHTTP_EINVAL;
    const struct uvh_option_range age = {"max_age", options->max_age, 0, MAX_AGE_LIMIT, "seconds"};
    int err = uvh_option_check(&age, 1, error);
    if (err != 0)
        return err;
    if (options->origins == NULL && options->allow == NULL)
        return uvh_error_string(error, "origins", "",
                                "no origin is allowed: set origins or `allow`");
    struct uvhttp_cors *made = uvh_owned_new(options->allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    made->credentials = options->credentials;
    made->allow = options->allow;
    made->allow_arg = options->allow_arg;
    if (options->max_age != 0)
        snprintf(made->max_age, sizeof(made->max_age), "%zu", options->max_age);
    if (options->origins != NULL)
        err = read_origins(made, options, error);
    if (err == 0)
        err = read_lists(made, options, error);
    if (err != 0) {
        uvhttp_cors_free(made);
        return err;
    }
    *cors = made;
    return 0;
}

int uvhttp_cors_new(uvhttp_cors_t **cors, const uvhttp_cors_options_t *options,
                    uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(cors, options, error));
}

void uvhttp_cors_free(void *cors)
{
    uvh_owned_free(cors);
}

UVH_USE_FUNCTION(cors)
