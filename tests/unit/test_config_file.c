/* Reading configuration files without the file system: failed allocations, suggestions for misspelt
 * keys, and UTF-8 characters. tests/wire/test_config_file.py tests the meaning of files with the
 * program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "app/config_file.h"
#include "app/suggest.h"
#include "app/utf8.h"

/* The linker redirects malloc and calloc of the program to these functions: `allocations_left`
 * calls succeed. */
static size_t allocations_left = SIZE_MAX;
static size_t failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool may_allocate(void)
{
    if (allocations_left == 0) {
        failed++;
        return false;
    }
    allocations_left -= allocations_left == SIZE_MAX ? 0 : 1;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return may_allocate() ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return may_allocate() ? __real_calloc(count, size) : NULL;
}

static const char full_config[] =
    "server: {max_connections: 5}\n"
    "listen: [127.0.0.1:1, 'http://:2']\n"
    "tls: {certificates: [{certificate: a, key: /b}, {certificate: c}], ticket_keys: [d, e], "
    "ciphers: f}\n"
    "access_log: {path: logs/a, pattern: '{status}'}\n"
    "metrics: {path: /m, listen: 'unix:m.sock'}\n"
    "sites:\n"
    "  - hosts: [a.example, b.example]\n"
    "    headers: {X-A: '1', X-B: '2'}\n"
    "    routes:\n"
    "      - {path: /a, static: site, prewarm: [/x]}\n"
    "      - {path: /b, redirect: 'https://c.example{target}'}\n"
    "      - {path: /c, respond: {body: '${VALUE}', type: a/b}, methods: [GET]}\n";

static const char *variable(const char *name)
{
    return strcmp(name, "VALUE") == 0 ? "value" : NULL;
}

static void failed_allocation_is_reported_without_leak(void **state)
{
    (void)state;
    size_t allowed = 0;
    for (;; allowed++) {
        struct uvh_problems problems = {.file = "test"};
        struct uvh_config_file file;
        allocations_left = allowed;
        failed = 0;
        bool valid = uvh_config_file_read(&file, full_config, sizeof(full_config) - 1, "/srv",
                                          variable, &problems);
        allocations_left = SIZE_MAX;
        assert_true(valid == (failed == 0));
        assert_true(valid == (problems.count == 0));
        if (!valid)
            assert_non_null(strstr(problems.items[0].text, "out of memory"));
        uvh_config_file_release(&file);
        if (valid)
            break;
    }
    assert_true(allowed > 50);
}

static void valid_file_is_read(void **state)
{
    (void)state;
    struct uvh_problems problems = {.file = "test"};
    struct uvh_config_file file;
    assert_true(uvh_config_file_read(&file, full_config, sizeof(full_config) - 1, "/srv", variable,
                                     &problems));
    const struct uvh_setup *setup = &file.setup;
    assert_int_equal(setup->config.max_connections, 5);
    assert_int_equal(setup->listen_count, 2);
    assert_string_equal(setup->access_log.path.text, "/srv/logs/a");
    assert_string_equal(setup->metrics.path.text, "/m");
    assert_true(setup->metrics.has_listen);
    assert_string_equal(setup->metrics.listen.host, "unix:/srv/m.sock");
    assert_int_equal(setup->site_count, 1);
    assert_int_equal(setup->sites[0].hosts.count, 2);
    assert_int_equal(setup->sites[0].route_count, 3);
    const struct uvh_setup_route *routes = setup->sites[0].routes;
    assert_string_equal(routes[0].root.text, "/srv/site");
    assert_string_equal(routes[1].text.text, "https://c.example{target}");
    assert_string_equal(routes[2].text.text, "value");
    assert_int_equal(routes[2].path.mark.line, 12);
    assert_int_equal(routes[2].path.mark.column, 16);
    uvh_config_file_release(&file);
}

static void tls_options_are_read(void **state)
{
    (void)state;
    static const char text[] =
        "tls:\n"
        "  certificates:\n"
        "    - {certificate: a, key: /b, passphrase_file: c, ocsp: d, client_auth: optional}\n"
        "    - {certificate: e}\n"
        "  profile: modern\n"
        "  min_version: 1.3\n"
        "  max_version: '1.3'\n"
        "  ciphers: f\n"
        "  cipher_suites: g\n"
        "  groups: h\n"
        "  tickets: false\n"
        "  session_lifetime: 1h\n"
        "  one_time_tickets: true\n"
        "  max_used_tickets: 12\n"
        "  early_data: 16K\n"
        "  ticket_keys: [i, j]\n"
        "  client_auth: required\n"
        "  client_ca: k\n"
        "  client_crl: l\n"
        "  key_log: m\n"
        "  ktls: on\n"
        "  watch: off\n"
        "  redirect_http: 80\n"
        "  hsts: 1d\n"
        "sites: [{routes: [{path: /, respond: {}}]}]\n";
    struct uvh_problems problems = {.file = "test"};
    struct uvh_config_file file;
    assert_true(uvh_config_file_read(&file, text, sizeof(text) - 1, "/srv", variable, &problems));
    const struct uvh_setup_tls *tls = &file.setup.tls;
    const uvhttp_tls_options_t *config = &tls->config;
    assert_true(tls->wanted && !tls->self_signed && tls->node != NULL);
    assert_int_equal(config->certificate_count, 2);
    assert_string_equal(config->certificates[0].certificate_file, "/srv/a");
    assert_string_equal(config->certificates[0].key_file, "/b");
    assert_string_equal(config->certificates[0].passphrase_file, "/srv/c");
    assert_string_equal(config->certificates[0].ocsp_file, "/srv/d");
    assert_int_equal(config->certificates[0].client_auth, UVHTTP_TLS_CLIENT_AUTH_OPTIONAL);
    assert_string_equal(config->certificates[1].certificate_file, "/srv/e");
    assert_null(config->certificates[1].key_file);
    assert_int_equal(config->profile, UVHTTP_TLS_MODERN);
    assert_int_equal(config->min_version, UVHTTP_TLS_1_3);
    assert_int_equal(config->max_version, UVHTTP_TLS_1_3);
    assert_string_equal(config->ciphers, "f");
    assert_string_equal(config->cipher_suites, "g");
    assert_string_equal(config->groups, "h");
    assert_true(config->no_tickets);
    assert_int_equal(config->session_lifetime_ms, 3600000);
    assert_true(config->one_time_tickets);
    assert_int_equal(config->max_used_tickets, 12);
    assert_int_equal(config->early_data, 16384);
    assert_int_equal(config->ticket_key_file_count, 2);
    assert_string_equal(config->ticket_key_files[1], "/srv/j");
    assert_int_equal(config->client_auth, UVHTTP_TLS_CLIENT_AUTH_REQUIRED);
    assert_string_equal(config->client_ca_file, "/srv/k");
    assert_string_equal(config->client_crl_file, "/srv/l");
    assert_string_equal(config->key_log_file, "/srv/m");
    assert_true(config->ktls);
    assert_false(config->watch);
    assert_int_equal(tls->redirect_http, 80);
    assert_int_equal(tls->hsts, 86400);
    uvh_config_file_release(&file);
}

static void tls_has_defaults(void **state)
{
    (void)state;
    static const char plain[] = "sites: [{routes: [{path: /, respond: {}}]}]\n";
    static const char own[] = "tls: {self_signed: true, hsts: off, redirect_http: off}\n"
                              "sites: [{routes: [{path: /, respond: {}}]}]\n";
    struct uvh_problems problems = {.file = "test"};
    struct uvh_config_file file;
    assert_true(uvh_config_file_read(&file, plain, sizeof(plain) - 1, "/srv", variable, &problems));
    assert_false(file.setup.tls.wanted);
    uvh_config_file_release(&file);
    assert_true(uvh_config_file_read(&file, own, sizeof(own) - 1, "/srv", variable, &problems));
    assert_true(file.setup.tls.wanted && file.setup.tls.self_signed && file.setup.tls.config.watch);
    assert_int_equal(file.setup.tls.config.certificate_count, 0);
    assert_true(file.setup.tls.hsts == UVH_OPTION_OFF &&
                file.setup.tls.redirect_http == UVH_OPTION_OFF);
    uvh_config_file_release(&file);
}

static void listen_schemes_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum uvh_scheme scheme;
        const char *host; /* NULL: invalid address */
        int port;
    } cases[] = {
        {"127.0.0.1:1", UVH_SCHEME_NONE, "127.0.0.1", 1},
        {"http://127.0.0.1:1", UVH_SCHEME_HTTP, "127.0.0.1", 1},
        {"HTTPS://[::1]:2", UVH_SCHEME_HTTPS, "::1", 2},
        {"https://localhost", UVH_SCHEME_HTTPS, "127.0.0.1", UVH_ADDRESS_NO_PORT},
        {"https://:443", UVH_SCHEME_HTTPS, "*", 443},
        {"8080", UVH_SCHEME_NONE, "*", 8080},
        {"https://*:443", UVH_SCHEME_HTTPS, "*", 443},
        {"[::]:80", UVH_SCHEME_NONE, "::", 80},
        {"65536", UVH_SCHEME_NONE, NULL, 0},
        {"http://", UVH_SCHEME_HTTP, NULL, 0},
        {"https://unix:/x", UVH_SCHEME_HTTPS, NULL, 0},
        {"http://127.0.0.1/", UVH_SCHEME_HTTP, NULL, 0},
        {"ftp://127.0.0.1", UVH_SCHEME_NONE, NULL, 0},
        {"https:/127.0.0.1", UVH_SCHEME_NONE, NULL, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct uvh_address address;
        char error[UVH_ADDRESS_ERROR_SIZE];
        bool found = uvh_address_parse(cases[i].text, strlen(cases[i].text), &address, error);
        assert_int_equal(found, cases[i].host != NULL);
        assert_int_equal(address.scheme, cases[i].scheme);
        if (found)
            assert_string_equal(address.host, cases[i].host);
        if (found)
            assert_int_equal(address.port, cases[i].port);
    }
}

static const char *const names[] = {"path",          "static", "listing", "max_connections",
                                    "max_body_size", NULL};

static const char *name_at(size_t index, const void *arg)
{
    (void)arg;
    return names[index];
}

static void nearest_name_is_suggested(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"pth", "path"},
        {"paht", "path"},
        {"Path", "path"},
        {"max_conections", "max_connections"},
        {"max-connections", "max_connections"},
        {"max_body_siez", "max_body_size"},
        {"lisitng", "listing"},
        {"x", NULL},
        {"", NULL},
        {"redirect", NULL},
        {"statistics", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *found = uvh_suggest(cases[i][0], name_at, NULL);
        if (cases[i][1] == NULL)
            assert_null(found);
        else
            assert_string_equal(found, cases[i][1]);
    }
    char longest[200];
    memset(longest, 'p', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    assert_null(uvh_suggest(longest, name_at, NULL));
}

static void utf8_characters_match_rfc3629(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        uint32_t character;
    } good[] = {
        {"a", 0x61},
        {"\x7f", 0x7f},
        {"\xc2\x80", 0x80},
        {"\xdf\xbf", 0x7ff},
        {"\xe0\xa0\x80", 0x800},
        {"\xed\x9f\xbf", 0xd7ff},
        {"\xee\x80\x80", 0xe000},
        {"\xef\xbf\xbf", 0xffff},
        {"\xf0\x90\x80\x80", 0x10000},
        {"\xf4\x8f\xbf\xbf", 0x10ffff},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        uint32_t character = 0;
        assert_int_equal(uvh_utf8_next(good[i].bytes, &character), strlen(good[i].bytes));
        assert_int_equal(character, good[i].character);
        assert_true(uvh_utf8_valid(good[i].bytes));
    }
    static const char *const bad[] = {
        "\x80",         "\xc0\x80",         "\xc1\xbf",         "\xc2",
        "\xc2\x41",     "\xe0\x9f\xbf",     "\xe0\xa0",         "\xed\xa0\x80",
        "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xff",         "\xf0\x90\x80"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint32_t character;
        assert_int_equal(uvh_utf8_next(bad[i], &character), 0);
        assert_false(uvh_utf8_valid(bad[i]));
    }
    assert_true(uvh_utf8_valid(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_allocation_is_reported_without_leak),
        cmocka_unit_test(valid_file_is_read),
        cmocka_unit_test(tls_options_are_read),
        cmocka_unit_test(tls_has_defaults),
        cmocka_unit_test(listen_schemes_are_parsed),
        cmocka_unit_test(nearest_name_is_suggested),
        cmocka_unit_test(utf8_characters_match_rfc3629),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
