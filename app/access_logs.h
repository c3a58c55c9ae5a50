/* The access logs of a setup: one for everything, and those of sites. */
#ifndef UVH_APP_ACCESS_LOGS_H
#define UVH_APP_ACCESS_LOGS_H

#include "run_as.h"

struct uvh_access_logs {
    struct uvh_setup *setup;
    uvhttp_access_log_t *common; /* for all sites without their own; or NULL */
    uvhttp_log_level_t level;    /* a separate copy, because threads of the logs read it */
    bool any;                    /* is open */
};

/* Checks that the logs can be opened, without creating their files. False with problems noted. */
bool uvh_access_logs_check(const struct uvh_setup *setup, struct uvh_problems *problems);

/* The file of the log of the setup (0) or of a site, counted from 1. NULL: none, no file, or one
 * that has a lower index. */
const char *uvh_access_logs_file(const struct uvh_setup *setup, size_t index);

/* Opens all logs; new files belong to the user. False, with the error printed. Close them in either
 * case. */
bool uvh_access_logs_open(struct uvh_access_logs *logs, struct uvh_setup *setup,
                          const struct uvh_run_as *as);

/* The log for a request, or NULL. */
uvhttp_access_log_t *uvh_access_logs_find(const struct uvh_access_logs *logs,
                                          const uvhttp_request_t *request);

/* A middleware for requests that are in no log; `arg` is not NULL. */
int uvh_access_logs_skip(uvhttp_request_t *request, uvhttp_response_t *response, void *arg);

void uvh_access_logs_reopen(struct uvh_access_logs *logs);

/* After the servers that use them were freed. */
void uvh_access_logs_close(struct uvh_access_logs *logs);

#endif
