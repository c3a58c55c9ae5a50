/* Rate limit of a response body: a token bucket of bytes.
 *
 * Invariant: within `t` milliseconds from the first call at most the burst and t * rate / 1000
 * bytes are allowed, however often it is called. Unused bytes are kept for at most one second. A
 * chunk that is sent as a whole may make the balance negative; then nothing is allowed until it is
 * positive again. Allocated in the exchange's arena; time is an argument. Used on the loop's
 * thread. */
#ifndef UVH_CONN_PACE_H
#define UVH_CONN_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct uvh_pace {
    uint64_t rate;        /* bytes per second, up to UVH_PACE_MOST */
    int64_t balance;      /* bytes; may be negative */
    uint32_t thousandths; /* thousandths of a byte, in addition to the balance */
    bool started;
    uint64_t filled_at; /* milliseconds */
};

/* Rates from here on count as unlimited: larger balances would overflow. */
#define UVH_PACE_MOST ((uint64_t)1 << 50)

/* The initial burst is at least rate / UVH_PACE_BURST_PART, so that small responses need not wait
 * for the worker's next tick. */
enum { UVH_PACE_BURST_PART = 4 };

void uvh_pace_init(struct uvh_pace *pace, uint64_t rate, uint64_t burst);

/* Changes the rate from now on; the balance stays. */
void uvh_pace_change(struct uvh_pace *pace, uint64_t rate);

/* Bytes that may be sent now, or 0. The first call starts the bucket. */
uint64_t uvh_pace_allowed(struct uvh_pace *pace, uint64_t now_ms);

/* Subtracts sent bytes. */
void uvh_pace_take(struct uvh_pace *pace, uint64_t bytes);

#endif
