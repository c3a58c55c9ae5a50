/* The handlers and middleware behind the routes of a configuration file. */
#ifndef UVH_APP_ANSWERS_H
#define UVH_APP_ANSWERS_H

#include "setup.h"

/* Handlers; `arg` is a struct uvh_setup_route. */
int uvh_answers_redirect(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);
int uvh_answers_respond(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);

/* Middleware that adds fields to whatever is answered, unless a field of that name is set; `arg` is
 * a struct uvh_field_list. So the fields of a route, whose middleware runs last, win over those of
 * its site. */
int uvh_answers_add_fields(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);

/* The same for the site of all other hosts: the server's own middleware runs for the named ones
 * too, and leaves those alone that carry the mark of uvh_answers_mark_named, a middleware of named
 * hosts. */
int uvh_answers_add_default_fields(uvhttp_request_t *request, uvhttp_response_t *response,
                                   void *arg);
int uvh_answers_mark_named(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);

#endif
