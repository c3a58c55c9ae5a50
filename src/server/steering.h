/* Which worker gets what comes in on which core of the processor.
 *
 * What one client thread, or one queue of a network card, opens comes in on one core. When it all goes to one worker, the system moves that worker to where its
 * clients are, and what their requests need stays in the caches of one core: with clients on the same machine a request then takes half the time. So each worker
 * of a server prefers one core, without being held there. Nothing breaks where the system does not know of it. Called by workers.c and accept.c. */
#ifndef UVH_SERVER_STEERING_H
#define UVH_SERVER_STEERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uvh_listener;
struct uvh_worker;

enum { UVH_STEERED_ADDRESSES = 4 }; /* the others have their connections shared out as the system does */

/* Of one worker. */
struct uvh_steering {
    /* Set before there are threads; other workers ask how many wait there. They share their ports with those of the same place of the other workers. */
    int listeners[UVH_STEERED_ADDRESSES];
    size_t count;
    int core;           /* that they prefer; -1: none */
    uint64_t off_until; /* of the loop's clock; they prefer none until then; 0: they do */
    unsigned accepted;
    unsigned handed; /* of these: to other workers */
};

void uvh_steering_init(struct uvh_steering *steering);

/* Has the worker's listener on an address, which all workers have one on, prefer what comes in on the worker's core. Before there are threads. */
void uvh_steering_add(struct uvh_worker *worker, struct uvh_listener *listener);

/* Whether a connection that was accepted is where it belongs, on the worker's core. */
bool uvh_steering_fits(const struct uvh_worker *worker, const struct uvh_listener *listener, int socket);

/* How many connections wait for another worker on the listener's address. */
size_t uvh_steering_waiting(const struct uvh_worker *other, const struct uvh_listener *listener);

/* One more connection was accepted. Where many are handed over, they come in on few cores, whose workers would have all the accepting to do: then the system
 * shares out by its hash for a while. */
void uvh_steering_judge(struct uvh_worker *worker, const struct uvh_listener *listener, bool handed);

#endif
