/* Files that the server opens again while it runs, when it may have another user than at the start.
 */
#ifndef UVH_APP_USER_FILES_H
#define UVH_APP_USER_FILES_H

#include "tls_advice.h"
#include "tls_setup.h"

/* Checks whether the process could open a file to append to it, or create it. Returns 0 or an
 * error. */
int uvh_user_files_check_log(const char *path);

/* What to do about that error of writing; to follow its text, or "". */
const char *uvh_user_files_advice(int err);

/* Warns about each directory for uploads that the process cannot write. */
void uvh_user_files_check_uploads(const struct uvh_setup *setup, uvh_advice_cb warn, void *arg);

/* Warns about each file and directory of the setup that the process, now that of the user, cannot
 * read or write. */
void uvh_user_files_check(const struct uvh_setup *setup, const struct uvh_tls *tls,
                          uvh_advice_cb warn, void *arg);

#endif
