/* Which back end parses: the quickest by itself, another one by call or by environment variable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/parser.h>

static const char *program;

/* What a fresh process says when the variable has this value. */
static void say_backend(const char *value, char *answer, int size)
{
    char command[4200];
    const char *emulator = getenv("UVHTTP_TEST_EMULATOR"); /* see tools/try_arm64.sh */
    int length = snprintf(command, sizeof command, "UVHTTP_PARSER_BACKEND='%s' %s '%s' --say",
                          value, emulator != NULL ? emulator : "", program);
    assert_true(length > 0 && (size_t)length < sizeof command);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    assert_non_null(fgets(answer, size, output));
    assert_int_equal(pclose(output), 0);
}

static void the_quickest_is_taken_by_itself(void **state)
{
    (void)state;
    char chosen[32];
    char answer[32];
    assert_true(uvhttp_parser_use_backend(NULL));
    snprintf(chosen, sizeof chosen, "%s", uvhttp_parser_backend());
    say_backend("", answer, sizeof answer);
    assert_string_equal(answer, chosen);
}

static void the_environment_chooses(void **state)
{
    (void)state;
    char answer[32];
    say_backend("swar", answer, sizeof answer);
    assert_string_equal(answer, "swar");
}

static void an_unknown_name_in_the_environment_is_passed_over(void **state)
{
    (void)state;
    char answer[32];
    assert_true(uvhttp_parser_use_backend(NULL));
    say_backend("abacus", answer, sizeof answer);
    assert_string_equal(answer, uvhttp_parser_backend());
}

static void a_call_chooses(void **state)
{
    (void)state;
    assert_true(uvhttp_parser_use_backend("swar"));
    assert_string_equal(uvhttp_parser_backend(), "swar");
    assert_false(uvhttp_parser_use_backend("abacus"));
    assert_string_equal(uvhttp_parser_backend(), "swar");
    assert_true(uvhttp_parser_use_backend(NULL));
}

/* Where the tests are built with an emulated one too, it must not be missing among those that they
 * compare, nor ever be the quickest. */
static void neon_is_there_where_it_should_be(void **state)
{
    (void)state;
    assert_true(uvhttp_parser_use_backend(NULL));
#if defined(__AARCH64EL__)
    assert_string_equal(uvhttp_parser_backend(), "neon");
#elif defined(UVH_NEON_EMULATED)
    assert_string_not_equal(uvhttp_parser_backend(), "neon");
    assert_true(uvhttp_parser_use_backend("neon"));
    assert_string_equal(uvhttp_parser_backend(), "neon");
#else
    assert_false(uvhttp_parser_use_backend("neon"));
#endif
    assert_true(uvhttp_parser_use_backend(NULL));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_quickest_is_taken_by_itself),
        cmocka_unit_test(the_environment_chooses),
        cmocka_unit_test(an_unknown_name_in_the_environment_is_passed_over),
        cmocka_unit_test(a_call_chooses),
        cmocka_unit_test(neon_is_there_where_it_should_be),
    };
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "--say") == 0)
        return fputs(uvhttp_parser_backend(), stdout) < 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
