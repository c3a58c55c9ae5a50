/* Users and groups by name or number. */
#ifndef UVH_APP_USER_ID_H
#define UVH_APP_USER_ID_H

#include <stdint.h>

#define UVH_USER_NAME_SIZE 64

/* For messages: what to do about a name that does not exist, and its formats. */
#define UVH_USER_UNKNOWN  "there is no user '%s'; give a name of /etc/passwd, or a number"
#define UVH_GROUP_UNKNOWN "there is no group '%s'; give a name of /etc/group, or a number"

/* The number of a user or a group, given by name or number; -1 if it does not exist. A number need
 * not have a name. */
int64_t uvh_user_id(const char *name);
int64_t uvh_group_id(const char *name);

#endif
