/* Rate limits of responses, and the slice sizes of large files. Time is an argument, so no test
 * waits. */
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

static void burst_is_followed_by_rate(void **state)
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

static void default_burst_is_quarter_second(void **state)
{
    (void)state;
    struct uvh_pace pace;
    uvh_pace_init(&pace, 1000, 0);
    assert_int_equal(uvh_pace_allowed(&pace, 0), 251);
    uvh_pace_init(&pace, 1000, 250); /* the minimum for any burst */
    assert_int_equal(uvh_pace_allowed(&pace, 0), 251);
    uvh_pace_init(&pace, 1, 0);
    assert_int_equal(uvh_pace_allowed(&pace, 0), 1); /* never zero */
}

static void unused_rate_is_kept_for_one_second(void **state)
{
    (void)state;
    struct uvh_pace pace;
    uvh_pace_init(&pace, 1000, 0);
    uvh_pace_take(&pace, 251);
    assert_int_equal(uvh_pace_allowed(&pace, 10), 0);
    assert_int_equal(uvh_pace_allowed(&pace, 3600010), 1000);
    /* A remaining burst neither grows nor expires. */
    uvh_pace_init(&pace, 1000, 9000);
    assert_int_equal(uvh_pace_allowed(&pace, 0), 9000);
    assert_int_equal(uvh_pace_allowed(&pace, 60000), 9000);
}

static void overdraft_is_repaid_in_full(void **state)
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

static void slow_rates_have_no_rounding_loss(void **state)
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

static void rate_is_never_exceeded(void **state)
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

static void changed_rate_applies_immediately(void **state)
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

static void slices_are_long_for_large_files_only(void **state)
{
    (void)state;
    struct uvh_file_share share = {0};
    uint64_t responses = 0;
    for (uint64_t now = 0; now < 10000; now += 7) {
        responses++;
        uvh_file_share_begin(&share, 10 << 20);
        assert_int_equal(next_slice(&share, responses, now), UVH_FILE_SHARE_LONG);
    }
}

static void slices_are_short_with_small_responses(void **state)
{
    (void)state;
    struct uvh_file_share share = {0};
    uvh_file_share_begin(&share, (uint64_t)10 << 30);
    assert_int_equal(next_slice(&share, 1, 1000), UVH_FILE_SHARE_LONG);
    assert_int_equal(next_slice(&share, 2, 1010), UVH_FILE_SHARE_SHORT);
    assert_int_equal(next_slice(&share, 2, 1010),
                     UVH_FILE_SHARE_SHORT); /* of the next download in this iteration */
    assert_int_equal(next_slice(&share, 2, 1010 + UVH_FILE_SHARE_KEPT_MS - 1),
                     UVH_FILE_SHARE_SHORT);
    assert_int_equal(next_slice(&share, 2, 1010 + UVH_FILE_SHARE_KEPT_MS), UVH_FILE_SHARE_LONG);
    assert_int_equal(next_slice(&share, 3, 5000), UVH_FILE_SHARE_SHORT);
}

static void small_file_counts_as_small_response(void **state)
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
        cmocka_unit_test(burst_is_followed_by_rate),
        cmocka_unit_test(default_burst_is_quarter_second),
        cmocka_unit_test(unused_rate_is_kept_for_one_second),
        cmocka_unit_test(overdraft_is_repaid_in_full),
        cmocka_unit_test(slow_rates_have_no_rounding_loss),
        cmocka_unit_test(rate_is_never_exceeded),
        cmocka_unit_test(changed_rate_applies_immediately),
        cmocka_unit_test(slices_are_long_for_large_files_only),
        cmocka_unit_test(slices_are_short_with_small_responses),
        cmocka_unit_test(small_file_counts_as_small_response),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
