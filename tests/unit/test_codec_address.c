/* Addresses and prefixes: the syntax, the normalized form (RFC 5952), and which prefix contains
 * which address. */
#include "codec/fields/address_prefix.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/guarded.h"

static struct guarded memory;

static uvhttp_slice_t slice(const char *text)
{
    size_t length = strlen(text);
    return (uvhttp_slice_t){guarded_copy(&memory, text, length), length};
}

/* The address in its normalized form, "" if it is invalid. */
static const char *normalized(const char *text)
{
    static char result[UVH_IP_ADDRESS_TEXT_SIZE];
    struct uvh_ip_address address;
    if (!uvh_ip_address_parse(slice(text), &address))
        return "";
    size_t length = uvh_ip_address_format(&address, result);
    assert_int_equal(length, strlen(result));
    return result;
}

static void valid_addresses_are_normalized(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"127.0.0.1", "127.0.0.1"},
        {"255.255.255.255", "255.255.255.255"},
        {"0.0.0.0", "0.0.0.0"},
        {"::ffff:192.0.2.1", "192.0.2.1"},
        {"::FFFF:c000:0201", "192.0.2.1"},
        {"::", "::"},
        {"::1", "::1"},
        {"1::", "1::"},
        {"2001:DB8::00a0:0:0:1", "2001:db8::a0:0:0:1"},
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
        {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
        {"64:ff9b::192.0.2.33", "64:ff9b::c000:221"},
        {"1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(normalized(rows[i][0]), rows[i][1]);
}

static void invalid_addresses_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        " ",
        "1",
        "1.2.3",
        "1.2.3.4.5",
        "1.2.3.",
        ".1.2.3",
        "1.2.3.256",
        "01.2.3.4",
        "1.2.3.04",
        "1.2.3.4 ",
        " 1.2.3.4",
        "1.2.3.0x4",
        "1.2.3.-4",
        "1.2.3.1000",
        ":",
        ":::",
        "1:",
        ":1",
        "1:2",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7::8",
        "1::2::3",
        "::1::",
        "12345::",
        "g::",
        "::1%eth0",
        "[::1]",
        "::1:80:",
        "::1.2.3",
        "::1.2.3.4.5",
        "::1.2.3.256",
        "1:2:3:4:5:6:7:1.2.3.4",
        "1:2:3:4:5:6::1.2.3.4",
        "1.2.3.4::",
        "localhost",
        "unknown",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(normalized(rows[i]), "");
}

/* Random texts of the relevant characters: inet_pton and inet_ntop of libc give the same
 * results. */
static void ipv6_parsing_matches_libc(void **state)
{
    (void)state;
    unsigned taken = 0;
    srand(1);
    for (int i = 0; i < 300000; i++) {
        static const char *const parts[] = {"0", "1", "a0b", "ffff", "::",      ":",
                                            ":", ":", ":",   "0:0",  "1.2.3.4", "255.0.0.1"};
        char text[128] = "";
        size_t used = 0;
        for (int part = rand() % 17; part >= 0; part--) {
            const char *one = parts[(size_t)rand() % (sizeof parts / sizeof parts[0])];
            memcpy(text + used, one, strlen(one) + 1);
            used += strlen(one);
            if (rand() % 2 == 0 && part > 0)
                text[used++] = ':';
            text[used] = '\0';
        }
        unsigned char theirs[16];
        struct uvh_ip_address ours;
        bool is_v6 = inet_pton(AF_INET6, text, theirs) == 1;
        assert_int_equal(uvh_ip_address_parse_v6(slice(text), &ours), is_v6);
        if (!is_v6)
            continue;
        taken++;
        assert_memory_equal(ours.bytes, theirs, sizeof theirs);
        char text_of_ours[UVH_IP_ADDRESS_TEXT_SIZE], text_of_theirs[INET6_ADDRSTRLEN];
        uvh_ip_address_format(&ours, text_of_ours);
        inet_ntop(AF_INET6, theirs, text_of_theirs, sizeof text_of_theirs);
        /* glibc writes IPv4-compatible addresses as ::1.2.3.4, which RFC 4291 deprecates. */
        if (strchr(text_of_theirs, '.') == NULL)
            assert_string_equal(text_of_ours, text_of_theirs);
    }
    assert_true(taken > 1000);
}

/* 'y' or 'n' whether the prefix contains the address, '!' if one of them is malformed. */
static char match(const char *prefix_text, const char *address_text)
{
    struct uvh_address_prefix prefix;
    struct uvh_ip_address address;
    if (!uvh_address_prefix_parse(slice(prefix_text), &prefix) ||
        !uvh_ip_address_parse(slice(address_text), &address))
        return '!';
    return uvh_address_prefix_holds(&prefix, &address) ? 'y' : 'n';
}

static void prefixes_match_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *prefix, *address;
        char expected;
    } rows[] = {
        {"10.0.0.0/8", "10.255.0.1", 'y'},
        {"10.0.0.0/8", "11.0.0.1", 'n'},
        {"10.0.0.0/8", "::ffff:10.1.2.3", 'y'},
        {"::ffff:10.0.0.0/104", "10.1.2.3", 'y'},
        {"::ffff:0:0/96", "10.1.2.3", 'y'},
        {"::ffff:0:0/96", "::1", 'n'},
        {"172.16.0.0/12", "172.31.255.255", 'y'},
        {"172.16.0.0/12", "172.32.0.0", 'n'},
        {"192.0.2.1", "192.0.2.1", 'y'},
        {"192.0.2.1", "192.0.2.0", 'n'},
        {"192.0.2.0/31", "192.0.2.1", 'y'},
        {"192.0.2.1/32", "192.0.2.1", 'y'},
        {"0.0.0.0/0", "203.0.113.9", 'y'},
        {"0.0.0.0/0", "2001:db8::1", 'n'},
        {"::/0", "2001:db8::1", 'y'},
        {"::/0", "203.0.113.9", 'n'},
        {"2001:db8::/32", "2001:db8:ffff::1", 'y'},
        {"2001:db8::/32", "2001:db9::1", 'n'},
        {"2001:db8::/33", "2001:db8:8000::", 'n'},
        {"2001:db8::/33", "2001:db8:7fff::", 'y'},
        {"::1", "::1", 'y'},
        {"::1/128", "::2", 'n'},
        {"10.0.0.0/33", "10.0.0.0", '!'},
        {"::/129", "::", '!'},
        {"10.1.0.0/8", "10.1.0.0", '!'},
        {"10.0.0.1/31", "10.0.0.1", '!'},
        {"2001:db8::1/32", "2001:db8::1", '!'},
        {"10.0.0.0/", "10.0.0.0", '!'},
        {"10.0.0.0/08", "10.0.0.0", '!'},
        {"10.0.0.0/8/8", "10.0.0.0", '!'},
        {"10.0.0.0/ 8", "10.0.0.0", '!'},
        {"10.0.0.0/-1", "10.0.0.0", '!'},
        {"10.0.0.0/1000", "10.0.0.0", '!'},
        {"/8", "10.0.0.0", '!'},
        {"", "10.0.0.0", '!'},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (match(rows[i].prefix, rows[i].address) != rows[i].expected)
            fail_msg("%s and %s", rows[i].prefix, rows[i].address);
}

int main(void)
{
    memory = guarded_make(4096);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_addresses_are_normalized),
        cmocka_unit_test(invalid_addresses_are_refused),
        cmocka_unit_test(ipv6_parsing_matches_libc),
        cmocka_unit_test(prefixes_match_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
