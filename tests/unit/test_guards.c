/* The options of CORS, authentication, request ids and security headers: refused values with their
 * error texts, and failed allocations. tests/wire/test_guards.py and tests/faults/test_guards.c
 * test them with requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/auth.h>
#include <uvhttp/cors.h>
#include <uvhttp/error.h>
#include <uvhttp/rate_limit.h>
#include <uvhttp/request_id.h>
#include <uvhttp/security_headers.h>
#include <uvhttp/signed_cookie.h>
#include <uvhttp/size_limit.h>

#include "base/compiler.h"
#include "support/fault_heap.h"

static struct fault_heap heap;
static uvhttp_error_t error;

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

/* `error` begins with this text. */
static void assert_error(int err, const char *beginning)
{
    assert_int_equal(err, UVHTTP_ECONFIG);
    if (strncmp(error.text, beginning, strlen(beginning)) != 0)
        fail_msg("error: %s\nexpected: %s", error.text, beginning);
    assert_int_equal(atomic_load(&heap.live), 0);
}

static bool allow_none(uvhttp_request_t *request, const char *origin, void *arg)
{
    (void)request;
    (void)origin;
    (void)arg;
    return false;
}

/* ---- CORS ---- */

static int new_cors(uvhttp_cors_options_t config)
{
    uvhttp_cors_t *cors;
    config.allocator = &heap.allocator;
    int err = uvhttp_cors_new(&cors, &config, &error);
    assert_int_equal(cors == NULL, err != 0);
    uvhttp_cors_free(cors);
    return err;
}

static void invalid_origins_are_refused(void **state)
{
    (void)state;
    static const char *const invalid[] = {
        "https://example.com/",
        "https://Example.com",
        "HTTPS://example.com",
        "https://example.com:443",
        "http://example.com:80",
        "http://example.com:",
        "http://example.com:080",
        "http://example.com:99999",
        "example.com",
        "//example.com",
        "https://",
        "https:/example.com",
        "https://*",
        "https://*.",
        "https://*example.com",
        "https://a.*.example.com",
        "https://*.*.com",
        "*.example.com",
        "https://user@example.com",
        "https://example.com/path",
        "https://example.com?",
        "https://*.example.com:443",
        "Null",
        "**",
        "https://*.example.com/",
    };
    static const char *const valid[] = {
        "https://example.com",
        "http://localhost:3000",
        "http://[::1]:8080",
        "https://*.example.com",
        "https://*.a.b:8443",
        "null",
        "capacitor://localhost",
        "http://192.0.2.1",
        "http://example.com:443",
        "a://b, null  https://*.c.d,",
        "*",
        "",
    };
    for (size_t i = 0; i < UVH_COUNT_OF(invalid); i++) {
        char expected[128];
        snprintf(expected, sizeof(expected), "origins is \"%s\"; allowed are ", invalid[i]);
        assert_error(new_cors((uvhttp_cors_options_t){.origins = invalid[i]}), expected);
    }
    for (size_t i = 0; i < UVH_COUNT_OF(valid); i++) {
        if (new_cors((uvhttp_cors_options_t){.origins = valid[i]}) != 0)
            fail_msg("%s: %s", valid[i], error.text);
    }
}

static void cors_options_rejected_by_browsers_are_refused(void **state)
{
    (void)state;
    assert_error(new_cors((uvhttp_cors_options_t){.origins = "*", .credentials = true}),
                 "origins is \"*\"; browsers reject \"*\" with credentials");
    assert_error(new_cors((uvhttp_cors_options_t){.origins = "* https://a.b"}),
                 "origins is \"* https://a.b\"; \"*\" cannot be combined");
    assert_error(new_cors((uvhttp_cors_options_t){.origins = "*", .allow = allow_none}),
                 "origins is \"*\"; \"*\" cannot be combined");
    assert_error(new_cors((uvhttp_cors_options_t){.credentials = true}),
                 "origins is \"\"; no origin is allowed");
    assert_error(
        new_cors((uvhttp_cors_options_t){.allow = allow_none, .credentials = true, .exposed = "*"}),
        "exposed is \"*\"; browsers treat");
    assert_error(new_cors((uvhttp_cors_options_t){.allow = allow_none, .headers = "A, b c\r\nd"}),
                 "headers is ");
    assert_error(new_cors((uvhttp_cors_options_t){.allow = allow_none, .headers = "*, A"}),
                 "headers is \"*, A\"; \"*\" cannot be combined");
    assert_error(new_cors((uvhttp_cors_options_t){.allow = allow_none, .methods = "GET;POST"}),
                 "methods is \"GET;POST\"; allowed");
    assert_error(new_cors((uvhttp_cors_options_t){.allow = allow_none, .max_age = 86401}),
                 "max_age is 86401; allowed are 0 to 86400 seconds");
    assert_int_equal(new_cors((uvhttp_cors_options_t){
                         .allow = allow_none, .max_age = 86400, .credentials = true}),
                     0);
    static char long_list[6000];
    for (size_t i = 0; i + 2 < sizeof(long_list); i += 2)
        memcpy(long_list + i, "a,", 3);
    assert_error(new_cors((uvhttp_cors_options_t){.allow = allow_none, .exposed = long_list}),
                 "exposed is \"a,a,");
    uvhttp_cors_t *cors;
    assert_int_equal(uvhttp_cors_new(&cors, NULL, NULL), UVHTTP_EINVAL);
}

/* ---- authentication ---- */

static int check(uvhttp_request_t *request, uvhttp_response_t *response,
                 const uvhttp_credentials_t *credentials, void *arg)
{
    (void)request;
    (void)response;
    (void)credentials;
    (void)arg;
    return UVHTTP_AUTH_REFUSE;
}

static int new_auth(uvhttp_auth_options_t config)
{
    uvhttp_auth_t *auth;
    config.allocator = &heap.allocator;
    int err = uvhttp_auth_new(&auth, &config, &error);
    assert_int_equal(auth == NULL, err != 0);
    uvhttp_auth_free(auth);
    return err;
}

static int new_auth_for(const char *name, const char *password)
{
    uvhttp_auth_user_t users[] = {{"ada", "lovelace"}, {name, password}};
    return new_auth((uvhttp_auth_options_t){.users = users, .user_count = 2});
}

static void invalid_users_are_refused(void **state)
{
    (void)state;
    assert_error(new_auth_for("a:b", "x"), "users[1].name is \"(not shown)\"; ");
    assert_error(new_auth_for("a\nb", "x"), "users[1].name is ");
    assert_error(new_auth_for(NULL, "x"), "users[1].name is \"\"; ");
    assert_error(new_auth_for("b", ""), "users[1].password is \"(not shown)\"; ");
    assert_error(new_auth_for("b", NULL), "users[1].password is \"(not shown)\"; ");
    assert_error(new_auth_for("b", "top\x7fsecret"), "users[1].password is \"(not shown)\"; ");
    assert_null(strstr(error.text, "secret")); /* error texts are logged */
    assert_int_equal(new_auth_for("", "x:y"), 0);
}

static void auth_options_are_checked(void **state)
{
    (void)state;
    char realm[258];
    memset(realm, '"', sizeof(realm)); /* two bytes each in a quoted string */
    realm[257] = '\0';
    assert_error(new_auth((uvhttp_auth_options_t){.check_basic = check, .realm = realm}),
                 "realm is \"");
    realm[256] = '\0';
    assert_int_equal(new_auth((uvhttp_auth_options_t){
                         .check_basic = check, .check_bearer = check, .realm = realm}),
                     0);
    assert_error(new_auth((uvhttp_auth_options_t){.check_basic = check, .realm = "a\nb"}),
                 "realm is \"");
    assert_error(new_auth((uvhttp_auth_options_t){.check_bearer = check, .scope = "a\"b"}),
                 "scope is \"a\"b\"");
    assert_error(new_auth((uvhttp_auth_options_t){.check_bearer = check, .scope = "\xc3\xa4"}),
                 "scope is \"");
    assert_error(new_auth((uvhttp_auth_options_t){.realm = "r"}),
                 "no request can pass: set users, check_basic, token or check_bearer");
    static char scope[1100];
    memset(scope, 's', 1025);
    assert_error(new_auth((uvhttp_auth_options_t){.check_bearer = check, .scope = scope}),
                 "scope is \"");
    scope[1024] = '\0';
    assert_int_equal(
        new_auth((uvhttp_auth_options_t){.check_bearer = check, .scope = scope, .realm = realm}),
        0);
    uvhttp_auth_t *auth;
    assert_int_equal(uvhttp_auth_new(&auth, NULL, NULL), UVHTTP_EINVAL);
}

static void users_without_count_are_refused(void **state)
{
    (void)state;
    uvhttp_auth_t *auth;
    const uvhttp_auth_user_t user = {"ann", "secret"};
    const uvhttp_auth_options_t no_count = {.users = &user, .check_basic = check};
    assert_int_equal(uvhttp_auth_new(&auth, &no_count, &error), UVHTTP_EINVAL);
    assert_null(auth);
    assert_string_equal(error.text, "users is set and its count is 0");
    const uvhttp_auth_options_t no_users = {.user_count = 1, .check_basic = check};
    assert_int_equal(uvhttp_auth_new(&auth, &no_users, &error), UVHTTP_EINVAL);
    assert_string_equal(error.text, "users is NULL and its count is 1");
    assert_int_equal(uvhttp_auth_new(&auth, &no_users, NULL), UVHTTP_EINVAL);
    const uvhttp_auth_options_t both = {UVHTTP_AUTH_USERS({"ann", "secret"}, {"bob", "other"})};
    assert_int_equal(both.user_count, 2);
    assert_string_equal(both.users[1].name, "bob");
}

/* ---- request ids and security headers ---- */

static int new_ids(uvhttp_request_ids_options_t config)
{
    uvhttp_request_ids_t *ids;
    config.allocator = &heap.allocator;
    int err = uvhttp_request_ids_new(&ids, &config, &error);
    assert_int_equal(ids == NULL, err != 0);
    uvhttp_request_ids_free(ids);
    return err;
}

static int new_headers(uvhttp_security_headers_options_t config)
{
    uvhttp_security_headers_t *headers;
    config.allocator = &heap.allocator;
    int err = uvhttp_security_headers_new(&headers, &config, &error);
    assert_int_equal(headers == NULL, err != 0);
    uvhttp_security_headers_free(headers);
    return err;
}

static void request_id_and_header_options_are_checked(void **state)
{
    (void)state;
    assert_error(new_ids((uvhttp_request_ids_options_t){.header = "X Id"}), "header is \"X Id\"; ");
    assert_error(new_ids((uvhttp_request_ids_options_t){.header = ""}), "header is \"\"; ");
    assert_error(
        new_ids((uvhttp_request_ids_options_t){
            .header = "X234567890123456789012345678901234567890123456789012345678901234-"}),
        "header is \"X2345");
    assert_int_equal(
        new_ids((uvhttp_request_ids_options_t){
            .header = "X234567890123456789012345678901234567890123456789012345678901234"}),
        0);
    assert_error(new_ids((uvhttp_request_ids_options_t){.max_length = 257}),
                 "max_length is 257; allowed are 1 to 256 bytes");
    assert_int_equal(new_ids((uvhttp_request_ids_options_t){.max_length = 256}), 0);
    assert_error(new_headers((uvhttp_security_headers_options_t){.referrer_policy = "a\r\nb"}),
                 "referrer_policy is ");
    assert_error(
        new_headers((uvhttp_security_headers_options_t){.strict_transport_security = "a\n"}),
        "strict_transport_security is ");
    assert_int_equal(new_headers((uvhttp_security_headers_options_t){.permissions_policy = ""}), 0);
}

/* ---- memory ---- */

static int new_each(int which)
{
    static const uvhttp_auth_user_t users[] = {{"ada", "lovelace"}, {"bob", "builder"}};
    switch (which) {
    case 0:
        return new_cors((uvhttp_cors_options_t){.origins = "https://a.b https://*.c.d",
                                                .headers = "A",
                                                .exposed = "B",
                                                .allow = allow_none});
    case 1:
        return new_auth(
            (uvhttp_auth_options_t){.users = users, .user_count = 2, .check_bearer = check});
    case 2:
        return new_ids((uvhttp_request_ids_options_t){0});
    default:
        return new_headers((uvhttp_security_headers_options_t){.permissions_policy = "a=()",
                                                               .frame_options = "DENY"});
    }
}

static void new_fails_without_memory(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        size_t n = 0;
        for (int err = UVHTTP_ENOMEM; err != 0;) {
            fault_heap_arm(&heap, ++n, false);
            err = new_each(which);
            assert_true(err == 0 || err == UVHTTP_ENOMEM);
            assert_int_equal(atomic_load(&heap.live), 0);
        }
        assert_true(n > 1);
        fault_heap_arm(&heap, 0, false);
    }
}

static void default_options_and_allocator_work(void **state)
{
    (void)state;
    uvhttp_request_ids_t *ids;
    uvhttp_security_headers_t *headers;
    assert_int_equal(uvhttp_request_ids_new(&ids, NULL, NULL), 0);
    assert_int_equal(uvhttp_security_headers_new(&headers, NULL, NULL), 0);
    uvhttp_request_ids_free(ids);
    uvhttp_security_headers_free(headers);
    uvhttp_request_ids_free(NULL);
    uvhttp_security_headers_free(NULL);
    uvhttp_cors_free(NULL);
    uvhttp_auth_free(NULL);
    /* A middleware that was not created rejects all requests. */
    assert_int_equal(uvhttp_cors_handle_request(NULL, NULL, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_auth_handle_request(NULL, NULL, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_request_ids_handle_request(NULL, NULL, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_security_headers_handle_request(NULL, NULL, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_rate_limit_handle_request(NULL, NULL, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_size_limit_handle_request(NULL, NULL, NULL), UVHTTP_EINVAL);
}

static void null_options_are_refused(void **state)
{
    (void)state;
    uvhttp_rate_limit_t *rate;
    uvhttp_size_limit_t *size;
    uvhttp_cookie_signer_t *signer;
    const uvhttp_cookie_signer_options_t keys = {.key_count = 1};
    char text[256];
    size_t length;
    assert_int_equal(uvhttp_rate_limit_new(&rate, NULL, NULL), UVHTTP_EINVAL);
    assert_null(rate);
    assert_int_equal(uvhttp_size_limit_new(&size, NULL, NULL), UVHTTP_EINVAL);
    assert_null(size);
    assert_int_equal(uvhttp_cookie_signer_new(&signer, NULL, NULL), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_cookie_signer_new(&signer, &keys, NULL), UVHTTP_EINVAL);
    assert_null(signer);
    assert_int_equal(uvhttp_cookie_sign(signer, "name", (uvhttp_slice_t){"v", 1}, 0, text,
                                        sizeof(text), &length),
                     UVHTTP_EINVAL);
    assert_int_equal(uvhttp_cookie_verify(signer, "name", (uvhttp_slice_t){"v", 1}, 0, text,
                                          sizeof(text), &length),
                     UVHTTP_EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(invalid_origins_are_refused),
        TEST(cors_options_rejected_by_browsers_are_refused),
        TEST(invalid_users_are_refused),
        TEST(auth_options_are_checked),
        TEST(users_without_count_are_refused),
        TEST(request_id_and_header_options_are_checked),
        TEST(new_fails_without_memory),
        TEST(null_options_are_refused),
        TEST(default_options_and_allocator_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
