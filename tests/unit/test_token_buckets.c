/* Token buckets: what is granted in which time, exactly; what a full table forgets and what it does
 * not; threads; memory. */
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

static void a_bucket_empties_and_fills(void **state)
{
    (void)state;
    struct uvh_token_buckets *buckets = make(4, 10 * (uint64_t)SECOND, 3);
    uint64_t now = 77 * (uint64_t)SECOND;
    assert_verdict(take(buckets, "a", now), true, 2, 10 * (uint64_t)SECOND);
    assert_verdict(take(buckets, "a", now + SECOND), true, 1, 9 * (uint64_t)SECOND);
    assert_verdict(take(buckets, "a", now + 2 * (uint64_t)SECOND), true, 0, 8 * (uint64_t)SECOND);
    assert_verdict(take(buckets, "a", now + 3 * (uint64_t)SECOND), false, 0, 7 * (uint64_t)SECOND);
    assert_verdict(take(buckets, "b", now + 3 * (uint64_t)SECOND), true, 2, 10 * (uint64_t)SECOND);
    /* One nanosecond before the token is there, and when it is. */
    assert_verdict(take(buckets, "a", now + 10 * (uint64_t)SECOND - 1), false, 0, 1);
    assert_verdict(take(buckets, "a", now + 10 * (uint64_t)SECOND), true, 0, 10 * (uint64_t)SECOND);
    /* It fills, and not beyond its size. */
    assert_verdict(take(buckets, "a", now + 1000 * (uint64_t)SECOND), true, 2,
                   10 * (uint64_t)SECOND);
    end(buckets);
}

/* In any time t: burst + t / interval, whatever is asked in between. */
static void no_pattern_gets_more(void **state)
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
        /* Nine tries take all there is each time, and no step brings more than seven, so nothing
         * runs over either. */
        assert_true(granted == 7 + (last - 1000) / 10);
        end(buckets);
    }
}

static void a_clock_that_is_behind_grants_nothing_more(void **state)
{
    (void)state;
    struct uvh_token_buckets *buckets = make(1, 100, 2);
    assert_verdict(take(buckets, "a", 1000), true, 1, 100);
    assert_verdict(take(buckets, "a", 990), false, 0, 10); /* another loop's clock */
    assert_verdict(take(buckets, "a", 0), false, 0, 1000);
    assert_verdict(take(buckets, "a", 1000), true, 0, 100);
    assert_verdict(take(buckets, "a", 999), false, 0, 101);
    end(buckets);
}

static void kinds_of_keys_are_apart(void **state)
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

/* All that may come at once, as many as the table was made for: none of them is forgotten, or very
 * few. */
static void as_many_keys_as_promised_are_told_apart(void **state)
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

/* Somebody cycles through a million addresses, each used once, against a table of a few thousand.
 * Who has used up more stays limited. */
static void cycling_through_keys_forgets_nobody_who_is_limited(void **state)
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
    assert_int_equal(atomic_load(&heap.calls), before); /* and not a byte of memory */
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

static void *ask(void *arg)
{
    struct work *work = arg;
    char name[32];
    for (int i = 0; i < TRIES * 2; i++) {
        name_of(name, sizeof(name), "key", i % SHARED_KEYS);
        work->granted += take(work->buckets, name, 1000).granted;
    }
    return NULL;
}

static void threads_together_get_what_one_would(void **state)
{
    (void)state;
    struct uvh_token_buckets *buckets = make(4096, SECOND, BURST);
    struct work work[THREADS];
    pthread_t threads[THREADS];
    uint64_t granted = 0;
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct work){buckets, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &work[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        granted += work[i].granted;
    }
    assert_true(granted == (uint64_t)SHARED_KEYS * BURST);
    end(buckets);
}

static void out_of_memory_leaves_nothing(void **state)
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
        cmocka_unit_test(a_bucket_empties_and_fills),
        cmocka_unit_test(no_pattern_gets_more),
        cmocka_unit_test(a_clock_that_is_behind_grants_nothing_more),
        cmocka_unit_test(kinds_of_keys_are_apart),
        cmocka_unit_test(as_many_keys_as_promised_are_told_apart),
        cmocka_unit_test(cycling_through_keys_forgets_nobody_who_is_limited),
        cmocka_unit_test(threads_together_get_what_one_would),
        cmocka_unit_test(out_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
