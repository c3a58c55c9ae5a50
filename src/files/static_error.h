/* The response to a path that cannot be served, unless the settings have a page for it: for clients
 * that prefer HTML a page in the style of listings, with links to the directories above; else a
 * line of text.
 *
 * The page has no style of its own, which many policies forbid. Its style sheet has the URL of the
 * page, with a query: whatever a mount serves, that URL leads here. Called by static_fetch.c on the
 * loop's thread. */
#ifndef UVH_FILES_STATIC_ERROR_H
#define UVH_FILES_STATIC_ERROR_H

#include "files/static_files.h"

/* True if the request prefers HTML to plain text, as browsers do. Vary then needs Accept. False
 * when out of memory. */
bool uvh_static_error_prefers_html(uvhttp_request_t *request);

/* The result is that of a handler. */
int uvh_static_error_respond(const struct uvhttp_static *context, uvhttp_response_t *response,
                             int status);

#endif
