/* A budget: never more than its limit is taken, also when several threads take the last bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/budget.h"
#include "base/compiler.h"

static void limit_is_exact(void **state)
{
    (void)state;
    struct uvh_budget budget = {.limit = 100};
    assert_false(uvh_budget_take(&budget, 101));
    assert_true(uvh_budget_take(&budget, 60));
    assert_false(uvh_budget_take(&budget, 41));
    assert_int_equal(budget.taken, 60); /* a refused take takes nothing */
    assert_true(uvh_budget_take(&budget, 40));
    assert_true(uvh_budget_take(&budget, 0));
    assert_false(uvh_budget_take(&budget, 1));
    assert_false(uvh_budget_take(&budget, SIZE_MAX)); /* no overflow */
    uvh_budget_give(&budget, 40);
    assert_true(uvh_budget_take(&budget, 1));
    uvh_budget_give(&budget, 61);
    assert_int_equal(budget.taken, 0);
}

static void part_limit_and_whole_limit_apply(void **state)
{
    (void)state;
    struct uvh_budget whole = {.limit = 100};
    struct uvh_budget part = {.limit = 60, .whole = &whole};
    assert_false(uvh_budget_take(&part, 61));
    assert_int_equal(whole.taken, 0); /* a refused take takes nothing from either */
    assert_true(uvh_budget_take(&part, 50));
    assert_int_equal(whole.taken, 50);
    assert_true(uvh_budget_take(&whole, 45));
    assert_false(uvh_budget_take(&part, 6)); /* the part has the bytes, the whole does not */
    assert_int_equal(part.taken, 50);
    assert_int_equal(whole.taken, 95);
    assert_true(uvh_budget_take(&part, 5));
    uvh_budget_give(&part, 55);
    assert_int_equal(part.taken, 0);
    assert_int_equal(whole.taken, 45);
}

enum { THREADS = 4, ROUNDS = 1000000, LIMIT = 10 };

struct shared {
    pthread_barrier_t begin;
    struct uvh_budget budget;
    atomic_size_t held; /* counted separately: bytes that all threads hold between take and give */
    atomic_bool above;
    atomic_size_t successes;
};

static void *take_and_give(void *arg)
{
    struct shared *shared = arg;
    pthread_barrier_wait(&shared->begin);
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t bytes = 1 + i % 7;
        if (!uvh_budget_take(&shared->budget, bytes))
            continue;
        if (atomic_fetch_add(&shared->held, bytes) + bytes > LIMIT)
            atomic_store(&shared->above, true);
        atomic_fetch_add(&shared->successes, 1);
        atomic_fetch_sub(&shared->held, bytes);
        uvh_budget_give(&shared->budget, bytes);
    }
    return NULL;
}

static void concurrent_takes_never_exceed_limit(void **state)
{
    (void)state;
    static struct shared shared = {.budget.limit = LIMIT};
    pthread_t threads[THREADS];
    assert_int_equal(pthread_barrier_init(&shared.begin, NULL, THREADS), 0);
    for (size_t i = 0; i < UVH_COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &shared), 0);
    for (size_t i = 0; i < UVH_COUNT_OF(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&shared.begin);
    assert_false(shared.above);
    assert_true(shared.successes > 0);
    assert_int_equal(shared.budget.taken, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_is_exact),
        cmocka_unit_test(part_limit_and_whole_limit_apply),
        cmocka_unit_test(concurrent_takes_never_exceed_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
