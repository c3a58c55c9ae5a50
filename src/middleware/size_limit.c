/* Size limits for a part of a server: uvhttp/size_limit.h. The server counts; this file only
 * selects which requests are counted. */
#include <uvhttp/size_limit.h>

#include <uvhttp/error.h>

#include "base/alloc.h"
#include "options/error.h"
#include "options/use.h"

struct uvhttp_size_limit {
    const uvhttp_allocator_t *allocator;
    size_t max_request_body;
    size_t max_response_body;
};

static int create(uvhttp_size_limit_t **limit, const uvhttp_size_limit_options_t *options,
                  uvhttp_error_t *error)
{
    if (limit == NULL)
        return UVHTTP_EINVAL;
    *limit = NULL;
    if (options == NULL)
        return UVHTTP_EINVAL;
    const uvhttp_allocator_t *allocator =
        options->allocator != NULL ? options->allocator : uvh_alloc_default();
    if (options->max_request_body == 0 && options->max_response_body == 0) {
        return uvh_error_sentence(
            error, "max_request_body", "0",
            "max_request_body and max_response_body are 0; one of them must be 1 byte or more");
    }
    struct uvhttp_size_limit *made = uvh_alloc(allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    *made = (struct uvhttp_size_limit){allocator, options->max_request_body,
                                       options->max_response_body};
    *limit = made;
    return 0;
}

int uvhttp_size_limit_new(uvhttp_size_limit_t **limit, const uvhttp_size_limit_options_t *options,
                          uvhttp_error_t *error)
{
    uvh_error_clear(error);
    return uvh_error_end(error, create(limit, options, error));
}

void uvhttp_size_limit_free(void *limit)
{
    uvhttp_size_limit_t *old = limit;
    if (old != NULL)
        uvh_free(old->allocator, old);
}

int uvhttp_size_limit_handle_request(uvhttp_request_t *request, uvhttp_response_t *response,
                                     void *limit)
{
    const struct uvhttp_size_limit *with = limit;
    if (with == NULL)
        return UVHTTP_EINVAL;
    if (with->max_response_body != 0)
        uvhttp_response_limit_body(response, with->max_response_body);
    int err = with->max_request_body == 0
                  ? 0
                  : uvhttp_request_limit_body(request, with->max_request_body);
    return err != 0 ? err : UVHTTP_DECLINED;
}

UVH_USE_FUNCTION(size_limit)
