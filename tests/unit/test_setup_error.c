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
#include "support/fault_heap.h"
#include "support/tls_certificate.h"

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

#define EXPECT_REFUSED_AS(code, name, field, value, reason, ...)                             \
    do {                                                                                     \
        uvhttp_##name##_t *created;                                                          \
        const uvhttp_##name##_options_t options = {__VA_ARGS__};                             \
        expect(uvhttp_##name##_new(&created, &options, &error), code, field, value, reason); \
        assert_null(created);                                                                \
    } while (0)
#define EXPECT_REFUSED(name, field, value, reason, ...) \
    EXPECT_REFUSED_AS(UVHTTP_ECONFIG, name, field, value, reason, __VA_ARGS__)

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
    EXPECT_REFUSED(auth, "users[1].name", "", "without colon", .users = users, .user_count = 2);
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
    rules[1].prefix = NULL;
    EXPECT_REFUSED_AS(UVHTTP_EINVAL, address_rules, "rules[1].prefix", "", "is NULL",
                      .rules = rules, .rule_count = 2);
#if UVHTTP_TESTS_COMPRESSION
    EXPECT_REFUSED(compress, "codings", "515", "sum of values", .codings = 515);
#endif
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
           "{nothing} is an unknown name; write a brace as {{");
    static const char *const refused[][2] = {
        {"{client} {remote_addr} {x}", "{remote_addr} is an unknown name"},
        {"%h %l", "it has no value, such as {client}"},
        {"", "it has no value"},
        {"{{x", "it has no value"},
        {"{client} {status", "a brace is not closed; write a brace as {{"},
        {"{client}\n", "it has a control character"},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        options = (uvhttp_access_log_options_t){.path = "-", .pattern = refused[i][0]};
        expect(uvhttp_access_log_new(&log, &options, &error), UVHTTP_EINVAL, "pattern",
               refused[i][0], refused[i][1]);
    }
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
    expect(uvhttp_config_set(NULL, "workers", "1", &error), UVHTTP_EINVAL, "", "",
           "invalid argument");
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
    expect_server(server, uvhttp_server_use(server, NULL, NULL), UVHTTP_EINVAL, "middleware", "",
                  "function");
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
    expect_server(second, uvhttp_server_run(second), UVHTTP_EINVAL, "", "", "neither listens");
    expect_server(second, uvhttp_server_listen(second, "127.0.0.1", uvhttp_server_port(server)),
                  UV_EADDRINUSE, "address", value, "address already in use");
    expect_server(server, uvhttp_server_route(server, "GET", "/b", respond, NULL), UVHTTP_EFROZEN,
                  "", "", "routes must be added before the server listens");
    expect_server(server, uvhttp_server_use(server, respond, NULL), UVHTTP_EFROZEN, "", "",
                  "middleware must be added before the server listens");
    expect_server(server, uvhttp_server_trust_proxies(server, NULL, 0, UVHTTP_FORWARDING_X),
                  UVHTTP_EFROZEN, "", "", "trusted proxies must be set before the server listens");
    assert_string_equal(uvhttp_strerror(UVHTTP_EFROZEN),
                        "this must be set up before the server listens");
    assert_int_equal(uvhttp_server_run(second), UVHTTP_EINVAL);
    assert_int_equal(uvhttp_server_error(second)->code, UV_EADDRINUSE); /* why it cannot run */
    assert_int_equal(uvhttp_server_stop_on_signals(second), 0);
    assert_int_equal(uvhttp_server_error(second)->code, 0);
    uvhttp_server_stop(server);
    assert_int_equal(uvhttp_server_run(server), 0);
    expect_server(server, uvhttp_server_stop_on_signals(server), UVHTTP_ESTOPPED, "", "", "stop");
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
    const uvhttp_static_options_t one_file = {.root = ".", .file = "icon"};
    expect(uvhttp_static_mount(server, "icon", &one_file, &error), UVHTTP_EINVAL, "prefix", "icon",
           "does not begin with \"/\"");
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

/* "a", then characters of three bytes. */
static void fill(char *text, size_t size)
{
    for (size_t i = 0; i < size - 1; i++)
        text[i] = i == 0 ? 'a' : "\xe2\x82\xac"[(i - 1) % 3];
    text[size - 1] = '\0';
}

static void assert_whole(const char *text, size_t size)
{
    size_t length = strlen(text);
    assert_in_range(length, size - 4, size - 1);
    assert_memory_equal(text + length - 3, "\xe2\x82\xac", 3);
}

static void cut_strings_end_with_a_character(void **state)
{
    (void)state;
    static char value[4000];
    fill(value, sizeof(value));
    uvh_error_clear(&error);
    (void)uvh_error_string(&error, value, value, value);
    assert_whole(error.field, sizeof(error.field));
    assert_whole(error.value, sizeof(error.value));
    assert_whole(error.reason, sizeof(error.reason));
    assert_whole(error.text, sizeof(error.text));
    uvh_error_append(&error, value);
    assert_true(strlen(error.text) < sizeof(error.text));
    (void)uvh_error_sentence(&error, "f", value, "%s", value);
    uvh_error_set_other(&error, value);
    assert_whole(error.value, sizeof(error.value));
    assert_whole(error.other, sizeof(error.other));
    assert_whole(error.reason, sizeof(error.reason));
    (void)uvh_error_sentence(&error, "f", "caf\xe9", "caf\xe9"); /* not cut: unchanged */
    assert_string_equal(error.value, "caf\xe9");
    uvhttp_config_t *config = uvhttp_config_new();
    fill(value, 100);
    assert_int_equal(uvhttp_config_set(config, "workers", value, &error), UVHTTP_ECONFIG);
    assert_non_null(strstr(error.text, "\xe2\x82\xac' is not a number"));
    uvhttp_config_free(config);
}

static void text_is_one_line(void **state)
{
    (void)state;
    uvhttp_static_t *files;
    const uvhttp_static_options_t options = {.root = "/nowhere\n\x1b[2J"};
    assert_int_equal(uvhttp_static_new(&files, &options, &error), UV_ENOENT);
    assert_string_equal(error.value, options.root);
    assert_string_equal(error.text, "root is \"/nowhere??[2J\"; no such file or directory");
}

/* No string contains "SECRET". */
static void assert_hidden(int err, const char *field)
{
    assert_int_equal(err, UVHTTP_ECONFIG);
    assert_string_equal(error.field, field);
    assert_string_equal(error.value, "");
    assert_null(strstr(error.reason, "SECRET"));
    assert_null(strstr(error.text, "SECRET"));
}

static void secrets_are_not_shown(void **state)
{
    (void)state;
    uvhttp_auth_t *auth;
    const uvhttp_auth_user_t users[] = {{"anna", "SECRET\x01"}, {"anna:SECRET", "x"}};
    uvhttp_auth_options_t options = {.users = &users[0], .user_count = 1};
    assert_hidden(uvhttp_auth_new(&auth, &options, &error), "users[0].password");
    options.users = &users[1];
    assert_hidden(uvhttp_auth_new(&auth, &options, &error), "users[0].name");
    uvhttp_static_t *files;
    const uvhttp_static_rule_t rule = {"*", "X-Token", "SECRET\x01"};
    assert_hidden(
        uvhttp_static_new(&files,
                          &(uvhttp_static_options_t){.root = ".", .rules = &rule, .rule_count = 1},
                          &error),
        "rules[0].value");
#if UVHTTP_TESTS_HTTPS
    static const char key[] = "-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----\n";
    uvhttp_tls_t *tls;
    uvhttp_tls_certificate_t one = {.certificate = TLS_CERTIFICATE, .key_file = key};
    const uvhttp_tls_options_t asked = {.certificates = &one, .certificate_count = 1};
    assert_hidden(uvhttp_tls_new(&tls, &asked, &error), "certificates[0].key_file");
    one.key = key;
    assert_hidden(uvhttp_tls_new(&tls, &asked, &error), "certificates[0].key_file");
    one = (uvhttp_tls_certificate_t){.certificate = TLS_CERTIFICATE, .key = key};
    assert_hidden(uvhttp_tls_new(&tls, &asked, &error), "certificates[0].key");
    one = (uvhttp_tls_certificate_t){.certificate = "SECRET", .key = TLS_KEY};
    assert_hidden(uvhttp_tls_new(&tls, &asked, &error), "certificates[0].certificate");
    uvhttp_tls_client_t *client;
    assert_hidden(
        uvhttp_tls_client_new(&client, &(uvhttp_tls_client_options_t){.key_file = key}, &error),
        "key_file");
    const char *const no_path[] = {NULL};
    one = (uvhttp_tls_certificate_t){.certificate = TLS_CERTIFICATE, .key = TLS_KEY};
    uvhttp_tls_options_t tickets = asked;
    tickets.ticket_key_files = no_path;
    tickets.ticket_key_file_count = 1;
    assert_hidden(uvhttp_tls_new(&tls, &tickets, &error), "ticket_key_files");
#endif
}

static void passwords_name_user_or_file(void **state)
{
    (void)state;
    uvhttp_passwords_t *passwords;
    const uvhttp_hashed_user_t users[] = {{"bob", "SECRET"}, {"bob:SECRET", "x"}};
    uvhttp_passwords_options_t options = {.users = &users[0], .user_count = 1};
    int err = uvhttp_passwords_new(&passwords, &options, &error);
    if (err == UVHTTP_ENOTSUP)
        skip();
    expect(err, UVHTTP_ECONFIG, "users[0]", "bob", "unsupported hash");
    options.users = &users[1];
    assert_hidden(uvhttp_passwords_new(&passwords, &options, &error), "users[0]");
    options = (uvhttp_passwords_options_t){.file = "/etc/passwd"}; /* NAME:x:... */
    expect(uvhttp_passwords_new(&passwords, &options, &error), UVHTTP_ECONFIG, "file",
           "/etc/passwd", "unsupported hash");
}

static void routes_name_the_wrong_member(void **state)
{
    (void)state;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    uvhttp_router_t *router = uvhttp_server_router(server), *group, *host;
    uvhttp_route_t route = {.pattern = "/a", .handler = respond, .body_timeout = 86401};
    expect_server(server, uvhttp_router_add(router, &route), UVHTTP_EINVAL, "body_timeout", "86401",
                  "allowed are 0 to 86400 seconds");
    route.body_timeout = 0;
    route.timeout_status = 200;
    expect_server(server, uvhttp_router_add(router, &route), UVHTTP_EINVAL, "timeout_status", "200",
                  "allowed are 503 and 504");
    route = (uvhttp_route_t){.pattern = "/a", .handler = respond, .middleware_count = 1};
    expect_server(server, uvhttp_router_add(router, &route), UVHTTP_EINVAL, "middleware", "",
                  "middleware is NULL");
    route = (uvhttp_route_t){
        .pattern = "/a", .handler = uvhttp_static_handle_request, .flags = UVHTTP_ROUTE_BLOCKING};
    char flags[16];
    snprintf(flags, sizeof(flags), "%u", route.flags);
    expect_server(server, uvhttp_router_add(router, &route), UVHTTP_EINVAL, "flags", flags,
                  "cannot be UVHTTP_ROUTE_BLOCKING");
    assert_int_equal(uvhttp_router_group(router, "/g", &group), 0);
    expect_server(server, uvhttp_router_host(group, "example.com", &host), UVHTTP_EINVAL, "host",
                  "example.com", "server's own router");
    assert_null(host);
    expect_server(server, uvhttp_router_set_slash(router, (uvhttp_slash_t)3), UVHTTP_EINVAL,
                  "slash", "3", "allowed are 0 to 2");
    uvhttp_server_free(server);
}

static void long_patterns_keep_their_reason(void **state)
{
    (void)state;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    char pattern[2000] = "/";
    memset(pattern + 1, 'p', sizeof(pattern) - 2);
    pattern[sizeof(pattern) - 1] = '\0';
    assert_int_equal(uvhttp_server_route(server, "GET", pattern, respond, NULL), 0);
    assert_int_equal(uvhttp_server_route(server, "GET", pattern, respond, NULL), UVHTTP_ECONFLICT);
    assert_non_null(strstr(uvhttp_server_error(server)->reason, "already exists"));
    assert_non_null(strstr(uvhttp_server_error(server)->text, "already exists"));
    assert_memory_equal(uvhttp_server_error(server)->other, "/pp", 3);
    assert_int_equal(uvhttp_server_route(server, "GET", pattern + 1, respond, NULL), UVHTTP_EROUTE);
    assert_non_null(strstr(uvhttp_server_error(server)->text, "does not begin with"));
    uvhttp_server_free(server);
    uvhttp_static_t *files;
    assert_int_equal(uvhttp_static_new(&files,
                                       &(uvhttp_static_options_t){.root = ".", .fallback = "/../x"},
                                       &error),
                     UVHTTP_ECONFIG);
    memcpy(pattern, "/../", 4);
    assert_int_equal(uvhttp_static_new(&files,
                                       &(uvhttp_static_options_t){.root = ".", .fallback = pattern},
                                       &error),
                     UVHTTP_ECONFIG);
    assert_non_null(strstr(error.text, "contains '.' or '..'"));
}

static void failed_listeners_name_their_address(void **state)
{
    (void)state;
    uvhttp_server_t *server = uvhttp_server_new(NULL);
    char path[300];
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    int err = uvhttp_server_listen_unix(server, path, 0);
    assert_memory_equal(uvhttp_server_error(server)->text, "the path of a socket is limited", 31);
    assert_int_equal(uvhttp_server_error(server)->code, err);
    assert_string_equal(uvhttp_server_error(server)->field, "path");
    expect_server(server, uvhttp_server_listen_unix(server, "/etc/passwd", 0), UV_EEXIST, "path",
                  "/etc/passwd", "not a socket");
    expect_server(server, uvhttp_server_listen_unix(server, "@a", 01000), UVHTTP_EINVAL, "mode",
                  "01000", "0777");
    expect_server(server, uvhttp_server_listen(server, "192.0.2.1", 80), UV_EADDRNOTAVAIL,
                  "address", "192.0.2.1:80", "cannot listen on 192.0.2.1:80: ");
    expect_server(server, uvhttp_server_listen(server, "256.0.0.1", 80), UVHTTP_EINVAL, "address",
                  "256.0.0.1", "allowed are");
    expect_server(server, uvhttp_server_listen(server, "localhost", -1), UVHTTP_EINVAL, "port",
                  "-1", "allowed are 0 to 65535");
    err = uvhttp_server_listen(server, "fe80::1", 0); /* without a zone, or no IPv6 */
    assert_int_equal(uvhttp_server_error(server)->code, err);
    assert_string_equal(uvhttp_server_error(server)->value, "[fe80::1]:0");
    size_t count = 1;
    assert_int_equal(uvhttp_server_listen_inherited(server, &count), 0);
    assert_int_equal(count, 0);
    assert_int_equal(uvhttp_server_error(server)->code, 0);
    assert_string_equal(uvhttp_server_error(server)->text, "");
    uvhttp_server_free(server);
}

static void not_reached(uvhttp_stream_t *stream, int status, void *arg)
{
    (void)stream, (void)status, (void)arg;
}

static void no_data(uvhttp_stream_t *stream, char *data, size_t size, void *arg)
{
    (void)stream, (void)data, (void)size, (void)arg;
}

static void closed(uvhttp_stream_t *stream, void *arg)
{
    (void)stream, (void)arg;
}

/* A connection checks the configuration, too. */
static void connections_leave_the_error_unchanged(void **state)
{
    (void)state;
    uvhttp_config_t *config = uvhttp_config_new();
    uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
    const uvhttp_stream_events_t events = {.data = no_data, .closed = closed};
    uvhttp_stream_t *stream;
    assert_int_equal(uvhttp_server_route(server, "GET", "a", respond, NULL), UVHTTP_EROUTE);
    (void)uvhttp_stream_connect(server, "127.0.0.1", 1, 1000, not_reached, &events, NULL, &stream);
    assert_int_equal(uvhttp_server_error(server)->code, UVHTTP_EROUTE);
    uvhttp_server_free(server);
    config->max_connections = 0;
    server = uvhttp_server_new_with(NULL, config);
    assert_int_equal(
        uvhttp_stream_connect(server, "127.0.0.1", 1, 1000, not_reached, &events, NULL, &stream),
        UVHTTP_ECONFIG);
    expect_server(server, UVHTTP_ECONFIG, UVHTTP_ECONFIG, "max_connections", "0", "allowed are");
    expect_server(server, uvhttp_server_listen(server, "127.0.0.1", 0), UVHTTP_ECONFIG,
                  "max_connections", "0", "allowed are");
    assert_false(uvhttp_router_is_frozen(uvhttp_server_router(server)));
    uvhttp_server_free(server);
    uvhttp_config_free(config);
}

static void released_last(void *arg)
{
    *(int *)arg += 1;
}

struct releasing {
    uvhttp_server_t *server;
    int released;
};

static void release_another(void *arg)
{
    struct releasing *it = arg;
    assert_int_equal(uvhttp_server_error(it->server)->code, 0);
    assert_int_equal(uvhttp_server_own(it->server, released_last, &it->released), 0);
}

static void releases_may_use_the_server(void **state)
{
    (void)state;
    static struct fault_heap heap; /* fills freed memory */
    fault_heap_init(&heap);
    uvhttp_config_t *config = uvhttp_config_new();
    config->allocator = &heap.allocator;
    struct releasing it = {.server = uvhttp_server_new_with(NULL, config)};
    assert_int_equal(uvhttp_server_own(it.server, release_another, &it), 0);
    uvhttp_server_free(it.server);
    assert_int_equal(it.released, 1);
    assert_int_equal(atomic_load(&heap.live), 0);
    uvhttp_config_free(config);
}

/* Each allocation of a call fails in turn. */
#define EXPECT_OUT_OF_MEMORY(type, call)                                       \
    do {                                                                       \
        static struct fault_heap heap;                                         \
        int code = UVHTTP_ENOMEM;                                              \
        fault_heap_init(&heap);                                                \
        for (size_t at = 1; code != 0 && at < 1000; at++) {                    \
            uvhttp_##type##_t *made = (uvhttp_##type##_t *)(void *)&heap;      \
            memset(&error, 'x', sizeof(error));                                \
            fault_heap_arm(&heap, at, false);                                  \
            code = call;                                                       \
            assert_int_equal(error.code, code);                                \
            assert_true((made != NULL) == (code == 0));                        \
            assert_string_equal(error.text, code == 0 ? "" : "out of memory"); \
            uvhttp_##type##_free(made);                                        \
            assert_int_equal(atomic_load(&heap.live), 0);                      \
        }                                                                      \
        assert_int_equal(code, 0);                                             \
    } while (0)

static void out_of_memory_is_reported(void **state)
{
    (void)state;
    const uvhttp_address_rule_t rules[] = {{"all", true}};
    const uvhttp_auth_user_t users[] = {{"anna", "a"}};
    const uvhttp_slice_t keys[] = {{"0123456789abcdef0123456789abcdef", 32}};
    const uvhttp_static_rule_t file_rules[] = {{"*", "X-A", "a"}};
    const char *const types[] = {"md=text/markdown"};
    const char *const more[] = {".", NULL};
    EXPECT_OUT_OF_MEMORY(
        address_rules,
        uvhttp_address_rules_new(&made,
                                 &(uvhttp_address_rules_options_t){
                                     .rules = rules, .rule_count = 1, .allocator = &heap.allocator},
                                 &error));
    EXPECT_OUT_OF_MEMORY(auth,
                         uvhttp_auth_new(&made,
                                         &(uvhttp_auth_options_t){.users = users,
                                                                  .user_count = 1,
                                                                  .check_bearer = allow,
                                                                  .allocator = &heap.allocator},
                                         &error));
    EXPECT_OUT_OF_MEMORY(cors,
                         uvhttp_cors_new(&made,
                                         &(uvhttp_cors_options_t){.origins = "https://a.example",
                                                                  .allocator = &heap.allocator},
                                         &error));
    EXPECT_OUT_OF_MEMORY(
        rate_limit,
        uvhttp_rate_limit_new(
            &made, &(uvhttp_rate_limit_options_t){.requests = 1, .allocator = &heap.allocator},
            &error));
    EXPECT_OUT_OF_MEMORY(
        access_log, uvhttp_access_log_new(&made,
                                          &(uvhttp_access_log_options_t){
                                              .path = "/dev/null", .allocator = &heap.allocator},
                                          &error));
    EXPECT_OUT_OF_MEMORY(
        static, uvhttp_static_new(&made,
                                  &(uvhttp_static_options_t){.root = ".",
                                                             .more_roots = more,
                                                             .rules = file_rules,
                                                             .rule_count = 1,
                                                             .types = types,
                                                             .type_count = 1,
                                                             .fallback = "index.html",
                                                             .error_pages = "404=/404.html",
                                                             .allocator = &heap.allocator},
                                  &error));
#if UVHTTP_TESTS_LIBCRYPTO
    EXPECT_OUT_OF_MEMORY(
        cookie_signer,
        uvhttp_cookie_signer_new(&made,
                                 &(uvhttp_cookie_signer_options_t){
                                     .keys = keys, .key_count = 1, .allocator = &heap.allocator},
                                 &error));
#else
    (void)keys;
#endif
#if UVHTTP_TESTS_HTTPS
    const uvhttp_tls_certificate_t one = {.certificate = TLS_CERTIFICATE, .key = TLS_KEY};
    EXPECT_OUT_OF_MEMORY(tls, uvhttp_tls_new(&made,
                                             &(uvhttp_tls_options_t){.certificates = &one,
                                                                     .certificate_count = 1,
                                                                     .one_time_tickets = true,
                                                                     .allocator = &heap.allocator},
                                             &error));
#endif
}

static int set_up_all(uvhttp_server_t *server)
{
    static const char *const proxies[] = {"10.0.0.0/8"};
    uvhttp_router_t *router = uvhttp_server_router(server), *group, *host;
    int err = uvhttp_router_group(router, "/g", &group);
    if (err == 0)
        err = uvhttp_router_host(router, "example.com", &host);
    if (err == 0)
        err = uvhttp_router_add_route(host, "/a/:b", respond);
    if (err == 0)
        err = uvhttp_router_use(group, respond, NULL);
    if (err == 0)
        err = uvhttp_server_trust_proxies(server, proxies, 1, UVHTTP_FORWARDING_X);
    if (err == 0)
        err = uvhttp_static_mount(server, "/f/", &(uvhttp_static_options_t){.root = "."}, &error);
    if (err == 0)
        err = uvhttp_server_listen_unix(server, "@uvhttp-setup-error", 0);
    if (err == 0)
        err = uvhttp_server_listen(server, "127.0.0.1", 0);
    return err;
}

/* Each allocation of the calls above fails in turn. */
static void server_without_memory_says_so(void **state)
{
    (void)state;
    static struct fault_heap heap;
    int err = UVHTTP_ENOMEM;
    fault_heap_init(&heap);
    uvhttp_config_t *config = uvhttp_config_new();
    config->allocator = &heap.allocator;
    for (size_t at = 1; err != 0 && at < 1000; at++) {
        fault_heap_arm(&heap, 0, false);
        uvhttp_server_t *server = uvhttp_server_new_with(NULL, config);
        fault_heap_arm(&heap, at, false);
        err = set_up_all(server);
        assert_int_equal(uvhttp_server_error(server)->code, err);
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        if (err != 0)
            assert_non_null(strstr(uvhttp_server_error(server)->text, "out of memory"));
        uvhttp_server_free(server);
        assert_int_equal(atomic_load(&heap.live), 0);
    }
    assert_int_equal(err, 0);
    uvhttp_config_free(config);
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
        cmocka_unit_test(cut_strings_end_with_a_character),
        cmocka_unit_test(text_is_one_line),
        cmocka_unit_test(secrets_are_not_shown),
        cmocka_unit_test(passwords_name_user_or_file),
        cmocka_unit_test(routes_name_the_wrong_member),
        cmocka_unit_test(long_patterns_keep_their_reason),
        cmocka_unit_test(failed_listeners_name_their_address),
        cmocka_unit_test(connections_leave_the_error_unchanged),
        cmocka_unit_test(releases_may_use_the_server),
        cmocka_unit_test(out_of_memory_is_reported),
        cmocka_unit_test(server_without_memory_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
