/* The register of used tickets: each can be claimed once, whatever the clock, the limit and other
 * threads do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/alloc.h"
#include "support/fault_heap.h"
#include "tls/used_tickets.h"

enum { LIFETIME = 100, NOW = 1000, THREADS = 4, TICKETS = 20000 };

static struct uvh_tls_used_tickets used;
static struct fault_heap heap;

static int begin(void **state)
{
    (void)state;
    fault_heap_init(&heap);
    uvh_tls_used_tickets_init(&used, &heap.allocator, NOW);
    return 0;
}

static int end(void **state)
{
    (void)state;
    uvh_tls_used_tickets_release(&used);
    return 0;
}

static bool claim(uint64_t id, int64_t begun, int64_t now)
{
    return uvh_tls_used_tickets_claim(&used, id, begun, now);
}

static void reserve(size_t limit)
{
    assert_true(uvh_tls_used_tickets_reserve(&used, limit, LIFETIME));
}

static void claim_without_space_fails(void **state)
{
    (void)state;
    assert_false(claim(1, NOW, NOW));
}

static void ticket_is_claimed_once(void **state)
{
    (void)state;
    reserve(100);
    for (uint64_t id = 0; id < 100; id++)
        assert_true(claim(id << 32, NOW, NOW)); /* all in one chain */
    for (uint64_t id = 0; id < 100; id++)
        assert_false(claim(id << 32, NOW, NOW + LIFETIME - 1));
}

/* Refused tickets are not stored and stay refused. */
static void full_register_refuses_until_expiry(void **state)
{
    (void)state;
    reserve(3); /* not a power of two */
    assert_true(claim(1, NOW, NOW));
    assert_true(claim(2, NOW + 10, NOW + 10));
    assert_true(claim(3, NOW + 20, NOW + 20));
    assert_false(claim(4, NOW + 20, NOW + 20));
    assert_false(claim(4, NOW + 20, NOW + LIFETIME - 1));
    assert_false(claim(4, NOW + 20, NOW + LIFETIME)); /* 1 has expired */
    assert_true(claim(5, NOW + 21, NOW + LIFETIME));
    assert_false(claim(6, NOW + 22, NOW + LIFETIME));
    assert_false(claim(2, NOW + 10, NOW + LIFETIME));
    assert_true(claim(7, NOW + 23, NOW + LIFETIME + 10));
    assert_false(claim(3, NOW + 20, NOW + LIFETIME + 10));
}

static void chains_survive_expiry(void **state)
{
    (void)state;
    reserve(8);
    for (int64_t at = 0; at < 1000; at++) {
        uint64_t id = (uint64_t)at;
        assert_true(claim(id * 4, NOW + at * LIFETIME / 8, NOW + at * LIFETIME / 8));
        for (int64_t back = 0; back < 8 && back <= at; back++)
            assert_false(claim((id - (uint64_t)back) * 4, NOW + (at - back) * LIFETIME / 8,
                               NOW + at * LIFETIME / 8));
    }
}

static void clock_set_back_allows_no_second_use(void **state)
{
    (void)state;
    reserve(2);
    assert_true(claim(1, NOW, NOW));
    assert_true(claim(2, NOW + 500, NOW + 500)); /* 1 is removed */
    assert_false(claim(1, NOW, NOW));
    assert_false(claim(3, NOW, NOW)); /* indistinguishable from 1 */
    assert_false(claim(2, NOW + 500, NOW));
}

static void reserve_keeps_used_tickets(void **state)
{
    (void)state;
    reserve(4);
    for (uint64_t id = 1; id <= 4; id++)
        assert_true(claim(id, NOW + (int64_t)id, NOW + 5));
    assert_true(claim(5, NOW + 50, NOW + LIFETIME + 1)); /* the ring has wrapped around */
    reserve(1000);
    assert_true(claim(6, NOW + 50, NOW + LIFETIME + 1));
    for (uint64_t id = 1; id <= 6; id++)
        assert_false(claim(id, NOW + (int64_t)id, NOW + LIFETIME + 1));
    reserve(2); /* it contains five */
    assert_false(claim(7, NOW + 50, NOW + LIFETIME + 1));
    assert_true(claim(7, NOW + 150, NOW + LIFETIME + 50));
}

static void longest_lifetime_applies(void **state)
{
    (void)state;
    reserve(1);
    assert_true(uvh_tls_used_tickets_reserve(&used, 1, 2 * LIFETIME));
    reserve(1);
    assert_true(claim(1, NOW, NOW));
    assert_false(claim(1, NOW, NOW + 2 * LIFETIME - 1));
    assert_true(claim(2, NOW + 1, NOW + 2 * LIFETIME));
}

static void failed_reserve_changes_nothing(void **state)
{
    (void)state;
    reserve(2);
    assert_true(claim(1, NOW, NOW));
    for (size_t n = 1; n <= 2; n++) {
        fault_heap_arm(&heap, n, false);
        assert_false(uvh_tls_used_tickets_reserve(&used, 100, LIFETIME));
        fault_heap_arm(&heap, 0, false);
    }
    assert_false(claim(1, NOW, NOW));
    assert_true(claim(2, NOW, NOW));
    assert_false(claim(3, NOW, NOW)); /* full */
}

static atomic_int claimed[TICKETS];

static void *claim_all(void *arg)
{
    (void)arg;
    for (uint64_t id = 0; id < TICKETS; id++)
        if (claim(id, NOW, NOW))
            atomic_fetch_add(&claimed[id], 1);
    return NULL;
}

static void concurrent_claims_succeed_once(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    reserve(TICKETS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, claim_all, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int id = 0; id < TICKETS; id++)
        assert_int_equal(claimed[id], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(claim_without_space_fails, begin, end),
        cmocka_unit_test_setup_teardown(ticket_is_claimed_once, begin, end),
        cmocka_unit_test_setup_teardown(full_register_refuses_until_expiry, begin, end),
        cmocka_unit_test_setup_teardown(chains_survive_expiry, begin, end),
        cmocka_unit_test_setup_teardown(clock_set_back_allows_no_second_use, begin, end),
        cmocka_unit_test_setup_teardown(reserve_keeps_used_tickets, begin, end),
        cmocka_unit_test_setup_teardown(longest_lifetime_applies, begin, end),
        cmocka_unit_test_setup_teardown(failed_reserve_changes_nothing, begin, end),
        cmocka_unit_test_setup_teardown(concurrent_claims_succeed_once, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
