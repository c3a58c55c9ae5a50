/* The overload guard without clock and sockets: windows, the part that is shed, its end, the lines
 * for the log, and a simulated loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/overload.h"

#define MS UINT64_C(1000000)
enum { ALL = UVH_OVERLOAD_ALL, BEGIN = 1000 };

static struct uvh_overload guard;
static uint64_t now;

/* Target 20 ms, interval 100 ms; the first window begins now. */
static int begin(void **state)
{
    (void)state;
    now = BEGIN * MS;
    uvh_overload_init(&guard, 20 * MS, 100 * MS, 1);
    uvh_overload_add_iteration(&guard, &(struct uvh_overload_iteration){.end = now, .length = MS});
    return 0;
}

/* An iteration of `length_ms` with `count` requests, `idle_ms` after the previous one. */
static enum uvh_overload_line run(uint64_t idle_ms, uint64_t length_ms, unsigned count)
{
    uint64_t began = now + idle_ms * MS;
    for (unsigned i = 0; i < count; i++)
        uvh_overload_admits(&guard, began, false);
    now = began + length_ms * MS;
    return uvh_overload_add_iteration(
        &guard, &(struct uvh_overload_iteration){.end = now, .length = length_ms * MS});
}

/* Overload: all of a window is busy, and its requests wait for 90 ms. */
static void overload(void)
{
    run(0, 100, 10);
    assert_true(guard.shed_part > 0);
}

static void new_guard_admits_all(void **state)
{
    (void)state;
    uvh_overload_init(&guard, 20 * MS, 100 * MS, 1);
    for (unsigned i = 0; i < 1000; i++)
        assert_true(uvh_overload_admits(&guard, 0, false));
}

static void standing_queue_sheds(void **state)
{
    (void)state;
    assert_int_equal(run(0, 50, 2), UVH_OVERLOAD_NO_LINE);
    assert_int_equal(guard.shed_part, 0); /* the interval is not over */
    run(0, 50, 2);
    /* each waited for 25 ms; the load of a loop that is always busy is all of its time */
    assert_int_equal(guard.delay, 25 * MS);
    assert_in_range(guard.load, 995, 1000);
    /* 875 of 1000 fit, times 20 of 25 ms */
    assert_in_range(guard.shed_part, ALL - ALL * 7 / 10 - 400, ALL - ALL * 7 / 10 + 400);
}

static void requests_count_in_their_iteration(void **state)
{
    (void)state;
    run(0, 50, 10);
    run(0, 50, 2);
    assert_int_equal(guard.delay, 25 * MS);
}

static void target_itself_is_allowed(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 5; i++)
        run(0, 40, 2);
    assert_int_equal(guard.shed_part, 0);
    assert_int_equal(guard.delay, 20 * MS);
    for (unsigned i = 0; i < 6; i++)
        run(0, 41, 2);
    assert_true(guard.shed_part > 0);
}

static void one_short_delay_in_the_window_is_enough(void **state)
{
    (void)state;
    run(0, 60, 10);
    run(0, 1, 2);
    run(0, 60, 10);
    assert_int_equal(guard.shed_part, 0);
}

static void single_slow_requests_are_no_queue(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; i++)
        run(0, 90, 1);
    assert_int_equal(guard.shed_part, 0);
}

static void idle_time_in_the_window_is_no_overload(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; i++)
        run(20, 80, 10); /* 80 % */
    assert_int_equal(guard.shed_part, 0);
    for (unsigned i = 0; i < 3; i++)
        run(10, 90, 10);
    assert_true(guard.shed_part > 0);
}

static void sockets_count_as_requests(void **state)
{
    (void)state;
    now += 100 * MS;
    struct uvh_overload_iteration iteration = {.end = now, .length = 100 * MS, .events = 4};
    uvh_overload_add_iteration(&guard, &iteration);
    assert_int_equal(guard.delay, 75 * MS);
}

static void known_waiting_time_counts(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        uvh_overload_admits(&guard, now, false);
        now += MS;
        struct uvh_overload_iteration iteration = {
            .end = now, .length = MS, .events = 1, .waited = (50 + i) * MS};
        uvh_overload_add_iteration(&guard, &iteration);
    }
    assert_int_equal(guard.delay, 50 * MS);
    assert_true(guard.shed_part > 0);
}

static unsigned admitted_of(unsigned count, bool exempt)
{
    unsigned admitted = 0;
    for (unsigned i = 0; i < count; i++)
        admitted += uvh_overload_admits(&guard, now, exempt);
    return admitted;
}

static void shed_part_is_shed(void **state)
{
    (void)state;
    overload();
    unsigned expected = (unsigned)((ALL - guard.shed_part) * UINT64_C(10000) / ALL);
    assert_in_range(admitted_of(10000, false), expected - 300, expected + 300);
    assert_int_equal(admitted_of(1000, true), 1000);
}

static void some_requests_are_always_admitted(void **state)
{
    (void)state;
    run(0, 60000, 1000);
    assert_int_equal(guard.shed_part, ALL - ALL / 256);
}

static void windows_are_shorter_while_shedding(void **state)
{
    (void)state;
    overload();
    uint32_t before = guard.shed_part;
    run(0, 24, 10);
    assert_int_equal(guard.shed_part, before);
    run(0, 1, 10);
    assert_int_not_equal(guard.shed_part, before);
}

/* A window of 100 ms in which the loop is busy for `busy_ms`, and no request waits. */
static void run_window(uint64_t busy_ms)
{
    for (uint64_t i = 0; i < busy_ms; i++)
        uvh_overload_admits(&guard, now, true);
    now += 100 * MS;
    struct uvh_overload_iteration iteration = {.end = now, .length = busy_ms * MS};
    guard.requests_before = guard.requests;
    uvh_overload_add_iteration(&guard, &iteration);
}

static void shedding_ends_when_the_load_fits(void **state)
{
    (void)state;
    overload();
    for (unsigned i = 0; i < 100; i++)
        run_window(96);
    assert_in_range(guard.load, 955, 960);
    assert_true(guard.shed_part > 0);
    for (unsigned i = 0; i < 100 && guard.shed_part > 0; i++)
        run_window(94);
    assert_int_equal(guard.shed_part, 0);
    assert_in_range(guard.load, 940, 949);
}

static void load_is_averaged_while_shedding(void **state)
{
    (void)state;
    overload();
    guard.load = 3000;
    run_window(80);
    assert_in_range(guard.load, 2448, 2450); /* (3 * 3000 + 799) / 4 */
}

static void shedding_ends_after_an_idle_interval(void **state)
{
    (void)state;
    overload();
    now += 100 * MS;
    assert_true(admitted_of(1000, false) < 1000);
    now += 1;
    assert_int_equal(admitted_of(1000, false), 1000);
    assert_int_equal(guard.shed_part, 0);
}

/* A new connection is accepted in an iteration before that of its request. */
static void shedding_ends_when_an_idle_loop_accepts(void **state)
{
    (void)state;
    overload();
    guard.load = 100000;
    run(100, 1, 0);
    assert_true(guard.shed_part > 0);
    run(101, 1, 0);
    assert_int_equal(guard.shed_part, 0);
    assert_int_equal(admitted_of(10, false), 10);
}

/* Other events run the loop all the time, so that it is never idle for an interval. */
static void shedding_ends_without_requests(void **state)
{
    (void)state;
    overload();
    guard.load = 100000;
    for (unsigned i = 0; i < 20; i++)
        run(29, 1, 0);
    assert_int_equal(guard.shed_part, 0);
}

/* Requests take 10 ms each. */
static void load_is_known_without_an_admitted_request(void **state)
{
    (void)state;
    overload();
    guard.load = 3000;
    guard.shed_part = ALL;
    run(0, 30, 9);
    assert_int_equal(guard.admitted, 0);
    assert_in_range(guard.load, 2995, 3000);
    guard.shed_part = ALL;
    run(29, 1, 1);
    assert_in_range(guard.load, 2330, 2334); /* (3 * 3000 + 333) / 4 */
}

static void time_that_goes_back_is_ignored(void **state)
{
    (void)state;
    overload();
    uvh_overload_admits(&guard, now - 500 * MS, false);
    assert_true(guard.shed_part > 0);
}

/* ---- lines for the log ---- */

static void first_line_names_the_first_window(void **state)
{
    (void)state;
    overload();
    assert_int_equal(run(0, 30, 1000), UVH_OVERLOAD_SHEDDING);
    assert_int_equal(guard.counts.requests, 1000);
    assert_in_range(guard.counts.shed, 500, 999);
    assert_int_equal(guard.counts.duration, 30 * MS);
}

static void exempt_requests_are_in_the_line(void **state)
{
    (void)state;
    overload();
    guard.load = 3000;
    run_window(10);
    assert_int_equal(run(0, 30, 100), UVH_OVERLOAD_SHEDDING);
    assert_int_equal(guard.counts.requests, 110);
}

static void further_lines_are_10_seconds_apart(void **state)
{
    (void)state;
    overload();
    assert_int_equal(run(0, 30, 100), UVH_OVERLOAD_SHEDDING);
    uint64_t first = now;
    unsigned requests = 0;
    enum uvh_overload_line line;
    do {
        line = run(0, 50, 100);
        requests += 100;
        assert_true(guard.shed_part > 0);
    } while (line == UVH_OVERLOAD_NO_LINE);
    assert_int_equal(line, UVH_OVERLOAD_SHEDDING);
    assert_in_range(now - first, 10000 * MS, 10050 * MS);
    assert_int_equal(guard.counts.requests, requests);
    assert_int_equal(guard.counts.duration, now - first);
}

/* Runs idle windows until the overload has ended. */
static enum uvh_overload_line recover(void)
{
    enum uvh_overload_line line = UVH_OVERLOAD_NO_LINE;
    while (guard.shed_part > 0)
        line = run(99, 1, 1);
    return line;
}

static void end_is_logged_with_the_sum(void **state)
{
    (void)state;
    overload();
    run(0, 30, 1000);
    uint64_t shed = guard.counts.shed;
    run(0, 30, 1000);
    assert_int_equal(recover(), UVH_OVERLOAD_OVER);
    assert_true(guard.counts.requests >= 2000);
    assert_true(guard.counts.shed > shed);
    assert_true(guard.counts.duration >= 60 * MS);
    assert_int_equal(run(99, 1, 1), UVH_OVERLOAD_NO_LINE);
}

static void end_after_idle_time_is_logged_without_that_time(void **state)
{
    (void)state;
    overload();
    assert_int_equal(run(0, 30, 1000), UVH_OVERLOAD_SHEDDING);
    uint64_t shed = guard.counts.shed;
    run(0, 10, 1);
    assert_int_equal(run(60000, 1, 1), UVH_OVERLOAD_OVER);
    assert_in_range(guard.counts.requests, 1001, 1001);
    assert_in_range(guard.counts.shed, shed, shed + 1);
    assert_in_range(guard.counts.duration, 40 * MS, 40 * MS);
    assert_int_equal(guard.requests, 1); /* of the new window */
    assert_int_equal(guard.admitted, 1);
    assert_int_equal(run(0, 1, 1), UVH_OVERLOAD_NO_LINE);
}

static void overload_soon_after_a_line_is_not_logged(void **state)
{
    (void)state;
    overload();
    assert_int_equal(run(0, 30, 100), UVH_OVERLOAD_SHEDDING);
    assert_int_equal(recover(), UVH_OVERLOAD_OVER);
    run(0, 200, 10);
    assert_true(guard.shed_part > 0);
    assert_int_equal(run(0, 30, 100), UVH_OVERLOAD_NO_LINE);
    assert_int_equal(recover(), UVH_OVERLOAD_NO_LINE);
    now += 10000 * MS;
    run(0, 1, 1);
    run(0, 200, 10);
    assert_int_equal(run(0, 30, 100), UVH_OVERLOAD_SHEDDING);
    assert_int_equal(guard.counts.requests, 100); /* without those of the overload before */
    assert_int_equal(recover(), UVH_OVERLOAD_OVER);
    assert_true(guard.counts.requests < 150);
}

static void nothing_is_logged_without_a_shed_request(void **state)
{
    (void)state;
    overload();
    assert_int_equal(run(0, 30, 0), UVH_OVERLOAD_NO_LINE);
}

/* ---- a loop ---- */

/* Requests of 1 ms arrive at `load_permille` of what the loop can do; a shed one takes 20 us.
 * Returns the longest time, in ms, that an admitted one waits after the first two seconds. */
static uint64_t simulate(unsigned load_permille, uint64_t *admitted_permille)
{
    enum { SECONDS = 10, SETTLED = 2 };
    uint64_t end = now + SECONDS * 1000 * MS, counted = now + SETTLED * 1000 * MS;
    uint64_t gap = 1000 * MS / load_permille, next = now, longest = 0, admitted = 0;
    while (now < end) {
        uint64_t began = now = next > now ? next : now;
        while (next <= began) {
            if (!uvh_overload_admits(&guard, began, false)) {
                now += MS / 50;
            } else {
                now += MS;
                admitted += began >= counted;
                if (began >= counted && now - next > longest)
                    longest = now - next;
            }
            next += gap;
        }
        struct uvh_overload_iteration iteration = {.end = now, .length = now - began};
        uvh_overload_add_iteration(&guard, &iteration);
    }
    *admitted_permille = admitted / (SECONDS - SETTLED);
    return longest / MS;
}

static void delays_stay_short_above_capacity(void **state)
{
    uint64_t admitted;
    assert_true(simulate(950, &admitted) < 5); /* regular requests fit until 1000 */
    assert_in_range(admitted, 948, 950);
    static const unsigned loads[] = {1100, 1500, 3000, 10000};
    for (unsigned i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        begin(state);
        assert_true(simulate(loads[i], &admitted) < 60);
        assert_in_range(admitted, loads[i] > 5000 ? 600 : 780, 900);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        TEST(new_guard_admits_all),
        TEST(standing_queue_sheds),
        TEST(requests_count_in_their_iteration),
        TEST(target_itself_is_allowed),
        TEST(one_short_delay_in_the_window_is_enough),
        TEST(single_slow_requests_are_no_queue),
        TEST(idle_time_in_the_window_is_no_overload),
        TEST(sockets_count_as_requests),
        TEST(known_waiting_time_counts),
        TEST(shed_part_is_shed),
        TEST(some_requests_are_always_admitted),
        TEST(windows_are_shorter_while_shedding),
        TEST(shedding_ends_when_the_load_fits),
        TEST(load_is_averaged_while_shedding),
        TEST(shedding_ends_after_an_idle_interval),
        TEST(shedding_ends_when_an_idle_loop_accepts),
        TEST(shedding_ends_without_requests),
        TEST(load_is_known_without_an_admitted_request),
        TEST(time_that_goes_back_is_ignored),
        TEST(first_line_names_the_first_window),
        TEST(exempt_requests_are_in_the_line),
        TEST(further_lines_are_10_seconds_apart),
        TEST(end_is_logged_with_the_sum),
        TEST(end_after_idle_time_is_logged_without_that_time),
        TEST(overload_soon_after_a_line_is_not_logged),
        TEST(nothing_is_logged_without_a_shed_request),
        TEST(delays_stay_short_above_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
