/* tls/self_signed.c: the text can be loaded, and invalid names are refused. The names in the
 * certificate are tested with clients, in tests/wire/test_tls_program.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <uvhttp.h>
#include <uvhttp/file.h>
#include <uvhttp/tls.h>

static void text_has_certificate_and_key(void **state)
{
    (void)state;
    static const char *const names[] = {"a.test", "*.b.test", "192.0.2.7", "2001:db8::7", NULL};
    const char *const *given[] = {NULL, names};
    const int64_t day = 86400, now = (int64_t)time(NULL);
    char *pem[2];
    for (size_t i = 0; i < 2; i++) {
        uvhttp_error_t error;
        uvhttp_tls_t *tls;
        assert_int_equal(uvhttp_tls_make_self_signed(&pem[i], given[i], &error), 0);
        assert_int_equal(error.code, 0);
        const uvhttp_tls_certificate_t certificate = {.certificate = pem[i]};
        const uvhttp_tls_options_t options = {.certificates = &certificate, .certificate_count = 1};
        assert_int_equal(uvhttp_tls_new(&tls, &options, &error), 0);
        int64_t expires = uvhttp_tls_expires(tls);
        assert_true(expires > now + 396 * day && expires < now + 397 * day);
        uvhttp_tls_free(tls);
    }
    assert_string_not_equal(pem[0], pem[1]);
    uvhttp_file_release(pem[0]);
    uvhttp_file_release(pem[1]);
}

static void invalid_names_are_refused(void **state)
{
    (void)state;
    char longest[300];
    memset(longest, 'a', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    const char *const invalid[] = {"",
                                   "a b",
                                   "-a.test",
                                   "a-.test",
                                   ".test",
                                   "a..b",
                                   "a,DNS:b",
                                   "*",
                                   "a.*.b",
                                   longest,
                                   " 192.0.2.7",
                                   "192.0.2.7\n",
                                   "192.\n0.2.7",
                                   "+192.0.2.7",
                                   "192.0.2.7 8",
                                   "::ffff:192.0.2.7 8",
                                   "fe80::1%lo"};
    for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
        const char *const names[] = {"a.test", invalid[i], NULL};
        uvhttp_error_t error;
        char *pem = longest;
        assert_int_equal(uvhttp_tls_make_self_signed(&pem, names, &error), UVHTTP_ECONFIG);
        assert_null(pem);
        assert_string_equal(error.field, "names");
        assert_non_null(strstr(error.text, "must be a host name or an IP address"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_has_certificate_and_key),
        cmocka_unit_test(invalid_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
