/* What a graceful stop does to connections and requests: the times of uvhttp_server_drain, and the
 * counts of uvhttp_server_drain_result. */
#ifndef UVH_SERVER_DRAIN_H
#define UVH_SERVER_DRAIN_H

#include <uvhttp/server.h>

struct uvh_server;

struct uvh_drain {
    /* of uvhttp_server_drain, if `has_times`; both under server->current_lock */
    uvhttp_drain_t times;
    bool has_times;
    uint64_t began; /* by uv_hrtime; 0: not yet */
    struct uvh_drain_counts {
        uint64_t accepted, responses, aborted;
    } before;
    uvhttp_drain_result_t result;
    bool is_over;
};

/* Those of uvhttp_server_drain, or of the configuration. */
uvhttp_drain_t uvh_drain_times(struct uvh_server *server);

/* Accepting ends now. */
void uvh_drain_begin(struct uvh_server *server);

/* All connections are closed now, whatever they do. */
void uvh_drain_cut(struct uvh_server *server);

/* The last connection is closed, and all workers have ended. Writes a line to the log. */
void uvh_drain_end(struct uvh_server *server);

#endif
