/* See log_path.h. Called by access_logs.c, config_log.c, run.c and serve_site.c. */
#include "log_path.h"

#include <string.h>

bool uvh_log_path_is_file(const char *path)
{
    return strcmp(path, "-") != 0 && strncmp(path, "syslog:", 7) != 0 &&
           strncmp(path, "journal:", 8) != 0;
}
