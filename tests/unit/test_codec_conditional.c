/* Entity tags and the order of the conditions (RFC 9110 sections 8.8.3 and 13). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/fields/conditional.h"

#define SLICE(literal) ((uvhttp_slice_t){(literal), sizeof(literal) - 1})

#define NONE ((uvhttp_slice_t){NULL, 0})

static const int64_t november = 784111777; /* Sun, 06 Nov 1994 08:49:37 GMT */
#define AT     SLICE("Sun, 06 Nov 1994 08:49:37 GMT")
#define BEFORE SLICE("Sun, 06 Nov 1994 08:49:36 GMT")
#define AFTER  SLICE("Sun, 06 Nov 1994 08:49:38 GMT")

static bool parses(const char *text, bool weak, const char *opaque)
{
    bool got_weak = !weak;
    uvhttp_slice_t got;
    if (!uvh_conditional_etag_parse((uvhttp_slice_t){text, strlen(text)}, &got_weak, &got))
        return false;
    return got_weak == weak && got.length == strlen(opaque) &&
           memcmp(got.base, opaque, got.length) == 0;
}

static void etag_syntax_is_checked(void **state)
{
    (void)state;
    assert_true(parses("\"xyzzy\"", false, "\"xyzzy\""));
    assert_true(parses("W/\"xyzzy\"", true, "\"xyzzy\""));
    assert_true(parses("\"\"", false, "\"\""));
    assert_true(parses("\"a\\b,c\xe4\"", false, "\"a\\b,c\xe4\""));
    static const char *const bad[] = {"",        "x",       "\"",     "\"x",      "x\"",
                                      "w/\"x\"", "W\"x\"",  "W/",     "W/x",      "\"a b\"",
                                      "\"a\"b",  "\"a\"\"", " \"a\"", "\"\x7f\"", "*"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bool weak;
        uvhttp_slice_t opaque;
        assert_false(
            uvh_conditional_etag_parse((uvhttp_slice_t){bad[i], strlen(bad[i])}, &weak, &opaque));
    }
}

/* The table of RFC 9110 section 8.8.3.2. */
static void etag_comparison_matches_rfc9110(void **state)
{
    (void)state;
    struct {
        uvhttp_slice_t a, b;
        bool strong, weak;
    } rows[] = {{SLICE("W/\"1\""), SLICE("W/\"1\""), false, true},
                {SLICE("W/\"1\""), SLICE("W/\"2\""), false, false},
                {SLICE("W/\"1\""), SLICE("\"1\""), false, true},
                {SLICE("\"1\""), SLICE("\"1\""), true, true},
                {SLICE("\"1\""), SLICE("\"12\""), false, false},
                {SLICE("1"), SLICE("1"), false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(uvh_conditional_etag_equal_strong(rows[i].a, rows[i].b), rows[i].strong);
        assert_int_equal(uvh_conditional_etag_equal_weak(rows[i].a, rows[i].b), rows[i].weak);
        assert_int_equal(uvh_conditional_etag_equal_weak(rows[i].b, rows[i].a), rows[i].weak);
    }
}

static bool list_matches(const char *list, const char *etag, bool strong)
{
    return uvh_conditional_etag_list_matches((uvhttp_slice_t){list, strlen(list)},
                                             (uvhttp_slice_t){etag, strlen(etag)}, strong);
}

static void etag_lists_match(void **state)
{
    (void)state;
    assert_true(list_matches("\"a\"", "\"a\"", true));
    assert_true(list_matches("\"x\", \"a\"", "\"a\"", true));
    assert_true(list_matches("\"x\",\"y\"\t ,  \"a\"", "\"a\"", true));
    assert_true(list_matches(" , ,\"x\",,\"a\",", "\"a\"", true));
    assert_true(list_matches("\"x,y\", \"a\"", "\"a\"", true));
    assert_true(list_matches("W/\"x\", W/\"a\"", "\"a\"", false));
    assert_true(list_matches("*", "\"a\"", true));
    assert_false(list_matches("W/\"x\", W/\"a\"", "\"a\"", true));
    assert_false(list_matches("\"x, \"a\"", "\"a\"", true));
    assert_false(list_matches("", "\"a\"", true));
    assert_false(list_matches("a", "\"a\"", true));
    assert_false(list_matches("\"b\"", "\"a\"", true));
    assert_false(list_matches("*, \"a\"", "\"a\"", true));
    assert_false(list_matches("x, \"a\"", "\"a\"", true));    /* parsing stops at an invalid tag */
    assert_false(list_matches("\"x\" \"a\"", "\"a\"", true)); /* or a missing comma */
    assert_false(uvh_conditional_etag_list_matches(SLICE("*"), NONE, true));
}

static struct uvh_conditional_entity entity(void)
{
    return (struct uvh_conditional_entity){
        .etag = SLICE("\"now\""), .modified = november, .has_modified = true, .exists = true};
}

static enum uvh_conditional_outcome evaluate(uvhttp_slice_t if_match,
                                             uvhttp_slice_t if_unmodified_since,
                                             uvhttp_slice_t if_none_match,
                                             uvhttp_slice_t if_modified_since, bool get)
{
    struct uvh_conditional_fields fields = {if_match, if_none_match, if_modified_since,
                                            if_unmodified_since};
    struct uvh_conditional_entity state_of_entity = entity();
    return uvh_conditional_evaluate(&fields, &state_of_entity, get);
}

#define PROCEED      UVH_CONDITIONAL_PROCEED
#define NOT_MODIFIED UVH_CONDITIONAL_NOT_MODIFIED
#define FAILED       UVH_CONDITIONAL_FAILED
#define SAME         SLICE("\"now\"")
#define OTHER        SLICE("\"then\"")
#define WEAK         SLICE("W/\"now\"")
#define STAR         SLICE("*")

static void single_conditions_are_evaluated(void **state)
{
    (void)state;
    assert_int_equal(evaluate(NONE, NONE, NONE, NONE, true), PROCEED);
    for (int get = 0; get < 2; get++) {
        assert_int_equal(evaluate(SAME, NONE, NONE, NONE, get), PROCEED);
        assert_int_equal(evaluate(STAR, NONE, NONE, NONE, get), PROCEED);
        assert_int_equal(evaluate(OTHER, NONE, NONE, NONE, get), FAILED);
        assert_int_equal(evaluate(WEAK, NONE, NONE, NONE, get), FAILED); /* strong comparison */
        assert_int_equal(evaluate(SLICE(""), NONE, NONE, NONE, get), FAILED);
        assert_int_equal(evaluate(NONE, AT, NONE, NONE, get), PROCEED);
        assert_int_equal(evaluate(NONE, AFTER, NONE, NONE, get), PROCEED);
        assert_int_equal(evaluate(NONE, BEFORE, NONE, NONE, get), FAILED);
        /* ignored */
        assert_int_equal(evaluate(NONE, SLICE("yesterday"), NONE, NONE, get), PROCEED);
        enum uvh_conditional_outcome same = get ? NOT_MODIFIED : FAILED;
        assert_int_equal(evaluate(NONE, NONE, SAME, NONE, get), same);
        assert_int_equal(evaluate(NONE, NONE, WEAK, NONE, get), same); /* weak comparison */
        assert_int_equal(evaluate(NONE, NONE, STAR, NONE, get), same);
        assert_int_equal(evaluate(NONE, NONE, OTHER, NONE, get), PROCEED);
    }
    assert_int_equal(evaluate(NONE, NONE, NONE, AT, true), NOT_MODIFIED);
    assert_int_equal(evaluate(NONE, NONE, NONE, AFTER, true), NOT_MODIFIED);
    assert_int_equal(evaluate(NONE, NONE, NONE, BEFORE, true), PROCEED);
    assert_int_equal(evaluate(NONE, NONE, NONE, SLICE("0"), true), PROCEED);
    assert_int_equal(evaluate(NONE, NONE, NONE, AT, false), PROCEED); /* GET and HEAD only */
}

static void conditions_have_precedence(void **state)
{
    (void)state;
    assert_int_equal(evaluate(SAME, BEFORE, NONE, NONE, true),
                     /* If-Match before If-Unmodified-Since */
                     PROCEED);
    assert_int_equal(evaluate(OTHER, AT, NONE, NONE, true), FAILED); /* likewise */
    assert_int_equal(evaluate(NONE, NONE, OTHER, AT, true),
                     PROCEED); /* If-None-Match before If-Modified-Since */
    assert_int_equal(evaluate(NONE, NONE, SAME, BEFORE, true), NOT_MODIFIED); /* likewise */
    assert_int_equal(evaluate(OTHER, NONE, SAME, NONE, true), FAILED);        /* If-Match first */
    assert_int_equal(evaluate(SAME, NONE, SAME, NONE, true),
                     NOT_MODIFIED); /* both are true: the second decides */
    assert_int_equal(evaluate(NONE, AT, NONE, AT, true), NOT_MODIFIED);
    assert_int_equal(evaluate(NONE, BEFORE, NONE, AT, true), FAILED);
}

static void entity_without_tag_or_date_is_handled(void **state)
{
    (void)state;
    struct uvh_conditional_entity state_of_entity = entity();
    struct uvh_conditional_fields fields = {NONE, NONE, NONE, NONE};
    state_of_entity.has_modified = false; /* date conditions are ignored */
    fields.if_modified_since = AFTER;
    assert_int_equal(uvh_conditional_evaluate(&fields, &state_of_entity, true), PROCEED);
    fields.if_unmodified_since = BEFORE;
    assert_int_equal(uvh_conditional_evaluate(&fields, &state_of_entity, true), PROCEED);

    state_of_entity = entity();
    state_of_entity.etag = NONE; /* no tag matches, but "*" does */
    fields = (struct uvh_conditional_fields){.if_none_match = SAME};
    assert_int_equal(uvh_conditional_evaluate(&fields, &state_of_entity, true), PROCEED);
    fields.if_none_match = STAR;
    assert_int_equal(uvh_conditional_evaluate(&fields, &state_of_entity, true), NOT_MODIFIED);

    state_of_entity.exists = false; /* PUT that must create; PUT that must replace */
    assert_int_equal(uvh_conditional_evaluate(&fields, &state_of_entity, false), PROCEED);
    fields = (struct uvh_conditional_fields){.if_match = STAR};
    assert_int_equal(uvh_conditional_evaluate(&fields, &state_of_entity, false), FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(etag_syntax_is_checked),
        cmocka_unit_test(etag_comparison_matches_rfc9110),
        cmocka_unit_test(etag_lists_match),
        cmocka_unit_test(single_conditions_are_evaluated),
        cmocka_unit_test(conditions_have_precedence),
        cmocka_unit_test(entity_without_tag_or_date_is_handled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
