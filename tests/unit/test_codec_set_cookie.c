/* Set-Cookie: the serialized field, and cookies that are refused because browsers would drop or
 * misinterpret them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/cookie.h>

static void set_cookie_is_serialized(void **state)
{
    (void)state;
    static const struct {
        uvhttp_cookie_t cookie;
        const char *expected;
    } rows[] = {
        {{.name = "a", .value = "b"}, "a=b"},
        {{.name = "a"}, "a="},
        {{.name = "a", .value = ""}, "a="},
        {{.name = "a", .value = "\"b c\""}, NULL},
        {{.name = "a", .value = "\"b=c\""}, "a=\"b=c\""},
        {{.name = "!#$%&'*+-.^_`|~0Az", .value = "!#$%&'()*+-./09:<=>?@AZ[]^_`az{|}~"},
         "!#$%&'*+-.^_`|~0Az=!#$%&'()*+-./09:<=>?@AZ[]^_`az{|}~"},
        {{.name = "SID",
          .value = "31d4d96e407aad42",
          .path = "/",
          /* RFC 6265 section 3.1 */
          .domain = "example.com"},
         "SID=31d4d96e407aad42; Domain=example.com; Path=/"},
        {{.name = "lang", .value = "en-US", .expires = 1623233894},
         "lang=en-US; Expires=Wed, 09 Jun 2021 10:18:14 GMT"},
        {{.name = "a", .max_age = 3600}, "a=; Max-Age=3600"},
        {{.name = "a", .max_age = INT64_MAX}, "a=; Max-Age=9223372036854775807"},
        {{.name = "a", .max_age = UVHTTP_COOKIE_DELETE, .expires = 1},
         "a=; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:01 GMT"},
        {{.name = "a", .max_age = INT64_MIN}, "a=; Max-Age=0"},
        {{.name = "a", .expires = 253402300799}, "a=; Expires=Fri, 31 Dec 9999 23:59:59 GMT"},
        {{.name = "a", .same_site = UVHTTP_SAME_SITE_STRICT}, "a=; SameSite=Strict"},
        {{.name = "a", .same_site = UVHTTP_SAME_SITE_LAX, .http_only = true},
         "a=; HttpOnly; SameSite=Lax"},
        {{.name = "a", .same_site = UVHTTP_SAME_SITE_NONE, .secure = true, .partitioned = true},
         "a=; Secure; SameSite=None; Partitioned"},
        {{.name = "__Host-a", .value = "b", .path = "/", .secure = true},
         "__Host-a=b; Path=/; Secure"},
        {{.name = "__Secure-a", .value = "b", .domain = "a.b", .path = "/c", .secure = true},
         "__Secure-a=b; Domain=a.b; Path=/c; Secure"},
        {{.name = "__Host", .value = "b"}, "__Host=b"},
        {{.name = "a", .path = "/b c=,\"d\\e"}, "a=; Path=/b c=,\"d\\e"},
        {{.name = "a", .domain = "xn--bcher-kva.Example"}, "a=; Domain=xn--bcher-kva.Example"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t length;
        if (rows[i].expected == NULL) {
            assert_int_equal(uvhttp_cookie_write(&rows[i].cookie, NULL, 0, &length),
                             UVHTTP_COOKIE_VALUE);
            continue;
        }
        size_t size = strlen(rows[i].expected) + 1;
        char *text = malloc(size);
        assert_non_null(text);
        memset(text, '?', size);
        assert_int_equal(uvhttp_cookie_write(&rows[i].cookie, NULL, 0, &length),
                         UVHTTP_COOKIE_FULL);
        assert_int_equal(length, size - 1);
        assert_int_equal(uvhttp_cookie_write(&rows[i].cookie, text, size - 1, &length),
                         UVHTTP_COOKIE_FULL);
        assert_int_equal(length, size - 1);
        assert_int_equal(text[0], '?');
        assert_int_equal(uvhttp_cookie_write(&rows[i].cookie, text, size, &length),
                         UVHTTP_COOKIE_OK);
        assert_int_equal(length, size - 1);
        assert_string_equal(text, rows[i].expected);
        free(text);
    }
}

static char long_text[4200];

/* `prefix` followed by `count` times 'a'. */
static const char *repeated(const char *prefix, size_t count)
{
    size_t length = strlen(prefix);
    memcpy(long_text, prefix, length);
    memset(long_text + length, 'a', count);
    long_text[length + count] = '\0';
    return long_text;
}

static uvhttp_cookie_error_t error_of(uvhttp_cookie_t cookie)
{
    char text[8192] = "?";
    size_t length = 1;
    uvhttp_cookie_error_t error = uvhttp_cookie_write(&cookie, text, sizeof text, &length);
    if (error != UVHTTP_COOKIE_OK) {
        assert_int_equal(length, 0);
        assert_string_equal(text, "?");
    }
    return error;
}

static void attribute_bytes_are_checked(void **state)
{
    (void)state;
    for (int byte = 1; byte < 256; byte++) {
        char text[] = {'/', (char)byte, 'x', '\0'};
        bool visible = byte > ' ' && byte < 0x7f;
        bool alphanumeric =
            (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z');
        bool token = visible && strchr("\"(),/:;<=>?@[\\]{}", byte) == NULL;
        bool value = visible && strchr("\",;\\", byte) == NULL;
        bool path = (visible || byte == ' ') && byte != ';';
        assert_int_equal(error_of((uvhttp_cookie_t){.name = text + 1}),
                         token ? UVHTTP_COOKIE_OK : UVHTTP_COOKIE_NAME);
        assert_int_equal(error_of((uvhttp_cookie_t){.name = "a", .value = text + 1}),
                         value ? UVHTTP_COOKIE_OK : UVHTTP_COOKIE_VALUE);
        assert_int_equal(error_of((uvhttp_cookie_t){.name = "a", .path = text}),
                         path ? UVHTTP_COOKIE_OK : UVHTTP_COOKIE_PATH);
        text[0] = 'x';
        assert_int_equal(error_of((uvhttp_cookie_t){.name = "a", .domain = text}),
                         alphanumeric || byte == '-' || byte == '.' ? UVHTTP_COOKIE_OK
                                                                    : UVHTTP_COOKIE_DOMAIN);
    }
}

static void invalid_cookies_are_refused(void **state)
{
    (void)state;
    static const struct {
        uvhttp_cookie_t cookie;
        uvhttp_cookie_error_t error;
    } rows[] = {
        {{.name = NULL, .value = "b"}, UVHTTP_COOKIE_NAME},
        {{.name = "", .value = "b"}, UVHTTP_COOKIE_NAME},
        {{.name = "a", .value = "\""}, UVHTTP_COOKIE_VALUE},
        {{.name = "a", .value = "\"b"}, UVHTTP_COOKIE_VALUE},
        {{.name = "a", .value = "b\""}, UVHTTP_COOKIE_VALUE},
        {{.name = "a", .value = "\"b\"c\""}, UVHTTP_COOKIE_VALUE},
        {{.name = "a", .value = "b; Domain=evil"}, UVHTTP_COOKIE_VALUE},
        {{.name = "a", .value = "b\r\nSet-Cookie: c=d"}, UVHTTP_COOKIE_VALUE},
        {{.name = "a", .domain = ""}, UVHTTP_COOKIE_DOMAIN},
        {{.name = "a", .domain = ".example.com"}, UVHTTP_COOKIE_DOMAIN},
        {{.name = "a", .domain = "example.com."}, UVHTTP_COOKIE_DOMAIN},
        {{.name = "a", .domain = "a..b"}, UVHTTP_COOKIE_DOMAIN},
        {{.name = "a", .domain = "-a.b"}, UVHTTP_COOKIE_DOMAIN},
        {{.name = "a", .domain = "a-.b"}, UVHTTP_COOKIE_DOMAIN},
        {{.name = "a", .domain = "a.b-"}, UVHTTP_COOKIE_DOMAIN},
        {{.name = "a", .domain = "a:80"}, UVHTTP_COOKIE_DOMAIN},
        {{.name = "a", .domain = "a.b; Path=/"}, UVHTTP_COOKIE_DOMAIN},
        {{.name = "a", .path = ""}, UVHTTP_COOKIE_PATH},
        {{.name = "a", .path = "b"}, UVHTTP_COOKIE_PATH},
        {{.name = "a", .path = "/ "}, UVHTTP_COOKIE_PATH},
        {{.name = "a", .path = "/b; Secure"}, UVHTTP_COOKIE_PATH},
        {{.name = "a", .expires = -1}, UVHTTP_COOKIE_EXPIRES},
        {{.name = "a", .expires = 253402300800}, UVHTTP_COOKIE_EXPIRES},
        {{.name = "a", .same_site = UVHTTP_SAME_SITE_NONE}, UVHTTP_COOKIE_INSECURE},
        {{.name = "a", .partitioned = true}, UVHTTP_COOKIE_INSECURE},
        {{.name = "__Secure-a"}, UVHTTP_COOKIE_INSECURE},
        {{.name = "__SECURE-a"}, UVHTTP_COOKIE_INSECURE},
        {{.name = "__Host-a", .path = "/"}, UVHTTP_COOKIE_INSECURE},
        {{.name = "__Host-a", .secure = true}, UVHTTP_COOKIE_HOST_PREFIX},
        {{.name = "__host-a", .secure = true, .path = "/b"}, UVHTTP_COOKIE_HOST_PREFIX},
        {{.name = "__Host-a", .secure = true, .path = "/", .domain = "a.b"},
         UVHTTP_COOKIE_HOST_PREFIX},
        {{.name = "a", .same_site = (uvhttp_same_site_t)4}, UVHTTP_COOKIE_SAME_SITE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(error_of(rows[i].cookie), rows[i].error);
}

static void size_limits_are_exact(void **state)
{
    (void)state;
    assert_int_equal(error_of((uvhttp_cookie_t){.name = "ab", .value = repeated("", 4094)}),
                     UVHTTP_COOKIE_OK);
    assert_int_equal(error_of((uvhttp_cookie_t){.name = "ab", .value = repeated("", 4095)}),
                     UVHTTP_COOKIE_TOO_LARGE);
    assert_int_equal(error_of((uvhttp_cookie_t){.name = "a", .path = repeated("/", 1023)}),
                     UVHTTP_COOKIE_OK);
    assert_int_equal(error_of((uvhttp_cookie_t){.name = "a", .path = repeated("/", 1024)}),
                     UVHTTP_COOKIE_PATH);
    assert_int_equal(error_of((uvhttp_cookie_t){.name = "a", .domain = repeated("b.", 63)}),
                     UVHTTP_COOKIE_OK);
    assert_int_equal(error_of((uvhttp_cookie_t){.name = "a", .domain = repeated("b.", 64)}),
                     UVHTTP_COOKIE_DOMAIN);
    char domain[256] = "";
    for (size_t i = 0; i < 254; i++)
        domain[i] = i % 2 == 0 ? 'a' : '.';
    assert_int_equal(error_of((uvhttp_cookie_t){.name = "a", .domain = domain + 1}),
                     UVHTTP_COOKIE_DOMAIN);
    domain[253] = '\0';
    assert_int_equal(error_of((uvhttp_cookie_t){.name = "a", .domain = domain}), UVHTTP_COOKIE_OK);
    domain[253] = 'a';
    assert_int_equal(error_of((uvhttp_cookie_t){.name = "a", .domain = domain}),
                     UVHTTP_COOKIE_DOMAIN);
}

static void cookie_find_returns_first_match(void **state)
{
    (void)state;
    static const char field[] = "a=1; ab=2; A=3; a=4; b=\"5\"; c";
    uvhttp_slice_t cookies = {field, sizeof field - 1};
    static const char *const rows[][2] = {
        {"a", "1"}, {"ab", "2"}, {"A", "3"}, {"b", "\"5\""}, {"", "c"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uvhttp_slice_t value = uvhttp_cookie_find(cookies, rows[i][0]);
        assert_int_equal(value.length, strlen(rows[i][1]));
        assert_memory_equal(value.base, rows[i][1], value.length);
    }
    assert_null(uvhttp_cookie_find(cookies, "c").base);
    assert_null(uvhttp_cookie_find(cookies, "B").base);
    assert_null(uvhttp_cookie_find((uvhttp_slice_t){NULL, 0}, "a").base);
}

static void errors_have_name_and_text(void **state)
{
    (void)state;
    for (int i = 0; i < UVHTTP_COOKIE_ERROR_COUNT; i++) {
        assert_true(strlen(uvhttp_cookie_error_name((uvhttp_cookie_error_t)i)) > 1);
        assert_true(strlen(uvhttp_cookie_error_text((uvhttp_cookie_error_t)i)) >= 8);
    }
    assert_string_equal(uvhttp_cookie_error_name(UVHTTP_COOKIE_HOST_PREFIX), "HOST_PREFIX");
    assert_string_equal(uvhttp_cookie_error_name(UVHTTP_COOKIE_ERROR_COUNT), "OK");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_cookie_is_serialized),
        cmocka_unit_test(attribute_bytes_are_checked),
        cmocka_unit_test(invalid_cookies_are_refused),
        cmocka_unit_test(size_limits_are_exact),
        cmocka_unit_test(cookie_find_returns_first_match),
        cmocka_unit_test(errors_have_name_and_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
