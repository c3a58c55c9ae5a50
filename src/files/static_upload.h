/* Uploads into a served directory: PUT of one file, POST of a form with files.
 *
 * Called on the loop's thread, once per request. */
#ifndef UVH_FILES_STATIC_UPLOAD_H
#define UVH_FILES_STATIC_UPLOAD_H

#include <uvhttp/response.h>

#include "files/path_versions.h"
#include "files/static_settings.h"
#include "platform/lock.h"

struct uvh_static_upload_options {
    const struct uvh_static_settings *settings;
    struct uvh_lock *lock; /* one for all uploads to the root */
    struct uvh_path_versions *versions;
    uvhttp_slice_t path; /* as for uvh_static_fetch */
};

/* Method PUT or POST. Returns the result of a handler. */
int uvh_static_upload_begin(uvhttp_response_t *response,
                            const struct uvh_static_upload_options *options);

#endif
