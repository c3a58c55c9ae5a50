/* The option "confine": the process restricts itself to the files and the system calls that a
 * server needs, by Landlock and seccomp of Linux. That is final and applies to every thread.
 *
 * Always true: what the process opens while it starts, a reload can open, because the rules for
 * files apply before the server is built. */
#ifndef UVH_APP_CONFINE_H
#define UVH_APP_CONFINE_H

#include "landlock.h"
#include "setup.h"
#include "tls_advice.h"

struct uvh_confine {
    struct uvh_landlock files;
    bool active; /* files, system calls or both are restricted */
};

/* Restricts the files to those of a setup, if it has `confine`. Call before other threads exist,
 * after uvh_run_as_give_up_privileges. `only_check`: just finds out whether that is possible. False
 * with problems noted; with "best-effort" `warn` is called instead. Release in either case. */
bool uvh_confine_files(struct uvh_confine *confine, const struct uvh_setup *setup,
                       const struct uvh_options *options, bool only_check, uvh_advice_cb warn,
                       void *arg, struct uvh_problems *problems);

/* Restricts the system calls of all threads, if the setup has `confine`. False after an error was
 * printed. */
bool uvh_confine_calls(struct uvh_confine *confine, const struct uvh_setup *setup,
                       uvh_advice_cb warn, void *arg);

/* Checks that the files of another setup are among those of the start. False with problems noted.
 */
bool uvh_confine_allows(const struct uvh_confine *confine, const struct uvh_setup *next,
                        const struct uvh_options *options, struct uvh_problems *problems);

void uvh_confine_release(struct uvh_confine *confine);

#endif
