/* Responds with a file: whole, with one or several ranges of it, or with 304, 412 or 416, according
 * to the conditions and the Range of the request.
 *
 * Called on the loop's thread; for a file that a handler sends, on its thread. */
#ifndef UVH_FILES_STATIC_ENTITY_H
#define UVH_FILES_STATIC_ENTITY_H

#include <uvhttp/response.h>

#include "files/file_entry.h"

/* Sends the response. It refs the entry until the body is sent. Returns 0 or a negative error, as a
 * handler does. */
int uvh_static_entity_respond(uvhttp_request_t *request, uvhttp_response_t *response,
                              struct uvh_file_entry *entry);

/* True if the request asks for ranges of this entry (206 or 416): it is a GET with a valid Range,
 * and If-Range, if present, matches the entry. Other conditions are not evaluated. */
bool uvh_static_entity_has_range(uvhttp_request_t *request, const struct uvh_file_entry *entry);

/* Sends the whole file as the body of an error response, with its type but without its other
 * fields. Conditions and ranges of the request do not apply, since the file is not the requested
 * resource (RFC 9110 section 13.2.1). */
int uvh_static_entity_respond_error(uvhttp_response_t *response, struct uvh_file_entry *entry,
                                    int status);

#endif
