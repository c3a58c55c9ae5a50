/* How a file that was found is answered: whole, a part of it, or not at all, as the request's
 * conditions and range say.
 *
 * Called by static_files.c and static_fetch.c on the loop's thread, once for each request. */
#ifndef UVH_FILES_STATIC_ENTITY_H
#define UVH_FILES_STATIC_ENTITY_H

#include <uvhttp/response.h>

#include "files/file_entry.h"

/* 200, 206, 304, 412 or 416. The entry is referenced for as long as it is sent. Results are those
 * of a handler. */
int uvh_static_entity_answer(uvhttp_request_t *request, uvhttp_response_t *response,
                             struct uvh_file_entry *entry);

/* Whether the answer would be about a part of this entry (206 or 416): the request is a GET with a
 * Range that is understood, and If-Range, if there is one, holds for the entry. Conditions are not
 * looked at. */
bool uvh_static_entity_ranged(uvhttp_request_t *request, const struct uvh_file_entry *entry);

/* The file as the body of an error: whole, with its type and nothing else, whatever the request's
 * conditions and ranges say, since they are about what was asked for, and this is not it (RFC 9110
 * section 13.2.1). */
int uvh_static_entity_answer_error(uvhttp_response_t *response, struct uvh_file_entry *entry,
                                   int status);

#endif
