/* Error codes: each has its own name and text, codes of libuv are passed through, and all numbers
 * are distinct. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <uv.h>

#include <cmocka.h>

#include <uvhttp/error.h>

struct known {
    int code;
    const char *name, *text;
};

#define OURS(name, code, text) {code, "UVHTTP_" #name, text},
static const struct known ours[] = {UVHTTP_ERROR_MAP(OURS)};
#define THEIRS(name, text) {UV_##name, #name, text},
static const struct known theirs[] = {UV_ERRNO_MAP(THEIRS)};
enum {
    OUR_COUNT = sizeof(ours) / sizeof(ours[0]),
    THEIR_COUNT = sizeof(theirs) / sizeof(theirs[0])
};

static void error_codes_have_name_and_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < OUR_COUNT; i++) {
        assert_true(ours[i].code < 0);
        assert_string_equal(uvhttp_error_name(ours[i].code), ours[i].name);
        assert_string_equal(uvhttp_strerror(ours[i].code), ours[i].text);
        assert_true(strlen(ours[i].text) > 5);
    }
}

static void error_codes_are_distinct(void **state)
{
    (void)state;
    for (size_t i = 0; i < OUR_COUNT; i++) {
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(ours[i].code, ours[k].code);
        for (size_t k = 0; k < THEIR_COUNT; k++)
            assert_int_not_equal(ours[i].code, theirs[k].code);
    }
}

static void libuv_codes_are_passed_through(void **state)
{
    (void)state;
    for (size_t i = 0; i < THEIR_COUNT; i++) {
        assert_string_equal(uvhttp_error_name(theirs[i].code), uv_err_name(theirs[i].code));
        assert_string_equal(uvhttp_strerror(theirs[i].code), uv_strerror(theirs[i].code));
    }
    assert_string_equal(uvhttp_error_name(UV_EADDRINUSE), "EADDRINUSE");
}

static void other_codes_are_unknown_or_results(void **state)
{
    (void)state;
    static const int unknown[] = {1000, -1000000, -9999, -10000, -10999, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        assert_string_equal(uvhttp_error_name(unknown[i]), "unknown");
        assert_string_equal(uvhttp_strerror(unknown[i]), "unknown error");
    }
    assert_string_equal(uvhttp_error_name(UVHTTP_OK), "UVHTTP_OK");
    assert_string_equal(uvhttp_error_name(UVHTTP_DECLINED), "UVHTTP_DECLINED");
    assert_string_equal(uvhttp_error_name(UVHTTP_QUEUED), "UVHTTP_QUEUED");
    assert_string_equal(uvhttp_error_name(UVHTTP_END), "UVHTTP_END");
    assert_string_equal(uvhttp_error_name(UVHTTP_AGAIN), "UVHTTP_AGAIN");
    assert_true(strlen(uvhttp_strerror(UVHTTP_OK)) > 0);
    assert_true(strlen(uvhttp_strerror(UVHTTP_DECLINED)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_codes_have_name_and_text),
        cmocka_unit_test(error_codes_are_distinct),
        cmocka_unit_test(libuv_codes_are_passed_through),
        cmocka_unit_test(other_codes_are_unknown_or_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
