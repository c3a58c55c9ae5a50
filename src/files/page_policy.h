/* Content-Security-Policy of pages that this server makes: listings and errors. It allows only what
 * the page needs, so that a name or a README that would escape its context does nothing. */
#ifndef UVH_FILES_PAGE_POLICY_H
#define UVH_FILES_PAGE_POLICY_H

#include <uvhttp/response.h>

enum { UVH_PAGE_POLICY_NONCE_SIZE = 33 }; /* 128 random bits as hexadecimal digits */

/* Makes the nonce of a page's script. Any thread. Returns 0 or a negative errno. */
int uvh_page_policy_make_nonce(char nonce[UVH_PAGE_POLICY_NONCE_SIZE]);

/* `nonce` NULL: the page has no script. A policy that the response has already, from middleware, is
 * kept. Returns 0, or an error of uvhttp_response_set_header. */
int uvh_page_policy_set(uvhttp_response_t *response, const char *nonce);

#endif
