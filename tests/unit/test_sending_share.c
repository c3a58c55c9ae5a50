/* How much may leave when: the account of a response whose rate is limited, and the slices of large
 * files. Time is an argument, so nothing waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "conn/file_share.h"
#include "conn/pace.h"

/* ---- the rate ---- */

static void the_burst_leaves_at_once_and_then_the_rate(void **state)
{
    (void)state;
    struct uvh_pace pace;
    uvh_pace_init(&pace, 1000, 5000);
    assert_int_equal(uvh_pace_allowed(&pace, 77), 5000);
    uvh_pace_take(&pace, 5000);
    assert_int_equal(uvh_pace_allowed(&pace, 77), 0);
    assert_int_equal(uvh_pace_allowed(&pace, 78), 1);
    assert_int_equal(uvh_pace_allowed(&pace, 327), 250);
    uvh_pace_take(&pace, 250);
    assert_int_equal(uvh_pace_allowed(&pace, 327), 0);
}

static void without_a_burst_a_quarter_of_a_second_leaves_at_once(void **state)
{
    (void)state;
    struct uvh_pace pace;
    uvh_pace_init(&pace, 1000, 0);
    assert_int_equal(uvh_pace_allowed(&pace, 0), 251);
    uvh_pace_init(&pace, 1000, 250); /* nor less than that, whatever burst is asked for */
    assert_int_equal(uvh_pace_allowed(&pace, 0), 251);
    uvh_pace_init(&pace, 1, 0);
    assert_int_equal(uvh_pace_allowed(&pace, 0), 1); /* never nothing at all */
}

static void what_is_not_used_is_kept_for_a_second(void **state)
{
    (void)state;
    struct uvh_pace pace;
    uvh_pace_init(&pace, 1000, 0);
    uvh_pace_take(&pace, 251);
    assert_int_equal(uvh_pace_allowed(&pace, 10), 0);
    assert_int_equal(uvh_pace_allowed(&pace, 3600010), 1000);
    /* A burst that is still there neither grows nor goes. */
    uvh_pace_init(&pace, 1000, 9000);
    assert_int_equal(uvh_pace_allowed(&pace, 0), 9000);
    assert_int_equal(uvh_pace_allowed(&pace, 60000), 9000);
}

static void a_debt_is_paid_in_full(void **state)
{
    (void)state;
    struct uvh_pace pace;
    uvh_pace_init(&pace, 1000, 0);
    assert_int_equal(uvh_pace_allowed(&pace, 0), 251);
    uvh_pace_take(&pace, 10251);
    assert_int_equal(uvh_pace_allowed(&pace, 9999), 0);
    assert_int_equal(uvh_pace_allowed(&pace, 10001), 1);
    uvh_pace_take(&pace, (uint64_t)1 << 30);
    assert_int_equal(uvh_pace_allowed(&pace, 20000), 0);
}

static void slow_rates_lose_no_thousandths(void **state)
{
    (void)state;
    struct uvh_pace pace;
    uint64_t sent = 0;
    uvh_pace_init(&pace, 3, 0);
    for (uint64_t now = 0; now <= 100000; now++) {
        uint64_t allowed = uvh_pace_allowed(&pace, now);
        uvh_pace_take(&pace, allowed);
        sent += allowed;
    }
    assert_int_equal(sent, 1 + 300);
}

static void the_rate_is_never_exceeded_however_often_one_looks(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 300; round++) {
        uint64_t rate = (uint64_t)1 << (round % 45), burst = round % 3 == 0 ? rate * 2 : 0,
                 sent = 0, now = 5;
        struct uvh_pace pace;
        uvh_pace_init(&pace, rate, burst);
        if (burst == 0)
            burst = rate / 4 + 1;
        for (int i = 0; i < 500; i++) {
            uint64_t allowed = uvh_pace_allowed(&pace, now);
            random = random * 6364136223846793005U + 1442695040888963407U;
            uint64_t taken = random >> 63 ? allowed : allowed / 3;
            uvh_pace_take(&pace, taken);
            sent += taken;
            assert_true(sent <= burst + rate * (now - 5) / 1000 + 1);
            now += (random >> 33) % 400;
        }
    }
}

static void a_new_rate_counts_from_now_on(void **state)
{
    (void)state;
    struct uvh_pace pace;
    uvh_pace_init(&pace, 1000, 0);
    assert_int_equal(uvh_pace_allowed(&pace, 0), 251);
    uvh_pace_take(&pace, 251);
    assert_int_equal(uvh_pace_allowed(&pace, 0), 0);
    uvh_pace_change(&pace, 4000);
    assert_int_equal(uvh_pace_allowed(&pace, 100), 400);
}

/* ---- slices ---- */

static uint64_t next_slice(struct uvh_file_share *share, uint64_t responses, uint64_t now)
{
    share->responses = responses;
    return uvh_file_share_next(share, now);
}

static void slices_are_long_while_all_ask_for_large_files(void **state)
{
    (void)state;
    struct uvh_file_share share = {0};
    uint64_t answers = 0;
    for (uint64_t now = 0; now < 10000; now += 7) {
        answers++;
        uvh_file_share_begin(&share, 10 << 20);
        assert_int_equal(next_slice(&share, answers, now), UVH_FILE_SHARE_LONG);
    }
}

static void slices_are_short_while_others_ask_for_small_things(void **state)
{
    (void)state;
    struct uvh_file_share share = {0};
    uvh_file_share_begin(&share, (uint64_t)10 << 30);
    assert_int_equal(next_slice(&share, 1, 1000), UVH_FILE_SHARE_LONG);
    assert_int_equal(next_slice(&share, 2, 1010), UVH_FILE_SHARE_SHORT);
    assert_int_equal(next_slice(&share, 2, 1010),
                     UVH_FILE_SHARE_SHORT); /* of the next download in this turn */
    assert_int_equal(next_slice(&share, 2, 1010 + UVH_FILE_SHARE_KEPT_MS - 1),
                     UVH_FILE_SHARE_SHORT);
    assert_int_equal(next_slice(&share, 2, 1010 + UVH_FILE_SHARE_KEPT_MS), UVH_FILE_SHARE_LONG);
    assert_int_equal(next_slice(&share, 3, 5000), UVH_FILE_SHARE_SHORT);
}

static void a_small_file_is_a_small_thing(void **state)
{
    (void)state;
    struct uvh_file_share share = {0};
    uvh_file_share_begin(&share, UVH_FILE_SHARE_SHORT);
    assert_int_equal(next_slice(&share, 1, 0), UVH_FILE_SHARE_SHORT);
    uvh_file_share_begin(&share, UVH_FILE_SHARE_SHORT + 1);
    assert_int_equal(next_slice(&share, 2, 1000), UVH_FILE_SHARE_LONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_burst_leaves_at_once_and_then_the_rate),
        cmocka_unit_test(without_a_burst_a_quarter_of_a_second_leaves_at_once),
        cmocka_unit_test(what_is_not_used_is_kept_for_a_second),
        cmocka_unit_test(a_debt_is_paid_in_full),
        cmocka_unit_test(slow_rates_lose_no_thousandths),
        cmocka_unit_test(the_rate_is_never_exceeded_however_often_one_looks),
        cmocka_unit_test(a_new_rate_counts_from_now_on),
        cmocka_unit_test(slices_are_long_while_all_ask_for_large_files),
        cmocka_unit_test(slices_are_short_while_others_ask_for_small_things),
        cmocka_unit_test(a_small_file_is_a_small_thing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
