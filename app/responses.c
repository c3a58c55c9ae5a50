/* Responses of the routes of a configuration file, and the fields added to responses. Added to a
 * server by site.c. */
#include "responses.h"

int uvh_responses_redirect(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const struct uvh_setup_route *route = arg;
    uvhttp_slice_t location;
    int err = uvhttp_template_expand(route->made, request, &location);
    if (err == UVHTTP_EINVAL) /* the location needs a host, and the request has none */
        return uvhttp_response_send_status(response, 400);
    return err != 0 ? err : uvhttp_response_redirect(response, route->status, location.base);
}

int uvh_responses_respond(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const struct uvh_setup_route *route = arg;
    uvhttp_slice_t body = {"", 0};
    int err = route->made == NULL ? 0 : uvhttp_template_expand(route->made, request, &body);
    if (err != 0)
        return err;
    return uvhttp_template_is_dynamic(route->made)
               ? uvhttp_response_send(response, route->status, route->type, body.base, body.length)
               : uvhttp_response_send_static(response, route->status, route->type, body.base,
                                             body.length);
}

static int add_missing(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const struct uvh_field_list *list = arg;
    int err = 0;
    for (size_t i = 0; i < list->count && err == 0; i++) {
        const struct uvh_field *field = &list->items[i];
        uvhttp_slice_t value;
        /* The rules of a directory have set theirs already. */
        if (uvhttp_response_header_slice(response, field->name).base != NULL)
            continue;
        err = uvhttp_template_expand(field->made, request, &value);
        if (err == 0 && (value.length > 0 || !uvhttp_template_is_dynamic(field->made)))
            err = uvhttp_response_set_header(response, field->name, value.base);
    }
    return err;
}

int uvh_responses_add_fields(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    int err = uvhttp_response_on_send(response, add_missing, arg);
    return err == 0 ? UVHTTP_DECLINED : err;
}

int uvh_responses_add_site_fields(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    struct uvh_setup_site *site = arg;
    return uvhttp_request_router_data(request) == site
               ? uvh_responses_add_fields(request, response, &site->headers)
               : UVHTTP_DECLINED;
}
