/* Logs a line for each request to the server's log: a middleware that sends no response. */
#include "logger.h"

int uvh_logger_request(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    uvhttp_slice_t target = uvhttp_request_target(request);
    uvhttp_response_log(response, UVHTTP_LOG_DEBUG, "%s %s %.*s",
                        uvhttp_request_client_address(request), uvhttp_request_method_name(request),
                        UVHTTP_SLICE_ARGS(target));
    return UVHTTP_DECLINED;
}
