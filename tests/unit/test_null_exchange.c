/* NULL for each pointer parameter of the functions that handlers call, with an existing request and
 * response, which must not be NULL themselves. A refused call leaves the response open, so that one
 * handler can try all of them; each sent response has its own request. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "support/null_rows.h"
#include "support/stage.h"

#define SLICE(text) ((uvhttp_slice_t){text, sizeof(text) - 1})

static struct stage stage;
static struct raw_client client;
static int handler_calls;

/* The attribute of the function tells compilers that its format must not be NULL. */
static void (*const log_line)(uvhttp_response_t *response, uvhttp_log_level_t level,
                              const char *format, ...) = uvhttp_response_log;
static void (*const log_failure)(uvhttp_response_t *response, const char *format,
                                 ...) = uvhttp_response_log_failure;

static int respond(uvhttp_response_t *res)
{
    return uvhttp_response_send_text(res, 200, "done");
}

static void begin(const char *pattern, uvhttp_handler_cb handler, unsigned flags)
{
    stage_begin(&stage);
    stage_new_server(&stage);
    const uvhttp_route_t route = {.pattern = pattern, .handler = handler, .flags = flags};
    assert_int_equal(uvhttp_router_add(uvhttp_server_router(stage.server), &route), 0);
    stage_listen(&stage);
    handler_calls = 0;
    null_rows_begin();
}

static void send_request(const char *request, int status)
{
    size_t offset = 0;
    struct raw_response reply;
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client, request);
    assert_int_equal(stage_drive_responses(&stage, &client, 1000, 1), 1);
    assert_true(raw_client_response(&client, &offset, false, &reply));
    assert_int_equal(reply.status, status);
    raw_client_close(&client, false);
}

static void end(void)
{
    null_rows_end();
    assert_true(handler_calls > 0);
    stage_end(&stage);
}

/* ---- functions of requests ---- */

/* The attribute of the function tells compilers that its format must not be NULL. */
static int (*const send_reason)(uvhttp_response_t *response, int status, const char *format,
                                ...) = uvhttp_response_send_error;

static int check_request_functions(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t slice, text = SLICE("x");
    int64_t parsed;
    char parent[UVHTTP_TRACEPARENT_SIZE];
    (void)arg;
    handler_calls++;
    NULL_ROW(uvhttp_template_expand, made,
             uvhttp_template_expand(NULL, req, &text) == UVHTTP_EINVAL && text.length == 0);
    NULL_ROW(uvhttp_template_expand, out, uvhttp_template_expand(NULL, req, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_query, name, uvhttp_request_query(req, NULL) == NULL);
    NULL_ROW(uvhttp_request_form, name, uvhttp_request_form(req, NULL) == NULL);
    NULL_ROW(uvhttp_request_query_number, name,
             uvhttp_request_query_number(req, NULL, 0, 9, &parsed) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_query_number, number,
             uvhttp_request_query_number(req, "a", 0, 9, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_form_number, name,
             uvhttp_request_form_number(req, NULL, 0, 9, &parsed) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_form_number, number,
             uvhttp_request_form_number(req, "a", 0, 9, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_param_number, name,
             uvhttp_request_param_number(req, NULL, 0, 9, &parsed) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_param_number, number,
             uvhttp_request_param_number(req, "a", 0, 9, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_send_error, format, send_reason(res, 404, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_error_as_json, reason,
             uvhttp_error_as_json(req, res, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_cookie, name, uvhttp_request_cookie(req, NULL) == NULL);
    NULL_ROW(uvhttp_request_param, name, uvhttp_request_param(req, NULL) == NULL);
    NULL_ROW(uvhttp_request_param_path, name, uvhttp_request_param_path(req, NULL).base == NULL);
    NULL_ROW(uvhttp_request_header, name, uvhttp_request_header(req, NULL) == NULL);
    NULL_ROW(uvhttp_request_header_at, name,
             (uvhttp_request_header_at(req, 0, NULL, &slice), slice.length == 1));
    NULL_ROW(uvhttp_request_header_at, value,
             (uvhttp_request_header_at(req, 0, &slice, NULL), slice.length == 4));
    NULL_ROW(uvhttp_request_trailer, name, uvhttp_request_trailer(req, NULL) == NULL);
    NULL_ROW(uvhttp_request_trailer_at, name,
             (uvhttp_request_trailer_at(req, 0, NULL, &slice), slice.length == 0));
    NULL_ROW(uvhttp_request_trailer_at, value,
             (uvhttp_request_trailer_at(req, 0, &slice, NULL), slice.length == 0));
    NULL_ROW(uvhttp_request_on_body, body,
             uvhttp_request_on_body(req, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_set_exemplar, trace_id,
             uvhttp_request_set_exemplar(req, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_attach, key,
             uvhttp_request_attach(req, NULL, &handler_calls, NULL) == 0 &&
                 uvhttp_request_attached(req, NULL) == &handler_calls);
    NULL_ROW(uvhttp_request_attach, release,
             uvhttp_request_attach(req, &handler_calls, &handler_calls, NULL) == 0);
    NULL_ROW(uvhttp_request_attached, key, uvhttp_request_attached(req, NULL) == &handler_calls);
    NULL_ROW(uvhttp_request_proxy_value, value, !uvhttp_request_proxy_value(req, 1, NULL));
    NULL_CALL(uvhttp_trace_write_parent, out, uvhttp_trace_write_parent(NULL, NULL));
    NULL_ROW(uvhttp_trace_write_parent, trace,
             (uvhttp_trace_write_parent(NULL, parent), parent[0] == '\0'));
    NULL_ROW(uvhttp_request_set_connection_data, release,
             uvhttp_request_set_connection_data(req, &handler_calls, NULL) == 0);
    NULL_ROW(uvhttp_auth_set_user, name, uvhttp_auth_set_user(req, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_signed_cookie, signer,
             uvhttp_request_signed_cookie(req, NULL, "a", &slice) == UVHTTP_EINVAL &&
                 slice.base == NULL);
    NULL_ROW(uvhttp_request_signed_cookie, name,
             uvhttp_request_signed_cookie(req, NULL, NULL, &slice) == UVHTTP_ESIGNATURE);
    NULL_ROW(uvhttp_request_signed_cookie, value,
             uvhttp_request_signed_cookie(req, NULL, "b", NULL) == UVHTTP_ESIGNATURE);
    NULL_ROW(uvhttp_passwords_check, passwords,
             uvhttp_passwords_check(req, res, &(uvhttp_credentials_t){.user = "a", .password = "b"},
                                    NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_passwords_check, credentials,
             uvhttp_passwords_check(req, res, NULL, NULL) == UVHTTP_EINVAL);
    NULL_CALL(uvhttp_access_log_finished, outcome,
              uvhttp_access_log_finished(req, res, NULL, NULL));
    NULL_CALL(uvhttp_access_log_finished, log,
              uvhttp_access_log_finished(req, res, &(uvhttp_outcome_t){.status = 200}, NULL));
    NULL_ROW(uvhttp_status_page_handle_request, status,
             uvhttp_status_page_handle_request(req, res, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_metrics_handle_request, server,
             uvhttp_metrics_handle_request(req, res, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_event_hub_subscribe, hub,
             uvhttp_event_hub_subscribe(NULL, res) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_event_hub_handle_request, hub,
             uvhttp_event_hub_handle_request(req, res, NULL) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_form_data_read, done,
             uvhttp_form_data_read(req, NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_upload_to_file, directory,
             uvhttp_upload_to_file(req, NULL, "a", NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_body_etag_handle_request, arg,
             uvhttp_body_etag_handle_request(req, res, NULL) == UVHTTP_DECLINED);
    return respond(res);
}

static void request_functions_check_null(void **state)
{
    (void)state;
    begin("/:a", check_request_functions, UVHTTP_ROUTE_STREAM);
    send_request("GET /x?b=c HTTP/1.1\r\nHost: h\r\nCookie: a=b; =d\r\n\r\n", 200);
    end();
}

/* ---- functions of responses that refuse NULL ---- */

static int released;

static void read_body(uvhttp_slice_t body, void *arg)
{
    (void)body, (void)arg;
}

static void release(void *arg)
{
    (void)arg;
    released++;
}

static void refuse_texts(uvhttp_response_t *res)
{
    NULL_ROW(uvhttp_response_set_header, name,
             uvhttp_response_set_header(res, NULL, "a") == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_set_header, value,
             uvhttp_response_set_header(res, "a", NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_add_header, name,
             uvhttp_response_add_header(res, NULL, "a") == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_add_header, value,
             uvhttp_response_add_header(res, "a", NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_set_cookie, cookie,
             uvhttp_response_set_cookie(res, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_set_signed_cookie, signer,
             uvhttp_response_set_signed_cookie(res, NULL, &(uvhttp_cookie_t){.name = "a"}) ==
                 UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_set_signed_cookie, cookie,
             uvhttp_response_set_signed_cookie(res, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_add_trailer, name,
             uvhttp_response_add_trailer(res, NULL, "a") == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_add_trailer, value,
             uvhttp_response_add_trailer(res, "a", NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_header, name, uvhttp_response_header(res, NULL) == NULL);
    NULL_ROW(uvhttp_response_header_slice, name,
             uvhttp_response_header_slice(res, NULL).base == NULL);
    NULL_ROW(uvhttp_response_header_lists, name, !uvhttp_response_header_lists(res, NULL, "a"));
    NULL_ROW(uvhttp_response_header_lists, token, !uvhttp_response_header_lists(res, "a", NULL));
    NULL_CALL(uvhttp_response_remove_header, name, uvhttp_response_remove_header(res, NULL));
    NULL_CALL(uvhttp_response_log, format, log_line(res, UVHTTP_LOG_ERROR, NULL));
    NULL_CALL(uvhttp_response_log_failure, format, log_failure(res, NULL));
    NULL_ROW(uvhttp_response_send_text, text,
             uvhttp_response_send_text(res, 200, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_send_html, html,
             uvhttp_response_send_html(res, 200, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_send_json, json,
             uvhttp_response_send_json(res, 200, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_send_file, path,
             uvhttp_response_send_file(res, 200, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_send_file_with, path,
             uvhttp_response_send_file_with(res, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_send_file_with, options,
             uvhttp_response_send_file_with(res, "/nowhere/at/all", NULL) == UV_ENOENT);
    NULL_ROW(uvhttp_request_precondition, current,
             uvhttp_request_precondition(uvhttp_response_request(res), NULL) == 0);
    NULL_ROW(uvhttp_response_defer_send, work,
             uvhttp_response_defer_send(res, NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_defer_send, done,
             uvhttp_response_defer_send(res, read_body, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_redirect, location,
             uvhttp_response_redirect(res, 303, NULL) == UVHTTP_EINVAL);
}

static void refuse_bodies(uvhttp_response_t *res)
{
    NULL_ROW(uvhttp_response_send, data,
             uvhttp_response_send(res, 200, NULL, NULL, 1) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_send_static, data,
             uvhttp_response_send_static(res, 200, NULL, NULL, 1) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_send_borrowed, data,
             uvhttp_response_send_borrowed(res, 200, NULL, NULL, 1, release, NULL) ==
                     UVHTTP_EINVAL &&
                 released == 1);
    NULL_ROW(uvhttp_response_send_parts, parts,
             uvhttp_response_send_parts(res, 200, NULL, NULL, 1, release, NULL) == UVHTTP_EINVAL &&
                 released == 2);
    NULL_ROW(uvhttp_response_send_pulled, pull,
             uvhttp_response_send_pulled(res, 200, NULL, 5, NULL, release, NULL) == UVHTTP_EINVAL &&
                 released == 3);
    NULL_ROW(uvhttp_response_on_send, send,
             uvhttp_response_on_send(res, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_replace_body, data,
             uvhttp_response_replace_body(res, NULL, 1) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_filter, filter,
             uvhttp_response_filter(res, NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_defer, work,
             uvhttp_response_defer(res, NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_defer, done,
             uvhttp_response_defer(res, release, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_defer_heavy, work,
             uvhttp_response_defer_heavy(res, NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_defer_heavy, done,
             uvhttp_response_defer_heavy(res, release, NULL, NULL) == UVHTTP_EINVAL);
    NULL_CALL(uvhttp_response_clean_up, work, uvhttp_response_clean_up(res, NULL, NULL));
    NULL_CALL(uvhttp_response_on_abort, abort, uvhttp_response_on_abort(res, NULL, NULL));
    NULL_CALL(uvhttp_response_on_read_error, failed,
              uvhttp_response_on_read_error(res, NULL, NULL));
    NULL_CALL(uvhttp_response_on_drain, drain, uvhttp_response_on_drain(res, NULL, NULL));
    NULL_ROW(uvhttp_response_on_peer_end, ended, uvhttp_response_on_peer_end(res, NULL, NULL) == 0);
    NULL_CALL(uvhttp_response_use_prepared, prepared, uvhttp_response_use_prepared(res, NULL));
}

static int refuse_all(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    handler_calls++;
    released = 0;
    refuse_texts(res);
    refuse_bodies(res);
    return respond(res);
}

static void response_functions_check_null(void **state)
{
    (void)state;
    begin("/", refuse_all, 0);
    send_request("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 200);
    end();
}

/* ---- responses with optional arguments ---- */

static int send_plain(uvhttp_response_t *res)
{
    NULL_ROW(uvhttp_response_send, content_type, uvhttp_response_send(res, 200, NULL, "a", 1) == 0);
    return 0;
}

static int send_static(uvhttp_response_t *res)
{
    NULL_ROW(uvhttp_response_send_static, content_type,
             uvhttp_response_send_static(res, 200, NULL, "a", 1) == 0);
    return 0;
}

static int send_borrowed(uvhttp_response_t *res)
{
    NULL_ROW(uvhttp_response_send_borrowed, content_type,
             uvhttp_response_send_borrowed(res, 200, NULL, "a", 1, release, NULL) == 0);
    return 0;
}

static int send_unreleased(uvhttp_response_t *res)
{
    NULL_ROW(uvhttp_response_send_borrowed, release,
             uvhttp_response_send_borrowed(res, 200, "a/b", "a", 1, NULL, NULL) == 0);
    return 0;
}

static int send_descriptor(uvhttp_response_t *res)
{
    NULL_ROW(uvhttp_response_send_descriptor, content_type,
             uvhttp_response_send_descriptor(res, 200, NULL, 0, 0, 0, release, NULL) == 0);
    return 0;
}

static int send_kept_descriptor(uvhttp_response_t *res)
{
    NULL_ROW(uvhttp_response_send_descriptor, release,
             uvhttp_response_send_descriptor(res, 200, "a/b", 0, 0, 0, NULL, NULL) == 0);
    return 0;
}

static int send_parts(uvhttp_response_t *res)
{
    const uvhttp_part_t part = {.data = "a", .descriptor = -1, .size = 1};
    NULL_ROW(uvhttp_response_send_parts, content_type,
             uvhttp_response_send_parts(res, 200, NULL, &part, 1, release, NULL) == 0);
    return 0;
}

static int send_kept_parts(uvhttp_response_t *res)
{
    const uvhttp_part_t part = {.data = "a", .descriptor = -1, .size = 1};
    NULL_ROW(uvhttp_response_send_parts, release,
             uvhttp_response_send_parts(res, 200, "a/b", &part, 1, NULL, NULL) == 0);
    return 0;
}

static int pull_nothing(uvhttp_response_t *res, char *buffer, size_t size, size_t *length,
                        void *arg)
{
    (void)res, (void)buffer, (void)size, (void)length, (void)arg;
    return UVHTTP_END;
}

static int send_pulled(uvhttp_response_t *res)
{
    NULL_ROW(uvhttp_response_send_pulled, content_type,
             uvhttp_response_send_pulled(res, 200, NULL, UVHTTP_LENGTH_UNKNOWN, pull_nothing,
                                         release, NULL) == 0);
    return 0;
}

static int send_kept_pulled(uvhttp_response_t *res)
{
    NULL_ROW(uvhttp_response_send_pulled, release,
             uvhttp_response_send_pulled(res, 200, "a/b", UVHTTP_LENGTH_UNKNOWN, pull_nothing, NULL,
                                         NULL) == 0);
    return 0;
}

static int send_chunks(uvhttp_response_t *res)
{
    NULL_ROW(uvhttp_response_begin, content_type, uvhttp_response_begin(res, 200, NULL, 1) == 0);
    NULL_ROW(uvhttp_response_write, data,
             uvhttp_response_write(res, NULL, 1) == UVHTTP_EINVAL &&
                 uvhttp_response_write(res, NULL, 0) == 0);
    assert_int_equal(uvhttp_response_write(res, "a", 1), 0);
    return uvhttp_response_end(res);
}

static int send_event(uvhttp_response_t *res)
{
    assert_int_equal(uvhttp_response_begin_events(res), 0);
    NULL_ROW(uvhttp_response_send_event, event,
             uvhttp_response_send_event(res, NULL) == UVHTTP_EINVAL);
    return uvhttp_response_end(res);
}

static int append_nothing(uvhttp_response_t *res, uvhttp_filter_event_t event, const void *data,
                          size_t size, uvhttp_filter_output_t *output, void *arg)
{
    (void)res, (void)event, (void)data, (void)size, (void)arg;
    NULL_ROW(uvhttp_filter_output_append, data,
             uvhttp_filter_output_append(output, NULL, 1) == UVHTTP_EINVAL &&
                 uvhttp_filter_output_append(output, NULL, 0) == 0);
    return 0;
}

static int set_filter(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    NULL_ROW(uvhttp_response_filter, filter,
             uvhttp_response_filter(res, NULL, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_filter, release,
             uvhttp_response_filter(res, append_nothing, NULL, NULL) == 0);
    return 0;
}

static int send_filtered(uvhttp_response_t *res)
{
    assert_int_equal(uvhttp_response_on_send(res, set_filter, NULL), 0);
    assert_int_equal(uvhttp_response_begin(res, 200, NULL, UVHTTP_LENGTH_UNKNOWN), 0);
    return uvhttp_response_end(res);
}

static int replace(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    NULL_ROW(uvhttp_response_replace_body, data,
             uvhttp_response_replace_body(res, NULL, 1) == UVHTTP_EINVAL &&
                 uvhttp_response_replace_body(res, NULL, 0) == 0);
    return 0;
}

static int send_replaced(uvhttp_response_t *res)
{
    assert_int_equal(uvhttp_response_on_send(res, replace, NULL), 0);
    return respond(res);
}

static int (*const senders[])(uvhttp_response_t *res) = {
    send_plain,           send_static, send_borrowed,   send_unreleased, send_descriptor,
    send_kept_descriptor, send_parts,  send_kept_parts, send_pulled,     send_kept_pulled,
    send_chunks,          send_event,  send_filtered,   send_replaced,
};

static int send_next(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    return senders[handler_calls++](res);
}

static void optional_arguments_may_be_null(void **state)
{
    (void)state;
    begin("/", send_next, 0);
    for (size_t i = 0; i < UVH_COUNT_OF(senders); i++)
        send_request("GET / HTTP/1.1\r\nHost: h\r\n\r\n", 200);
    end();
}

/* ---- request bodies ---- */

static int on_form(uvhttp_request_t *req, uvhttp_response_t *res, const uvhttp_form_data_t *form,
                   void *arg)
{
    (void)req, (void)form, (void)arg;
    return respond(res);
}

static int read_form(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)res, (void)arg;
    handler_calls++;
    NULL_ROW(uvhttp_form_data_read, options, uvhttp_form_data_read(req, NULL, on_form, NULL) == 0);
    return 0;
}

static void form_data_options_may_be_null(void **state)
{
    (void)state;
    begin("/", read_form, UVHTTP_ROUTE_STREAM);
    send_request("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=x\r\n"
                 "Content-Length: 57\r\n\r\n--x\r\nContent-Disposition: form-data; "
                 "name=\"a\"\r\n\r\nb\r\n--x--",
                 200);
    end();
}

static char directory[] = "/tmp/uvhttp-null-XXXXXX";

static int on_file(uvhttp_request_t *req, uvhttp_response_t *res, const uvhttp_upload_t *upload,
                   void *arg)
{
    (void)req, (void)upload, (void)arg;
    return respond(res);
}

static int receive_file(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    const uvhttp_upload_options_t options = {.max_size = 10};
    (void)res, (void)arg;
    handler_calls++;
    if (handler_calls == 1)
        NULL_ROW(uvhttp_upload_to_file, name,
                 uvhttp_upload_to_file(req, directory, NULL, &options, on_file, NULL) == 0);
    else if (handler_calls == 2)
        NULL_ROW(uvhttp_upload_to_file, done,
                 uvhttp_upload_to_file(req, directory, "a", &options, NULL, NULL) == 0);
    else
        NULL_ROW(uvhttp_upload_to_file, options,
                 uvhttp_upload_to_file(req, directory, "a", NULL, on_file, NULL) == 0);
    return 0;
}

static void upload_arguments_may_be_null(void **state)
{
    (void)state;
    static const int statuses[] = {400, 201, 200};
    char path[64];
    assert_non_null(mkdtemp(directory));
    begin("/", receive_file, UVHTTP_ROUTE_STREAM);
    for (size_t i = 0; i < UVH_COUNT_OF(statuses); i++)
        send_request("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx", statuses[i]);
    end();
    snprintf(path, sizeof(path), "%s/a", directory);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(directory), 0);
}

/* ---- streams ---- */

static void on_data(uvhttp_stream_t *stream, char *data, size_t size, void *arg)
{
    (void)stream, (void)data, (void)size, (void)arg;
}

static void on_closed(uvhttp_stream_t *stream, void *arg)
{
    (void)stream, (void)arg;
}

static void on_connected(uvhttp_stream_t *stream, int status, void *arg)
{
    (void)stream, (void)status, (void)arg;
}

static const uvhttp_stream_events_t events = {.data = on_data, .closed = on_closed};

static int refuse_streams(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_stream_t *stream = NULL;
    (void)req, (void)arg;
    handler_calls++;
    NULL_ROW(uvhttp_response_upgrade, events,
             uvhttp_response_upgrade(res, "x", NULL, NULL, &stream) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_upgrade, protocol,
             uvhttp_response_upgrade(res, NULL, &events, NULL, &stream) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_response_upgrade, stream,
             uvhttp_response_upgrade(res, "x", &events, NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_request_offers_upgrade, protocol, !uvhttp_request_offers_upgrade(req, NULL));
    NULL_ROW(uvhttp_stream_connect, events,
             uvhttp_stream_connect(stage.server, "127.0.0.1", 1, 0, on_connected, NULL, NULL,
                                   &stream) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_stream_connect, stream,
             uvhttp_stream_connect(stage.server, "127.0.0.1", 1, 0, on_connected, &events, NULL,
                                   NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_stream_connect, server,
             uvhttp_stream_connect(NULL, "127.0.0.1", 1, 0, on_connected, &events, NULL, &stream) ==
                 UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_stream_connect, host,
             uvhttp_stream_connect(stage.server, NULL, 1, 0, on_connected, &events, NULL,
                                   &stream) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_stream_connect, connected,
             uvhttp_stream_connect(stage.server, "127.0.0.1", 1, 0, NULL, &events, NULL, &stream) ==
                 UVHTTP_EINVAL);
    NULL_ROW(uvhttp_stream_connect_tls, events,
             uvhttp_stream_connect_tls(stage.server, NULL, "127.0.0.1", 1, 0, on_connected, NULL,
                                       NULL, &stream) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_stream_connect_tls, stream,
             uvhttp_stream_connect_tls(stage.server, NULL, "127.0.0.1", 1, 0, on_connected, &events,
                                       NULL, NULL) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_stream_connect_tls, server,
             uvhttp_stream_connect_tls(NULL, NULL, "127.0.0.1", 1, 0, on_connected, &events, NULL,
                                       &stream) == UVHTTP_ENOMEM);
    NULL_ROW(uvhttp_stream_connect_tls, host,
             uvhttp_stream_connect_tls(stage.server, NULL, NULL, 1, 0, on_connected, &events, NULL,
                                       &stream) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_stream_connect_tls, connected,
             uvhttp_stream_connect_tls(stage.server, NULL, "127.0.0.1", 1, 0, NULL, &events, NULL,
                                       &stream) == UVHTTP_EINVAL);
    /* NULL is the default client, if the build has TLS. */
    int connected = uvhttp_stream_connect_tls(stage.server, NULL, "127.0.0.1", 1, 0, on_connected,
                                              &events, NULL, &stream);
    NULL_ROW(uvhttp_stream_connect_tls, client,
             connected == (UVHTTP_TESTS_HTTPS ? 0 : UVHTTP_ENOTSUP));
    if (connected == 0)
        uvhttp_stream_close(stream);
    return respond(res);
}

static int write_nothing(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_stream_t *stream = NULL;
    (void)req, (void)arg;
    handler_calls++;
    int err = uvhttp_response_upgrade(res, "x", &events, NULL, &stream);
    if (err != 0)
        return err;
    NULL_ROW(uvhttp_stream_write, data, uvhttp_stream_write(stream, NULL, 1) == UVHTTP_EINVAL);
    NULL_ROW(uvhttp_stream_write_areas, areas,
             uvhttp_stream_write_areas(stream, NULL, 1) == UVHTTP_EINVAL);
    return 0;
}

static void stream_functions_check_null(void **state)
{
    (void)state;
    begin("/", refuse_streams, 0);
    send_request("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", 200);
    end();
    begin("/", write_nothing, 0);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    raw_client_send_text(&client,
                         "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    for (int iteration = 0; iteration < 1000 && handler_calls == 0; iteration++) {
        raw_client_step(&client, 0);
        stage_iterate(&stage);
    }
    raw_client_close(&client, false);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_functions_check_null),
        cmocka_unit_test(response_functions_check_null),
        cmocka_unit_test(optional_arguments_may_be_null),
        cmocka_unit_test(form_data_options_may_be_null),
        cmocka_unit_test(upload_arguments_may_be_null),
        cmocka_unit_test(stream_functions_check_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
