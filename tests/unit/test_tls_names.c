/* Host lookup by name and ticket key lookup: the tables of src/tls, without sessions of OpenSSL and
 * without a clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tls/hosts.h"
#include "tls/tickets.h"

enum { MANY = 5000, LIFETIME = 100 };

static struct uvh_tls_hosts hosts;

static int begin(void **state)
{
    (void)state;
    uvh_tls_hosts_init(&hosts, uvh_alloc_default());
    return 0;
}

static int end(void **state)
{
    (void)state;
    uvh_tls_hosts_release(&hosts);
    return 0;
}

/* The number identifies the host. */
static void add(const char *name, uint32_t number)
{
    bool ignored;
    struct uvh_tls_host *host = uvh_tls_hosts_add(&hosts, name, strlen(name), &ignored);
    assert_non_null(host);
    host->certificates[0] = number;
}

static uint32_t find(const char *name)
{
    const struct uvh_tls_host *host = uvh_tls_hosts_find(&hosts, name, strlen(name));
    return host == NULL ? 0 : host->certificates[0];
}

static void names_are_found_without_case(void **state)
{
    (void)state;
    assert_int_equal(find("a.example"), 0);
    add("A.example", 1);
    add("b.EXAMPLE.", 2);
    assert_int_equal(find("a.EXAMPLE"), 1);
    assert_int_equal(find("a.example."), 1);
    assert_int_equal(find("B.example"), 2);
    assert_int_equal(find("example"), 0);
    assert_int_equal(find("a.example.org"), 0);
    assert_int_equal(find(""), 0);
    assert_int_equal(find("."), 0);
}

static void wildcard_matches_one_label(void **state)
{
    (void)state;
    add("*.example", 1);
    add("a.example", 2);
    add("*.b.example", 3);
    assert_int_equal(find("x.example"), 1);
    assert_int_equal(find("a.example"), 2);
    assert_int_equal(find("b.example"), 1);
    assert_int_equal(find("x.b.example"), 3);
    assert_int_equal(find("x.a.example"), 0);
    assert_int_equal(find("example"), 0);
    assert_int_equal(find(".example"), 0);
    assert_int_equal(find("*.example"), 1);
}

static void invalid_names_are_ignored(void **state)
{
    (void)state;
    char name[UVH_TLS_NAME_MAX + 2];
    bool ignored;
    memset(name, 'a', sizeof(name));
    assert_null(uvh_tls_hosts_add(&hosts, name, UVH_TLS_NAME_MAX + 1, &ignored));
    assert_true(ignored);
    assert_null(uvh_tls_hosts_add(&hosts, name, 0, &ignored));
    assert_true(ignored);
    assert_null(uvh_tls_hosts_add(&hosts, ".", 1, &ignored));
    assert_true(ignored);
    assert_non_null(uvh_tls_hosts_add(&hosts, name, UVH_TLS_NAME_MAX, &ignored));
    assert_null(uvh_tls_hosts_find(&hosts, name, UVH_TLS_NAME_MAX + 1));
    assert_non_null(uvh_tls_hosts_find(&hosts, name, UVH_TLS_NAME_MAX));
}

static void many_names_are_found(void **state)
{
    (void)state;
    char name[32];
    for (uint32_t i = 1; i <= MANY; i++) {
        snprintf(name, sizeof(name), "host%u.example", i);
        add(name, i);
        add(name, i); /* stored once */
    }
    assert_int_equal(hosts.table.count, MANY);
    for (uint32_t i = 1; i <= MANY; i++) {
        snprintf(name, sizeof(name), "HOST%u.example", i);
        assert_int_equal(find(name), i);
    }
    assert_int_equal(find("host0.example"), 0);
}

/* ---- tickets ---- */

static bool find_key(struct uvh_tls_tickets *tickets, int64_t now,
                     const struct uvh_tls_ticket_key *expected, bool *newest)
{
    struct uvh_tls_ticket_key key;
    if (!uvh_tls_tickets_find(tickets, now, LIFETIME, expected->name, &key, newest))
        return false;
    assert_memory_equal(&key, expected, sizeof(key));
    return true;
}

static void ticket_keys_rotate_and_expire(void **state)
{
    (void)state;
    struct uvh_tls_tickets tickets;
    struct uvh_tls_ticket_key first, same, second, third;
    bool newest;
    uvh_tls_tickets_init(&tickets);
    assert_true(uvh_tls_tickets_current(&tickets, 1000, LIFETIME, &first));
    assert_true(uvh_tls_tickets_current(&tickets, 1099, LIFETIME, &same));
    assert_memory_equal(&first, &same, sizeof(first));
    assert_true(find_key(&tickets, 1099, &first, &newest) && newest);
    assert_true(uvh_tls_tickets_current(&tickets, 1100, LIFETIME, &second));
    assert_memory_not_equal(&first, &second, sizeof(first));
    assert_true(find_key(&tickets, 1199, &first, &newest) && !newest);
    assert_true(find_key(&tickets, 1199, &second, &newest) && newest);
    /* A lookup of an expired key removes it. */
    assert_false(find_key(&tickets, 1200, &first, &newest));
    assert_true(find_key(&tickets, 1200, &second, &newest) && !newest);
    assert_true(uvh_tls_tickets_current(&tickets, 1200, LIFETIME, &third));
    assert_false(find_key(&tickets, 1500, &third, &newest)); /* after a long pause */
    uvh_tls_tickets_release(&tickets);
}

static void clock_set_back_changes_ticket_key(void **state)
{
    (void)state;
    struct uvh_tls_tickets tickets;
    struct uvh_tls_ticket_key first, second;
    uvh_tls_tickets_init(&tickets);
    assert_true(uvh_tls_tickets_current(&tickets, 1000000, LIFETIME, &first));
    assert_true(uvh_tls_tickets_current(&tickets, 1000, LIFETIME, &second));
    assert_memory_not_equal(&first, &second, sizeof(first));
    uvh_tls_tickets_release(&tickets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_found_without_case, begin, end),
        cmocka_unit_test_setup_teardown(wildcard_matches_one_label, begin, end),
        cmocka_unit_test_setup_teardown(invalid_names_are_ignored, begin, end),
        cmocka_unit_test_setup_teardown(many_names_are_found, begin, end),
        cmocka_unit_test(ticket_keys_rotate_and_expire),
        cmocka_unit_test(clock_set_back_changes_ticket_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
