/* Content negotiation: which offer is chosen, by the examples of RFC 9110 and RFC 4647 and by
 * fields of browsers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/negotiate.h>

#include "support/guarded.h"

enum { MOST_OFFERS = 8 };

static struct guarded memory;

/* NULL is a field that is absent. */
static uvhttp_slice_t field(const char *text)
{
    if (text == NULL)
        return (uvhttp_slice_t){NULL, 0};
    return (uvhttp_slice_t){guarded_copy(&memory, text, strlen(text)), strlen(text)};
}

struct row {
    const char *field;
    const char *offers; /* separated by '|' */
    const char *chosen; /* NULL: none */
};

typedef ptrdiff_t (*choose_cb)(uvhttp_slice_t field, const char *const *offers, size_t count);

static void check_rows(const struct row *rows, size_t count, choose_cb choose)
{
    for (size_t i = 0; i < count; i++) {
        char text[256];
        const char *offers[MOST_OFFERS];
        size_t offered = 0;
        snprintf(text, sizeof text, "%s", rows[i].offers);
        for (char *start = text; start != NULL; offered++) {
            char *end = strchr(start, '|');
            if (end != NULL)
                *end++ = '\0';
            assert_true(offered < MOST_OFFERS);
            offers[offered] = start;
            start = end;
        }
        ptrdiff_t index = choose(field(rows[i].field), offers, offered);
        if (index >= 0 && rows[i].chosen != NULL)
            assert_string_equal(offers[index], rows[i].chosen);
        else if (index >= 0 || rows[i].chosen != NULL)
            fail_msg("'%s' of '%s': %s", rows[i].field, rows[i].offers,
                     index >= 0 ? offers[index] : "none");
    }
}

#define CHECK(rows, choose) check_rows(rows, sizeof(rows) / sizeof((rows)[0]), choose)

/* RFC 9110 section 12.5.1, the table after "Media ranges can be overridden". */
static void type_quality_matches_rfc9110(void **state)
{
    (void)state;
    static const char accept[] = "text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, "
                                 "text/plain;format=fixed;q=0.4, */*;q=0.5";
    static const struct {
        const char *offer;
        int quality;
    } rows[] = {
        {"text/plain;format=flowed", 1000},
        {"text/plain", 700},
        {"text/html", 300},
        {"image/jpeg", 500},
        {"text/plain;format=fixed", 400},
        {"text/html;level=3", 300},
        {"TEXT/Plain; Format=\"FLOWED\"; x=y", 1000},
        {"text/plain;format=\"flo\\wed\"", 1000},
        {"text/plain;format=flowe", 700},
        {"text/plain;format=flowedd", 700},
        {"no type", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(uvhttp_negotiate_type_quality(field(accept), rows[i].offer),
                         rows[i].quality);
}

static void best_media_type_is_chosen(void **state)
{
    (void)state;
    static const char browser[] =
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";
    static const struct row rows[] = {
        {NULL, "a/b|c/d", "a/b"},
        {"", "a/b|c/d", "a/b"},
        {" , ", "a/b|c/d", "a/b"},
        {"*/*", "a/b|c/d", "a/b"},
        {"c/d", "a/b|c/d", "c/d"},
        {"C/D", "a/b|c/d", "c/d"},
        {"c/*", "a/b|c/d", "c/d"},
        {"e/f", "a/b|c/d", NULL},
        {"a/b;q=0.5, c/d;q=0.501", "a/b|c/d", "c/d"},
        {"a/b;q=0.5, c/d;q=0.5", "a/b|c/d", "a/b"},
        {"c/d, a/b", "a/b|c/d", "a/b"},
        {"*/*, a/b;q=0", "a/b|c/d", "c/d"},
        {"*/*;q=0, a/b;q=0.1", "c/d|a/b", "a/b"},
        {"a/*;q=0, a/b", "a/c|a/b", "a/b"},
        {"a/b;q=0", "a/b", NULL},
        {"a/b;q=0.000", "a/b", NULL},
        {"a/b;q=0.001", "a/b", "a/b"},
        {browser, "application/json|text/html", "text/html"},
        {browser, "application/json|application/xml", "application/xml"},
        {browser, "application/json|image/png", "application/json"},
        {"a/b;version=2, a/b;q=0.5", "a/b|a/b;version=2", "a/b;version=2"},
        {"a/b;version=2", "a/b|a/b;version=1", NULL},
        {"a/b;x=\"1,2\";q=0.1, c/d;q=0.2", "a/b;x=\"1,2\"|c/d", "c/d"},
        {"a/b;q=0.1;level=1, c/d;q=0.2", "a/b;level=1|c/d",
         /* "q" is the weight at any position. */
         "c/d"},
        {"a/b;Q=0.1, c/d;q=0.2", "a/b|c/d", "c/d"},
        {"a/b ; q=0.1 , c/d\t;\tq=0.2", "a/b|c/d", "c/d"},
        {"a/*;v=1;q=0.9, a/b;q=0.1, c/d;q=0.5", "a/b;v=1|c/d",
         /* A range without a subtype is less specific than one with it, whatever its parameters. */
         "c/d"},
        {"*/*;v=1;w=2;q=0.9, a/*;q=0.1, c/d;q=0.5", "a/b;v=1;w=2|c/d", "c/d"},
        {"a/*;v=1;q=0.9, a/*;q=0.1, c/d;q=0.5", "a/b;v=1|c/d", "a/b;v=1"},
        /* The first of two equal ranges is used. */
        {"a/b;q=0.1, a/b, c/d;q=0.2", "a/b|c/d", "c/d"},
        /* Malformed elements are skipped. */
        {"a/b;q=2, c/d;q=0.1", "a/b|c/d", "c/d"},
        {"a/b;q=1.001, c/d;q=0.1", "a/b|c/d", "c/d"},
        {"a/b;q=0.1234, c/d;q=0.1", "a/b|c/d", "c/d"},
        {"a/b;q=.5, c/d;q=0.1", "a/b|c/d", "c/d"},
        {"a/b;q=0,5, c/d;q=0.1", "a/b|c/d", "c/d"},
        {"a/b;q=-1, c/d;q=0.1", "a/b|c/d", "c/d"},
        {"a/b;q=1x, c/d;q=0.1", "a/b|c/d", "c/d"},
        {"a/b;q=0.x, c/d;q=0.1", "a/b|c/d", "c/d"},
        {"a/b;q=\"1\", c/d;q=0.1", "a/b|c/d", "c/d"},
        {"a/b;q=1;q=1, c/d;q=0.1", "a/b|c/d", "c/d"},
        {"a/b;q, c/d;q=0.1", "a/b|c/d", "c/d"},
        {"a/b/c, c/d;q=0.1", "a/b|c/d", "c/d"},
        {"*/b, c/d;q=0.1", "a/b|c/d", "c/d"},
        {"*, c/d;q=0.1", "a/b|c/d", "c/d"},
        {"a/, /b, a, / , c/d;q=0.1", "a/b|c/d", "c/d"},
        {"a/b;x=\"y, c/d;q=0.1", "a/b|c/d", "a/b"},
        {"nonsense", "a/b|c/d", "a/b"},
        {"a/b;q=1., c/d;q=0.9", "c/d|a/b", "a/b"},
        {"a/b;q=1.000, c/d;q=0.999", "c/d|a/b", "a/b"},
    };
    CHECK(rows, uvhttp_negotiate_type);
    assert_int_equal(uvhttp_negotiate_type(field("*/*"), NULL, 0), -1);
}

static void best_encoding_is_chosen(void **state)
{
    (void)state;
    static const char all[] = "br|zstd|gzip|identity";
    static const struct row rows[] = {
        {NULL, all, "identity"},
        {"", all, "identity"},
        {NULL, "br|gzip", NULL},
        {"", "br|gzip", NULL},
        {"gzip, deflate, br, zstd", all, "br"},
        {"gzip, deflate", all, "gzip"},
        {"gzip;q=0.9, br;q=0.8", all, "gzip"},
        {"gzip;q=0.001", all, "gzip"},
        {"deflate", all, "identity"},
        {"deflate", "br|gzip", NULL},
        {"*", all, "br"},
        {"*;q=0.5, gzip", all, "gzip"},
        {"*, br;q=0", all, "zstd"},
        {"identity", all, "identity"},
        {"identity, gzip;q=0.5", all, "identity"},
        {"identity;q=0", all, NULL},
        {"*;q=0", all, NULL},
        {"*;q=0, identity;q=0.1", all, "identity"},
        {"identity;q=0, *", "identity|gzip", "gzip"},
        {"identity;q=0.5, *;q=0", all, "identity"},
        {"gzip;q=0", all, "identity"},
        {"x-gzip", all, "gzip"},
        {"GZip", all, "gzip"},
        {"gzip", "x-gzip", "x-gzip"},
        {"compress;q=1.0, gzip;q=0.5", "gzip|x-compress", "x-compress"},
        {"br;level=11, gzip;q=0.1", all, "gzip"},
        {"br;q=1x, gzip;q=0.1", all, "gzip"},
        {"br/x, gzip;q=0.1", all, "gzip"},
        {"b r", all, "identity"},
        {"brx, xbr", all, "identity"},
    };
    CHECK(rows, uvhttp_negotiate_encoding);
    assert_int_equal(uvhttp_negotiate_encoding_quality(field("gzip"), "identity"), 1);
    assert_int_equal(uvhttp_negotiate_encoding_quality(field("*;q=0.25"), "identity"), 250);
    assert_int_equal(uvhttp_negotiate_encoding_quality(field("gzip"), "br"), 0);
    assert_int_equal(uvhttp_negotiate_encoding_quality(field("nonsense/"), "identity"), 1000);
}

static void best_language_is_chosen(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {NULL, "en|de", "en"},
        {"", "en|de", "en"},
        {"*", "en|de", "en"},
        /* RFC 9110 section 12.5.4 */
        {"da, en-gb;q=0.8, en;q=0.7", "en|da", "da"},
        {"da, en-gb;q=0.8, en;q=0.7", "en|de|en-GB", "en-GB"},
        {"da, en-gb;q=0.8, en;q=0.7", "de|en-US", "en-US"},
        {"de", "en|de-CH", "de-CH"},
        /* RFC 4647 section 3.3.1 */
        {"de-de", "en|de-DE-1996", "de-DE-1996"},
        {"de-de", "en|de-Deva", NULL},
        {"de-de", "en|de-Latn-DE", NULL},
        {"en-GB", "de|en", "en"},
        {"zh-Hant-TW", "en|zh|zh-Hant", "zh"},
        {"en-GB;q=0", "de|en", NULL},
        {"en-GB;q=0, *", "en-GB|en", "en"},
        {"en;q=0, *", "en-GB|fr", "fr"},
        {"en;q=0.2, en-GB;q=0.9, de;q=0.5", "en|de", "de"},
        {"en;q=0.2, en-GB;q=0.9, de;q=0.5", "en-GB|de", "en-GB"},
        {"en;q=0.2, de;q=0.1", "de|en-GB", "en-GB"},
        {"fr, *;q=0.5", "en|fr-CA", "fr-CA"},
        {"e", "en", NULL},
        {"en", "eng", NULL},
        {"engl", "eng", NULL},
        {"abcdefghi, de;q=0.1", "abcdefghi|de", "de"},
        {"abcdefgh, de;q=0.1", "abcdefgh|de", "abcdefgh"},
        {"toolonglanguage, de;q=0.1", "en|de", "de"},
        {"en-, de;q=0.1", "en|de", "de"},
        {"-en, 1n, e_n, *-CH, de;q=0.1", "en|de", "de"},
        {"en;level=1, de;q=0.1", "en|de", "de"},
        {"es-419", "en|es-419", "es-419"},
    };
    CHECK(rows, uvhttp_negotiate_language);
    /* Several prefixes of one tag: the most specific one is used, in any order. */
    assert_int_equal(
        uvhttp_negotiate_language_quality(field("a;q=0.1, a-b;q=0.2, a-b-c;q=0.3"), "a-b-x"), 200);
    assert_int_equal(
        uvhttp_negotiate_language_quality(field("a-b-c;q=0.3, a-b;q=0.2, *;q=0.9"), "a"), 200);
}

/* A large field with many elements: the last one is found, and nothing overflows. */
static void large_fields_are_parsed(void **state)
{
    (void)state;
    enum { SIZE = 200000 };
    struct guarded large = guarded_make(SIZE);
    char *text = malloc(SIZE);
    assert_non_null(text);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = "a/b;c=d,"[i % 8];
    memcpy(text + SIZE - 4, ",x/y", 4);
    uvhttp_slice_t all = {guarded_copy(&large, text, SIZE), SIZE};
    static const char *const offers[] = {"z/z", "x/y"};
    assert_int_equal(uvhttp_negotiate_type(all, offers, 2), 1);
    /* One element with very many parameters. */
    for (size_t i = 3; i < SIZE; i++)
        text[i] = ";c=d"[(i + 1) % 4];
    all.base = guarded_copy(&large, text, SIZE);
    assert_int_equal(uvhttp_negotiate_type_quality(all, "a/b;c=d"), 1000);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(type_quality_matches_rfc9110), cmocka_unit_test(best_media_type_is_chosen),
        cmocka_unit_test(best_encoding_is_chosen),      cmocka_unit_test(best_language_is_chosen),
        cmocka_unit_test(large_fields_are_parsed),
    };
    memory = guarded_make(4096);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
