/* Size limits for a part of a server: uvhttp/size_limit.h. The server counts; this file only
 * selects which requests are counted. */
#include <uvhttp/size_limit.h>

#include <stdio.h>

#include <uvhttp/error.h>

#include "base/alloc.h"

struct uvhttp_size_limit {
    const uvhttp_allocator_t *allocator;
    size_t max_request_body;
    size_t max_response_body;
};

int uvhttp_size_limit_new(uvhttp_size_limit_t **limit, const uvhttp_size_limit_config_t *config,
                          char *message, size_t size)
{
    if (limit == NULL)
        return UVHTTP_EINVAL;
    *limit = NULL;
    if (config == NULL)
        return UVHTTP_EINVAL;
    const uvhttp_allocator_t *allocator =
        config->allocator != NULL ? config->allocator : uvh_alloc_default();
    if (config->max_request_body == 0 && config->max_response_body == 0) {
        snprintf(
            message, message != NULL ? size : 0,
            "max_request_body and max_response_body are 0; one of them must be 1 byte or more");
        return UVHTTP_ECONFIG;
    }
    struct uvhttp_size_limit *made = uvh_alloc(allocator, sizeof(*made));
    if (made == NULL)
        return UVHTTP_ENOMEM;
    *made =
        (struct uvhttp_size_limit){allocator, config->max_request_body, config->max_response_body};
    *limit = made;
    return 0;
}

void uvhttp_size_limit_free(uvhttp_size_limit_t *limit)
{
    if (limit != NULL)
        uvh_free(limit->allocator, limit);
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
