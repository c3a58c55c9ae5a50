/* See the header. Keeps thousandths of a byte, so that slow rates are exact, too. */
#include "conn/pace.h"

enum { SECOND_MS = 1000 };

void uvh_pace_init(struct uvh_pace *pace, uint64_t rate, uint64_t burst)
{
    uint64_t least = rate / UVH_PACE_BURST_PART + 1;
    if (burst < least)
        burst = least;
    *pace = (struct uvh_pace){.rate = rate,
                              .balance = (int64_t)(burst < UVH_PACE_MOST ? burst : UVH_PACE_MOST)};
}

void uvh_pace_change(struct uvh_pace *pace, uint64_t rate)
{
    pace->rate = rate;
}

uint64_t uvh_pace_allowed(struct uvh_pace *pace, uint64_t now_ms)
{
    if (!pace->started) {
        pace->started = true;
        pace->filled_at = now_ms;
    }
    uint64_t passed = now_ms - pace->filled_at;
    pace->filled_at = now_ms;
    /* A negative balance may take longer than a second to refill; a full bucket needs no more. */
    if (passed > SECOND_MS && pace->balance >= 0)
        passed = SECOND_MS;
    if (passed > 0 && pace->balance < (int64_t)pace->rate) {
        uint64_t most = ((uint64_t)1 << 62) / (pace->rate + 1); /* limit, for a clock that jumps */
        uint64_t earned = pace->rate * (passed < most ? passed : most) + pace->thousandths;
        pace->balance += (int64_t)(earned / 1000);
        pace->thousandths = (uint32_t)(earned % 1000);
        if (pace->balance > (int64_t)pace->rate) {
            pace->balance = (int64_t)pace->rate;
            pace->thousandths = 0;
        }
    }
    return pace->balance > 0 ? (uint64_t)pace->balance : 0;
}

void uvh_pace_take(struct uvh_pace *pace, uint64_t bytes)
{
    pace->balance -= (int64_t)bytes;
}
