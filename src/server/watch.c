/* Two libuv handles frame a loop iteration: uv_prepare_t runs before the loop polls, uv_check_t
 * after the events that follow. */
#include "server/watch.h"

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

const void *uvh_watch_thread(void)
{
    static _Thread_local char here;
    return &here;
}

/* Set per thread while it is in an iteration, so a reused address cannot give a wrong result. */
static _Thread_local const struct uvh_watch *in_turn;

bool uvh_watch_in_turn(const struct uvh_watch *watch)
{
    return in_turn == watch &&
           atomic_load_explicit(&watch->thread, memory_order_relaxed) == uvh_watch_thread();
}

void uvh_watch_begin_turn(struct uvh_watch *watch)
{
    in_turn = watch;
    atomic_store_explicit(&watch->thread, uvh_watch_thread(), memory_order_relaxed);
    uint64_t now = uv_hrtime();
    uint64_t latest = watch->others != 0 ? watch->others : latest_begin(watch->wait.loop);
    watch->turn = now < latest ? now : latest;
}

/* None of our events so far: if other handles have blocked the loop for some milliseconds, this
 * records it at the end of the iteration. */
static void on_after(uv_check_t *check)
{
    struct uvh_watch *watch = UVH_CONTAINER_OF(check, struct uvh_watch, after);
    if (watch->turn == 0)
        watch->others = latest_begin(check->loop);
    watch->iteration++;
}

static void on_wait(uv_prepare_t *prepare)
{
    struct uvh_watch *watch = UVH_CONTAINER_OF(prepare, struct uvh_watch, wait);
    uint64_t now = uv_hrtime();
    uint64_t begin = watch->turn != 0 ? watch->turn : watch->others;
    uint64_t length = begin != 0 && now > begin ? now - begin : 0;
    if (length > 0) {
        uvh_histogram_record(&watch->turns, length / NS_PER_US, 1);
        uvh_counter_add(&watch->busy, length);
    }
    if (watch->in_turn > 0)
        uvh_histogram_record(&watch->exchanges, length / NS_PER_US, watch->in_turn);
    uvh_counter_add(&watch->time, now - watch->waited);
    watch->waited = now;
    watch->turn = watch->others = 0;
    in_turn = NULL;
    watch->in_turn = 0;
}

int uvh_watch_start(struct uvh_watch *watch, uv_loop_t *loop)
{
    watch->turn = watch->others = 0;
    watch->in_turn = 0;
    watch->iteration = 0;
    watch->waited = uv_hrtime();
    uvh_histogram_clear(&watch->exchanges);
    uvh_histogram_clear(&watch->turns);
    int err = uv_prepare_init(loop, &watch->wait);
    if (err == 0)
        err = uv_check_init(loop, &watch->after);
    if (err == 0)
        err = uv_prepare_start(&watch->wait, on_wait);
    if (err == 0)
        err = uv_check_start(&watch->after, on_after);
    uv_unref((uv_handle_t *)&watch->wait);
    uv_unref((uv_handle_t *)&watch->after);
    return err;
}

void uvh_watch_close(struct uvh_watch *watch, uv_close_cb closed)
{
    if (in_turn == watch)
        in_turn = NULL;
    uv_close((uv_handle_t *)&watch->wait, closed);
    uv_close((uv_handle_t *)&watch->after, closed);
}

uint64_t uvh_watch_since(uint64_t began)
{
    uint64_t now = began == 0 ? 0 : uv_hrtime();
    return now > began ? (now - began) / NS_PER_US : 0;
}

void uvh_watch_record(struct uvh_watch *watch, uint64_t microseconds)
{
    uvh_histogram_record(&watch->exchanges, microseconds, 1);
}

void uvh_watch_longer(struct uvh_watch *watch, uint64_t began)
{
    uvh_watch_record(watch, uvh_watch_since(began));
}

/* ---- reading ---- */

void uvh_watch_sum_clear(struct uvh_watch_sum *sum)
{
    uvh_histogram_clear(&sum->exchanges);
    uvh_histogram_clear(&sum->turns);
    sum->busy = sum->time = 0;
}

void uvh_watch_sum_add(struct uvh_watch_sum *sum, const struct uvh_watch *watch)
{
    uvh_histogram_merge(&sum->exchanges, &watch->exchanges);
    uvh_histogram_merge(&sum->turns, &watch->turns);
    sum->busy += uvh_counter_read(&watch->busy);
    sum->time += uvh_counter_read(&watch->time);
}

static void report(const struct uvh_histogram *histogram, uvhttp_latency_t *latency)
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

void uvh_watch_sum_report(const struct uvh_watch_sum *sum, uvhttp_stats_t *stats)
{
    report(&sum->exchanges, &stats->latency);
    report(&sum->turns, &stats->loop_delay);
    stats->loop_busy_us = sum->busy / NS_PER_US;
    stats->loop_time_us = sum->time / NS_PER_US;
}
