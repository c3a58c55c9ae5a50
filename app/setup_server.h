/* The server of a setup: certificates, logs, metrics, redirects and signals. Shared by the commands
 * serve, run and check. */
#ifndef UVH_APP_SETUP_SERVER_H
#define UVH_APP_SETUP_SERVER_H

#include "setup.h"

struct uvh_setup_server {
    struct uvh_setup *setup;
    const struct uvh_options *options;
    const char *what; /* is served: for the start output */
    bool test;        /* build the server only */
    bool print;       /* with `test`: print the setup if it has no errors */
    /* Adds the sites to a server. Returns UVH_EXIT_OK, or another code after problems were noted or
     * printed. */
    int (*build)(uvhttp_server_t *server, const struct uvh_own_servers *own,
                 struct uvh_problems *problems, void *arg);
    void *arg;
    struct uvh_problems *problems;
    /* Reads the setup once more, as it is now. NULL after its problems were printed. The member
     * NULL: the setup cannot change. */
    struct uvh_setup_server *(*reread)(const struct uvh_setup_server *given);
    void (*release)(struct uvh_setup_server *reread);
};

/* Builds the server, and serves until it is stopped. Returns an exit code, with problems noted or
 * printed if it is not UVH_EXIT_OK. */
int uvh_setup_server_run(const struct uvh_setup_server *given);

#endif
