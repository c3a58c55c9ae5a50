/* The sites of a setup as routes of a server. */
#ifndef UVH_APP_SITE_H
#define UVH_APP_SITE_H

#include "setup.h"

/* The target of the library's log. A config's log_arg. */
struct uvh_site_log {
    uvhttp_log_level_t level; /* the least severe level that is printed */
};

/* Adds everything in the setup to a server; the setup must outlive it: opens directories, loads
 * prewarmed files, adds routes. Does not listen and opens no log. False with a problem noted.
 */
bool uvh_site_build(uvhttp_server_t *server, const struct uvh_own_servers *own,
                    const struct uvh_setup *setup, struct uvh_problems *problems);

/* A uvhttp_log_cb; `arg` is a struct uvh_site_log. */
void uvh_site_log_line(uvhttp_log_level_t level, const char *message, void *arg);

/* While sites are built this thread prints nothing, because errors are reported with their line in
 * the file. Other threads serve requests during a reload. */
void uvh_site_log_set_quiet(bool quiet);

#endif
