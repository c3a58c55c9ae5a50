/* The handlers and middleware for the routes of a configuration file. */
#ifndef UVH_APP_RESPONSES_H
#define UVH_APP_RESPONSES_H

#include "setup.h"

/* Handlers; `arg` is a struct uvh_setup_route. */
int uvh_responses_redirect(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);
int uvh_responses_respond(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);

/* Middleware that adds fields to every response, unless a field of that name is set; `arg` is a
 * struct uvh_field_list. A route's middleware runs last, so its fields win over those of the
 * site. */
int uvh_responses_add_fields(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);

/* The same for all responses of a site; `arg` is the struct uvh_setup_site. The server's own
 * middleware, which is that of the default site, also runs for named hosts. */
int uvh_responses_add_site_fields(uvhttp_request_t *request, uvhttp_response_t *response,
                                  void *arg);

#endif
