/* Templates: parse errors, each placeholder, the encoding of values for each kind, and limits. The
 * host of a location never comes from the client. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp.h>
#include <uvhttp/test.h>

#include "base/compiler.h"
#include "support/fault_heap.h"

static struct fault_heap heap;

static int set_up(void **state)
{
    (void)state;
    fault_heap_init(&heap);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return atomic_load(&heap.live) == 0 ? 0 : -1;
}

static int make(uvhttp_template_t **made, const char *text, uvhttp_template_kind_t kind,
                const char *pattern, uvhttp_error_t *error)
{
    const uvhttp_template_options_t options = {
        .text = text, .kind = kind, .pattern = pattern, .allocator = &heap.allocator};
    return uvhttp_template_new(made, &options, error);
}

struct expansion {
    uvhttp_template_t *made;
    char text[4096];
    int err;
};

static int expand(uvhttp_request_t *req, uvhttp_response_t *res, void *arg)
{
    struct expansion *result = arg;
    uvhttp_slice_t text;
    result->err = uvhttp_template_expand(result->made, req, &text);
    assert_true(text.base[text.length] == '\0');
    snprintf(result->text, sizeof(result->text), "%s", text.base);
    return uvhttp_response_send_status(res, 204);
}

/* The text for a request of `target` to a route with `pattern`. */
static const char *expanded(const char *text, uvhttp_template_kind_t kind, const char *pattern,
                            const char *target)
{
    static struct expansion result;
    static const char *const proxies[] = {"unix", "127.0.0.1", "::1"};
    uvhttp_test_response_t *response;
    uvhttp_error_t error;
    result = (struct expansion){.made = NULL};
    assert_int_equal(make(&result.made, text, kind, pattern, &error), 0);
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    assert_int_equal(uvhttp_server_trust_proxies(server, proxies, 3, UVHTTP_FORWARDING_X), 0);
    assert_int_equal(uvhttp_server_route(server, NULL, pattern, expand, &result), 0);
    const uvhttp_test_request_t request = {
        .target = target,
        UVHTTP_TEST_HEADERS("Host: www.example.com:8080", "X-Forwarded-For: 192.0.2.7")};
    assert_int_equal(uvhttp_test_request(server, &request, &response), 0);
    assert_int_equal(response->status, 204);
    uvhttp_test_response_free(response);
    uvhttp_server_free(server);
    uvhttp_template_free(result.made);
    assert_int_equal(result.err, 0);
    return result.text;
}

static void placeholders_have_values(void **state)
{
    (void)state;
    static const struct {
        const char *text, *result;
    } rows[] = {
        {"{target}", "/d/5/a%20b/c%2Fd?q=1&r"},
        {"{path}", "/d/5/a b/c/d"},
        {"{query}", "?q=1&r"},
        {"{host}", "www.example.com"},
        {"{scheme}", "http"},
        {"{method}", "GET"},
        {"{client}", "192.0.2.7"},
        {"{rest}", "a b/c/d"},
        {"{id}", "5"},
        {"<{id}{id}>", "<55>"},
        {"", ""},
        {"no placeholder", "no placeholder"},
        {"{{id}}", "{id}"},
        {"{{{id}}}", "{{id}}"},
        {"{{id}} {id} {{rest}}", "{id} 5 {rest}"},
        {"{\"a\":{\"b\":{}}} {{ }} { id } {id", "{\"a\":{\"b\":{}}} {{ }} { id } {id"},
        {"{\"a\":{\"b\":{id}}}", "{\"a\":{\"b\":5}}"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++)
        assert_string_equal(
            expanded(rows[i].text, UVHTTP_TEMPLATE_TEXT, "/d/:id(int)/*", "/d/5/a%20b/c%2Fd?q=1&r"),
            rows[i].result);
}

static void parameter_hides_other_name(void **state)
{
    (void)state;
    assert_string_equal(
        expanded("{host} {rest} {all}", UVHTTP_TEMPLATE_TEXT, "/:host/*all", "/a/b/c"),
        "a b/c b/c");
    assert_string_equal(
        expanded("{name} {a-b}", UVHTTP_TEMPLATE_TEXT, "/:name.json/:a-b", "/x.json/y"), "x y");
}

static void absent_query_is_empty(void **state)
{
    (void)state;
    assert_string_equal(expanded("{path}{query}", UVHTTP_TEMPLATE_TEXT, "/a", "/a"), "/a");
    assert_string_equal(expanded("{target}", UVHTTP_TEMPLATE_TEXT, "/a", "/a?"), "/a");
}

static void values_are_encoded_for_their_place(void **state)
{
    (void)state;
    static const char target[] = "/r/%22%3Cb%3E%27%26/%0D%0AX:%20%FF%C3%A4%5C;,?a=%3C\"&b";
    static const struct {
        uvhttp_template_kind_t kind;
        const char *text, *result;
    } rows[] = {
        {UVHTTP_TEMPLATE_TEXT, "{rest}", "\"<b>'&/\r\nX: \xff\xc3\xa4\\;,"},
        {UVHTTP_TEMPLATE_HTML, "<p>{rest}</p>",
         "<p>&quot;&lt;b&gt;&#39;&amp;/\r\nX: \xff\xc3\xa4\\;,</p>"},
        {UVHTTP_TEMPLATE_HTML, "{query}", "?a=%3C&quot;&amp;b"},
        {UVHTTP_TEMPLATE_JSON, "{\"rest\": \"{rest}\"}",
         "{\"rest\": \"\\\"\\u003cb>\\u0027&/\\u000d\\u000aX: \\ufffd\xc3\xa4\\\\;,\"}"},
        {UVHTTP_TEMPLATE_HEADER, "</{rest}>; x",
         "</%22%3Cb%3E'&/%0D%0AX:%20%FF%C3%A4%5C%3B%2C>; x"},
        {UVHTTP_TEMPLATE_HEADER, "{query}", "?a=%3C%22&b"},
        {UVHTTP_TEMPLATE_LOCATION, "https://a.test/{rest}{query}",
         "https://a.test/%22%3Cb%3E'&/%0D%0AX:%20%FF%C3%A4%5C;,?a=%3C%22&b"},
        {UVHTTP_TEMPLATE_LOCATION, "/s?q={rest}",
         "/s?q=%22%3Cb%3E%27%26%2F%0D%0AX%3A%20%FF%C3%A4%5C%3B%2C"},
        {UVHTTP_TEMPLATE_LOCATION, "/s?x=1{query}", "/s?x=1&a=%3C%22&b"},
        {UVHTTP_TEMPLATE_LOCATION, "/s?next={target}#{method}",
         "/s?next=%2Fr%2F%2522%253Cb%253E%27%26%2F%250D%250AX%3A%2520%25FF%25C3%25A4%255C%3B%2C%"
         "3Fa%3D%253C%22%26b"
         "#GET"},
        {UVHTTP_TEMPLATE_TARGET, "/n/{rest}{query}",
         "/n/%22%3Cb%3E'&/%0D%0AX:%20%FF%C3%A4%5C;,?a=%3C%22&b"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++)
        assert_string_equal(expanded(rows[i].text, rows[i].kind, "/r/*", target), rows[i].result);
}

static void encoded_slash_stays_in_its_segment(void **state)
{
    (void)state;
    assert_string_equal(
        expanded("/n/{rest}", UVHTTP_TEMPLATE_LOCATION, "/*", "/a%2Fb/c%252Fd/100%25"),
        "/n/a%2Fb/c%252Fd/100%25");
    assert_string_equal(expanded("/n/{id}", UVHTTP_TEMPLATE_LOCATION, "/:id", "/a%2Fb"),
                        "/n/a%2Fb");
    assert_string_equal(expanded("/n/{id}", UVHTTP_TEMPLATE_LOCATION, "/:id", "/%252e%252e"),
                        "/n/%252e%252e");
}

static void client_does_not_choose_host(void **state)
{
    (void)state;
    static const struct {
        const char *text, *target, *result;
    } rows[] = {
        {"/{rest}", "//evil.test", "/evil.test"},
        {"/{rest}", "///evil.test//x", "/evil.test//x"},
        {"{path}", "//evil.test", "/evil.test"},
        {"{target}", "//evil.test?q", "/evil.test?q"},
        {"{path}/", "//evil.test", "/evil.test/"},
        {"/{rest}/x", "/", "/x"},
        {"/{rest}", "/%5Cevil.test", "/%5Cevil.test"},
        {"/{rest}", "/%09/evil.test", "/%09/evil.test"},
        {"//a.test/{rest}", "//evil.test", "//a.test//evil.test"},
        {"https://a.test{path}", "//evil.test", "https://a.test//evil.test"},
        {"{scheme}://{host}{target}", "//evil.test", "http://www.example.com//evil.test"},
        {"https://{host}:8443/{rest}", "/a", "https://www.example.com:8443/a"},
        {"?q={rest}", "//evil.test", "?q=%2Fevil.test"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++)
        assert_string_equal(expanded(rows[i].text, UVHTTP_TEMPLATE_LOCATION, "/*", rows[i].target),
                            rows[i].result);
    static const char *const refused[] = {
        "{rest}",
        "https://{rest}",
        "https:{target}",
        "HTTPS:/{target}",
        "///{target}",
        "/\\{target}",
        "https:\\\\{target}",
        "https://u@{target}",
        "https://u@/{rest}",
        "https://a:{target}",
        "https://a.test{rest}",
        "https://a{host}/",
        "https://{host}{rest}",
        "//{target}",
        "{scheme}{host}",
        "{scheme}:{target}",
        "{host}/",
        "{query}",
        "a{rest}",
        "a/{rest}",
        "{scheme}:/{rest}",
        "/ /{rest}",
        "/\t{rest}",
        "{scheme}{rest}",
        "https://a.test{query}",
        "//{rest}.a.test/",
        "javascript:{rest}",
    };
    for (size_t i = 0; i < UVH_COUNT_OF(refused); i++) {
        uvhttp_template_t *made;
        if (make(&made, refused[i], UVHTTP_TEMPLATE_LOCATION, "/*", NULL) != UVHTTP_ECONFIG ||
            made != NULL)
            fail_msg("%s is accepted", refused[i]);
    }
}

static void host_is_required_in_location(void **state)
{
    (void)state;
    struct expansion result = {.err = 0};
    const uvhttp_test_request_t request = {UVHTTP_TEST_HEADERS("Host: ")};
    uvhttp_test_response_t *response;
    assert_int_equal(make(&result.made, "https://{host}/", UVHTTP_TEMPLATE_LOCATION, NULL, NULL),
                     0);
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    assert_int_equal(uvhttp_server_route(server, NULL, "/", expand, &result), 0);
    assert_int_equal(uvhttp_test_request(server, &request, &response), 0);
    assert_int_equal(result.err, UVHTTP_EINVAL);
    assert_string_equal(result.text, "");
    uvhttp_test_response_free(response);
    uvhttp_server_free(server);
    uvhttp_template_free(result.made);
}

static void invalid_templates_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uvhttp_template_kind_t kind;
        const char *pattern, *message;
    } rows[] = {
        {"a{rset}", UVHTTP_TEMPLATE_TEXT, "/:id/*",
         "{rset} is not a placeholder; allowed are {target}, {path}, {query}, {host}, {scheme}, "
         "{method}, {client}, {rest}, {id}; for the text itself double the braces: {{rset}}"},
        {"{id}", UVHTTP_TEMPLATE_TEXT, NULL,
         "{id} is not a placeholder; allowed are {target}, {path}, {query}, {host}, {scheme}, "
         "{method}, {client}; for the text itself double the braces: {{id}}"},
        {"{rest}", UVHTTP_TEMPLATE_TEXT, "/:id", "{rest} requires a path that ends with '*'"},
        {"a\r\n", UVHTTP_TEMPLATE_HEADER, NULL, "text is \"a??\"; it contains a control character"},
        {"/a\x01", UVHTTP_TEMPLATE_LOCATION, NULL,
         "text is \"/a?\"; it contains a control character"},
        {"/a {path}", UVHTTP_TEMPLATE_LOCATION, NULL, "text is \"/a {path}\"; a location with"},
        {"a", UVHTTP_TEMPLATE_TARGET, NULL, "text is \"a\"; a target is a path"},
        {"", UVHTTP_TEMPLATE_TARGET, NULL, "text is \"\"; a target is a path"},
        {"{host}", UVHTTP_TEMPLATE_TARGET, NULL, "{host} must follow a path, such as /new/"},
        {"https://a.test/", UVHTTP_TEMPLATE_TARGET, NULL, "text is \"https://a.test/\"; a target"},
        {"/a#b", UVHTTP_TEMPLATE_TARGET, NULL, "text is \"/a#b\"; a target has no fragment"},
        {"/a%zz", UVHTTP_TEMPLATE_TARGET, NULL,
         "text is \"/a%zz\"; its path has an invalid escape"},
        {"/../a", UVHTTP_TEMPLATE_TARGET, NULL,
         "text is \"/../a\"; its path has an invalid escape"},
        {"a", UVHTTP_TEMPLATE_TEXT, "/:", "pattern is \"/:\"; a parameter has no name"},
        {"a", UVHTTP_TEMPLATE_TEXT, "a", "pattern is \"a\"; it does not begin with"},
        {"a", (uvhttp_template_kind_t)6, NULL, "kind is 6; allowed are 0 to 5"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        uvhttp_template_t *made;
        uvhttp_error_t error;
        assert_int_equal(make(&made, rows[i].text, rows[i].kind, rows[i].pattern, &error),
                         UVHTTP_ECONFIG);
        assert_null(made);
        if (strncmp(error.text, rows[i].message, strlen(rows[i].message)) != 0)
            assert_string_equal(error.text, rows[i].message);
    }
}

static void limits_are_checked(void **state)
{
    (void)state;
    enum { MOST = 64, SIZE = 1 << 20 };
    char many[6 * (MOST + 1) + 1] = "";
    char *large = test_malloc(SIZE + 2);
    uvhttp_template_t *made;
    for (size_t i = 0; i < MOST; i++)
        snprintf(many + 6 * i, sizeof(many) - 6 * i, "{path}");
    assert_int_equal(make(&made, many, UVHTTP_TEMPLATE_TEXT, NULL, NULL), 0);
    uvhttp_template_free(made);
    snprintf(many + 6 * MOST, sizeof(many) - 6 * MOST, "{path}");
    assert_int_equal(make(&made, many, UVHTTP_TEMPLATE_TEXT, NULL, NULL), UVHTTP_ECONFIG);
    memset(large, 'x', SIZE + 1);
    large[SIZE + 1] = '\0';
    assert_int_equal(make(&made, large, UVHTTP_TEMPLATE_TEXT, NULL, NULL), UVHTTP_ECONFIG);
    large[SIZE] = '\0';
    assert_int_equal(make(&made, large, UVHTTP_TEMPLATE_TEXT, NULL, NULL), 0);
    assert_false(uvhttp_template_is_dynamic(made));
    uvhttp_template_free(made);
    test_free(large);
}

static void failed_allocation_leaves_nothing(void **state)
{
    (void)state;
    uvhttp_template_t *made = NULL;
    int err = UVHTTP_ENOMEM;
    for (size_t n = 1; err != 0; n++) {
        fault_heap_arm(&heap, n, true);
        err = make(&made, "/n/{id}", UVHTTP_TEMPLATE_TARGET, "/:id", NULL);
        fault_heap_arm(&heap, 0, false);
        assert_true(err == 0 || (err == UVHTTP_ENOMEM && made == NULL));
    }
    assert_true(uvhttp_template_is_dynamic(made));
    uvhttp_template_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(placeholders_have_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parameter_hides_other_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(absent_query_is_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_are_encoded_for_their_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(encoded_slash_stays_in_its_segment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(client_does_not_choose_host, set_up, tear_down),
        cmocka_unit_test_setup_teardown(host_is_required_in_location, set_up, tear_down),
        cmocka_unit_test_setup_teardown(invalid_templates_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_allocation_leaves_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
