/* Files that a handler chooses: uvhttp_response_send_file_with, and what uvhttp_static_send has in
 * common with it. */
#ifndef UVH_FILES_SEND_FILE_H
#define UVH_FILES_SEND_FILE_H

#include <uvhttp/response.h>

/* The value of Content-Disposition with a kind and a name, in the request's memory; NULL if there
 * is none. */
char *uvh_send_file_name(uvhttp_request_t *request, const char *kind, const char *name);

/* Adds Content-Disposition to the response when it is sent with a file, if the options (may be
 * NULL) ask for it. Returns 0 or UVHTTP_ENOMEM. */
int uvh_send_file_disposition(uvhttp_response_t *response,
                              const uvhttp_send_file_options_t *options);

#endif
