/* The value of access_log: a file, or a service. */
#ifndef UVH_APP_LOG_PATH_H
#define UVH_APP_LOG_PATH_H

#include <stdbool.h>

/* False for "-", "syslog:..." and "journal:...". */
bool uvh_log_path_is_file(const char *path);

/* "syslog:" or "journal:" if the path may be a misspelt one of them, else NULL. */
const char *uvh_log_path_meant(const char *path);

#endif
