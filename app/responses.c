/* Responses of the routes of a configuration file, and the fields added to responses. Added to a
 * server by site.c. */
#include "responses.h"

#include <stdio.h>
#include <string.h>

/* Key of the request attachment that marks requests of named hosts. */
static const char named_host;

int uvh_responses_redirect(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const struct uvh_setup_route *route = arg;
    if (!route->with_target)
        return uvhttp_response_redirect(response, route->status, route->location);
    uvhttp_slice_t path = uvhttp_request_raw_path(request);
    uvhttp_slice_t query = uvhttp_request_query_string(request);
    size_t size = strlen(route->location) + path.length + query.length + 2;
    char *location = uvhttp_request_allocate(request, size);
    if (location == NULL)
        return UVHTTP_ENOMEM;
    snprintf(location, size, "%s%.*s%s%.*s", route->location, UVHTTP_SLICE_ARGS(path),
             query.length > 0 ? "?" : "", UVHTTP_SLICE_ARGS(query));
    return uvhttp_response_redirect(response, route->status, location);
}

int uvh_responses_respond(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    const struct uvh_setup_route *route = arg;
    if (route->body == NULL)
        return uvhttp_response_send_static(response, route->status, route->type, "", 0);
    return uvhttp_response_send_static(response, route->status, route->type, route->body,
                                       strlen(route->body));
}

static int add_missing(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    const struct uvh_field_list *list = arg;
    int err = 0;
    for (size_t i = 0; i < list->count && err == 0; i++) {
        /* The rules of a directory have set theirs already. */
        if (uvhttp_response_header_slice(response, list->items[i].name).base == NULL)
            err = uvhttp_response_set_header(response, list->items[i].name, list->items[i].value);
    }
    return err;
}

int uvh_responses_add_fields(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    int err = uvhttp_response_on_send(response, add_missing, arg);
    return err == 0 ? UVHTTP_DECLINED : err;
}

static int add_unless_named(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    return uvhttp_request_attached(request, &named_host) == NULL
               ? add_missing(request, response, arg)
               : 0;
}

int uvh_responses_add_default_fields(uvhttp_request_t *request, uvhttp_response_t *response,
                                     void *arg)
{
    (void)request;
    int err = uvhttp_response_on_send(response, add_unless_named, arg);
    return err == 0 ? UVHTTP_DECLINED : err;
}

int uvh_responses_mark_named(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)response;
    /* The value is not used, so any address will do. */
    int err = uvhttp_request_attach(request, &named_host, arg, NULL);
    return err == 0 ? UVHTTP_DECLINED : err;
}
