/* Rules by address: the first matching rule decides, as a linear search through random rules shows;
 * invalid rules are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <uvhttp/address_rules.h>
#include <uvhttp/error.h>

#include "base/compiler.h"
#include "codec/fields/address_prefix.h"
#include "support/fault_heap.h"

enum { ROUNDS = 3000, MOST_RULES = 12, LOOKUPS = 60 };

static struct fault_heap heap;

static int set_up(void **state)
{
    (void)state;
    fault_heap_init(&heap);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return atomic_load(&heap.live) == 0 ? 0 : -1;
}

static uvhttp_address_rules_t *make_rules(const uvhttp_address_rule_t *rules, size_t count,
                                          bool others)
{
    uvhttp_address_rules_t *all;
    uvhttp_address_rules_options_t config = {.rules = count > 0 ? rules : NULL,
                                             .rule_count = count,
                                             .allow_others = others,
                                             .allocator = &heap.allocator};
    assert_int_equal(uvhttp_address_rules_new(&all, &config, NULL), 0);
    assert_non_null(all);
    return all;
}

static void first_matching_rule_decides(void **state)
{
    (void)state;
    static const uvhttp_address_rule_t rules[] = {
        {"192.168.1.1", false},     {"192.168.1.0/24", true},
        {"10.1.0.0/16", true},      {"2001:db8::/32", true},
        {"2001:db8:1::/48", false}, /* never reached */
        {"::ffff:10.2.0.1", true},  {"all", false},
        {"203.0.113.0/24", true}, /* never reached */
    };
    static const struct {
        const char *address;
        bool allowed;
    } judged[] = {
        {"192.168.1.0", true},
        {"192.168.1.1", false},
        {"192.168.1.2", true},
        {"192.168.1.255", true},
        {"192.168.2.0", false},
        {"192.168.0.255", false},
        {"::ffff:192.168.1.1", false},
        {"::ffff:192.168.1.2", true},
        {"::192.168.1.2", false},
        {"10.1.255.255", true},
        {"10.2.0.0", false},
        {"10.2.0.1", true},
        {"2001:db8::", true},
        {"2001:db8:1::1", true},
        {"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", true},
        {"2001:db9::", false},
        {"203.0.113.7", false},
        {"0.0.0.0", false},
        {"255.255.255.255", false},
        {"::", false},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false},
    };
    uvhttp_address_rules_t *all = make_rules(rules, UVH_COUNT_OF(rules), true);
    for (size_t i = 0; i < UVH_COUNT_OF(judged); i++) {
        if (uvhttp_address_rules_allow(all, judged[i].address) != judged[i].allowed)
            fail_msg("%s should be %s", judged[i].address,
                     judged[i].allowed ? "allowed" : "refused");
    }
    uvhttp_address_rules_free(all);
}

static void unix_rule_matches_unix_socket_clients(void **state)
{
    (void)state;
    static const uvhttp_address_rule_t rules[] = {
        {"10.0.0.0/8", true}, {"unix", true}, {"unix", false}, {"all", false}};
    static const struct {
        size_t first, count;
        bool others, allowed;
    } cases[] = {
        {0, 4, false, true},                       /* the first that matches */
        {2, 2, true, false},  {3, 1, true, false}, /* "all" includes Unix sockets */
        {0, 1, false, false}, {0, 1, true, true},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        uvhttp_address_rules_t *all =
            make_rules(rules + cases[i].first, cases[i].count, cases[i].others);
        assert_int_equal(uvhttp_address_rules_allow(all, "unix:"), cases[i].allowed);
        assert_int_equal(uvhttp_address_rules_allow(all, "unix:/run/a"), cases[i].allowed);
        uvhttp_address_rules_free(all);
    }
}

static void allow_others_decides_unmatched_addresses(void **state)
{
    (void)state;
    static const uvhttp_address_rule_t rules[] = {{"10.0.0.0/8", true}, {"::1", false}};
    static const char *const unknown[] = {"", "not an address", "10.0.0.1:80", "[::1]"};
    for (int others = 0; others <= 1; others++) {
        uvhttp_address_rules_t *all = make_rules(rules, 2, others != 0);
        assert_true(uvhttp_address_rules_allow(all, "10.9.8.7"));
        assert_false(uvhttp_address_rules_allow(all, "::1"));
        assert_int_equal(uvhttp_address_rules_allow(all, "11.0.0.0"), others);
        assert_int_equal(uvhttp_address_rules_allow(all, "::2"), others);
        for (size_t i = 0; i < UVH_COUNT_OF(unknown); i++)
            assert_int_equal(uvhttp_address_rules_allow(all, unknown[i]), others);
        uvhttp_address_rules_free(all);
        all = make_rules(NULL, 0, others != 0);
        assert_int_equal(uvhttp_address_rules_allow(all, "10.9.8.7"), others);
        uvhttp_address_rules_free(all);
    }
}

/* ---- random rules ---- */

static uint64_t random_state = 20261122;

static unsigned pick(unsigned count)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(random_state >> 33) % count;
}

/* Few different byte values, so that prefixes are nested and their ends coincide. */
static void random_address(uint8_t bytes[16], bool v4)
{
    static const uint8_t values[] = {0, 0xff, 0x80, 0x7f, 1};
    for (int i = 0; i < 16; i++)
        bytes[i] = v4 && i < 10 ? 0 : v4 && i < 12 ? 0xff : values[pick(UVH_COUNT_OF(values))];
}

static void format(const uint8_t bytes[16], bool v4, char *out, size_t size)
{
    struct uvh_ip_address address;
    char text[UVH_IP_ADDRESS_TEXT_SIZE];
    memcpy(address.bytes, bytes, 16);
    uvh_ip_address_format(&address, text);
    snprintf(out, size, "%s", text);
    assert_true(v4 == (strchr(text, ':') == NULL));
}

static void random_prefix(char *out, size_t size)
{
    uint8_t bytes[16];
    char text[64];
    bool v4 = pick(2) == 0;
    unsigned bits = v4 ? 96 + pick(33) : pick(129);
    random_address(bytes, v4);
    for (unsigned bit = bits; bit < 128; bit++)
        bytes[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
    if (pick(20) == 0) {
        snprintf(out, size, "all");
        return;
    }
    format(bytes, v4, text, sizeof(text));
    snprintf(out, size, "%.40s/%u", text, v4 ? bits - 96 : bits);
}

static bool find_by_search(const uvhttp_address_rule_t *rules, size_t count, bool others,
                           const char *text)
{
    struct uvh_ip_address address;
    assert_true(uvh_ip_address_parse((uvhttp_slice_t){text, strlen(text)}, &address));
    for (size_t i = 0; i < count; i++) {
        struct uvh_address_prefix prefix;
        const char *rule = rules[i].prefix;
        if (strcmp(rule, "all") == 0)
            return rules[i].allow;
        assert_true(uvh_address_prefix_parse((uvhttp_slice_t){rule, strlen(rule)}, &prefix));
        if (uvh_address_prefix_holds(&prefix, &address))
            return rules[i].allow;
    }
    return others;
}

static void random_rules_match_linear_search(void **state)
{
    (void)state;
    size_t allowed = 0, refused = 0;
    for (int round = 0; round < ROUNDS; round++) {
        static char texts[MOST_RULES][64];
        uvhttp_address_rule_t rules[MOST_RULES];
        size_t count = pick(MOST_RULES + 1);
        bool others = pick(2) == 0;
        for (size_t i = 0; i < count; i++) {
            random_prefix(texts[i], sizeof(texts[i]));
            rules[i] = (uvhttp_address_rule_t){texts[i], pick(2) == 0};
        }
        uvhttp_address_rules_t *all = make_rules(rules, count, others);
        for (int i = 0; i < LOOKUPS; i++) {
            uint8_t bytes[16];
            char text[64];
            bool v4 = pick(2) == 0;
            random_address(bytes, v4);
            format(bytes, v4, text, sizeof(text));
            bool expected = find_by_search(rules, count, others, text);
            if (uvhttp_address_rules_allow(all, text) != expected)
                fail_msg("round %d: %s should be %s", round, text,
                         expected ? "allowed" : "refused");
            *(expected ? &allowed : &refused) += 1;
        }
        uvhttp_address_rules_free(all);
    }
    assert_true(allowed > ROUNDS && refused > ROUNDS);
}

/* ---- invalid rules ---- */

static void invalid_rules_are_named_in_error(void **state)
{
    (void)state;
    static const char *const invalid[] = {
        "",         "10.0.0.0/33", "10.1.2.3/8",  "::/129",     "10.0.0.0/",
        "10.0.0/8", "All",         "localhost",   " 10.0.0.1",  "10.0.0.1 ",
        "[::1]",    "::1/64",      "10.0.0.0/-1", "10.0.0.0/08"};
    for (size_t i = 0; i < UVH_COUNT_OF(invalid); i++) {
        uvhttp_address_rule_t rules[] = {{"all", true}, {invalid[i], false}};
        uvhttp_address_rules_options_t config = {
            .rules = rules, .rule_count = 2, .allocator = &heap.allocator};
        uvhttp_address_rules_t *all;
        uvhttp_error_t error;
        char expected[64];
        assert_int_equal(uvhttp_address_rules_new(&all, &config, &error), UVHTTP_ECONFIG);
        assert_null(all);
        snprintf(expected, sizeof(expected), "rules[1] is \"%s\"; allowed are ", invalid[i]);
        assert_memory_equal(error.text, expected, strlen(expected));
        assert_int_equal(uvhttp_address_rules_new(&all, &config, NULL), UVHTTP_ECONFIG);
    }
    uvhttp_address_rules_t *all;
    uvhttp_address_rule_t nothing = {NULL, true};
    uvhttp_address_rules_options_t config = {.rules = &nothing, .rule_count = 1};
    assert_int_equal(uvhttp_address_rules_new(&all, &config, NULL), UVHTTP_EINVAL);
    config.rule_count = 1000001;
    uvhttp_error_t error;
    assert_int_equal(uvhttp_address_rules_new(&all, &config, &error), UVHTTP_ECONFIG);
    assert_string_equal(error.text, "rule_count is 1000001; allowed are 0 to 1000000 rules");
    config.rules = NULL;
    assert_int_equal(uvhttp_address_rules_new(&all, &config, NULL), UVHTTP_EINVAL);
    config = (uvhttp_address_rules_options_t){.rules = &nothing, .allow_others = true};
    assert_int_equal(uvhttp_address_rules_new(&all, &config, &error), UVHTTP_EINVAL);
    assert_string_equal(error.text, "rules is set and its count is 0");
    config = (uvhttp_address_rules_options_t){.rule_count = 2, .allow_others = true};
    assert_int_equal(uvhttp_address_rules_new(&all, &config, &error), UVHTTP_EINVAL);
    assert_string_equal(error.text, "rules is NULL and its count is 2");
    config = (uvhttp_address_rules_options_t){
        UVHTTP_ADDRESS_RULES({"10.0.0.0/8", true}, {"unix", false})};
    assert_int_equal(config.rule_count, 2);
    assert_string_equal(config.rules[1].prefix, "unix");
    assert_int_equal(uvhttp_address_rules_new(&all, NULL, NULL), UVHTTP_EINVAL);
    assert_null(all);
    uvhttp_address_rules_free(NULL);
}

static void new_fails_without_memory(void **state)
{
    (void)state;
    static const uvhttp_address_rule_t rules[] = {{"10.0.0.0/8", true}, {"::1", true}};
    uvhttp_address_rules_options_t config = {
        .rules = rules, .rule_count = 2, .allocator = &heap.allocator};
    size_t n = 0;
    for (int err = UVHTTP_ENOMEM; err != 0;) {
        uvhttp_address_rules_t *all;
        fault_heap_arm(&heap, ++n, false);
        err = uvhttp_address_rules_new(&all, &config, NULL);
        assert_true(err == 0 || err == UVHTTP_ENOMEM);
        assert_int_equal(all == NULL, err != 0);
        uvhttp_address_rules_free(all);
        assert_int_equal(atomic_load(&heap.live), 0);
    }
    assert_true(n > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(first_matching_rule_decides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unix_rule_matches_unix_socket_clients, set_up, tear_down),
        cmocka_unit_test_setup_teardown(allow_others_decides_unmatched_addresses, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(random_rules_match_linear_search, set_up, tear_down),
        cmocka_unit_test_setup_teardown(invalid_rules_are_named_in_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(new_fails_without_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
