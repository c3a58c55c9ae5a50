/* Which worker gets what comes in on which core of the processor.
 *
 * What one client thread, or one queue of a network card, opens comes in on one core. When it all goes to one worker, the system moves that worker to where its
 * clients are, and what their requests need stays in the caches of one core: with clients on the same machine a request then takes half the time. So each worker
 * of a server prefers one core, without being held there. Nothing breaks where the system does not know of it. Called by workers.c and accept.c. */
#ifndef UVH_SERVER_STEERING_H
#define UVH_SERVER_STEERING_H

#include <stdbool.h>
#include <stddef.h>

struct uvh_worker;

/* Of one worker. */
struct uvh_steering {
    int listener; /* that shares the port of the last address; other workers ask how many wait there. -1: none */
    int core;     /* that its listeners prefer; -1: none */
    bool off;     /* they do not, for a while */
    unsigned accepted;
    unsigned handed; /* of these: to other workers */
};

void uvh_steering_init(struct uvh_steering *steering);

/* Has a listening socket that shares its port prefer what comes in on the worker's core. Before there are threads. */
void uvh_steering_prefer(struct uvh_worker *worker, int listener);

/* Whether most of what the worker accepts comes in on its core. */
bool uvh_steering_is_on(const struct uvh_worker *worker);

/* How many connections wait for a worker to accept them. Any worker. */
size_t uvh_steering_waiting(const struct uvh_worker *worker);

/* One more connection was accepted. Where many are handed over, they come in on few cores, whose workers would have all the accepting to do: then the system
 * shares out by its hash for a while. */
void uvh_steering_judge(struct uvh_worker *worker, bool handed);

#endif
