/* How many bytes of a response's body may leave when its rate is limited: an account that fills
 * with time and is emptied by what is sent.
 *
 * Always true: in `t` milliseconds from the first look at it on no more than the burst and t *
 * rate / 1000 bytes are allowed, however often it is looked at. What was not used is kept for
 * one second at most. A piece that leaves as a whole may overdraw the account; then nothing is
 * allowed until the debt is paid. Lives in the exchange's arena; time is an argument. Used on
 * the loop's thread. */
#ifndef UVH_CONN_PACE_H
#define UVH_CONN_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct uvh_pace {
    uint64_t rate;        /* bytes per second, up to UVH_PACE_MOST */
    int64_t balance;      /* bytes; negative: owed */
    uint32_t thousandths; /* of a byte, beyond the balance */
    bool started;
    uint64_t filled_at; /* milliseconds */
};

/* Rates from here on are no limit: an account of so many bytes would not fit its numbers. */
#define UVH_PACE_MOST ((uint64_t)1 << 50)

/* What is left at least of `burst` in the beginning, so that small answers need not wait for the
 * worker's next tick. */
enum { UVH_PACE_BURST_PART = 4 };

void uvh_pace_init(struct uvh_pace *pace, uint64_t rate, uint64_t burst);

/* Changes the rate from now on; what is in the account stays. */
void uvh_pace_change(struct uvh_pace *pace, uint64_t rate);

/* Bytes that may leave now; 0 when there are none. The first call starts the account. */
uint64_t uvh_pace_allowed(struct uvh_pace *pace, uint64_t now_ms);

/* So many have left. */
void uvh_pace_take(struct uvh_pace *pace, uint64_t bytes);

#endif
