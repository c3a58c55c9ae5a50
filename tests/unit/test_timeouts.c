/* Timeouts: the first to be armed is the first to expire, with any rearmed or cancelled ones
 * between. Time is an argument, so no test waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/timeouts.h"

enum { MEMBERS = 64 };

static struct uvh_timeout members[MEMBERS];

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < MEMBERS; i++)
        uvh_timeout_init(&members[i]);
    return 0;
}

/* A circular list of `count` members with non-decreasing deadlines. */
static void assert_sane(struct uvh_timeout_list *list, size_t count)
{
    uint64_t last = 0;
    size_t seen = 0;
    for (struct uvh_list *link = list->members.next; link != &list->members; link = link->next) {
        const struct uvh_timeout *timeout = (const struct uvh_timeout *)(const void *)link;
        assert_ptr_equal(link->next->previous, link);
        assert_true(timeout->deadline >= last);
        last = timeout->deadline;
        seen++;
    }
    assert_int_equal(seen, count);
    assert_int_equal(uvh_timeout_first(list) == NULL, count == 0);
}

static void timeouts_expire_in_order(void **state)
{
    (void)state;
    struct uvh_timeout_list list;
    uvh_timeout_list_init(&list, 100);
    assert_sane(&list, 0);
    assert_null(uvh_timeout_expired(&list, UINT64_MAX - 1));
    for (size_t i = 0; i < 3; i++) {
        uvh_timeout_arm(&list, &members[i], 1000 + 10 * i);
        assert_sane(&list, i + 1);
    }
    assert_null(uvh_timeout_expired(&list, 1099));
    assert_ptr_equal(uvh_timeout_expired(&list, 1100), &members[0]);
    assert_ptr_equal(uvh_timeout_expired(&list, 1100),
                     &members[0]); /* it stays until it is cancelled */
    uvh_timeout_cancel(&members[0]);
    assert_sane(&list, 2);
    assert_null(uvh_timeout_expired(&list, 1100));
    assert_ptr_equal(uvh_timeout_expired(&list, 5000), &members[1]);
    uvh_timeout_cancel(&members[1]);
    assert_ptr_equal(uvh_timeout_expired(&list, 5000), &members[2]);
    uvh_timeout_cancel(&members[2]);
    assert_sane(&list, 0);
    assert_null(uvh_timeout_first(&list));
}

static void rearming_moves_timeout_to_end(void **state)
{
    (void)state;
    struct uvh_timeout_list list;
    uvh_timeout_list_init(&list, 10);
    for (size_t i = 0; i < 3; i++)
        uvh_timeout_arm(&list, &members[i], i);
    uvh_timeout_arm(&list, &members[0], 5);
    assert_sane(&list, 3);
    assert_ptr_equal(uvh_timeout_first(&list), &members[1]);
    uvh_timeout_cancel(&members[1]);
    uvh_timeout_cancel(&members[1]); /* no effect */
    assert_sane(&list, 2);
    assert_ptr_equal(uvh_timeout_expired(&list, 12), &members[2]);
    uvh_timeout_arm(&list, &members[2], 12);
    assert_null(uvh_timeout_expired(&list, 14));
    assert_ptr_equal(uvh_timeout_expired(&list, 15), &members[0]);
}

static void timeout_is_in_one_list(void **state)
{
    (void)state;
    struct uvh_timeout_list shorter, longer;
    uvh_timeout_list_init(&shorter, 10);
    uvh_timeout_list_init(&longer, 1000);
    uvh_timeout_arm(&shorter, &members[0], 0);
    uvh_timeout_arm(&longer, &members[0], 0);
    assert_sane(&shorter, 0);
    assert_sane(&longer, 1);
    assert_null(uvh_timeout_expired(&longer, 999));
    assert_ptr_equal(uvh_timeout_expired(&longer, 1000), &members[0]);
}

static void timeout_never_does_not_expire(void **state)
{
    (void)state;
    struct uvh_timeout_list list;
    uvh_timeout_list_init(&list, UVH_TIMEOUT_NEVER);
    uvh_timeout_arm(&list, &members[0], 12345);
    assert_sane(&list, 1);
    assert_null(uvh_timeout_expired(&list, UINT64_MAX - 1));
    assert_ptr_equal(uvh_timeout_first(&list), &members[0]);
}

/* Compared with a linear search through an array. */
static void random_operations_match_array(void **state)
{
    (void)state;
    struct uvh_timeout_list list;
    uint64_t deadlines[MEMBERS] = {0}; /* 0: not armed */
    uint64_t now = 1, random = 42;
    uvh_timeout_list_init(&list, 50);
    for (int step = 0; step < 20000; step++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t i = (size_t)(random >> 33) % MEMBERS;
        now += (random >> 20) % 3;
        if ((random >> 50) % 4 == 0) {
            uvh_timeout_cancel(&members[i]);
            deadlines[i] = 0;
        } else {
            uvh_timeout_arm(&list, &members[i], now);
            deadlines[i] = now + 50;
        }
        struct uvh_timeout *expired = uvh_timeout_expired(&list, now);
        uint64_t earliest = UINT64_MAX;
        size_t armed = 0;
        for (size_t k = 0; k < MEMBERS; k++) {
            if (deadlines[k] != 0 && deadlines[k] < earliest)
                earliest = deadlines[k];
            armed += deadlines[k] != 0;
        }
        assert_sane(&list, armed);
        assert_int_equal(expired != NULL, earliest <= now);
        if (expired == NULL)
            continue;
        assert_true(expired->deadline == earliest);
        uvh_timeout_cancel(expired);
        deadlines[expired - members] = 0;
    }
}

static void assert_step(uint32_t length)
{
    size_t step = uvh_timeout_step(length);
    assert_in_range(step, 0, UVH_TIMEOUT_STEPS - 1);
    uint32_t rounded = uvh_timeout_step_length(step);
    assert_true(rounded >= length);
    assert_true((uint64_t)(rounded - length) * 8 < length);
    assert_int_equal(uvh_timeout_step(rounded), step);
    /* the step before is too short */
    assert_true(step == 0 || uvh_timeout_step_length(step - 1) < length);
}

static void lengths_are_rounded_within_one_eighth(void **state)
{
    (void)state;
    for (uint32_t length = 1; length < 100000; length++)
        assert_step(length);
    for (int bit = 17; bit <= 31; bit++) {
        assert_step(((uint32_t)1 << bit) - 1);
        assert_step((uint32_t)1 << bit);
        if (bit < 31)
            assert_step(((uint32_t)1 << bit) + 1);
    }
    /* no unused steps */
    assert_int_equal(uvh_timeout_step(UVH_TIMEOUT_STEP_MOST), UVH_TIMEOUT_STEPS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(timeouts_expire_in_order, set_up),
        cmocka_unit_test_setup(rearming_moves_timeout_to_end, set_up),
        cmocka_unit_test_setup(timeout_is_in_one_list, set_up),
        cmocka_unit_test_setup(timeout_never_does_not_expire, set_up),
        cmocka_unit_test_setup(lengths_are_rounded_within_one_eighth, set_up),
        cmocka_unit_test_setup(random_operations_match_array, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
