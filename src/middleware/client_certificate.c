/* A middleware of uvhttp/tls.h. */
#include <uvhttp/tls.h>

#include <uvhttp/response.h>

int uvhttp_require_client_certificate(uvhttp_request_t *request, uvhttp_response_t *response,
                                      void *arg)
{
    const uvhttp_tls_info_t *info = uvhttp_request_tls(request);
    (void)arg;
    if (info != NULL && info->client_fingerprint[0] != '\0')
        return UVHTTP_DECLINED;
    return uvhttp_response_send_text(response, 403, "A client certificate is required.\n");
}
