/* Tests of handlers, without a port and a second thread: uvhttp_test_request (testRequest in C++)
 * sends one request to the server and returns its response. Each line of the table is a test.
 *
 * Usage: testing */
#include <stdlib.h>
#include <string.h>

#include <uvhttp.h>
#include <uvhttp/test.h>

/* ---- the application ---- */

static int double_number(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    char text[32];
    long long number = strtoll(uvhttp_request_param(req, "number"), NULL, 10);
    snprintf(text, sizeof text, "{\"result\":%lld}", 2 * number);
    return uvhttp_response_send_json(res, 200, text);
}

static int add_note(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    uvhttp_slice_t type = uvhttp_request_field(req, UVHTTP_FIELD_CONTENT_TYPE);
    if (!uvhttp_media_type_is(type, "text/plain"))
        return uvhttp_response_send_status(res, 415);
    int err = uvhttp_response_set_header(res, "Location", "/notes/1");
    return err != 0 ? err : uvhttp_response_send_status(res, 201);
}

static int add_routes(uvhttp_server_t *server)
{
    int err = uvhttp_server_route(server, "GET", "/double/:number(int)", double_number, NULL);
    return err != 0 ? err : uvhttp_server_route(server, "POST", "/notes", add_note, NULL);
}

/* ---- its tests ---- */

struct test {
    uvhttp_test_request_t request;
    int status;
    const char *body, *location; /* NULL: any body, no Location */
};

static bool passes(uvhttp_server_t *server, const struct test *test)
{
    uvhttp_test_response_t *response;
    int err = uvhttp_test_request(server, &test->request, &response);
    if (err != 0) {
        printf("%s: %s\n", test->request.target, uvhttp_strerror(err));
        return false;
    }
    const char *location = uvhttp_test_response_header(response, "Location");
    bool same_location = test->location == NULL
                             ? location == NULL
                             : location != NULL && strcmp(location, test->location) == 0;
    bool good = response->status == test->status && same_location &&
                (test->body == NULL || strcmp(response->body, test->body) == 0);
    if (!good)
        printf("%s: unexpected response\n%s%s\n", test->request.target, response->head,
               response->body);
    uvhttp_test_response_free(response);
    return good;
}

int main(void)
{
    const struct test tests[] = {
        {{.target = "/double/21"}, 200, "{\"result\":42}", NULL},
        {{.target = "/double/many"}, 404, NULL, NULL},
        {{.method = "DELETE", .target = "/double/21"}, 405, NULL, NULL},
        {{.target = "/notes",
          .body = "Milk",
          .body_size = 4,
          UVHTTP_TEST_HEADERS("Content-Type: text/plain; charset=utf-8")},
         201,
         NULL,
         "/notes/1"},
        {{.target = "/notes", .body = "{}", .body_size = 2}, 415, NULL, NULL},
    };
    const size_t count = sizeof tests / sizeof *tests;
    size_t passed = 0;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    if (add_routes(server) != 0)
        printf("%s\n", uvhttp_server_error(server)->text);
    for (size_t i = 0; i < count; i++)
        passed += passes(server, &tests[i]);
    printf("%zu of %zu tests passed\n", passed, count);
    uvhttp_server_free(server);
    return passed == count ? 0 : 1;
}
