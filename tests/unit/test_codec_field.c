/* Known field names, the rules for names and values, and lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/fields/field.h"
#include "codec/fields/field_table.h"

#define SLICE(literal) ((uvhttp_slice_t){(literal), sizeof(literal) - 1})

static uvhttp_slice_t slice_of(const char *text)
{
    return (uvhttp_slice_t){text, strlen(text)};
}

struct known {
    uvhttp_field_id_t id;
    const char *name;
};

#define KNOWN(id, name) {UVHTTP_FIELD_##id, (name)},
static const struct known all[] = {UVHTTP_FIELD_MAP(KNOWN)};

enum { COUNT = sizeof all / sizeof all[0] };

/* A factor that gives each name its own slot, found by trial. */
static uint32_t find_factor(void)
{
    uint64_t random = 88172645463325252u; /* xorshift, Marsaglia 2003 */
    for (;;) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint32_t factor = (uint32_t)(random >> 16) | 1;
        uint64_t used = 0;
        size_t i;
        for (i = 0; i < COUNT; i++) {
            char name[64] = "\r\n";
            size_t length = strlen(all[i].name);
            memcpy(name + 2, all[i].name, length);
            uint64_t slot = UINT64_C(1) << uvh_field_table_slot(name + 2 + length, length, factor);
            if ((used & slot) != 0)
                break;
            used |= slot;
        }
        if (i == COUNT)
            return factor;
    }
}

/* The id that the table has for a name in place. */
static uvhttp_field_id_t found(const char *end, size_t length)
{
    const struct uvh_field_row *row = uvh_field_table_find(end, length, uvh_swar_equal);
    return row != NULL ? (uvhttp_field_id_t)row->field.id : UVHTTP_FIELD_OTHER;
}

static void known_names_are_found_in_any_case(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        char name[64];
        char *start = name + UVH_FIELD_NAME_FRONT;
        size_t length = strlen(all[i].name);
        memset(name, 'x', sizeof name);
        memcpy(start - 2, "\r\n", 2);
        memcpy(start, all[i].name, length);
        if (uvh_field_lookup((uvhttp_slice_t){start, length}) != all[i].id)
            fail_msg("%s shares its slot: make UVH_FIELD_FACTOR 0x%08x", all[i].name,
                     find_factor());
        for (size_t at = 0; at < length; at++) {
            if (start[at] >= 'a' && start[at] <= 'z' && (at % 2 == 0 || at + 1 == length))
                start[at] = (char)(start[at] - 0x20);
        }
        assert_int_equal(uvh_field_lookup((uvhttp_slice_t){start, length}), all[i].id);
        /* The bytes before the CR LF that precedes a name must not matter. */
        assert_int_equal(found(start + length, length), all[i].id);
        memset(name, '\xff', UVH_FIELD_NAME_FRONT - 2);
        assert_int_equal(found(start + length, length), all[i].id);
    }
}

static void changed_byte_is_another_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        size_t length = strlen(all[i].name);
        for (size_t at = 0; at < length; at++) {
            for (int c = 0; c < 256; c++) {
                char name[64];
                memcpy(name, all[i].name, length);
                name[at] = (char)c;
                bool letter = all[i].name[at] >= 'a' && all[i].name[at] <= 'z';
                bool same = c == all[i].name[at] || (letter && c == all[i].name[at] - 0x20);
                uvhttp_field_id_t id = uvh_field_lookup((uvhttp_slice_t){name, length});
                assert_int_equal(id == all[i].id, same);
            }
        }
    }
}

static void unknown_names_are_not_found(void **state)
{
    (void)state;
    assert_int_equal(uvh_field_lookup(SLICE("")), UVHTTP_FIELD_OTHER);
    for (size_t length = 0; length < 64; length++) /* NUL bytes, as in an empty slot */
        assert_int_equal(found((char[96]){0} + 80, length), UVHTTP_FIELD_OTHER);
    assert_int_equal(uvh_field_lookup(SLICE("x")), UVHTTP_FIELD_OTHER);
    assert_int_equal(uvh_field_lookup(SLICE("accep")), UVHTTP_FIELD_OTHER);
    assert_int_equal(uvh_field_lookup(SLICE("accept-")), UVHTTP_FIELD_OTHER);
    assert_int_equal(uvh_field_lookup(SLICE("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz")),
                     UVHTTP_FIELD_OTHER);
}

static void ids_have_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        uvhttp_slice_t name = uvh_field_name(all[i].id);
        assert_int_equal(name.length, strlen(all[i].name));
        assert_memory_equal(name.base, all[i].name, name.length);
    }
    assert_int_equal(uvh_field_name(UVHTTP_FIELD_OTHER).length, 0);
    assert_int_equal(uvh_field_name(UVHTTP_FIELD_COUNT).length, 0);
    assert_int_equal(uvh_field_name((uvhttp_field_id_t)1000).length, 0);
}

static void name_equality_ignores_case_of_letters_only(void **state)
{
    (void)state;
    assert_true(uvh_field_name_equal(SLICE("X-Foo"), SLICE("x-fOO")));
    assert_false(uvh_field_name_equal(SLICE("X-Foo"), SLICE("x-fO")));
    assert_false(uvh_field_name_equal(SLICE("a@"), SLICE("a`")));
    assert_false(uvh_field_name_equal(SLICE("a["), SLICE("a{")));
    assert_true(uvh_field_name_is(SLICE("X-Foo1"), SLICE("x-foo1")));
    assert_false(uvh_field_name_is(SLICE("X-Foo"), SLICE("x-fo")));
    for (int c = 0; c < 256; c++) {
        char text[3] = {(char)c, (char)c, (char)c};
        assert_int_equal(uvh_field_name_is((uvhttp_slice_t){text, 1}, SLICE("k")),
                         c == 'k' || c == 'K');
        assert_int_equal(uvh_field_name_is((uvhttp_slice_t){text + 1, 1}, SLICE("-")), c == '-');
        assert_int_equal(uvh_field_name_is((uvhttp_slice_t){text + 2, 1}, SLICE("1")), c == '1');
    }
}

/* The definition of RFC 9110 section 5.6.2. */
static bool is_tchar(int c)
{
    return c > 0 && (strchr("!#$%&'*+-.^_`|~", c) != NULL || (c >= '0' && c <= '9') ||
                     (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
}

static void valid_names_are_tokens(void **state)
{
    (void)state;
    assert_false(uvh_field_name_valid(SLICE("")));
    for (int c = 0; c < 256; c++) {
        char name[3] = {'a', (char)c, 'b'};
        assert_int_equal(uvh_field_name_valid((uvhttp_slice_t){name, 3}), is_tchar(c));
    }
}

static void valid_values_have_no_controls_except_tab(void **state)
{
    (void)state;
    assert_true(uvh_field_value_valid(SLICE("")));
    for (int c = 0; c < 256; c++) {
        char value[3] = {'a', (char)c, 'b'};
        bool valid = c == '\t' || (c >= 0x20 && c != 0x7f);
        assert_int_equal(uvh_field_value_valid((uvhttp_slice_t){value, 3}), valid);
        /* Each byte value at each offset, for all lengths that differ for a scan by words of eight
         * bytes. */
        for (size_t length = 1; length <= 25; length++) {
            char longer[25];
            memset(longer, 'a', sizeof(longer));
            for (size_t at = 0; at < length; at++) {
                longer[at] = (char)c;
                assert_int_equal(uvh_field_value_valid((uvhttp_slice_t){longer, length}), valid);
                longer[at] = '\t';
            }
        }
    }
}

/* The elements of a list, separated by '|'. */
static const char *elements(const char *list)
{
    static char text[256];
    text[0] = '\0';
    uvhttp_slice_t rest = slice_of(list);
    uvhttp_slice_t element;
    while (uvh_field_list_next(&rest, &element)) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%.*s|", UVHTTP_SLICE_ARGS(element));
    }
    assert_int_equal(rest.length, 0);
    return text;
}

static void field_lists_are_split(void **state)
{
    (void)state;
    assert_string_equal(elements(""), "");
    assert_string_equal(elements(" ,\t, "), "");
    assert_string_equal(elements("a"), "a|");
    assert_string_equal(elements("a,b , c\t,\td"), "a|b|c|d|");
    assert_string_equal(elements(",a,,b,"), "a|b|");
    assert_string_equal(elements("a b;c=d, e"), "a b;c=d|e|");
    assert_string_equal(elements("a=\"b, c\", d"), "a=\"b, c\"|d|");
    assert_string_equal(elements("a=\"b\\\", c\", d"), "a=\"b\\\", c\"|d|");
    assert_string_equal(elements("a=\"b, c"), "a=\"b, c|");
    assert_string_equal(elements("a=\"b\\"), "a=\"b\\|");
    assert_true(uvh_field_list_has(SLICE("gzip, Br"), SLICE("br")));
    assert_false(uvh_field_list_has(SLICE("gzip, brx"), SLICE("br")));
}

static void fields_forbidden_in_trailer_are_known(void **state)
{
    (void)state;
    static const char *const forbidden[] = {"transfer-encoding",
                                            "content-length",
                                            "host",
                                            "te",
                                            "trailer",
                                            "connection",
                                            "upgrade",
                                            "authorization",
                                            "cookie",
                                            "set-cookie",
                                            "content-type",
                                            "content-encoding",
                                            "content-range",
                                            "cache-control",
                                            "expect",
                                            "range",
                                            "if-match",
                                            "max-forwards",
                                            "www-authenticate"};
    static const char *const allowed[] = {"etag", "date", "x-checksum", "server-timing",
                                          "last-modified"};
    for (size_t i = 0; i < sizeof forbidden / sizeof forbidden[0]; i++) {
        uvhttp_slice_t name = slice_of(forbidden[i]);
        assert_true(uvh_field_forbidden_in_trailer(uvh_field_lookup(name), name));
    }
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        uvhttp_slice_t name = slice_of(allowed[i]);
        assert_false(uvh_field_forbidden_in_trailer(uvh_field_lookup(name), name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_names_are_found_in_any_case),
        cmocka_unit_test(changed_byte_is_another_name),
        cmocka_unit_test(unknown_names_are_not_found),
        cmocka_unit_test(ids_have_names),
        cmocka_unit_test(name_equality_ignores_case_of_letters_only),
        cmocka_unit_test(valid_names_are_tokens),
        cmocka_unit_test(valid_values_have_no_controls_except_tab),
        cmocka_unit_test(field_lists_are_split),
        cmocka_unit_test(fields_forbidden_in_trailer_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
