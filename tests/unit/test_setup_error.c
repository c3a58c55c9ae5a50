/* uvhttp_error_t: each constructor and each setup function of a server reports field, value and
 * reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <uv.h>

#include <uvhttp.h>

#include "options/error.h"

static uvhttp_error_t error;

static void expect(int err, int code, const char *field, const char *value, const char *reason)
{
    assert_int_equal(err, code);
    assert_int_equal(error.code, code);
    assert_string_equal(error.field, field);
    assert_string_equal(error.value, value);
    assert_non_null(strstr(error.reason, reason));
    assert_non_null(strstr(error.text, reason));
    memset(&error, 'x', sizeof(error)); /* the next call must set all of it */
}

#define EXPECT_REFUSED(name, field, value, reason, ...)                                       \
    do {                                                                                      \
        uvhttp_##name##_t *created;                                                           \
        const uvhttp_##name##_options_t options = {__VA_ARGS__};                              \
        expect(uvhttp_##name##_new(&created, &options, &error), UVHTTP_ECONFIG, field, value, \
               reason);                                                                       \
        assert_null(created);                                                                 \
    } while (0)

static int allow(uvhttp_request_t *request, uvhttp_response_t *response,
                 const uvhttp_credentials_t *credentials, void *arg)
{
    (void)request, (void)response, (void)credentials, (void)arg;
    return 0;
}

static int respond(uvhttp_request_t *request, uvhttp_response_t *response, void *arg)
{
    (void)request, (void)arg;
    return uvhttp_response_send_text(response, 200, "");
}

static void middleware_error_names_option(void **state)
{
    (void)state;
    uvhttp_address_rule_t rules[] = {{"all", true}, {"10.0.0.1/8", true}};
    uvhttp_auth_user_t users[] = {{"anna", "a"}, {"b:b", "b"}};
    uvhttp_slice_t keys[] = {{"short", 5}};
    EXPECT_REFUSED(address_rules, "rules[1]", "10.0.0.1/8", "allowed are \"all\"", .rules = rules,
                   .rule_count = 2);
    EXPECT_REFUSED(auth, "users[1].name", "b:b", "without colon", .users = users, .user_count = 2);
    EXPECT_REFUSED(auth, "realm", "\x01", "control characters", .realm = "\x01",
                   .check_basic = allow);
    EXPECT_REFUSED(cors, "max_age", "86401", "allowed are 0 to 86400 seconds", .origins = "*",
                   .max_age = 86401);
    EXPECT_REFUSED(rate_limit, "requests", "0", "allowed are 1 to", .requests = 0);
    EXPECT_REFUSED(size_limit, "max_request_body", "0", "must be 1 byte or more",
                   .max_request_body = 0);
    EXPECT_REFUSED(request_ids, "header", "a b", "field name", .header = "a b");
    EXPECT_REFUSED(security_headers, "frame_options", "\x01", "control characters",
                   .frame_options = "\x01");
    EXPECT_REFUSED(cookie_signer, "keys[0].length", "5", "allowed are 32 to", .keys = keys,
                   .key_count = 1);
}

static void static_files_error_names_option(void **state)
{
    (void)state;
    uvhttp_static_rule_t rules[] = {{"*", "X-A", "a"}, {"*", "X-A", ""}};
    EXPECT_REFUSED(static, "rules[1].value", "", "non-empty", .root = ".", .rules = rules,
                   .rule_count = 2);
    EXPECT_REFUSED(static, "try_files", "=200", "allowed are =400 to =599", .root = ".",
                   .try_files = "=200");
    EXPECT_REFUSED(static, "archive", "", "has no effect without listing", .root = ".",
                   .archive = true);
    uvhttp_static_t *files;
    uvhttp_static_options_t options = {.root = "/nowhere/at all"};
    expect(uvhttp_static_new(&files, &options, &error), UV_ENOENT, "root", "/nowhere/at all",
           "no such file or directory");
}

static void access_log_error_names_option(void **state)
{
    (void)state;
    uvhttp_access_log_t *log;
    uvhttp_access_log_options_t options = {.path = "-", .pattern = "{nothing}"};
    expect(uvhttp_access_log_new(&log, &options, &error), UVHTTP_EINVAL, "pattern", "{nothing}",
           "unknown name");
    options = (uvhttp_access_log_options_t){.path = "-", .buffer_size = 1};
    expect(uvhttp_access_log_new(&log, &options, &error), UVHTTP_EINVAL, "buffer_size", "1",
           "allowed are 65536 to");
    options = (uvhttp_access_log_options_t){.path = "/nowhere/log"};
    expect(uvhttp_access_log_new(&log, &options, &error), UV_ENOENT, "path", "/nowhere/log",
           "no such file or directory");
}

static void config_error_names_limit(void **state)
{
    (void)state;
    uvhttp_config_t *config = uvhttp_config_new();
    config->max_connections = 0;
    expect(uvhttp_config_check(config, &error), UVHTTP_ECONFIG, "max_connections", "0",
           "allowed are 1 to ");
    expect(uvhttp_config_set(config, "workers", "x", &error), UVHTTP_ECONFIG, "workers", "x",
           "is not a number");
    expect(uvhttp_config_set(config, "nothing", "1", &error), UVHTTP_EINVAL, "nothing", "",
           "unknown limit");
    uvhttp_config_free(config);
}

static void expect_server(const uvhttp_server_t *server, int err, int code, const char *field,
                          const char *value, const char *reason)
{
    error = *uvhttp_server_error(server);
    expect(err, code, field, value, reason);
}

static void server_error_describes_last_setup_call(void **state)
{
    (void)state;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    assert_int_equal(uvhttp_server_error(server)->code, 0);
    expect_server(server, uvhttp_server_route(server, "GET", "a", respond, NULL), UVHTTP_EROUTE,
                  "pattern", "a", "does not begin with");
    expect_server(server, uvhttp_server_route(server, "get", "/a", respond, NULL), UVHTTP_EINVAL,
                  "method", "get", "upper case");
    expect_server(server, uvhttp_server_route(server, "GET", "/a", NULL, NULL), UVHTTP_EINVAL,
                  "handler", "", "requires one");
    assert_int_equal(uvhttp_server_route(server, "GET", "/a/:id", respond, NULL), 0);
    assert_int_equal(uvhttp_server_error(server)->code, 0);
    assert_string_equal(uvhttp_server_error(server)->text, "");
    int err = uvhttp_server_route(server, "GET", "/a/:name", respond, NULL);
    assert_string_equal(uvhttp_server_error(server)->other, "/a/:id");
    assert_string_equal(uvhttp_server_error(server)->text,
                        "route \"/a/:name\" refused: GET \"/a/:id\" already exists");
    expect_server(server, err, UVHTTP_ECONFLICT, "pattern", "/a/:name", "already exists");
    expect_server(server, uvhttp_server_own(server, NULL, NULL), UVHTTP_EINVAL, "", "",
                  "invalid argument");
    expect_server(server, uvhttp_server_listen(server, "127.0.0.1", 65536), UVHTTP_EINVAL, "port",
                  "65536", "allowed are 0 to 65535");
    expect_server(server, uvhttp_server_listen(server, "no.such.name", 0), UVHTTP_EINVAL, "address",
                  "no.such.name", "localhost");
    expect_server(server, uvhttp_server_listen_fd(server, -1), UV_EBADF, "fd", "-1", "descriptor");
    assert_int_equal(uvhttp_server_listen(server, "127.0.0.1", 0), 0);
    uvhttp_server_t *second = uvhttp_server_new(NULL);
    char value[32];
    snprintf(value, sizeof(value), "127.0.0.1:%d", uvhttp_server_port(server));
    expect_server(second, uvhttp_server_listen(second, "127.0.0.1", uvhttp_server_port(server)),
                  UV_EADDRINUSE, "address", value, "address already in use");
    expect_server(server, uvhttp_server_route(server, "GET", "/b", respond, NULL), UVHTTP_EFROZEN,
                  "", "", "before the server listens");
    uvhttp_server_free(second);
    uvhttp_server_free(server);
}

static void mount_reports_options_and_routes(void **state)
{
    (void)state;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    const uvhttp_static_options_t missing = {.root = "/nowhere"}, here = {.root = "."};
    expect(uvhttp_static_mount(server, "/", &missing, &error), UV_ENOENT, "root", "/nowhere",
           "no such file or directory");
    expect(uvhttp_static_mount(server, "files", &here, &error), UVHTTP_EINVAL, "prefix", "files",
           "does not begin and end with");
    assert_int_equal(uvhttp_static_mount(server, "/a/", &here, &error), 0);
    assert_int_equal(error.code, 0);
    expect(uvhttp_static_mount(server, "/a/", &here, &error), UVHTTP_ECONFLICT, "pattern", "/a/*",
           "already exists");
    uvhttp_server_free(server);
}

static void long_values_are_truncated(void **state)
{
    (void)state;
    char value[2000];
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    assert_int_equal(uvh_error_string(&error, value, value, value), UVHTTP_ECONFIG);
    assert_int_equal(strlen(error.field), sizeof(error.field) - 1);
    assert_int_equal(strlen(error.value), sizeof(error.value) - 1);
    assert_int_equal(strlen(error.reason), sizeof(error.reason) - 1);
    assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
    uvh_error_within(&error, "list", 3);
    assert_memory_equal(error.field, "list[3].v", 9);
    assert_int_equal(uvh_error_end(&error, 0), 0);
    assert_string_equal(error.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(middleware_error_names_option),
        cmocka_unit_test(static_files_error_names_option),
        cmocka_unit_test(access_log_error_names_option),
        cmocka_unit_test(config_error_names_limit),
        cmocka_unit_test(server_error_describes_last_setup_call),
        cmocka_unit_test(mount_reports_options_and_routes),
        cmocka_unit_test(long_values_are_truncated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
