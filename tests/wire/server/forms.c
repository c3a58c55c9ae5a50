/* Handlers of wire_server for forms, cookies and events. */
#include "wire_server.h"

#include <stdlib.h>
#include <string.h>

/* Responds with the form field that the query names. */
int form_field(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *name = uvhttp_request_query(req, "name");
    const char *value = uvhttp_request_form(req, name == NULL ? "" : name);
    (void)arg;
    return value == NULL ? uvhttp_response_send_status(res, 404)
                         : uvhttp_response_send_text(res, 200, value);
}

int one_cookie(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *name = uvhttp_request_query(req, "name");
    const char *value = uvhttp_request_cookie(req, name == NULL ? "" : name);
    (void)arg;
    return value == NULL ? uvhttp_response_send_status(res, 404)
                         : uvhttp_response_send_text(res, 200, value);
}

int set_cookies(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const uvhttp_cookie_t session = {.name = "session",
                                     .value = "abc",
                                     .path = "/",
                                     .max_age = 60,
                                     .http_only = true,
                                     .same_site = UVHTTP_SAME_SITE_LAX};
    const uvhttp_cookie_t given = {.name = uvhttp_request_query(req, "name"), .value = "1"};
    (void)arg;
    int err = uvhttp_response_set_cookie(res, &session);
    app.last_error = uvhttp_response_set_cookie(res, &given);
    return err != 0 ? err : uvhttp_response_send_text(res, 200, uvhttp_error_name(app.last_error));
}

/* Three events, the first with the size in the query; continues after Last-Event-ID. */
int events(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const char *size_text = uvhttp_request_query(req, "size");
    const char *last = uvhttp_request_header(req, "Last-Event-ID");
    size_t size = size_text == NULL ? 3 : strtoul(size_text, NULL, 10);
    char *data = malloc(size + 1);
    (void)arg;
    if (data == NULL)
        return UVHTTP_ENOMEM;
    memset(data, 'x', size);
    int err = uvhttp_response_begin_events(res);
    for (int i = last == NULL ? 1 : (int)strtol(last, NULL, 10) + 1; err == 0 && i <= 3; i++) {
        char id[8];
        int length = snprintf(id, sizeof id, "%d", i);
        uvhttp_sse_event_t event = {
            .id = {id, (size_t)length}, .data = {data, i == 1 ? size : 1}, .retry_ms = 10};
        err = uvhttp_response_send_event(res, &event);
    }
    if (err == 0) {
        const uvhttp_sse_event_t wrong = {.id = {"a\nb", 3}};
        app.last_error = uvhttp_response_send_event(res, &wrong);
        err = uvhttp_response_end(res);
    }
    free(data);
    return err;
}
