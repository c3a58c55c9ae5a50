/* Content codings: names, and which one is chosen, by RFC 9110 section 12.5.3 and by what browsers
 * send; always as content negotiation chooses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/negotiate.h>

#include "base/compiler.h"
#include "codec/fields/coding.h"
#include "support/guarded.h"

#define GZIP UVH_CODING_BIT(UVH_CODING_GZIP)
#define BR   UVH_CODING_BIT(UVH_CODING_BROTLI)
#define ZSTD UVH_CODING_BIT(UVH_CODING_ZSTD)

static struct guarded memory;

/* NULL is a field that is absent. */
static uvhttp_slice_t field(const char *text)
{
    if (text == NULL)
        return (uvhttp_slice_t){NULL, 0};
    return (uvhttp_slice_t){guarded_copy(&memory, text, strlen(text)), strlen(text)};
}

static void names_and_suffixes(void **state)
{
    (void)state;
    assert_string_equal(uvh_coding_name(UVH_CODING_IDENTITY), "identity");
    assert_string_equal(uvh_coding_name(UVH_CODING_GZIP), "gzip");
    assert_string_equal(uvh_coding_name(UVH_CODING_BROTLI), "br");
    assert_string_equal(uvh_coding_name(UVH_CODING_ZSTD), "zstd");
    assert_string_equal(uvh_coding_suffix(UVH_CODING_IDENTITY), "");
    assert_string_equal(uvh_coding_suffix(UVH_CODING_GZIP), ".gz");
    assert_string_equal(uvh_coding_suffix(UVH_CODING_BROTLI), ".br");
    assert_string_equal(uvh_coding_suffix(UVH_CODING_ZSTD), ".zst");
    for (int coding = 0; coding < UVH_CODING_COUNT; coding++)
        assert_int_equal(uvh_coding_find(field(uvh_coding_name((enum uvh_coding)coding))), coding);
    assert_int_equal(uvh_coding_find(field("X-GZIP")), UVH_CODING_GZIP);
    assert_int_equal(uvh_coding_find(field("deflate")), -1);
    assert_int_equal(uvh_coding_find(field("")), -1);
}

static const struct row {
    const char *field;
    unsigned available;
    const char *chosen;
    bool refused; /* even identity */
} rows[] = {
    /* The examples of section 12.5.3. */
    {"compress, gzip", UVH_CODING_ALL, "gzip", false},
    {"", UVH_CODING_ALL, "identity", false},
    {"*", UVH_CODING_ALL, "br", false},
    {"compress;q=0.5, gzip;q=1.0", UVH_CODING_ALL, "gzip", false},
    {"gzip;q=1.0, identity; q=0.5, *;q=0", UVH_CODING_ALL, "gzip", false},
    /* Without the field nothing is coded: those who send none mostly can undo nothing. */
    {NULL, UVH_CODING_ALL, "identity", false},
    /* Browsers. */
    {"gzip, deflate, br, zstd", UVH_CODING_ALL, "br", false},
    {"gzip, deflate, br, zstd", GZIP | ZSTD, "zstd", false},
    {"gzip, deflate, br, zstd", GZIP, "gzip", false},
    {"gzip, deflate, br, zstd", 0, "identity", false},
    {"gzip, deflate, br", UVH_CODING_ALL, "br", false},
    {"gzip, deflate, br", GZIP | ZSTD, "gzip", false},
    {"gzip, deflate", UVH_CODING_ALL, "gzip", false},
    {"gzip, deflate", BR | ZSTD, "identity", false},
    {"gzip", UVH_CODING_ALL, "gzip", false},
    {"identity", UVH_CODING_ALL, "identity", false},
    {"gzip,deflate,br", UVH_CODING_ALL, "br", false},
    /* Ours only decides between what the client likes equally. */
    {"gzip, br;q=0.9, zstd;q=0.8", UVH_CODING_ALL, "gzip", false},
    {"gzip;q=0.8, br;q=0.8, zstd;q=0.9", UVH_CODING_ALL, "zstd", false},
    {"gzip;q=0.001", UVH_CODING_ALL, "gzip", false},
    {"gzip;q=0.5, identity", UVH_CODING_ALL, "identity", false},
    {"gzip;q=0.5, identity;q=0.5", UVH_CODING_ALL, "gzip", false},
    {"GZip;Q=1", UVH_CODING_ALL, "gzip", false},
    {"x-gzip", UVH_CODING_ALL, "gzip", false},
    {"br;q=0, *", UVH_CODING_ALL, "zstd", false},
    {"br;q=0", UVH_CODING_ALL, "identity", false},
    {"deflate, snappy", UVH_CODING_ALL, "identity", false},
    {"*;q=0.1, gzip;q=0.5", UVH_CODING_ALL, "gzip", false},
    /* identity can be refused. */
    {"identity;q=0", UVH_CODING_ALL, "identity", true},
    {"*;q=0", UVH_CODING_ALL, "identity", true},
    {"*;q=0, gzip", UVH_CODING_ALL, "gzip", false},
    {"*;q=0, gzip", BR, "identity", true},
    {"gzip, identity;q=0", BR | GZIP, "gzip", false},
    {"*;q=0, identity", UVH_CODING_ALL, "identity", false},
    {"identity;q=0, *", UVH_CODING_ALL, "br", false},
    /* What is malformed does not count. */
    {"gzip;q=2, br;q=x, zstd;q=0.5", UVH_CODING_ALL, "zstd", false},
    {"gzip;level=9", UVH_CODING_ALL, "identity", false},
    {"gz ip, , ;q=1,,br", UVH_CODING_ALL, "br", false},
    {"gzip;q=0, gzip", UVH_CODING_ALL, "identity", false},
};

static void the_one_that_suits_best(void **state)
{
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        bool acceptable;
        enum uvh_coding chosen =
            uvh_coding_of_field(field(rows[i].field), rows[i].available, &acceptable);
        if (strcmp(uvh_coding_name(chosen), rows[i].chosen) != 0 || acceptable == rows[i].refused)
            fail_msg("'%s' of %#x: %s", rows[i].field, rows[i].available, uvh_coding_name(chosen));
        assert_int_equal(uvh_coding_of_field(field(rows[i].field), rows[i].available, NULL),
                         chosen);
    }
}

/* uvhttp_negotiate_encoding has the same rules and looks at each offer by itself. */
static void as_negotiation_has_it(void **state)
{
    static const enum uvh_coding order[] = {UVH_CODING_BROTLI, UVH_CODING_ZSTD, UVH_CODING_GZIP};
    (void)state;
    for (size_t i = 0; i < UVH_COUNT_OF(rows); i++) {
        for (unsigned available = 0; available <= UVH_CODING_ALL; available += 2) {
            const char *offers[UVH_CODING_COUNT];
            size_t count = 0;
            for (size_t k = 0; k < UVH_COUNT_OF(order); k++) {
                if ((available & UVH_CODING_BIT(order[k])) != 0)
                    offers[count++] = uvh_coding_name(order[k]);
            }
            offers[count++] = "identity";
            bool acceptable;
            uvhttp_slice_t value = field(rows[i].field);
            ptrdiff_t index = uvhttp_negotiate_encoding(value, offers, count);
            enum uvh_coding chosen = uvh_coding_of_field(value, available, &acceptable);
            assert_int_equal(acceptable, index >= 0);
            assert_string_equal(uvh_coding_name(chosen), index < 0 ? "identity" : offers[index]);
        }
    }
}

/* Lines of one name are one list (RFC 9110 section 5.3). */
static void several_lines(void **state)
{
    (void)state;
    struct uvh_accepted_codings wishes;
    uvh_accepted_codings_init(&wishes);
    uvh_accepted_codings_read(&wishes, field("gzip;q=0.5"));
    uvh_accepted_codings_read(&wishes, field(""));
    uvh_accepted_codings_read(&wishes, field("zstd;q=0.7, br;q=0"));
    uvh_accepted_codings_read(&wishes, field("br"));
    assert_int_equal(uvh_coding_choose(&wishes, UVH_CODING_ALL, NULL), UVH_CODING_ZSTD);
    assert_int_equal(uvh_coding_choose(&wishes, GZIP | BR, NULL), UVH_CODING_GZIP);
    assert_int_equal(uvh_coding_choose(&wishes, BR, NULL), UVH_CODING_IDENTITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_suffixes),
        cmocka_unit_test(the_one_that_suits_best),
        cmocka_unit_test(as_negotiation_has_it),
        cmocka_unit_test(several_lines),
    };
    memory = guarded_make(4096);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
