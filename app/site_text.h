/* The templates of sites and routes: locations, bodies and values of fields. */
#ifndef UVH_APP_SITE_TEXT_H
#define UVH_APP_SITE_TEXT_H

#include "setup.h"

/* Makes the templates of a route, whose pattern is `pattern`: of its text and of its fields. Owned
 * by the server. False with problems noted. */
bool uvh_site_text_make(uvhttp_server_t *server, struct uvh_setup_route *route, const char *pattern,
                        struct uvh_problems *problems);

/* The same for the fields of a site, which have no parameters. */
bool uvh_site_text_make_fields(uvhttp_server_t *server, struct uvh_field_list *fields,
                               const char *pattern, struct uvh_problems *problems);

/* Notes a placeholder of Caddy with dots, which the library takes as text; then returns false. */
bool uvh_site_text_check(const char *text, struct uvh_mark mark, struct uvh_problems *problems);

/* Notes why a template is invalid; suggests the nearest placeholder for an unknown one. */
void uvh_site_text_note(struct uvh_problems *problems, struct uvh_mark mark,
                        const uvhttp_error_t *error);

#endif
