/* Sends a file: whole, a range of it, or no body, as the request's conditions and Range require.
 *
 * Called by static_files.c and static_fetch.c on the loop's thread, once per request. */
#ifndef UVH_FILES_STATIC_ENTITY_H
#define UVH_FILES_STATIC_ENTITY_H

#include <uvhttp/response.h>

#include "files/file_entry.h"

/* Sends 200, 206, 304, 412 or 416. The entry is referenced while it is sent. Returns the result of
 * a handler. */
int uvh_static_entity_respond(uvhttp_request_t *request, uvhttp_response_t *response,
                              struct uvh_file_entry *entry);

/* Whether the response would be a range of this entry (206 or 416): the request is a GET with a
 * valid Range, and If-Range, if present, matches the entry. Conditions are not evaluated. */
bool uvh_static_entity_ranged(uvhttp_request_t *request, const struct uvh_file_entry *entry);

/* The file as the body of an error: whole, with its type and no other field. The request's
 * conditions and ranges do not apply, since this is not the requested resource (RFC 9110 section
 * 13.2.1). */
int uvh_static_entity_respond_error(uvhttp_response_t *response, struct uvh_file_entry *entry,
                                    int status);

#endif
