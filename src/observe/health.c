/* See uvhttp/health.h; the checks are in server/ready.c. */
#include <uvhttp/health.h>

#include <stdio.h>

#include <uvhttp/access_log.h>
#include <uvhttp/embedding.h>
#include <uvhttp/response.h>

enum { REASON_SIZE = 512 };

/* Valid at this moment: no cache may store it. */
static int respond(uvhttp_response_t *response, int status, const char *text)
{
    int err = uvhttp_response_set_header(response, "Cache-Control", "no-store");
    return err != 0 ? err : uvhttp_response_send_text(response, status, text);
}

static int respond_quietly(uvhttp_request_t *request, uvhttp_response_t *response, const char *text)
{
    int err = uvhttp_access_log_skip(request);
    return err != 0 ? err : respond(response, 200, text);
}

int uvhttp_health_handle_live(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)arg;
    return respond_quietly(request, response, "alive\n");
}

int uvhttp_health_handle_ready(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    char reason[REASON_SIZE], text[REASON_SIZE + 16];
    (void)arg;
    if (uvhttp_server_is_ready(uvhttp_request_server(request), reason, sizeof(reason)))
        return respond_quietly(request, response, "ready\n");
    snprintf(text, sizeof(text), "not ready: %s\n", reason);
    return respond(response, 503, text);
}
