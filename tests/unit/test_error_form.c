/* Error responses: uvhttp_response_send_error, uvhttp_server_on_error and the JSON form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp.h>
#include <uvhttp/test.h>

static uvhttp_server_t *server;
static uvhttp_test_response_t *response;

static int set_up(void **state)
{
    (void)state;
    server = uvhttp_server_new(NULL);
    return server == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    uvhttp_test_response_free(response);
    response = NULL;
    uvhttp_server_free(server);
    return 0;
}

static void request(const char *method, const char *target)
{
    uvhttp_test_response_free(response);
    const uvhttp_test_request_t sent = {.method = method, .target = target};
    assert_int_equal(uvhttp_test_request(server, &sent, &response), 0);
}

static void assert_response(int status, const char *type, const char *body)
{
    assert_int_equal(response->status, status);
    assert_string_equal(response->body, body);
    char field[64];
    snprintf(field, sizeof(field), "\r\nContent-Type: %s\r\n", type);
    assert_non_null(strstr(response->head, field));
}

#define TEXT "text/plain; charset=utf-8"
#define JSON "application/json"

static int refuse(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)arg;
    return uvhttp_response_send_error(res, 409, "\"%s\" is taken",
                                      uvhttp_request_query(req, "name"));
}

static int fails(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)res, (void)arg;
    return UVHTTP_EINVAL;
}

static int send_own_error(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    return uvhttp_response_send_html(res, 404, "<h1>Not here</h1>");
}

static int send_statuses(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    assert_int_equal(uvhttp_response_send_error(res, 200, "x"), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_response_send_error(res, 399, "x"), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_response_send_error(res, 600, "x"), UVHTTP_EINVAL);
    return uvhttp_response_send_status(res, 202);
}

static int send_long_reason(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[2000];
    (void)req, (void)arg;
    memset(text, '\x01', sizeof(text) - 1); /* escaped as six characters each */
    text[sizeof(text) - 1] = '\0';
    return uvhttp_response_send_error(res, 400, "%s", text);
}

static void reason_follows_the_status_as_text(void **state)
{
    (void)state;
    uvhttp_server_route(server, "GET", "/", refuse, NULL);
    uvhttp_server_route(server, "GET", "/statuses", send_statuses, NULL);
    request("GET", "/?name=anna");
    assert_response(409, TEXT, "409 Conflict\n\"anna\" is taken\n");
    request("GET", "/statuses");
    assert_response(202, TEXT, "202 Accepted\n");
}

static void errors_of_the_server_become_json(void **state)
{
    (void)state;
    uvhttp_server_on_error(server, uvhttp_error_as_json, NULL);
    uvhttp_server_route(server, "GET", "/refuse", refuse, NULL);
    uvhttp_server_route(server, "GET", "/fail", fails, NULL);
    uvhttp_server_route(server, "GET", "/own", send_own_error, NULL);
    uvhttp_server_route(server, "GET", "/statuses", send_statuses, NULL);
    uvhttp_server_route(server, "GET", "/long", send_long_reason, NULL);
    request("GET", "/refuse?name=anna");
    assert_response(409, JSON, "{\"error\":\"\\\"anna\\\" is taken\"}\n");
    request("GET", "/nowhere");
    assert_response(404, JSON, "{\"error\":\"Not Found\"}\n");
    request("POST", "/fail");
    assert_response(405, JSON, "{\"error\":\"Method Not Allowed\"}\n");
    assert_non_null(strstr(response->head, "\r\nAllow: "));
    request("GET", "/fail");
    assert_response(500, JSON, "{\"error\":\"Internal Server Error\"}\n");
    request("HEAD", "/nowhere");
    assert_int_equal(response->status, 404);
    assert_int_equal(response->body_size, 0);
    request("GET", "/own"); /* the application's */
    assert_response(404, "text/html; charset=utf-8", "<h1>Not here</h1>");
    request("GET", "/statuses"); /* no error */
    assert_response(202, TEXT, "202 Accepted\n");
    request("GET", "/long");
    assert_int_equal(response->status, 400);
    assert_int_equal(response->body_size, strlen("{\"error\":\"\"}\n") + 511 * 6);
}

static int with_a_page(uvhttp_request_t *req, uvhttp_response_t *res, const char *reason, void *arg)
{
    char page[256];
    assert_ptr_equal(arg, &server);
    if (strcmp(uvhttp_request_path(req), "/plain") == 0) {
        uvhttp_response_set_header(res, "X-Undone", "yes");
        return UVHTTP_EINVAL;
    }
    snprintf(page, sizeof(page), "<h1>%d</h1>%s", uvhttp_response_status(res), reason);
    assert_int_equal(uvhttp_response_set_header(res, "Content-Type", "text/html"), 0);
    assert_int_equal(uvhttp_response_set_header(res, "X-Page", "yes"), 0);
    assert_int_equal(uvhttp_response_send_status(res, 500), UVHTTP_ERESPONDED);
    return uvhttp_response_replace_body(res, page, strlen(page));
}

static void callback_sets_body_and_fields(void **state)
{
    (void)state;
    uvhttp_server_on_error(server, with_a_page, &server);
    uvhttp_server_set(server, "max_body_size", "4");
    request("GET", "/nowhere");
    assert_response(404, "text/html", "<h1>404</h1>Not Found");
    assert_non_null(strstr(response->head, "\r\nX-Page: yes\r\n"));
    request("GET", "/plain"); /* the callback has failed */
    assert_response(404, TEXT, "404 Not Found\n");
}

/* The reason of the callback may be longer than those of the library. */
static int with_long_reason(uvhttp_request_t *req, uvhttp_response_t *res, const char *reason,
                            void *arg)
{
    return uvhttp_error_as_json(req, res, reason == NULL ? NULL : arg, NULL);
}

static void json_of_a_long_reason_is_complete_or_not_used(void **state)
{
    static char text[4000], body[4100];
    bool fitted = false, failed = false;
    (void)state;
    uvhttp_server_on_error(server, with_long_reason, text);
    memset(text, 'x', 3000);
    for (size_t length = 3000; length < 3200; length++) {
        text[length] = 'x';
        request("GET", "/nowhere");
        bool fits = strcmp(response->body, "404 Not Found\n") != 0;
        snprintf(body, sizeof(body), "{\"error\":\"%s\"}\n", text);
        assert_false(fits && failed);
        if (fits)
            assert_response(404, JSON, body);
        fitted = fitted || fits;
        failed = failed || !fits;
    }
    assert_true(fitted && failed);
}

static int remember_body(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req, (void)arg;
    uvhttp_slice_t body = uvhttp_response_body(res);
    assert_non_null(body.base);
    char length[24];
    snprintf(length, sizeof(length), "%zu", body.length);
    return uvhttp_response_set_header(res, "X-Length", length);
}

static int add_send_callback(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    (void)req;
    int err = uvhttp_response_on_send(res, remember_body, arg);
    return err != 0 ? err : UVHTTP_DECLINED;
}

static void send_callbacks_see_the_form(void **state)
{
    (void)state;
    uvhttp_server_on_error(server, uvhttp_error_as_json, NULL);
    uvhttp_server_use(server, add_send_callback, NULL);
    request("GET", "/nowhere");
    assert_response(404, JSON, "{\"error\":\"Not Found\"}\n");
    assert_non_null(strstr(response->head, "\r\nX-Length: 22\r\n"));
}

static void blocking_handlers_have_the_form(void **state)
{
    (void)state;
    const uvhttp_route_t refusing = {.pattern = "/refuse",
                                     .handler = refuse,
                                     .flags = UVHTTP_ROUTE_BLOCKING},
                         failing = {
                             .pattern = "/fail", .handler = fails, .flags = UVHTTP_ROUTE_BLOCKING};
    uvhttp_server_on_error(server, uvhttp_error_as_json, NULL);
    uvhttp_router_add(uvhttp_server_router(server), &refusing);
    uvhttp_router_add(uvhttp_server_router(server), &failing);
    request("GET", "/refuse?name=a");
    assert_response(409, JSON, "{\"error\":\"\\\"a\\\" is taken\"}\n");
    request("GET", "/fail");
    assert_response(500, JSON, "{\"error\":\"Internal Server Error\"}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reason_follows_the_status_as_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_of_the_server_become_json, set_up, tear_down),
        cmocka_unit_test_setup_teardown(callback_sets_body_and_fields, set_up, tear_down),
        cmocka_unit_test_setup_teardown(json_of_a_long_reason_is_complete_or_not_used, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(send_callbacks_see_the_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocking_handlers_have_the_form, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
