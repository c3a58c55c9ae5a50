/* The options "user", "group" and "no_new_privs": a program that root has started binds ports and
 * opens logs and keys as root, and serves as another user.
 *
 * Always true: a server that has a user serves no request as another one. */
#ifndef UVH_APP_RUN_AS_H
#define UVH_APP_RUN_AS_H

#include <sys/types.h>

#include "setup.h"

struct uvh_run_as {
    const char *user; /* as configured; NULL: not configured */
    const char *name; /* of the user database; NULL: it has none */
    uid_t uid;
    gid_t gid;
    bool change; /* the process is root */
};

/* Finds the user and the group of a setup. Without root they must be those of the process, unless
 * this is only a check. False with a problem noted. */
bool uvh_run_as_find(struct uvh_run_as *as, const struct uvh_setup *setup, bool only_check,
                     struct uvh_problems *problems);

/* `no_new_privs`: programs that this thread and later ones execute get no privileges. Call before
 * other threads exist. False with a problem noted. */
bool uvh_run_as_give_up_privileges(const struct uvh_run_as *as, const struct uvh_setup *setup,
                                   bool only_check, struct uvh_problems *problems);

/* Creates a file for the user to append to, with no content, unless it exists. Errors are left to
 * the later open. `path` may be NULL. */
void uvh_run_as_create(const struct uvh_run_as *as, const char *path, mode_t mode);

/* Changes the user and group of all threads, forever. Does nothing without root. False after a
 * message was printed; then the process must end. */
bool uvh_run_as_change(const struct uvh_run_as *as);

#endif
