/* Two libuv handles frame a loop iteration: uv_prepare_t runs before the loop polls, uv_check_t
 * after the events that follow. */
#include "server/loop_stats.h"

enum {
    NS_PER_US = 1000,
    NS_PER_MS = 1000000,
    LOOP_CLOCK_MS = 2, /* ms: the loop's clock is truncated, and may lag by one more */
};

/* The loop updates its clock after polling, so every event of this iteration started no later than
 * this. */
static uint64_t latest_begin(const uv_loop_t *loop)
{
    return (uv_now(loop) + LOOP_CLOCK_MS) * NS_PER_MS;
}

const void *uvh_loop_stats_thread(void)
{
    static _Thread_local char here;
    return &here;
}

/* Set per thread while it is in an iteration, so a reused address cannot give a wrong result. */
static _Thread_local const struct uvh_loop_stats *in_iteration;

bool uvh_loop_stats_in_iteration(const struct uvh_loop_stats *stats)
{
    return in_iteration == stats &&
           atomic_load_explicit(&stats->thread, memory_order_relaxed) == uvh_loop_stats_thread();
}

void uvh_loop_stats_begin_iteration(struct uvh_loop_stats *stats)
{
    in_iteration = stats;
    atomic_store_explicit(&stats->thread, uvh_loop_stats_thread(), memory_order_relaxed);
    uint64_t now = uv_hrtime();
    uint64_t others = uvh_counter_read(&stats->others);
    uint64_t latest = others != 0 ? others : latest_begin(stats->wait.loop);
    uvh_counter_set(&stats->began, now < latest ? now : latest);
}

/* The loop waits for events from now on. */
static void set_waiting(struct uvh_loop_stats *stats)
{
    uvh_counter_set(&stats->began, 0);
    uvh_counter_set(&stats->others, 0);
}

/* None of our events so far: if other handles have blocked the loop for some milliseconds, this
 * records it at the end of the iteration. */
static void on_after(uv_check_t *check)
{
    struct uvh_loop_stats *stats = UVH_CONTAINER_OF(check, struct uvh_loop_stats, after);
    if (uvh_loop_stats_began(stats) == 0)
        uvh_counter_set(&stats->others, latest_begin(check->loop));
    stats->iteration++;
}

static void on_wait(uv_prepare_t *prepare)
{
    struct uvh_loop_stats *stats = UVH_CONTAINER_OF(prepare, struct uvh_loop_stats, wait);
    uint64_t now = uv_hrtime();
    uint64_t begin = uvh_loop_stats_busy_since(stats);
    uint64_t length = begin != 0 && now > begin ? now - begin : 0;
    if (length > 0) {
        uvh_histogram_record(&stats->iterations, length / NS_PER_US, 1);
        uvh_counter_add(&stats->busy, length);
        if (stats->ended != NULL)
            stats->ended(stats, now, length);
    }
    if (stats->in_iteration > 0)
        uvh_histogram_record(&stats->exchanges, length / NS_PER_US, stats->in_iteration);
    uvh_counter_add(&stats->time, now - stats->waited);
    stats->waited = now;
    set_waiting(stats);
    in_iteration = NULL;
    stats->in_iteration = 0;
}

int uvh_loop_stats_start(struct uvh_loop_stats *stats, uv_loop_t *loop)
{
    set_waiting(stats);
    stats->in_iteration = 0;
    stats->iteration = 0;
    stats->waited = uv_hrtime();
    uvh_histogram_clear(&stats->exchanges);
    uvh_histogram_clear(&stats->iterations);
    int err = uv_prepare_init(loop, &stats->wait);
    if (err == 0)
        err = uv_check_init(loop, &stats->after);
    if (err == 0)
        err = uv_prepare_start(&stats->wait, on_wait);
    if (err == 0)
        err = uv_check_start(&stats->after, on_after);
    uv_unref((uv_handle_t *)&stats->wait);
    uv_unref((uv_handle_t *)&stats->after);
    return err;
}

void uvh_loop_stats_close(struct uvh_loop_stats *stats, uv_close_cb closed)
{
    if (in_iteration == stats)
        in_iteration = NULL;
    set_waiting(stats); /* the loop ends: it is not stuck until the others end */
    uv_close((uv_handle_t *)&stats->wait, closed);
    uv_close((uv_handle_t *)&stats->after, closed);
}

uint64_t uvh_loop_stats_since(uint64_t began)
{
    uint64_t now = began == 0 ? 0 : uv_hrtime();
    return now > began ? (now - began) / NS_PER_US : 0;
}

void uvh_loop_stats_record(struct uvh_loop_stats *stats, uint64_t microseconds)
{
    uvh_histogram_record(&stats->exchanges, microseconds, 1);
}

void uvh_loop_stats_longer(struct uvh_loop_stats *stats, uint64_t began)
{
    uvh_loop_stats_record(stats, uvh_loop_stats_since(began));
}

/* ---- reading ---- */

void uvh_loop_stats_sum_clear(struct uvh_loop_stats_sum *sum)
{
    uvh_histogram_clear(&sum->exchanges);
    uvh_histogram_clear(&sum->iterations);
    sum->busy = sum->time = 0;
}

void uvh_loop_stats_sum_add(struct uvh_loop_stats_sum *sum, const struct uvh_loop_stats *stats)
{
    uvh_histogram_merge(&sum->exchanges, &stats->exchanges);
    uvh_histogram_merge(&sum->iterations, &stats->iterations);
    sum->busy += uvh_counter_read(&stats->busy);
    sum->time += uvh_counter_read(&stats->time);
}

void uvh_loop_stats_report(const struct uvh_histogram *histogram, uvhttp_latency_t *latency)
{
    enum { FIRST_BOUND = 64 };
    latency->count = uvh_histogram_count(histogram);
    latency->sum_us = uvh_histogram_sum(histogram);
    latency->max_us = uvh_histogram_max(histogram);
    latency->p50_us = uvh_histogram_percentile(histogram, 500000);
    latency->p90_us = uvh_histogram_percentile(histogram, 900000);
    latency->p99_us = uvh_histogram_percentile(histogram, 990000);
    latency->p999_us = uvh_histogram_percentile(histogram, 999000);
    for (unsigned i = 0; i < UVHTTP_LATENCY_BOUNDS; i++)
        latency->below[i] = uvh_histogram_below(histogram, (uint64_t)FIRST_BOUND << i);
}

void uvh_loop_stats_sum_report(const struct uvh_loop_stats_sum *sum, uvhttp_stats_t *stats)
{
    uvh_loop_stats_report(&sum->exchanges, &stats->latency);
    uvh_loop_stats_report(&sum->iterations, &stats->loop_delay);
    stats->loop_busy_us = sum->busy / NS_PER_US;
    stats->loop_time_us = sum->time / NS_PER_US;
}
