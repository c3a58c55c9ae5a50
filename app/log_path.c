/* See log_path.h. */
#include "log_path.h"

#include <stdio.h>
#include <string.h>

#include "suggest.h"

bool uvh_log_path_is_file(const char *path)
{
    return strcmp(path, "-") != 0 && strncmp(path, "syslog:", 7) != 0 &&
           strncmp(path, "journal:", 8) != 0;
}

static const char *service_name(size_t index, const void *arg)
{
    static const char *const names[] = {"syslog:", "journal:", NULL};
    (void)arg;
    return names[index];
}

const char *uvh_log_path_meant(const char *path)
{
    char word[16];
    size_t length = strcspn(path, ":/.") + 1;
    if (!uvh_log_path_is_file(path) || path[length - 1] != ':' || length >= sizeof(word))
        return NULL;
    snprintf(word, length + 1, "%s", path);
    return uvh_suggest(word, service_name, NULL);
}
