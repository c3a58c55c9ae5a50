/* The style sheet of directory listings and error pages, and the script of listings.
 *
 * It has its own URL, "?format=css" of any listing or error page. No page contains a style, because
 * a Content-Security-Policy without 'unsafe-inline' (such as the one of uvhttp/security_headers.h)
 * permits only style sheets loaded from the site. */
#ifndef UVH_FILES_DIR_STYLE_H
#define UVH_FILES_DIR_STYLE_H

#include <stdbool.h>

#include <uvhttp/response.h>

#include "base/bytes.h"

/* The page up to its title: the URL of the sheet has a version, so that browsers may cache it
 * forever. */
void uvh_dir_style_append_head(struct uvh_bytes *page);

/* The query of the request is that of the sheet, with its version. */
bool uvh_dir_style_is_requested(uvhttp_request_t *request);

/* Sends the sheet. The result is that of a handler. */
int uvh_dir_style_respond(uvhttp_response_t *response);

/* The element of the script, which shows dates in local time: "?format=js" of a listing. A page
 * without it shows UTC. The policy of the page has the nonce. */
void uvh_dir_style_append_script(const char *nonce, struct uvh_bytes *page);
int uvh_dir_style_respond_script(uvhttp_response_t *response);

#endif
