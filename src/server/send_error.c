/* Error responses: a status and a reason as text, in the form that the application has set
 * (uvhttp_server_on_error). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <uvhttp/error.h>
#include <uvhttp/text.h>

#include "server/blocking.h"
#include "server/send.h"
#include "server/server.h"

enum { REASON_SIZE = 512 };

void uvhttp_server_on_error(uvhttp_server_t *view, uvhttp_error_cb error, void *arg)
{
    if (view == NULL)
        return;
    struct uvh_server *server = uvh_server_of(view);
    if (!uvh_server_takes(server, "uvhttp_server_on_error"))
        return;
    server->setup->on_error = error;
    server->setup->error_arg = arg;
}

/* The fields are copied first, because they are restored when sending fails. */
static int change_form(struct uvh_exchange *exchange, const char *reason)
{
    struct uvhttp_response *response = &exchange->response;
    const struct uvh_generation *generation = exchange->use->generation;
    int err = uvh_response_own_headers(response);
    if (err != 0)
        return err;
    response->sending = true;
    err = generation->on_error(&exchange->request, response, reason, generation->error_arg);
    response->sending = false;
    return err;
}

void uvh_send_error_form(struct uvh_exchange *exchange)
{
    struct uvhttp_response *response = &exchange->response;
    struct uvh_server *server = exchange->worker->server;
    const char *reason = response->error_reason;
    if (uvh_blocking_is(exchange)) /* the loop does it */
        return;
    int err = exchange->use->generation->on_error == NULL ? 0 : change_form(exchange, reason);
    response->error_reason = NULL;
    if (err != 0)
        uvh_server_log(server, UVHTTP_LOG_ERROR, "%s: the callback for errors failed: %s",
                       uvhttp_request_path(&exchange->request), uvhttp_error_name(err));
}

/* `text` is the body, and `reason` is for the callback. */
static int send_error(struct uvhttp_response *response, int status, const char *text,
                      const char *reason)
{
    struct uvh_exchange *exchange = uvh_exchange_of_response(response);
    bool blocking = uvh_blocking_is(exchange); /* the reason is used after this call */
    if (status >= 400 && exchange->use->generation->on_error != NULL)
        response->error_reason =
            blocking ? uvh_arena_copy(response->arena, reason, strlen(reason)) : reason;
    uvh_exchange_ref(exchange); /* sending may end it */
    int err = uvhttp_response_send_text(response, status, text);
    if (err != 0 || !blocking)
        response->error_reason = NULL;
    uvh_exchange_unref(exchange);
    return err;
}

int uvhttp_response_send_status(uvhttp_response_t *response, int status)
{
    char line[80];
    if (status == 0)
        status = response->status;
    if (uvh_response_is_bodiless(status) || status == 205)
        return uvhttp_response_send(response, status, NULL, NULL, 0);
    snprintf(line, sizeof(line), "%d %s\n", status, uvhttp_status_text(status));
    return send_error(response, status, line, uvhttp_status_text(status));
}

int uvhttp_response_send_too_early(uvhttp_response_t *response)
{
    return uvhttp_response_send_status(response, 425);
}

int uvhttp_response_send_error(uvhttp_response_t *response, int status, const char *format, ...)
{
    char reason[REASON_SIZE], text[REASON_SIZE + 80];
    va_list arguments;
    if (format == NULL || status < 400 || status > 599)
        return UVHTTP_EINVAL;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    if (reason[0] == '\0')
        return uvhttp_response_send_status(response, status);
    snprintf(text, sizeof(text), "%d %s\n%s\n", status, uvhttp_status_text(status), reason);
    return send_error(response, status, text, reason);
}

int uvhttp_error_as_json(uvhttp_request_t *request, uvhttp_response_t *response, const char *reason,
                         void *arg)
{
    static const char head[] = "{\"error\":", tail[] = "}\n";
    char text[sizeof(head) + REASON_SIZE * 6 + 2 + sizeof(tail)] = "{\"error\":";
    (void)request, (void)arg;
    if (reason == NULL)
        reason = uvhttp_status_text(response->status);
    size_t length = sizeof(head) - 1;
    size_t space = sizeof(text) - length - sizeof(tail);
    size_t quoted = uvhttp_json_quote(reason, strlen(reason), text + length, space);
    if (quoted >= space)
        return UVHTTP_EFULL;
    length += quoted;
    memcpy(text + length, tail, sizeof(tail));
    int err = uvhttp_response_replace_body(response, text, length + sizeof(tail) - 1);
    return err != 0 ? err
                    : uvhttp_response_set_header(response, "Content-Type", "application/json");
}
