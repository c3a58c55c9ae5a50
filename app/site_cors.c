/* See site_cors.h. */
#include "site_cors.h"

#include <string.h>

static void free_cors(void *cors)
{
    uvhttp_cors_free(cors);
}

int uvh_site_cors_open(uvhttp_server_t *server, const char *origins, uvhttp_cors_t **cors,
                       uvhttp_error_t *error)
{
    /* Only reading: an upload from another site would have the rights of the user's browser. */
    const uvhttp_cors_options_t options = {
        .origins = origins, .methods = "GET, HEAD", .headers = "*", .exposed = "*"};
    int err = uvhttp_cors_new(cors, &options, error);
    if (err != 0)
        return err;
    err = uvhttp_server_own(server, free_cors, *cors);
    *error = *uvhttp_server_error(server);
    if (err != 0)
        uvhttp_cors_free(*cors);
    return err;
}

uvhttp_cors_t *uvh_site_cors_make(uvhttp_server_t *server, const struct uvh_text *origins,
                                  struct uvh_problems *problems)
{
    uvhttp_error_t error;
    uvhttp_cors_t *cors;
    if (origins->text == NULL || strcmp(origins->text, "off") == 0)
        return NULL;
    if (uvh_site_cors_open(server, origins->text, &cors, &error) == 0)
        return cors;
    uvh_problems_add(problems, origins->mark, "cors: '%s' is invalid; %s", error.value,
                     error.reason);
    return NULL;
}
