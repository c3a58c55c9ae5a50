/* The offered load is measured: the requests that arrive in a window, each with the time of the
 * loop that an admitted one takes. So the part to shed is known at once, and does not have to be
 * found by steps. */
#include "server/overload.h"

enum {
    WHOLE = 1000,      /* of the loop's time, in thousandths */
    SHARE = 875,       /* for admitted requests: at more than that, delays grow without bound */
    FITS = 950,        /* shedding ends when the offered load is below this */
    SMOOTHING = 4,     /* windows over which the load is averaged */
    QUICK_WINDOWS = 4, /* per interval, while requests are shed */
    LEAST_ADMITTED = UVH_OVERLOAD_ALL / 256, /* else the load could not be measured */
};
#define LINE_INTERVAL UINT64_C(10000000000) /* 10 s */

static void begin_window(struct uvh_overload *overload, uint64_t now)
{
    overload->window_began = now;
    overload->busy = 0;
    overload->least_delay = UINT64_MAX;
    overload->requests = overload->admitted = overload->requests_before = 0;
}

void uvh_overload_init(struct uvh_overload *overload, uint64_t target, uint64_t interval,
                       uint32_t random)
{
    *overload = (struct uvh_overload){.target = target, .interval = interval, .random = random};
    begin_window(overload, 0);
}

/* Numbers that differ are enough (a linear congruential generator, whose upper bits are better). */
static uint32_t next_random(struct uvh_overload *overload)
{
    overload->random = overload->random * 1664525 + 1013904223;
    return overload->random >> 16;
}

/* The loop has waited for longer than an interval before `began`, so nothing was queued. */
static bool was_idle(const struct uvh_overload *overload, uint64_t began)
{
    return began > overload->ended && began - overload->ended > overload->interval;
}

bool uvh_overload_admits_some(struct uvh_overload *overload, uint64_t now, bool exempt)
{
    if (was_idle(overload, now))
        overload->shed_part = 0;
    return exempt || next_random(overload) >= overload->shed_part;
}

/* The smoothed load including this window. In one without an admitted request, they take as long as
 * before. */
static uint64_t measure_load(struct uvh_overload *overload, uint64_t length)
{
    if (overload->admitted > 0)
        overload->cost = overload->busy / overload->admitted;
    uint64_t load = overload->cost * overload->requests / (length / WHOLE + 1);
    if (overload->shed_part == 0)
        return load;
    return (overload->load * (SMOOTHING - 1) + load) / SMOOTHING;
}

/* The part of the requests to admit, of UVH_OVERLOAD_ALL. */
static uint64_t part_to_admit(const struct uvh_overload *overload, bool delayed)
{
    uint64_t part = (uint64_t)UVH_OVERLOAD_ALL * SHARE / (overload->load + 1);
    if (delayed)
        part = part * (overload->target / WHOLE) / (overload->delay / WHOLE + 1);
    if (part < LEAST_ADMITTED)
        return LEAST_ADMITTED;
    return part < UVH_OVERLOAD_ALL ? part : UVH_OVERLOAD_ALL;
}

static void end_window(struct uvh_overload *overload, uint64_t now)
{
    uint64_t length = now - overload->window_began;
    bool was_busy = overload->busy >= length / WHOLE * SHARE;
    overload->delay = overload->least_delay;
    overload->load = measure_load(overload, length);
    bool delayed = was_busy && overload->delay > overload->target;
    bool fits = overload->shed_part == 0 || overload->load < FITS;
    overload->shed_part =
        !delayed && fits ? 0 : (uint32_t)(UVH_OVERLOAD_ALL - part_to_admit(overload, delayed));
    begin_window(overload, now);
}

static void add_window(struct uvh_overload_counts *counts, const struct uvh_overload *overload,
                       uint64_t length)
{
    counts->requests += overload->requests;
    counts->shed += overload->requests - overload->admitted;
    counts->duration += length;
}

static enum uvh_overload_line end_overload(struct uvh_overload *overload)
{
    bool logged = overload->logged;
    overload->counts = overload->since_begin;
    overload->since_line = overload->since_begin = (struct uvh_overload_counts){0};
    overload->logged = false;
    return logged ? UVH_OVERLOAD_OVER : UVH_OVERLOAD_NO_LINE;
}

static enum uvh_overload_line line_due(struct uvh_overload *overload, uint64_t now)
{
    if (overload->shed_part == 0)
        return end_overload(overload);
    if (overload->since_line.shed == 0 || now < overload->next_line_at)
        return UVH_OVERLOAD_NO_LINE;
    overload->counts = overload->since_line;
    overload->since_line = (struct uvh_overload_counts){0};
    overload->next_line_at = now + LINE_INTERVAL;
    overload->logged = true;
    return UVH_OVERLOAD_SHEDDING;
}

/* An iteration began after idle time. All of its requests were admitted. */
static enum uvh_overload_line end_after_idle(struct uvh_overload *overload, uint64_t began)
{
    uint64_t requests = overload->requests - overload->requests_before;
    overload->requests -= requests;
    overload->admitted -= requests;
    add_window(&overload->since_begin, overload, overload->ended - overload->window_began);
    overload->shed_part = 0;
    begin_window(overload, began);
    overload->requests = overload->admitted = requests;
    return end_overload(overload);
}

/* All but one of `count` requests have waited for others: a single one has not, however long it
 * takes. */
static uint64_t delay_of(const struct uvh_overload *overload,
                         const struct uvh_overload_iteration *iteration)
{
    uint64_t count = overload->requests - overload->requests_before;
    if (count < iteration->events)
        count = iteration->events;
    uint64_t delay = count < 2 ? 0 : iteration->length - iteration->length / count;
    return delay > iteration->waited ? delay : iteration->waited;
}

enum uvh_overload_line uvh_overload_add_iteration(struct uvh_overload *overload,
                                                  const struct uvh_overload_iteration *iteration)
{
    uint64_t delay = delay_of(overload, iteration), now = iteration->end;
    uint64_t began = now - iteration->length;
    bool idle = (overload->shed_part > 0 || overload->logged) && was_idle(overload, began);
    enum uvh_overload_line line = idle ? end_after_idle(overload, began) : UVH_OVERLOAD_NO_LINE;
    overload->ended = now;
    overload->busy += iteration->length;
    overload->requests_before = overload->requests;
    if (delay < overload->least_delay)
        overload->least_delay = delay;
    bool sheds = overload->shed_part > 0;
    uint64_t length = now - overload->window_began;
    if (length < (sheds ? overload->interval / QUICK_WINDOWS : overload->interval))
        return line;
    if (sheds || overload->admitted < overload->requests) {
        add_window(&overload->since_line, overload, length);
        add_window(&overload->since_begin, overload, length);
    }
    end_window(overload, now);
    enum uvh_overload_line due = line_due(overload, now);
    return due != UVH_OVERLOAD_NO_LINE ? due : line;
}
