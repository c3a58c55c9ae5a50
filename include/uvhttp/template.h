/* Text templates: texts with placeholders for values of a request, for redirects, response fields,
 * bodies and rewrites.
 *
 *     uvhttp_template_t *location;
 *     uvhttp_error_t error;
 *     uvhttp_template_options_t options = {.text = "https://example.com/new/{rest}{query}",
 *                                          .kind = UVHTTP_TEMPLATE_LOCATION,
 *                                          .pattern = "/old/" "*"};
 *     int err = uvhttp_template_new(&location, &options, &error);
 *
 * A placeholder is a name in braces, of letters, digits, '_' and '-':
 *
 *   {target}  path and query
 *   {path}    the path, normalized
 *   {query}   the query with its '?' (a location or target that has a '?' before it: with '&');
 *             empty without a query
 *   {host}    the requested host without its port
 *   {scheme}  http or https
 *   {method}  the method
 *   {client}  the address of the client
 *   {rest}    what the '*' of the route's pattern has matched
 *   {id}      the parameter ":id" or "*id" of the pattern; it hides a name above
 *
 * "{{id}}" is the text "{id}". All other braces are text, so JSON needs no escapes. An unknown
 * placeholder is an error.
 *
 * Values are encoded for the place where they are inserted, see uvhttp_template_kind_t, so a client
 * cannot add a field, an element or a host. */
#ifndef UVHTTP_TEMPLATE_H
#define UVHTTP_TEMPLATE_H

#include <uvhttp/error.h>
#include <uvhttp/request.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A parsed template. */
typedef struct uvhttp_template uvhttp_template_t;

/* What the text is for. */
typedef enum uvhttp_template_kind {
    /* Values are inserted decoded and unchanged, for text/plain only. */
    UVHTTP_TEMPLATE_TEXT = 0,
    /* Values are escaped for text and quoted attributes of HTML and XML. */
    UVHTTP_TEMPLATE_HTML,
    /* Values are escaped for strings of JSON and JavaScript, without the quotes; bytes that are
     * not UTF-8 become U+FFFD. */
    UVHTTP_TEMPLATE_JSON,
    /* The value of a response field. Values are percent-encoded as in a URL, and ',' and ';' are
     * encoded, too. */
    UVHTTP_TEMPLATE_HEADER,
    /* The value of Location. Values are percent-encoded; following a '?' or '#' completely, except
     * {query}. Only {host} may be in the host, as all of it: then HTTP/1.0 clients without Host get
     * UVHTTP_EINVAL. A location that begins with one slash is always a path: further slashes at its
     * begin are removed. */
    UVHTTP_TEMPLATE_LOCATION,
    /* A path with an optional query, for uvhttp_router_rewrite. Encoded in the same way. */
    UVHTTP_TEMPLATE_TARGET
} uvhttp_template_kind_t;

/* Options of uvhttp_template_new. */
typedef struct uvhttp_template_options {
    const char *text; /* required, at most 1 MiB with 64 placeholders; copied */
    uvhttp_template_kind_t kind;
    /* The pattern of the routes that use the template (uvhttp/router.h), for its parameters. NULL:
     * a template without {rest} and parameters. */
    const char *pattern;
    const uvhttp_allocator_t *allocator; /* NULL: the built-in one. Must outlive the template. */
} uvhttp_template_options_t;

/* Parses a template. Any thread.
 * Returns 0 with the template in `*made`, or with `*made` NULL
 *   UVHTTP_ECONFIG  invalid; `error` names the placeholder and lists those that exist
 *   UVHTTP_EINVAL   no options or text
 *   UVHTTP_ENOMEM   out of memory */
UVHTTP_EXPORT int uvhttp_template_new(uvhttp_template_t **made,
                                      const uvhttp_template_options_t *options,
                                      uvhttp_error_t *error);

/* Frees it, after the servers that use it. NULL does nothing. Suits uvhttp_server_own. */
UVHTTP_EXPORT void uvhttp_template_free(void *made);

/* True if the text has placeholders. False for NULL. Any thread. */
UVHTTP_EXPORT bool uvhttp_template_is_dynamic(const uvhttp_template_t *made);

/* Inserts the values of a request. The text in `*out` is NUL-terminated, and lives as long as the
 * exchange; without placeholders it is part of the template. Memory comes from the exchange only. A
 * parameter that the request's route does not have is empty. On the thread of the handler.
 * Returns 0, or with an empty text in `*out`
 *   UVHTTP_EINVAL  no template or `out`; or a location with {host}, and the request has no host
 *   UVHTTP_ENOMEM  out of memory */
UVHTTP_EXPORT int uvhttp_template_expand(const uvhttp_template_t *made, uvhttp_request_t *request,
                                         uvhttp_slice_t *out);

#ifdef __cplusplus
}
#endif

#endif
