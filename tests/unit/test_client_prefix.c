/* Prefixes of client addresses: IPv4, IPv6, mapped addresses, zones, and invalid addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "middleware/client_prefix.h"

static void prefix_has_requested_length(void **state)
{
    (void)state;
    static const struct {
        const char *address;
        unsigned v4_bits, v6_bits;
        const char *prefix;
    } cases[] = {
        {"192.0.2.129", 32, 64, "192.0.2.129"},
        {"192.0.2.129", 24, 64, "192.0.2.0"},
        {"192.0.2.129", 25, 64, "192.0.2.128"},
        {"192.0.2.129", 1, 64, "128.0.0.0"},
        /* address of an IPv4 client at a dual-stack socket */
        {"::ffff:192.0.2.129", 32, 64, "192.0.2.129"},
        {"::ffff:192.0.2.129", 24, 1, "192.0.2.0"},
        {"2001:db8:1:2:3:4:5:6", 32, 64, "2001:db8:1:2::"},
        {"2001:db8:1:2:3:4:5:6", 32, 48, "2001:db8:1::"},
        {"2001:db8:1:2fff:3:4:5:6", 32, 56, "2001:db8:1:2f00::"},
        {"2001:db8:1:2fff:3:4:5:6", 32, 57, "2001:db8:1:2f80::"},
        {"2001:db8:1:2fff:3:4:5:6", 1, 128, "2001:db8:1:2fff:3:4:5:6"},
        {"ffff::1", 32, 1, "8000::"},
        {"fe80::1:2%eth0", 32, 128, "fe80::1:2"},
        {"::1", 32, 64, "::"},
    };
    for (size_t i = 0; i < UVH_COUNT_OF(cases); i++) {
        struct uvh_ip_address prefix;
        char text[UVH_IP_ADDRESS_TEXT_SIZE];
        assert_true(
            uvh_client_prefix(cases[i].address, cases[i].v4_bits, cases[i].v6_bits, &prefix));
        uvh_ip_address_format(&prefix, text);
        assert_string_equal(text, cases[i].prefix);
    }
}

static void invalid_address_has_no_prefix(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "%eth0", "unix:", "1.2.3", "::1::", "[::1]"};
    for (size_t i = 0; i < UVH_COUNT_OF(texts); i++) {
        struct uvh_ip_address prefix;
        assert_false(uvh_client_prefix(texts[i], 32, 64, &prefix));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefix_has_requested_length),
        cmocka_unit_test(invalid_address_has_no_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
