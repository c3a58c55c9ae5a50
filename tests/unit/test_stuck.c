/* When the watcher of stuck loops reports one, without clock and threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/stuck.h"

enum { LIMIT = 1000 };

static struct uvh_stuck_loop loop;
static uint64_t duration;

static int begin(void **state)
{
    (void)state;
    loop = (struct uvh_stuck_loop){0};
    duration = 0;
    return 0;
}

static enum uvh_stuck_event check_resumed(uint64_t began, uint64_t now, uint64_t resumed)
{
    struct uvh_stuck_times times = {.now = now, .resumed = resumed, .limit = LIMIT};
    return uvh_stuck_check(&loop, began, &times, &duration);
}

static enum uvh_stuck_event check(uint64_t began, uint64_t now)
{
    return check_resumed(began, now, 0);
}

static void waiting_loop_is_not_stuck(void **state)
{
    (void)state;
    assert_int_equal(check(0, 5000), UVH_STUCK_NONE);
    assert_int_equal(check(0, 50000), UVH_STUCK_NONE);
}

static void incident_is_reported_once_and_at_its_end(void **state)
{
    (void)state;
    assert_int_equal(check(5000, 5999), UVH_STUCK_NONE);
    assert_int_equal(check(5000, 6000), UVH_STUCK_BEGINS);
    assert_int_equal(duration, 1000);
    assert_int_equal(check(5000, 6100), UVH_STUCK_NONE);
    assert_int_equal(check(5000, 9000), UVH_STUCK_NONE);
    assert_int_equal(check(0, 9500), UVH_STUCK_ENDS);
    assert_int_equal(duration, 4500);
    assert_int_equal(check(0, 9600), UVH_STUCK_NONE);
}

static void next_iteration_ends_the_incident(void **state)
{
    (void)state;
    assert_int_equal(check(5000, 6500), UVH_STUCK_BEGINS);
    assert_int_equal(check(6510, 7000), UVH_STUCK_ENDS);
    assert_int_equal(duration, 2000);
    assert_int_equal(check(6510, 7400), UVH_STUCK_NONE);
    assert_int_equal(check(6510, 7510), UVH_STUCK_BEGINS); /* that one is stuck, too */
    assert_int_equal(duration, 1000);
}

static void short_iterations_are_not_stuck(void **state)
{
    (void)state;
    for (uint64_t now = 1000; now < 100000; now += 300)
        assert_int_equal(check(now - 999, now), UVH_STUCK_NONE);
}

static void start_after_the_check_is_not_stuck(void **state)
{
    (void)state;
    assert_int_equal(check(5001, 5000), UVH_STUCK_NONE);
}

static void pause_of_the_process_does_not_count(void **state)
{
    (void)state;
    assert_int_equal(check_resumed(5000, 90000, 90000), UVH_STUCK_NONE);
    assert_int_equal(check_resumed(5000, 90999, 90000), UVH_STUCK_NONE);
    assert_int_equal(check_resumed(5000, 91000, 90000), UVH_STUCK_BEGINS);
    assert_int_equal(duration, 1000);
    assert_int_equal(check_resumed(0, 92000, 90000), UVH_STUCK_ENDS);
    assert_int_equal(duration, 2000);
    assert_int_equal(check_resumed(95000, 96500, 90000), UVH_STUCK_BEGINS);
    assert_int_equal(duration, 1500);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        TEST(waiting_loop_is_not_stuck),          TEST(incident_is_reported_once_and_at_its_end),
        TEST(next_iteration_ends_the_incident),   TEST(short_iterations_are_not_stuck),
        TEST(start_after_the_check_is_not_stuck), TEST(pause_of_the_process_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
