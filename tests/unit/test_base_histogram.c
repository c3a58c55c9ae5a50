/* The histogram compared with sorted samples: percentiles within the documented error, merging, and
 * limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/histogram.h"

enum { SAMPLES = 20000 };

static struct uvh_histogram one, two, both;

static int clear_all(void **state)
{
    (void)state;
    uvh_histogram_clear(&one);
    uvh_histogram_clear(&two);
    uvh_histogram_clear(&both);
    return 0;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Distributions: each maps a random number to a value. */

static uint64_t uniform(uint64_t random)
{
    return random % 1000000;
}

static uint64_t small(uint64_t random)
{
    return random % 40;
}

/* Equally many values in each power of two. */
static uint64_t logarithmic(uint64_t random)
{
    unsigned bits = (unsigned)(random % 32);
    return ((uint64_t)1 << bits) + ((random >> 8) & (((uint64_t)1 << bits) - 1));
}

/* Mostly fast with a few very slow ones, like the latencies of a server. */
static uint64_t bimodal(uint64_t random)
{
    return random % 100 < 97 ? 80 + (random >> 8) % 40 : 2000000 + (random >> 8) % 500000;
}

static uint64_t constant(uint64_t random)
{
    (void)random;
    return 12345;
}

static uint64_t (*const distributions[])(uint64_t) = {uniform, small, logarithmic, bimodal,
                                                      constant};
static const uint64_t millionths[] = {1, 100000, 500000, 900000, 990000, 999000, 999900, 1000000};

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void assert_near(uint64_t found, uint64_t expected)
{
    uint64_t difference = found > expected ? found - expected : expected - found;
    assert_true(difference * 1000 <= expected * 16);
}

static void percentiles_match_sorted_samples(void **state)
{
    (void)state;
    uint64_t *samples = malloc(SAMPLES * sizeof(*samples));
    assert_non_null(samples);
    for (size_t d = 0; d < UVH_COUNT_OF(distributions); d++) {
        uint64_t seed = 88172645463325252ULL + d, sum = 0;
        uvh_histogram_clear(&one);
        for (size_t i = 0; i < SAMPLES; i++) {
            samples[i] = distributions[d](next_random(&seed));
            sum += samples[i];
            uvh_histogram_record(&one, samples[i], 1);
        }
        qsort(samples, SAMPLES, sizeof(*samples), compare);
        assert_true(uvh_histogram_count(&one) == SAMPLES);
        assert_true(uvh_histogram_sum(&one) == sum);
        assert_true(uvh_histogram_max(&one) == samples[SAMPLES - 1]);
        for (size_t i = 0; i < UVH_COUNT_OF(millionths); i++) {
            uint64_t rank = (SAMPLES * millionths[i] + 999999) / 1000000;
            assert_near(uvh_histogram_percentile(&one, millionths[i]),
                        samples[rank == 0 ? 0 : rank - 1]);
        }
    }
    free(samples);
}

static void below_is_exact_at_powers_of_two(void **state)
{
    (void)state;
    for (size_t d = 0; d < UVH_COUNT_OF(distributions); d++) {
        uint64_t seed = 1234567 + d, below[32] = {0};
        uvh_histogram_clear(&one);
        for (size_t i = 0; i < SAMPLES; i++) {
            uint64_t value = distributions[d](next_random(&seed));
            uvh_histogram_record(&one, value, 1);
            for (unsigned bit = 0; bit < 32; bit++)
                below[bit] += value < (uint64_t)1 << bit;
        }
        for (unsigned bit = 0; bit < 32; bit++)
            assert_true(uvh_histogram_below(&one, (uint64_t)1 << bit) == below[bit]);
    }
}

static void merge_equals_common_recording(void **state)
{
    (void)state;
    uint64_t seed = 42;
    for (size_t i = 0; i < SAMPLES; i++) {
        uint64_t value = logarithmic(next_random(&seed));
        uvh_histogram_record(i % 3 == 0 ? &one : &two, value, 1);
        uvh_histogram_record(&both, value, 1);
    }
    uvh_histogram_merge(&one, &two);
    assert_true(uvh_histogram_count(&one) == SAMPLES);
    assert_memory_equal(&one, &both, sizeof(one));
}

static void record_with_count_equals_single_records(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        uvh_histogram_record(&one, 777, 1);
    uvh_histogram_record(&two, 777, 1000);
    assert_memory_equal(&one, &two, sizeof(one));
}

static void empty_histogram_returns_zeros(void **state)
{
    (void)state;
    assert_true(uvh_histogram_count(&one) == 0);
    assert_true(uvh_histogram_percentile(&one, 500000) == 0);
    assert_true(uvh_histogram_percentile(&one, 1000000) == 0);
    assert_true(uvh_histogram_max(&one) == 0);
    assert_true(uvh_histogram_below(&one, UINT64_MAX) == 0);
}

static void highest_is_the_end_of_the_last_range(void **state)
{
    (void)state;
    assert_true(uvh_histogram_highest(&one) == 0);
    uvh_histogram_record(&one, 7, 1);
    assert_true(uvh_histogram_highest(&one) == 7);
    uvh_histogram_record(&one, 1000, 1);
    assert_true(uvh_histogram_highest(&one) == 1007);
    uvh_histogram_record(&one, UINT64_MAX, 1);
    assert_true(uvh_histogram_highest(&one) == UINT64_MAX);
}

static void small_values_are_exact(void **state)
{
    (void)state;
    for (uint64_t value = 0; value < 64; value++) {
        uvh_histogram_clear(&one);
        uvh_histogram_record(&one, value, 1);
        uvh_histogram_record(&one, 1000000, 1); /* so that the result is not the maximum */
        assert_true(uvh_histogram_percentile(&one, 1) == value);
    }
}

/* Each counter begins where the previous one ends. */
static void ranges_have_no_gap_or_overlap(void **state)
{
    (void)state;
    size_t before = 0;
    for (uint64_t value = 1; value < 1 << 20; value++) {
        size_t index = uvh_histogram_index(value);
        assert_true(index == before || index == before + 1);
        before = index;
    }
    for (unsigned bit = 6; bit < UVH_HISTOGRAM_TOP_BIT; bit++)
        assert_true(uvh_histogram_index((uint64_t)1 << bit) ==
                    uvh_histogram_index(((uint64_t)1 << bit) - 1) + 1);
    assert_true(uvh_histogram_index(((uint64_t)1 << UVH_HISTOGRAM_TOP_BIT) - 1) ==
                UVH_HISTOGRAM_SIZE - 2);
}

static void too_large_values_count_as_maximum(void **state)
{
    (void)state;
    uvh_histogram_record(&one, 5, 1);
    uvh_histogram_record(&one, (uint64_t)1 << UVH_HISTOGRAM_TOP_BIT, 1);
    uvh_histogram_record(&one, UINT64_MAX / 4, 1);
    assert_true(uvh_histogram_count(&one) == 3);
    assert_true(uvh_histogram_percentile(&one, 300000) == 5);
    assert_true(uvh_histogram_percentile(&one, 600000) == UINT64_MAX / 4);
    assert_true(uvh_histogram_percentile(&one, 1000000) == UINT64_MAX / 4);
    assert_true(uvh_histogram_below(&one, (uint64_t)1 << UVH_HISTOGRAM_TOP_BIT) == 1);
}

static void huge_counts_do_not_overflow_rank(void **state)
{
    (void)state;
    uvh_histogram_record(&one, 10, (uint64_t)1 << 60);
    uvh_histogram_record(&one, 20, (uint64_t)1 << 60);
    assert_true(uvh_histogram_percentile(&one, 400000) == 10);
    assert_true(uvh_histogram_percentile(&one, 600000) == 20);
}

static void histogram_size_is_limited(void **state)
{
    (void)state;
    assert_true(sizeof(struct uvh_histogram) <= 7200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(percentiles_match_sorted_samples, clear_all),
        cmocka_unit_test_setup(below_is_exact_at_powers_of_two, clear_all),
        cmocka_unit_test_setup(merge_equals_common_recording, clear_all),
        cmocka_unit_test_setup(record_with_count_equals_single_records, clear_all),
        cmocka_unit_test_setup(empty_histogram_returns_zeros, clear_all),
        cmocka_unit_test_setup(highest_is_the_end_of_the_last_range, clear_all),
        cmocka_unit_test_setup(small_values_are_exact, clear_all),
        cmocka_unit_test_setup(ranges_have_no_gap_or_overlap, clear_all),
        cmocka_unit_test_setup(too_large_values_count_as_maximum, clear_all),
        cmocka_unit_test_setup(huge_counts_do_not_overflow_rank, clear_all),
        cmocka_unit_test(histogram_size_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
