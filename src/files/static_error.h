/* The response to a path that cannot be served, unless the settings have a page for it. Clients
 * that prefer HTML get a page in the style of listings, with links to the directories above; others
 * get a line of text.
 *
 * The page has no inline style, which many Content-Security-Policies forbid. Its style sheet has
 * the URL of the page with a query, since that URL leads here whatever the mount serves. Called on
 * the loop's thread. */
#ifndef UVH_FILES_STATIC_ERROR_H
#define UVH_FILES_STATIC_ERROR_H

#include "files/static_files.h"

/* True if the request prefers HTML to plain text, as browsers do; false when out of memory. A
 * response that depends on it needs Vary: Accept. */
bool uvh_static_error_prefers_html(uvhttp_request_t *request);

/* The result is that of a handler. */
int uvh_static_error_respond(const struct uvhttp_static *context, uvhttp_response_t *response,
                             int status);

#endif
