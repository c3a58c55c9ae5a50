/* Which back end parses: the fastest by default, another one by call or environment variable. */
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

/* Reads the back end that a new process prints with this value of the variable. */
static void print_backend(const char *value, char *output, int size)
{
    char command[4200];
    const char *emulator = getenv("UVHTTP_TEST_EMULATOR"); /* see tools/try_arm64.sh */
    int length = snprintf(command, sizeof command, "UVHTTP_PARSER_BACKEND='%s' %s '%s' --say",
                          value, emulator != NULL ? emulator : "", program);
    assert_true(length > 0 && (size_t)length < sizeof command);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(output, size, pipe));
    assert_int_equal(pclose(pipe), 0);
}

static void fastest_backend_is_default(void **state)
{
    (void)state;
    char chosen[32];
    char output[32];
    assert_true(uvhttp_parser_use_backend(NULL));
    snprintf(chosen, sizeof chosen, "%s", uvhttp_parser_backend());
    print_backend("", output, sizeof output);
    assert_string_equal(output, chosen);
}

static void environment_variable_selects_backend(void **state)
{
    (void)state;
    char output[32];
    print_backend("swar", output, sizeof output);
    assert_string_equal(output, "swar");
}

static void unknown_name_in_environment_is_ignored(void **state)
{
    (void)state;
    char output[32];
    assert_true(uvhttp_parser_use_backend(NULL));
    print_backend("abacus", output, sizeof output);
    assert_string_equal(output, uvhttp_parser_backend());
}

static void use_backend_selects_backend(void **state)
{
    (void)state;
    assert_true(uvhttp_parser_use_backend("swar"));
    assert_string_equal(uvhttp_parser_backend(), "swar");
    assert_false(uvhttp_parser_use_backend("abacus"));
    assert_string_equal(uvhttp_parser_backend(), "swar");
    assert_true(uvhttp_parser_use_backend(NULL));
}

/* With an emulated NEON back end the tests compare it, too; it is never the default. */
static void neon_is_available_where_built(void **state)
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
        cmocka_unit_test(fastest_backend_is_default),
        cmocka_unit_test(environment_variable_selects_backend),
        cmocka_unit_test(unknown_name_in_environment_is_ignored),
        cmocka_unit_test(use_backend_selects_backend),
        cmocka_unit_test(neon_is_available_where_built),
    };
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "--say") == 0)
        return fputs(uvhttp_parser_backend(), stdout) < 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
