/* Content-Security-Policy of pages that this server makes: listings and errors. It allows only what
 * the page needs, so that a name or a README that would escape its context does nothing. */
#ifndef UVH_FILES_PAGE_POLICY_H
#define UVH_FILES_PAGE_POLICY_H

#include <uvhttp/response.h>

/* A policy that the response has already, from middleware, is kept. Returns 0, or an error of
 * uvhttp_response_set_header. */
int uvh_page_policy_set(uvhttp_response_t *response);

#endif
