/* Entity tags of bodies on a server: which responses get one, conditional requests, and that a tag
 * is the documented hash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/body_etag.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "support/stage.h"

/* XXH3 with 128 bits of the empty string and of "hello", printed by `xxhsum -H2` of the xxHash
 * project. */
#define EMPTY_TAG "\"99aa06d3014798d86001c324468d497f\""
#define HELLO_TAG "\"b5e9c1ad071b3e7fc779cfaa5e523818\""

static struct stage stage;
static struct raw_client client;
static struct raw_response reply;
static size_t offset;
static int released;

static void count_release(void *arg)
{
    (void)arg;
    released++;
}

static int pull_nothing(uvhttp_response_t *response, char *buffer, size_t size, size_t *length,
                        void *arg)
{
    (void)response;
    (void)buffer;
    (void)size;
    (void)length;
    (void)arg;
    return UVHTTP_END;
}

static char large[(16 << 20) + 1];

static int respond_by_query(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    const char *how = uvhttp_request_query(request, "how");
    const uvhttp_prepared_t *prepared = arg;
    if (how == NULL)
        return uvhttp_response_send_text(response, 200, "hello");
    if (strcmp(how, "own") == 0)
        uvhttp_response_set_header(response, "etag", "W/\"mine\"");
    else if (strcmp(how, "malformed") == 0)
        uvhttp_response_set_header(response, "ETag", "mine");
    else if (strcmp(how, "dated") == 0) {
        uvhttp_response_set_header(response, "ETag", "\"mine\"");
        uvhttp_response_set_header(response, "Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT");
    } else if (strcmp(how, "prepared") == 0)
        uvhttp_response_use_prepared(response, prepared);
    else if (strcmp(how, "no-store") == 0)
        uvhttp_response_set_header(response, "Cache-Control", "private, No-Store");
    else if (strcmp(how, "no-store-later") == 0) {
        uvhttp_response_set_header(response, "Cache-Control", "private");
        uvhttp_response_add_header(response, "Cache-Control", "max-age=0, no-store");
    } else if (strcmp(how, "fields") == 0) {
        uvhttp_response_set_header(response, "Cache-Control", "max-age=60");
        uvhttp_response_set_header(response, "Vary", "Accept");
        uvhttp_response_set_header(response, "Content-Language", "en");
        uvhttp_response_set_header(response, "X-Other", "kept");
    } else if (strcmp(how, "created") == 0)
        return uvhttp_response_send_text(response, 201, "hello");
    else if (strcmp(how, "again") == 0) {
        uvhttp_response_set_header(response, "X-Other", "kept");
        uvhttp_response_limit_body(response, 5);
        char *type = strdup("text/x-lent");
        assert_int_equal(uvhttp_response_send(response, 200, type, "longer", 6), UVHTTP_ETOOLARGE);
        free(type);
        assert_null(uvhttp_response_header(response, "Content-Type"));
    } else if (strcmp(how, "empty") == 0)
        return uvhttp_response_send(response, 200, NULL, NULL, 0);
    else if (strcmp(how, "large") == 0)
        return uvhttp_response_send_static(response, 200, NULL, large, sizeof(large));
    else if (strcmp(how, "most") == 0)
        return uvhttp_response_send_static(response, 200, NULL, large, sizeof(large) - 1);
    else if (strcmp(how, "pieces") == 0)
        return uvhttp_response_send_pulled(response, 200, NULL, 0, pull_nothing, NULL, NULL);
    else if (strcmp(how, "borrowed") == 0)
        return uvhttp_response_send_borrowed(response, 200, NULL, "hello", 5, count_release, NULL);
    return uvhttp_response_send_text(response, 200, "hello");
}

static uvhttp_prepared_t *prepared;

static int set_up(void **state)
{
    (void)state;
    stage_begin(&stage);
    assert_non_null(stage_new_server(&stage));
    prepared = uvhttp_prepared_new(NULL);
    assert_int_equal(uvhttp_prepared_add(prepared, "X-Before", "a: b"), 0);
    assert_int_equal(uvhttp_prepared_add(prepared, "ETag", "\"prepared\""), 0);
    assert_int_equal(uvhttp_server_use(stage.server, uvhttp_body_etag_handle_request, NULL), 0);
    assert_int_equal(uvhttp_server_route(stage.server, NULL, "/", respond_by_query, prepared), 0);
    stage_listen(&stage);
    raw_client_connect(&client, uvhttp_server_port(stage.server), 0);
    offset = 0;
    released = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    raw_client_close(&client, false);
    stage_end(&stage);
    uvhttp_prepared_free(prepared);
    return 0;
}

static int send_request(const char *method, const char *target, const char *field)
{
    char request[256];
    snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: h\r\n%s\r\n", method, target,
             field);
    raw_client_send_text(&client, request);
    for (int iteration = 0; iteration < STAGE_MAX_ITERATIONS; iteration++) {
        raw_client_step(&client, 1 << 20);
        if (raw_client_response(&client, &offset, strcmp(method, "HEAD") == 0, &reply))
            return reply.status;
        stage_iterate(&stage);
    }
    fail_msg("no response to %s", target);
    return 0;
}

static const char *field(const char *name)
{
    static char value[256];
    return raw_response_field(&reply, name, value, sizeof(value)) ? value : NULL;
}

static void assert_body(const char *body)
{
    assert_int_equal(reply.body_length, strlen(body));
    assert_memory_equal(reply.body, body, reply.body_length);
}

static void failed_send_leaves_no_fields(void **state)
{
    (void)state;
    assert_int_equal(send_request("GET", "/?how=again", ""), 200);
    assert_string_equal(field("ETag"), HELLO_TAG);
    assert_string_equal(field("X-Other"), "kept");
    assert_body("hello");
}

static void etag_is_hash_of_body(void **state)
{
    (void)state;
    assert_int_equal(send_request("GET", "/", ""), 200);
    assert_string_equal(field("ETag"), HELLO_TAG);
    assert_body("hello");
    assert_int_equal(send_request("HEAD", "/", ""), 200);
    assert_string_equal(field("ETag"), HELLO_TAG);
    assert_int_equal(send_request("GET", "/?how=empty", ""), 200);
    assert_string_equal(field("ETag"), EMPTY_TAG);
    assert_int_equal(send_request("GET", "/?how=most", ""), 200);
    assert_non_null(field("ETag"));
}

static void if_none_match_gets_304(void **state)
{
    (void)state;
    static const char *const known[] = {
        "If-None-Match: " HELLO_TAG "\r\n",
        "If-None-Match: W/" HELLO_TAG "\r\n",
        "If-None-Match: \"x\", " HELLO_TAG ", \"y\"\r\n",
        "If-None-Match: *\r\n",
        "If-None-Match: \"x\"\r\nX: 1\r\nif-none-match: \"y\", W/" HELLO_TAG "\r\n",
    };
    static const char *const methods[] = {"GET", "HEAD"};
    for (size_t i = 0; i < UVH_COUNT_OF(known) * 2; i++) {
        assert_int_equal(send_request(methods[i % 2], "/?how=fields", known[i / 2]), 304);
        assert_string_equal(field("ETag"), HELLO_TAG);
        assert_string_equal(field("Cache-Control"), "max-age=60");
        assert_string_equal(field("Vary"), "Accept");
        assert_string_equal(field("X-Other"), "kept");
        assert_non_null(field("Date"));
        assert_null(field("Content-Type"));
        assert_null(field("Content-Language"));
        assert_null(field("Content-Length"));
        assert_body("");
    }
    assert_int_equal(send_request("GET", "/", "If-None-Match: \"x\", " EMPTY_TAG "\r\n"), 200);
    assert_body("hello");
    assert_int_equal(offset, client.received);
}

static void if_match_mismatch_gets_412(void **state)
{
    (void)state;
    assert_int_equal(send_request("GET", "/?how=fields", "If-Match: \"x\"\r\n"), 412);
    assert_null(field("ETag"));
    assert_null(field("Content-Type"));
    assert_string_equal(field("Content-Length"), "0");
    /* strong comparison */
    assert_int_equal(send_request("GET", "/", "If-Match: W/" HELLO_TAG "\r\n"), 412);
    assert_int_equal(send_request("GET", "/", "If-Match: \"x\"\r\nIf-Match: " HELLO_TAG "\r\n"),
                     200);
    assert_int_equal(send_request("GET", "/", "If-Match: " HELLO_TAG "\r\n"), 200);
    assert_int_equal(send_request("GET", "/", "If-Match: *\r\n"), 200);
}

static void other_responses_are_unchanged(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target;
        int status;
    } cases[] = {
        {"GET", "/?how=no-store", 200},
        {"GET", "/?how=no-store-later", 200},
        {"GET", "/?how=created", 201},
        {"GET", "/?how=large", 200},
        {"GET", "/?how=pieces", 200},
        {"HEAD", "/?how=empty", 200},
        {"POST", "/", 200},
        {"GET", "/nowhere", 404},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        assert_int_equal(send_request(cases[i].method, cases[i].target, "If-None-Match: *\r\n"),
                         cases[i].status);
        assert_null(field("ETag"));
    }
}

static void own_tag_is_evaluated(void **state)
{
    (void)state;
    assert_int_equal(send_request("GET", "/?how=own", ""), 200);
    assert_string_equal(field("ETag"), "W/\"mine\"");
    assert_body("hello");
    assert_int_equal(send_request("GET", "/?how=own", "If-None-Match: \"mine\"\r\n"), 304);
    assert_string_equal(field("ETag"), "W/\"mine\"");
    assert_body("");
    assert_int_equal(send_request("GET", "/?how=own", "If-None-Match: \"other\"\r\n"), 200);
    assert_int_equal(send_request("GET", "/?how=own", "If-Match: \"mine\"\r\n"), 412);
    assert_int_equal(send_request("POST", "/?how=own", "If-None-Match: \"mine\"\r\n"), 200);
    assert_int_equal(send_request("GET", "/?how=prepared", "If-None-Match: \"prepared\"\r\n"), 304);
    assert_string_equal(field("ETag"), "\"prepared\"");
    const char *past = "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    assert_int_equal(send_request("GET", "/?how=dated", past), 304);
    assert_non_null(field("ETag"));
    assert_int_equal(send_request("GET", "/?how=malformed", "If-None-Match: *\r\n"), 200);
    assert_string_equal(field("ETag"), "mine");
}

static void borrowed_body_is_released_once(void **state)
{
    (void)state;
    assert_int_equal(send_request("GET", "/?how=borrowed", "If-None-Match: " HELLO_TAG "\r\n"),
                     304);
    assert_int_equal(released, 1);
    assert_int_equal(send_request("GET", "/?how=borrowed", "If-Match: \"x\"\r\n"), 412);
    assert_int_equal(released, 2);
    assert_int_equal(send_request("GET", "/?how=borrowed", ""), 200);
    assert_int_equal(released, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(etag_is_hash_of_body, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_send_leaves_no_fields, set_up, tear_down),
        cmocka_unit_test_setup_teardown(if_none_match_gets_304, set_up, tear_down),
        cmocka_unit_test_setup_teardown(if_match_mismatch_gets_412, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_responses_are_unchanged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(own_tag_is_evaluated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(borrowed_body_is_released_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
