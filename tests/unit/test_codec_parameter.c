/* Parameters following a value: where they are separated, and malformed ones. */
#include "codec/fields/parameter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/guarded.h"

static struct guarded memory;

/* "front[name=value][name='quoted value']!" with '!' for malformed. */
static const char *parse_parameters(const char *text)
{
    static char result[256];
    size_t length = strlen(text);
    uvhttp_slice_t rest = {guarded_copy(&memory, text, length), length};
    uvhttp_slice_t front = uvh_parameter_front(&rest);
    struct uvh_parameter parameter;
    int found;
    int used = snprintf(result, sizeof result, "%.*s", UVHTTP_SLICE_ARGS(front));
    while ((found = uvh_parameter_next(&rest, &parameter)) > 0)
        used += snprintf(result + used, sizeof result - (size_t)used,
                         parameter.quoted ? "[%.*s='%.*s']" : "[%.*s=%.*s]",
                         UVHTTP_SLICE_ARGS(parameter.name), UVHTTP_SLICE_ARGS(parameter.value));
    if (found < 0)
        snprintf(result + used, sizeof result - (size_t)used, "!");
    return result;
}

static void parameters_are_split(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", ""},
        {"a/b", "a/b"},
        {"a/b ", "a/b"},
        {"a/b;c=d", "a/b[c=d]"},
        {"a/b \t; \tc=d\t ;e=f ", "a/b[c=d][e=f]"},
        {"a/b;;c=d; ;", "a/b[c=d]"},
        {";c=d", "[c=d]"},
        {"a;c=\"d\"", "a[c='d']"},
        {"a;c=\"\"", "a[c='']"},
        {"a;c=\"d;e=f\";g=h", "a[c='d;e=f'][g=h]"},
        {"a;c=\"d\\\"e\\\\\";g=h", "a[c='d\\\"e\\\\'][g=h]"},
        {"a;c=\"\xc3\xbc\t \"", "a[c='\xc3\xbc\t ']"},
        {"a;c", "a!"},
        {"a;c=", "a!"},
        {"a;c=;d=e", "a!"},
        {"a;=d", "a!"},
        {"a;c =d", "a!"},
        {"a;c= d", "a!"},
        {"a;c=d e", "a[c=d]!"},
        {"a;c=d/e", "a[c=d]!"},
        {"a;c=\"d\"e", "a[c='d']!"},
        {"a;c=\"d", "a!"},
        {"a;c=\"d\\", "a!"},
        {"a;c=\"d\\\"", "a!"},
        {"a;c=\"", "a!"},
        {"a;c=\"\x01\"", "a!"},
        {"a;c=\"\\\x01\"", "a!"},
        {"a;c=d,e", "a[c=d]!"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(parse_parameters(rows[i][0]), rows[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parameters_are_split)};
    memory = guarded_make(4096);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
