/* The accessors of requests with parsed heads: values, their terminating NUL, and decoding of query
 * and parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/error.h>

#include "http/request.h"
#include "route/router.h"
#include "support/fault_heap.h"

/* A parsed request with the memory it needs. */
struct fixture {
    struct uvh_arena_pool pool;
    struct uvh_arena arena;
    uvhttp_head_t head;
    struct uvhttp_request request;
    char *bytes; /* of exactly the head's size, so that ASan detects reads beyond it */
    uvhttp_reason_t reason;
    bool out_of_memory;
};

static struct fault_heap heap;
static struct fixture fixture;

static void make(const char *text)
{
    static const uvhttp_head_limits_t limits = {16384, 8192, 32};
    size_t length = strlen(text);
    memset(&fixture, 0, sizeof(fixture));
    fault_heap_init(&heap);
    uvh_arena_pool_init(&fixture.pool, &heap.allocator);
    assert_non_null(uvh_arena_begin(&fixture.arena, &fixture.pool, 64));
    fixture.bytes = malloc(length);
    assert_non_null(fixture.bytes);
    memcpy(fixture.bytes, text, length);
    uvhttp_head_init(&fixture.head, NULL, 0);
    assert_int_equal(uvhttp_request_head_parse(&fixture.head, fixture.bytes, length, &limits),
                     UVHTTP_PARSE_DONE);
    assert_int_equal(uvhttp_request_framing(&fixture.head, &fixture.request.framing),
                     UVHTTP_REASON_NONE);
    fixture.reason =
        uvh_request_init(&fixture.request, &fixture.arena, &fixture.head, &fixture.out_of_memory);
}

static void make_target(const char *method, const char *target)
{
    char text[1024];
    snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: example.com\r\n\r\n", method, target);
    make(text);
    assert_int_equal(fixture.reason, UVHTTP_REASON_NONE);
}

static void destroy(void)
{
    uvh_arena_release(&fixture.arena);
    uvh_arena_pool_release(&fixture.pool);
    assert_int_equal(atomic_load(&heap.live), 0);
    free(fixture.bytes);
}

static void assert_slice(uvhttp_slice_t slice, const char *expected)
{
    assert_int_equal(slice.length, strlen(expected));
    assert_non_null(slice.base);
    assert_memory_equal(slice.base, expected, slice.length);
}

static void assert_terminated(uvhttp_slice_t slice, const char *expected)
{
    assert_non_null(slice.base);
    assert_string_equal(slice.base, expected);
    assert_int_equal(slice.length, strlen(expected));
}

static void request_line_parts_are_returned(void **state)
{
    (void)state;
    make("DELETE /a%20b/./c?x=1&y HTTP/1.0\r\n\r\n");
    assert_int_equal(uvhttp_request_method(&fixture.request), UVHTTP_METHOD_DELETE);
    assert_string_equal(uvhttp_request_method_name(&fixture.request), "DELETE");
    assert_terminated(uvhttp_request_target(&fixture.request), "/a%20b/./c?x=1&y");
    assert_string_equal(uvhttp_request_path(&fixture.request), "/a b/c");
    assert_terminated(uvhttp_request_path_slice(&fixture.request), "/a b/c");
    assert_slice(uvhttp_request_raw_path(&fixture.request), "/a%20b/./c");
    assert_terminated(uvhttp_request_query_string(&fixture.request), "x=1&y");
    assert_int_equal(uvhttp_request_http_minor(&fixture.request), 0);
    assert_string_equal(uvhttp_request_protocol(&fixture.request), "HTTP/1.0");
    destroy();
    make("PURGE / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(uvhttp_request_method(&fixture.request), UVHTTP_METHOD_OTHER);
    assert_string_equal(uvhttp_request_method_name(&fixture.request), "PURGE");
    assert_int_equal(uvhttp_request_http_minor(&fixture.request), 1);
    assert_string_equal(uvhttp_request_protocol(&fixture.request), "HTTP/1.1");
    fixture.request.is_http2 = true;
    assert_string_equal(uvhttp_request_protocol(&fixture.request), "HTTP/2.0");
    assert_terminated(uvhttp_request_query_string(&fixture.request), "");
    assert_slice(uvhttp_request_raw_path(&fixture.request), "/");
    destroy();
}

static void paths_are_decoded_and_normalized(void **state)
{
    (void)state;
    static const struct {
        const char *target, *path;
    } cases[] = {
        {"/", "/"},
        {"/plain/path", "/plain/path"},
        {"/plain?query", "/plain"},
        {"/a/../b", "/b"},
        {"/a/%2e%2E/b/", "/b/"},
        {"/a%2Fb/c", "/a%2Fb/c"},
        {"/a%2fb", "/a%2fb"},
        {"/%41%62%63", "/Abc"},
        {"/100%25", "/100%"},
        {"/a+b", "/a+b"},
        {"/%C3%A9", "/\xC3\xA9"},
        {"/a//b", "/a//b"},
        {"http://example.com/x/y", "/x/y"},
        {"http://example.com", "/"},
        {"http://example.com?a=b", "/"},
        {"http://example.com/%7E?a", "/~"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make_target("GET", cases[i].target);
        assert_terminated(uvhttp_request_path_slice(&fixture.request), cases[i].path);
        assert_string_equal(uvhttp_request_path(&fixture.request), cases[i].path);
        assert_terminated(uvhttp_request_target(&fixture.request), cases[i].target);
        destroy();
    }
    make_target("OPTIONS", "*");
    assert_terminated(uvhttp_request_path_slice(&fixture.request), "*");
    destroy();
}

static void invalid_paths_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        uvhttp_reason_t reason;
    } cases[] = {
        {"/..", UVHTTP_REASON_TARGET_ABOVE_ROOT},
        {"/a/../../", UVHTTP_REASON_TARGET_ABOVE_ROOT},
        {"/%2e%2e/x", UVHTTP_REASON_TARGET_ABOVE_ROOT},
        {"/a%", UVHTTP_REASON_TARGET_ENCODING},
        {"/a%4", UVHTTP_REASON_TARGET_ENCODING},
        {"/a%zz", UVHTTP_REASON_TARGET_ENCODING},
        {"/a%00", UVHTTP_REASON_TARGET_ENCODING},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[128];
        snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", cases[i].target);
        make(text);
        assert_int_equal(fixture.reason, cases[i].reason);
        assert_false(fixture.out_of_memory);
        destroy();
    }
}

static void query_is_split_before_decoding(void **state)
{
    (void)state;
    static const struct {
        const char *query, *name, *value;
    } cases[] = {
        {"a=1", "a", "1"},
        {"a=1&b=2", "b", "2"},
        {"a=1&a=2", "a", "1"},
        {"a", "a", ""},
        {"a=", "a", ""},
        {"a=1", "b", NULL},
        {"", "a", NULL},
        {"&&a=1&&", "a", "1"},
        {"a=x%26b=y", "a", "x&b=y"},
        {"a=x%26b=y", "b", NULL},
        {"a=1+2", "a", "1 2"},
        {"a=1%2B2", "a", "1+2"},
        {"a+b=c", "a b", "c"},
        {"%61=c", "a", "c"},
        {"a%3Db=c", "a=b", "c"},
        {"a=b=c", "a", "b=c"},
        {"A=1", "a", NULL},
        {"ab=1", "a", NULL},
        {"a=1", "ab", NULL},
        {"a=%zz", "a", NULL},
        {"a=%4", "a", NULL},
        {"a=%zz&a=2", "a", "2"},
        {"%zz=1&b=2", "b", "2"},
        {"%zz=1", "%zz", NULL},
        {"a=%C3%A9", "a", "\xC3\xA9"},
        {"=x&a=1", "", "x"},
        {"a=1?b=2", "a", "1?b=2"},
        {"a=%00b", "a", NULL}, /* as a C string it would read as a shorter value */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char target[128];
        snprintf(target, sizeof(target), "/p?%s", cases[i].query);
        make_target("GET", target);
        for (int again = 0; again < 2; again++) { /* reading changes nothing */
            const char *value = uvhttp_request_query(&fixture.request, cases[i].name);
            if (cases[i].value == NULL)
                assert_null(value);
            else
                assert_string_equal(value, cases[i].value);
        }
        assert_terminated(uvhttp_request_query_string(&fixture.request), cases[i].query);
        destroy();
    }
    make_target("GET", "/p");
    assert_null(uvhttp_request_query(&fixture.request, "a"));
    assert_null(uvhttp_request_query(&fixture.request, ""));
    destroy();
}

static void header_lookup_ignores_case(void **state)
{
    (void)state;
    make("GET / HTTP/1.1\r\nHost: example.com\r\nX-Empty:\r\nX-Spaces: \t \r\nX-Two: one\r\n"
         "x-two:  second \t\r\nAccept:text/html\r\n\r\n");
    assert_int_equal(uvhttp_request_header_count(&fixture.request), 6);
    assert_string_equal(uvhttp_request_header(&fixture.request, "host"), "example.com");
    assert_string_equal(uvhttp_request_header(&fixture.request, "HOST"), "example.com");
    assert_string_equal(uvhttp_request_header(&fixture.request, "x-empty"), "");
    assert_string_equal(uvhttp_request_header(&fixture.request, "X-SPACES"), "");
    assert_string_equal(uvhttp_request_header(&fixture.request, "x-TWO"), "one");
    assert_string_equal(uvhttp_request_header(&fixture.request, "accept"), "text/html");
    assert_null(uvhttp_request_header(&fixture.request, "x-tw"));
    assert_null(uvhttp_request_header(&fixture.request, "x-twoo"));
    assert_null(uvhttp_request_header(&fixture.request, ""));
    assert_terminated(uvhttp_request_field(&fixture.request, UVHTTP_FIELD_HOST), "example.com");
    assert_terminated(uvhttp_request_field(&fixture.request, UVHTTP_FIELD_ACCEPT), "text/html");
    assert_null(uvhttp_request_field(&fixture.request, UVHTTP_FIELD_COOKIE).base);
    assert_null(uvhttp_request_field(&fixture.request, UVHTTP_FIELD_OTHER).base);
    destroy();
}

static void header_at_returns_terminated_fields_in_order(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
    } expected[] = {
        {"Host", "h"}, {"A", ""}, {"b", "1"}, {"B", "2"}, {"Last-Of", "x y"},
    };
    make("GET / HTTP/1.1\r\nHost: h\r\nA:\r\nb:1\r\nB: 2\r\nLast-Of:  x y  \r\n\r\n");
    /* Twice and in both directions: the NULs must not overwrite adjacent values. */
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < 5; i++) {
            size_t index = round == 0 ? i : 4 - i;
            uvhttp_slice_t name, value;
            uvhttp_request_header_at(&fixture.request, index, &name, &value);
            assert_terminated(name, expected[index].name);
            assert_terminated(value, expected[index].value);
        }
    }
    uvhttp_slice_t name = {"x", 1}, value = {"x", 1};
    uvhttp_request_header_at(&fixture.request, 5, &name, &value);
    assert_null(name.base);
    assert_null(value.base);
    assert_string_equal(uvhttp_request_header(&fixture.request, "b"), "1");
    destroy();
}

static int handler(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request;
    (void)response;
    (void)arg;
    return 0;
}

static void fail_on_message(const char *message, void *arg)
{
    (void)arg;
    fail_msg("%s", message);
}

static struct uvh_match match;

static struct uvhttp_router *route(const char *pattern)
{
    struct uvhttp_router *router = uvh_router_new(&heap.allocator, fail_on_message, NULL);
    assert_non_null(router);
    assert_int_equal(uvhttp_router_add_route(router, pattern, handler), 0);
    uvh_router_match(uvh_router_site(router, fixture.request.framing.authority), UVHTTP_METHOD_GET,
                     (uvhttp_slice_t){"GET", 3}, fixture.request.path, &match);
    assert_non_null(match.route);
    fixture.request.param_names = match.route->params;
    fixture.request.params = match.params;
    fixture.request.param_count = match.param_count;
    return router;
}

static void route_parameters_are_decoded(void **state)
{
    (void)state;
    make_target("GET", "/users/J%C3%B6rg%20X/files/a%2Fb/c?id=9");
    struct uvhttp_router *router = route("/users/:id/files/*");
    for (int again = 0; again < 2; again++) {
        assert_string_equal(uvhttp_request_param(&fixture.request, "id"), "J\xC3\xB6rg X");
        assert_string_equal(uvhttp_request_param(&fixture.request, "*"), "a/b/c");
        assert_slice(uvhttp_request_param_path(&fixture.request, "*"), "a%2Fb/c");
        assert_slice(uvhttp_request_param_path(&fixture.request, "id"), "J\xC3\xB6rg X");
        assert_null(uvhttp_request_param_path(&fixture.request, "i").base);
        assert_null(uvhttp_request_param(&fixture.request, "i"));
        assert_null(uvhttp_request_param(&fixture.request, "idd"));
        assert_null(uvhttp_request_param(&fixture.request, ""));
    }
    assert_string_equal(uvhttp_request_path(&fixture.request),
                        "/users/J\xC3\xB6rg X/files/a%2Fb/c");
    uvh_router_free(router);
    destroy();
}

/* An encoded slash does not separate segments, is decoded to a slash, and differs from the text
 * "%2F". */
static void encoded_slash_in_parameter_is_decoded_once(void **state)
{
    (void)state;
    static const struct {
        const char *target, *first, *rest;
    } cases[] = {
        {"/a%2Fb/c%2Fd/e", "a/b", "c/d/e"},   {"/a%2fb/", "a/b", ""},
        {"/%252F/%252f", "%2F", "%2f"},       {"/%25252F/x", "%252F", "x"},
        {"/%25%32F/%2541", "%2F", "%41"},     {"/%2F/%2F/%25", "/", "//%"},
        {"/100%25/%252F%2F", "100%", "%2F/"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make_target("GET", cases[i].target);
        struct uvhttp_router *router = route("/:first/*rest");
        assert_string_equal(uvhttp_request_param(&fixture.request, "first"), cases[i].first);
        assert_string_equal(uvhttp_request_param(&fixture.request, "rest"), cases[i].rest);
        uvh_router_free(router);
        destroy();
    }
}

/* A parameter that needs memory is absent without it; a later call can succeed. */
static void parameter_without_memory_is_absent(void **state)
{
    (void)state;
    make_target("GET", "/a%2Fb/c");
    struct uvhttp_router *router = route("/:first/*rest");
    fault_heap_arm(&heap, 1, true);
    while (uvh_arena_text(&fixture.arena, 1) != NULL)
        continue;
    assert_null(uvhttp_request_param(&fixture.request, "first"));
    assert_string_equal(uvhttp_request_param(&fixture.request, "rest"), "c");
    fault_heap_arm(&heap, 0, false);
    assert_string_equal(uvhttp_request_param(&fixture.request, "first"), "a/b");
    uvh_router_free(router);
    destroy();
}

static void parameters_keep_plain_path_unchanged(void **state)
{
    (void)state;
    make_target("GET", "/a/b/c");
    struct uvhttp_router *router = route("/:x/:y/*z");
    /* "*" finds a wildcard of any name */
    assert_string_equal(uvhttp_request_param(&fixture.request, "*"), "c");
    assert_string_equal(uvhttp_request_param(&fixture.request, "x"), "a");
    assert_string_equal(uvhttp_request_param(&fixture.request, "y"), "b");
    assert_string_equal(uvhttp_request_param(&fixture.request, "z"), "c");
    assert_string_equal(uvhttp_request_path(&fixture.request), "/a/b/c");
    uvh_router_free(router);
    destroy();
    make_target("GET", "/a/");
    router = route("/a/*z");
    assert_string_equal(uvhttp_request_param(&fixture.request, "z"), "");
    uvh_router_free(router);
    destroy();
}

static void request_without_route_has_no_parameters(void **state)
{
    (void)state;
    make_target("GET", "/a");
    assert_null(uvhttp_request_param(&fixture.request, "a"));
    assert_null(uvhttp_request_param(&fixture.request, "*"));
    destroy();
}

static void trailers_and_body_are_returned(void **state)
{
    (void)state;
    static const uvhttp_head_limits_t limits = {16384, 8192, 32};
    char section[] = "X-Sum: 12 \r\nX-Empty:\r\n\r\n";
    uvhttp_head_t trailers;
    make_target("POST", "/");
    assert_null(uvhttp_request_trailer(&fixture.request, "x-sum"));
    assert_int_equal(uvhttp_request_body(&fixture.request).length, 0);
    uvhttp_head_init(&trailers, NULL, 0);
    assert_int_equal(uvhttp_trailers_parse(&trailers, section, strlen(section), &limits),
                     UVHTTP_PARSE_DONE);
    fixture.request.trailers = &trailers;
    fixture.request.trailer_bytes = section;
    fixture.request.body = (uvhttp_slice_t){"body", 4};
    assert_string_equal(uvhttp_request_trailer(&fixture.request, "x-sum"), "12");
    assert_string_equal(uvhttp_request_trailer(&fixture.request, "X-EMPTY"), "");
    assert_null(uvhttp_request_trailer(&fixture.request, "host"));
    uvhttp_slice_t name, value;
    assert_int_equal(uvhttp_request_trailer_count(&fixture.request), 2);
    uvhttp_request_trailer_at(&fixture.request, 0, &name, &value);
    assert_string_equal(name.base, "X-Sum");
    assert_string_equal(value.base, "12");
    uvhttp_request_trailer_at(&fixture.request, 2, &name, &value);
    assert_null(name.base);
    assert_null(uvhttp_request_header(&fixture.request, "x-sum"));
    assert_slice(uvhttp_request_body(&fixture.request), "body");
    destroy();
}

static void user_data_and_allocations_belong_to_request(void **state)
{
    (void)state;
    make_target("GET", "/");
    assert_null(uvhttp_request_user_data(&fixture.request));
    uvhttp_request_set_user_data(&fixture.request, &fixture);
    assert_ptr_equal(uvhttp_request_user_data(&fixture.request), &fixture);
    char *small = uvhttp_request_allocate(&fixture.request, 3);
    char *large = uvhttp_request_allocate(&fixture.request, 100000);
    assert_non_null(small);
    assert_non_null(large);
    assert_int_equal((uintptr_t)small % 16, 0);
    assert_int_equal((uintptr_t)large % 16, 0);
    memset(small, 1, 3);
    memset(large, 2, 100000);
    assert_non_null(uvhttp_request_allocate(&fixture.request, 0));
    destroy();
}

static char released[8];

static void release(void *data)
{
    strncat(released, data, sizeof(released) - strlen(released) - 1);
}

static void attachments_are_found_and_released_once(void **state)
{
    (void)state;
    static const char a, b, c;
    static char one[] = "1", two[] = "2", three[] = "3", four[] = "4";
    released[0] = '\0';
    make_target("GET", "/");
    assert_null(uvhttp_request_attached(&fixture.request, &a));
    assert_int_equal(uvhttp_request_attach(&fixture.request, &a, one, release), 0);
    assert_int_equal(uvhttp_request_attach(&fixture.request, &b, two, release), 0);
    assert_int_equal(uvhttp_request_attach(&fixture.request, &c, three, NULL), 0);
    assert_ptr_equal(uvhttp_request_attached(&fixture.request, &a), one);
    assert_ptr_equal(uvhttp_request_attached(&fixture.request, &c), three);
    assert_string_equal(released, "");
    /* replaces the first */
    assert_int_equal(uvhttp_request_attach(&fixture.request, &a, four, release), 0);
    assert_string_equal(released, "1");
    assert_ptr_equal(uvhttp_request_attached(&fixture.request, &a), four);
    uvh_request_release(&fixture.request); /* the newest key first */
    assert_string_equal(released, "124");
    uvh_request_release(&fixture.request);
    assert_string_equal(released, "124");
    destroy();
}

static void failed_attach_releases_data(void **state)
{
    (void)state;
    static const char keys[500];
    static char mark[] = "x";
    make_target("GET", "/");
    fault_heap_arm(&heap, 1, true);
    size_t i = 0;
    /* uses up the arena */
    while (uvhttp_request_attach(&fixture.request, &keys[i], mark, NULL) == 0)
        i++;
    released[0] = '\0';
    assert_int_equal(uvhttp_request_attach(&fixture.request, &keys[i], mark, release),
                     UVHTTP_ENOMEM);
    assert_string_equal(released, "x");
    assert_null(uvhttp_request_attached(&fixture.request, &keys[i]));
    destroy();
}

static void form_fields_and_cookies_are_found(void **state)
{
    (void)state;
    make("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded ; "
         "charset=x\r\n"
         "Content-Length: 9\r\nCookie: a=1; b=2\r\n\r\n");
    fixture.request.body = (uvhttp_slice_t){"x=%41+b&y", 9};
    assert_string_equal(uvhttp_request_form(&fixture.request, "x"), "A b");
    assert_string_equal(uvhttp_request_form(&fixture.request, "y"), "");
    assert_null(uvhttp_request_form(&fixture.request, "z"));
    assert_string_equal(uvhttp_request_cookie(&fixture.request, "b"), "2");
    assert_null(uvhttp_request_cookie(&fixture.request, "c"));
    destroy();
    make("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\n");
    fixture.request.body = (uvhttp_slice_t){"x=1", 3};
    assert_null(uvhttp_request_form(&fixture.request, "x"));
    assert_null(uvhttp_request_cookie(&fixture.request, "x"));
    destroy();
}

static void out_of_memory_differs_from_invalid_path(void **state)
{
    (void)state;
    make_target("GET", "/a?b=c");
    /* Used up, so that any allocation needs a block. */
    while (fixture.arena.next < fixture.arena.end)
        assert_non_null(uvh_arena_text(&fixture.arena, 1));
    fault_heap_arm(&heap, 1, true);
    bool out_of_memory = false;
    assert_int_equal(
        uvh_request_init(&fixture.request, &fixture.arena, &fixture.head, &out_of_memory),
        UVHTTP_REASON_NONE);
    assert_true(out_of_memory);
    assert_null(uvhttp_request_query(&fixture.request, "b"));
    assert_null(uvhttp_request_allocate(&fixture.request, 1));
    fault_heap_arm(&heap, 0, false);
    assert_string_equal(uvhttp_request_query(&fixture.request, "b"), "c");
    destroy();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_line_parts_are_returned),
        cmocka_unit_test(paths_are_decoded_and_normalized),
        cmocka_unit_test(invalid_paths_are_refused),
        cmocka_unit_test(query_is_split_before_decoding),
        cmocka_unit_test(header_lookup_ignores_case),
        cmocka_unit_test(header_at_returns_terminated_fields_in_order),
        cmocka_unit_test(route_parameters_are_decoded),
        cmocka_unit_test(encoded_slash_in_parameter_is_decoded_once),
        cmocka_unit_test(parameter_without_memory_is_absent),
        cmocka_unit_test(parameters_keep_plain_path_unchanged),
        cmocka_unit_test(request_without_route_has_no_parameters),
        cmocka_unit_test(trailers_and_body_are_returned),
        cmocka_unit_test(user_data_and_allocations_belong_to_request),
        cmocka_unit_test(attachments_are_found_and_released_once),
        cmocka_unit_test(failed_attach_releases_data),
        cmocka_unit_test(form_fields_and_cookies_are_found),
        cmocka_unit_test(out_of_memory_differs_from_invalid_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
