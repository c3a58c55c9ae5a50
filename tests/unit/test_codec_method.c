/* Method numbers, and the texts of the reasons. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

#include "codec/http1/method.h"

struct known {
    uvhttp_method_t method;
    const char *name;
};

#define KNOWN(id, name) {UVHTTP_METHOD_##id, (name)},
static const struct known all[] = {UVHTTP_METHOD_MAP(KNOWN)};

static uvhttp_method_t lookup(const char *name)
{
    return uvh_method_lookup((uvhttp_slice_t){name, strlen(name)});
}

static void known_methods_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_int_equal(lookup(all[i].name), all[i].method);
        assert_string_equal(uvh_method_name(all[i].method), all[i].name);
    }
}

static void method_names_are_case_sensitive(void **state)
{
    (void)state;
    static const char *const others[] = {"",          "get",      "Get",        "GE",
                                         "GETT",      "PATC",     "PATCHH",     "PROPFIN",
                                         "PROPFINDX", "PROPPATC", "PROPPATCHX", "propfind",
                                         "PURGE",     "CONNECTX", "OPTIONSX",   "VERSION-CONTROL"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(lookup(others[i]), UVHTTP_METHOD_OTHER);
    assert_int_equal(uvh_method_lookup((uvhttp_slice_t){"GET\0\0\0\0", 7}), UVHTTP_METHOD_OTHER);
    assert_string_equal(uvh_method_name(UVHTTP_METHOD_OTHER), "");
    assert_string_equal(uvh_method_name((uvhttp_method_t)99), "");
}

static void reasons_have_status_name_text_source(void **state)
{
    (void)state;
    for (int i = 1; i < UVHTTP_REASON_COUNT; i++) {
        int status = uvhttp_reason_status((uvhttp_reason_t)i);
        assert_true((status >= 400 && status <= 431) || status == 500 || status == 501 ||
                    status == 505);
        assert_true(strlen(uvhttp_reason_name((uvhttp_reason_t)i)) > 3);
        assert_true(strlen(uvhttp_reason_text((uvhttp_reason_t)i)) > 10);
        assert_int_equal(strncmp(uvhttp_reason_source((uvhttp_reason_t)i), "RFC ", 4), 0);
    }
    assert_int_equal(uvhttp_reason_status(UVHTTP_REASON_NONE), 0);
    assert_string_equal(uvhttp_reason_name(UVHTTP_REASON_HOST_MISSING), "HOST_MISSING");
    assert_string_equal(uvhttp_reason_source(UVHTTP_REASON_HOST_MISSING), "RFC 9112 3.2");
    assert_int_equal(uvhttp_reason_status(UVHTTP_REASON_TARGET_TOO_LONG), 414);
    assert_int_equal(uvhttp_reason_status((uvhttp_reason_t)1000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_methods_are_found),
        cmocka_unit_test(method_names_are_case_sensitive),
        cmocka_unit_test(reasons_have_status_name_text_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
