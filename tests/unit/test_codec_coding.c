/* Content codings: names, and which one is chosen, by RFC 9110 section 12.5.3 and for fields of
 * browsers; the choice is that of content negotiation. */
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

static void coding_names_and_suffixes_match(void **state)
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
    /* Without the field the identity is sent: clients that do not send it mostly cannot decode. */
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
    /* The server's order only decides between codings of equal weight. */
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
    /* Malformed members are ignored. */
    {"gzip;q=2, br;q=x, zstd;q=0.5", UVH_CODING_ALL, "zstd", false},
    {"gzip;level=9", UVH_CODING_ALL, "identity", false},
    {"gz ip, , ;q=1,,br", UVH_CODING_ALL, "br", false},
    {"gzip;q=0, gzip", UVH_CODING_ALL, "identity", false},
};

static void best_available_coding_is_chosen(void **state)
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

/* uvhttp_negotiate_encoding has the same rules and checks each offer separately. */
static void choice_matches_content_negotiation(void **state)
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

/* Lines of the same name are one list (RFC 9110 section 5.3). */
static void lines_of_one_field_are_one_list(void **state)
{
    (void)state;
    struct uvh_accepted_codings accepted;
    uvh_accepted_codings_init(&accepted);
    uvh_accepted_codings_read(&accepted, field("gzip;q=0.5"));
    uvh_accepted_codings_read(&accepted, field(""));
    uvh_accepted_codings_read(&accepted, field("zstd;q=0.7, br;q=0"));
    uvh_accepted_codings_read(&accepted, field("br"));
    assert_int_equal(uvh_coding_choose(&accepted, UVH_CODING_ALL, NULL), UVH_CODING_ZSTD);
    assert_int_equal(uvh_coding_choose(&accepted, GZIP | BR, NULL), UVH_CODING_GZIP);
    assert_int_equal(uvh_coding_choose(&accepted, BR, NULL), UVH_CODING_IDENTITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coding_names_and_suffixes_match),
        cmocka_unit_test(best_available_coding_is_chosen),
        cmocka_unit_test(choice_matches_content_negotiation),
        cmocka_unit_test(lines_of_one_field_are_one_list),
    };
    memory = guarded_make(4096);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
