/* Token buckets: exact grants over time; what a full table evicts and keeps; threads; failed
 * allocations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <pthread.h>

#include <cmocka.h>

#include "middleware/token_buckets.h"
#include "support/fault_heap.h"

enum { SECOND = 1000000000 };

static struct fault_heap heap;

static struct uvh_token_buckets *make(size_t keys, uint64_t interval, uint64_t burst)
{
    fault_heap_init(&heap);
    struct uvh_token_buckets *buckets = uvh_token_buckets_new(
        &(struct uvh_token_buckets_config){keys, interval, burst, 12345, &heap.allocator});
    assert_non_null(buckets);
    return buckets;
}

static void end(struct uvh_token_buckets *buckets)
{
    uvh_token_buckets_free(buckets);
    assert_int_equal(atomic_load(&heap.live), 0);
}

static struct uvh_token_verdict take(struct uvh_token_buckets *buckets, const char *key,
                                     uint64_t now)
{
    return uvh_token_buckets_take(buckets, 0, key, strlen(key), now);
}

static void assert_verdict(struct uvh_token_verdict verdict, bool granted, uint64_t left,
                           uint64_t next_in)
{
    assert_int_equal(verdict.granted, granted);
    assert_true(verdict.left == left);
    assert_true(verdict.next_in == next_in);
}

static void bucket_empties_and_refills(void **state)
{
    (void)state;
    struct uvh_token_buckets *buckets = make(4, 10 * (uint64_t)SECOND, 3);
    uint64_t now = 77 * (uint64_t)SECOND;
    assert_verdict(take(buckets, "a", now), true, 2, 10 * (uint64_t)SECOND);
    assert_verdict(take(buckets, "a", now + SECOND), true, 1, 9 * (uint64_t)SECOND);
    assert_verdict(take(buckets, "a", now + 2 * (uint64_t)SECOND), true, 0, 8 * (uint64_t)SECOND);
    assert_verdict(take(buckets, "a", now + 3 * (uint64_t)SECOND), false, 0, 7 * (uint64_t)SECOND);
    assert_verdict(take(buckets, "b", now + 3 * (uint64_t)SECOND), true, 2, 10 * (uint64_t)SECOND);
    /* One nanosecond before the next token, and at its time. */
    assert_verdict(take(buckets, "a", now + 10 * (uint64_t)SECOND - 1), false, 0, 1);
    assert_verdict(take(buckets, "a", now + 10 * (uint64_t)SECOND), true, 0, 10 * (uint64_t)SECOND);
    /* It refills up to its size. */
    assert_verdict(take(buckets, "a", now + 1000 * (uint64_t)SECOND), true, 2,
                   10 * (uint64_t)SECOND);
    end(buckets);
}

/* In any time t at most burst + t / interval, whatever the pattern of requests. */
static void no_request_pattern_exceeds_rate(void **state)
{
    (void)state;
    for (uint64_t step = 1; step < 40; step += 3) {
        struct uvh_token_buckets *buckets = make(1, 10, 7);
        uint64_t granted = 0, now = 1000;
        for (; now < 2000; now += step) {
            for (int tries = 0; tries < 9; tries++)
                granted += take(buckets, "a", now).granted;
        }
        uint64_t last = now - step;
        /* Nine tries take all tokens each time, and no step adds more than seven, so none
         * overflows. */
        assert_true(granted == 7 + (last - 1000) / 10);
        end(buckets);
    }
}

static void late_clock_grants_no_extra_tokens(void **state)
{
    (void)state;
    struct uvh_token_buckets *buckets = make(1, 100, 2);
    assert_verdict(take(buckets, "a", 1000), true, 1, 100);
    assert_verdict(take(buckets, "a", 990), false, 0, 10); /* the clock of another loop */
    assert_verdict(take(buckets, "a", 0), false, 0, 1000);
    assert_verdict(take(buckets, "a", 1000), true, 0, 100);
    assert_verdict(take(buckets, "a", 999), false, 0, 101);
    end(buckets);
}

static void key_kinds_are_separate(void **state)
{
    (void)state;
    struct uvh_token_buckets *buckets = make(16, 100, 1);
    assert_true(uvh_token_buckets_take(buckets, 0, "a", 1, 0).granted);
    assert_true(uvh_token_buckets_take(buckets, 1, "a", 1, 0).granted);
    assert_false(uvh_token_buckets_take(buckets, 0, "a", 1, 0).granted);
    assert_true(uvh_token_buckets_take(buckets, 0, "", 0, 0).granted);
    assert_false(uvh_token_buckets_take(buckets, 0, NULL, 0, 0).granted);
    end(buckets);
}

static void name_of(char *text, size_t size, const char *kind, int number)
{
    snprintf(text, size, "%s %d", kind, number);
}

/* As many keys as the table was created for, at the same time: none of them is evicted, or very
 * few. */
static void table_distinguishes_configured_keys(void **state)
{
    (void)state;
    enum { KEYS = 10000 };
    struct uvh_token_buckets *buckets = make(KEYS, SECOND, 1);
    int forgotten = 0;
    char name[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < KEYS; i++) {
            name_of(name, sizeof(name), "key", i);
            bool granted = take(buckets, name, 5).granted;
            forgotten += round == 1 && granted;
        }
    }
    assert_true(forgotten < KEYS / 50);
    end(buckets);
}

/* A client cycles through a million addresses, each used once, with a table of a few thousand. Keys
 * that have used more tokens stay limited. */
static void cycling_keys_keeps_limited_keys(void **state)
{
    (void)state;
    enum { LIMITED = 100, CYCLED = 1000000 };
    struct uvh_token_buckets *buckets = make(4096, SECOND, 2);
    char name[32];
    for (int i = 0; i < LIMITED; i++) {
        name_of(name, sizeof(name), "limited", i);
        take(buckets, name, 5);
        take(buckets, name, 5);
    }
    size_t before = atomic_load(&heap.calls);
    for (int i = 0; i < CYCLED; i++) {
        name_of(name, sizeof(name), "cycled", i);
        assert_true(take(buckets, name, 6).granted);
    }
    assert_int_equal(atomic_load(&heap.calls), before); /* and no memory is allocated */
    for (int i = 0; i < LIMITED; i++) {
        name_of(name, sizeof(name), "limited", i);
        assert_false(take(buckets, name, 7).granted);
    }
    end(buckets);
}

/* ---- threads ---- */

enum { THREADS = 4, TRIES = 20000, BURST = 1000, SHARED_KEYS = 32 };

struct work {
    struct uvh_token_buckets *buckets;
    uint64_t granted;
};

static void *take_tokens(void *arg)
{
    struct work *work = arg;
    char name[32];
    for (int i = 0; i < TRIES * 2; i++) {
        name_of(name, sizeof(name), "key", i % SHARED_KEYS);
        work->granted += take(work->buckets, name, 1000).granted;
    }
    return NULL;
}

static void concurrent_takes_share_tokens(void **state)
{
    (void)state;
    struct uvh_token_buckets *buckets = make(4096, SECOND, BURST);
    struct work work[THREADS];
    pthread_t threads[THREADS];
    uint64_t granted = 0;
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct work){buckets, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, take_tokens, &work[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        granted += work[i].granted;
    }
    assert_true(granted == (uint64_t)SHARED_KEYS * BURST);
    end(buckets);
}

static void new_fails_without_memory(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 2; n++) {
        fault_heap_init(&heap);
        fault_heap_arm(&heap, n, false);
        assert_null(uvh_token_buckets_new(
            &(struct uvh_token_buckets_config){100, 1, 1, 1, &heap.allocator}));
        assert_int_equal(atomic_load(&heap.live), 0);
    }
    uvh_token_buckets_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bucket_empties_and_refills),
        cmocka_unit_test(no_request_pattern_exceeds_rate),
        cmocka_unit_test(late_clock_grants_no_extra_tokens),
        cmocka_unit_test(key_kinds_are_separate),
        cmocka_unit_test(table_distinguishes_configured_keys),
        cmocka_unit_test(cycling_keys_keeps_limited_keys),
        cmocka_unit_test(concurrent_takes_share_tokens),
        cmocka_unit_test(new_fails_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
