/* A template as a list of parts: text, and placeholders with the encoding of their values.
 *
 * Invariant: a valid template cannot be expanded to a location whose host is chosen by the client.
 * Built by template.c, expanded by template_expand.c. */
#ifndef UVH_ROUTE_TEMPLATE_H
#define UVH_ROUTE_TEMPLATE_H

#include <uvhttp/template.h>

#include "options/owned.h"

enum { UVH_TEMPLATE_MOST_SIZE = 1 << 20, UVH_TEMPLATE_MOST_PLACEHOLDERS = 64 };

enum uvh_template_name {
    UVH_TEMPLATE_LITERAL = 0,
    UVH_TEMPLATE_TARGET,
    UVH_TEMPLATE_PATH,
    UVH_TEMPLATE_QUERY,
    UVH_TEMPLATE_HOST,
    UVH_TEMPLATE_SCHEME,
    UVH_TEMPLATE_METHOD,
    UVH_TEMPLATE_CLIENT,
    UVH_TEMPLATE_REST,
    UVH_TEMPLATE_NAMES,
    UVH_TEMPLATE_PARAM = UVH_TEMPLATE_NAMES
};

enum uvh_template_encoding {
    UVH_TEMPLATE_PLAIN = 0,
    UVH_TEMPLATE_AS_HTML,
    UVH_TEMPLATE_AS_JSON,
    UVH_TEMPLATE_AS_HEADER,
    UVH_TEMPLATE_AS_URL,      /* a part of a path or query, encoded already: invalid bytes only */
    UVH_TEMPLATE_AS_COMPONENT /* everything but unreserved characters */
};

struct uvh_template_part {
    unsigned char name;     /* enum uvh_template_name */
    unsigned char encoding; /* enum uvh_template_encoding */
    /* The value is inserted as it is in a URL: percent-encoded, before `encoding`. */
    bool url_form;
    bool joined;      /* of {query}: begins with '&' */
    bool in_host;     /* of {host}: must not be empty */
    const char *text; /* of a literal; of a parameter: its name, NUL-terminated */
    size_t length;
};

struct uvhttp_template {
    struct uvh_owned owned;
    bool rooted; /* a location that is a path: must not begin with two slashes */
    bool dynamic;
    uvhttp_slice_t text; /* if not dynamic */
    size_t part_count;
    struct uvh_template_part *parts;
};

#endif
