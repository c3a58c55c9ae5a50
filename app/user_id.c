/* See user_id.h. */
#include "user_id.h"

#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

/* -1: no number, or 4294967295, which means "unchanged" for chown(2). */
static int64_t parse_id(const char *text)
{
    size_t length = strspn(text, "0123456789");
    if (length == 0 || length > 10 || text[length] != '\0')
        return -1;
    int64_t id = strtoll(text, NULL, 10);
    return id < UINT32_MAX ? id : -1;
}

int64_t uvh_user_id(const char *name)
{
    const struct passwd *entry = getpwnam(name);
    return entry != NULL ? (int64_t)entry->pw_uid : parse_id(name);
}

int64_t uvh_group_id(const char *name)
{
    const struct group *entry = getgrnam(name);
    return entry != NULL ? (int64_t)entry->gr_gid : parse_id(name);
}
