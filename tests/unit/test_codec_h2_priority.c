/* Values of Priority fields (RFC 9218), as dictionaries of RFC 8941. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "codec/http2/priority.h"
#include "support/guarded.h"

static struct guarded input;

/* Reads a value over urgency 6 and not incremental. */
static bool read_priority(const char *text, struct uvh_h2_priority *priority)
{
    size_t length = strlen(text);
    *priority = (struct uvh_h2_priority){6, false};
    return uvh_h2_priority_read((uvhttp_slice_t){guarded_copy(&input, text, length), length},
                                priority);
}

static void check(const char *text, unsigned urgency, bool incremental)
{
    struct uvh_h2_priority priority;
    if (!read_priority(text, &priority) || priority.urgency != urgency ||
        priority.incremental != incremental)
        fail_msg("%s: %u %d", text, priority.urgency, priority.incremental);
}

static void members_are_read(void **state)
{
    (void)state;
    check("u=0", 0, false);
    check("u=7, i", 7, true);
    check("i,u=1", 1, true);
    check("  u=5 \t,\t i=?1  ", 5, true);
    check("i=?0", 6, false);
    check("", 6, false);
    check(" ", 6, false);
    check("u=2;x;y=1, i;a=\"b\"", 2, true);
    check("u=00000000000002", 2, false);
}

static void last_member_of_a_name_counts(void **state)
{
    (void)state;
    check("u=1, u=2", 2, false);
    check("u=1, u=a", 6, false);
    check("i, i=?0", 6, false);
}

static void other_members_are_ignored(void **state)
{
    (void)state;
    check("a, u=1, b=1, c=1.5, d=-2, e=\"x\\\"\\\\, u=2\", f=tok*en/:%, g=:YWI=:, h=?1, u2=3", 1,
          false);
    check("*a.b-c_d=(1 \"b\";p  c ?0;q=1 );r, a=(), u=1", 1, false);
}

static void values_out_of_range_are_ignored(void **state)
{
    (void)state;
    check("u=8, i", 6, true);
    check("u=-1", 6, false);
    check("u=1.0", 6, false);
    check("u=?1", 6, false);
    check("u", 6, false);
    check("u=\"1\"", 6, false);
    check("u=(1)", 6, false);
    check("i=1, u=1", 1, false);
    check("u=999999999999999", 6, false);
}

static void other_texts_change_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "u=1,",
        "u=1, ",
        ",u=1",
        "u=1 i",
        "u=1;",
        "u=1,,i",
        "U=1",
        "u =1",
        "u= 1",
        "=1",
        "1",
        "u=",
        "u=1, a=\"",
        "u=1, a=\"\\x\"",
        "u=1, a=\"\x01\"",
        "u=1, a=\"\xc3\"",
        "u=1, a=:a",
        "u=1, a=:-:",
        "u=1, a=?2",
        "u=1, a=?",
        "u=1, a=(",
        "u=1, a=(1",
        "u=1, a=(1\"b\")",
        "u=1, a=1.",
        "u=1, a=1.2345",
        "u=1, a=-",
        "u=1, a=1234567890123456",
        "u=1, a=1234567890123.1",
        "u=1, a=(,)",
        "u=1, a;B",
        "u=1, a;b=",
        "\tu=1",
        "u=1, a=@",
    };
    for (size_t i = 0; i < UVH_COUNT_OF(texts); i++) {
        struct uvh_h2_priority priority;
        if (read_priority(texts[i], &priority) || priority.urgency != 6 || priority.incremental)
            fail_msg("%s: %u %d", texts[i], priority.urgency, priority.incremental);
    }
}

int main(void)
{
    input = guarded_make(256);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_read),
        cmocka_unit_test(last_member_of_a_name_counts),
        cmocka_unit_test(other_members_are_ignored),
        cmocka_unit_test(values_out_of_range_are_ignored),
        cmocka_unit_test(other_texts_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
