/* The sites of a setup as routes of a server. */
#ifndef UVH_APP_SITE_H
#define UVH_APP_SITE_H

#include "setup.h"

/* Where the library's messages go: while a server is built they are kept, since what is refused is
 * told with its line in the file, and then they are printed. A config's log_arg. */
struct uvh_site_log {
    bool keep;
    char kept[512];           /* the last message */
    uvhttp_log_level_t level; /* up to which messages are printed */
};

/* Adds everything that the setup asks for to a server, which both outlive: folders are opened,
 * prewarmed files loaded, routes added. Nothing listens, and no log is opened. False when a problem
 * was noted. `log` is what uvh_site_log_line is given by this server. `metrics` is the server at
 * the address of metrics, or NULL. */
bool uvh_site_build(uvhttp_server_t *server, uvhttp_server_t *metrics,
                    const struct uvh_setup *setup, struct uvh_site_log *log,
                    struct uvh_problems *problems);

/* A uvhttp_log_cb; `arg` is a struct uvh_site_log. */
void uvh_site_log_line(uvhttp_log_level_t level, const char *message, void *arg);

#endif
