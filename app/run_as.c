/* See run_as.h. The C library changes all threads. */
#include "run_as.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __has_include
#if __has_include(<sys/prctl.h>)
#include <sys/prctl.h>
#endif
#endif

/* The key at `text`, as the user knows it. */
static const char *key_of(const struct uvh_text *text, const char *option)
{
    return text->mark.line != 0 ? option + strlen("--") : option;
}

/* User and group by their numbers, which need not have a name. */
static bool find_ids(struct uvh_run_as *as, const struct uvh_text *user,
                     const struct uvh_text *group, struct uvh_problems *problems)
{
    int64_t uid = uvh_user_id(user->text);
    const struct passwd *entry = uid < 0 ? NULL : getpwuid((uid_t)uid);
    int64_t gid = group->text != NULL ? uvh_group_id(group->text)
                  : entry != NULL     ? (int64_t)entry->pw_gid
                                      : -1;
    if (uid < 0)
        uvh_problems_add(problems, user->mark, "%s: " UVH_USER_UNKNOWN, key_of(user, "--user"),
                         user->text);
    else if (gid < 0 && group->text != NULL)
        uvh_problems_add(problems, group->mark, "%s: " UVH_GROUP_UNKNOWN, key_of(group, "--group"),
                         group->text);
    else if (gid < 0)
        uvh_problems_add(problems, user->mark,
                         "%s: the user %s has no name and so no group; set %s, too",
                         key_of(user, "--user"), user->text, key_of(user, "--group"));
    *as = (struct uvh_run_as){.user = user->text, .uid = (uid_t)uid, .gid = (gid_t)gid};
    as->name = entry != NULL ? user->text : NULL;
    return uid >= 0 && gid >= 0;
}

bool uvh_run_as_find(struct uvh_run_as *as, const struct uvh_setup *setup, bool only_check,
                     struct uvh_problems *problems)
{
    const struct uvh_text *user = &setup->user, *group = &setup->group;
    *as = (struct uvh_run_as){.user = NULL};
    if (user->text == NULL && group->text == NULL)
        return true;
    if (user->text == NULL) {
        uvh_problems_add(problems, group->mark, "group '%s' requires 'user'", group->text);
        return false;
    }
    if (!find_ids(as, user, group, problems))
        return false;
    as->change = geteuid() == 0;
    if (!as->change && !only_check && (as->uid != geteuid() || as->gid != getegid())) {
        uvh_problems_add(problems, user->mark,
                         "%s: only root can change to user '%s' (%ld) and group %ld; start the "
                         "program as root, or as that user, or omit %s",
                         key_of(user, "--user"), user->text, (long)as->uid, (long)as->gid,
                         key_of(user, "--user"));
        return false;
    }
    return true;
}

bool uvh_run_as_give_up_privileges(const struct uvh_run_as *as, const struct uvh_setup *setup,
                                   bool only_check, struct uvh_problems *problems)
{
    bool confine = setup->confine.mode != UVH_CONFINE_OFF;
    bool on = setup->no_new_privs == UVH_NO_NEW_PRIVS_ON;
    int err = ENOSYS;
    if (setup->no_new_privs == UVH_NO_NEW_PRIVS_OFF && confine) {
        uvh_problems_add(problems, setup->no_new_privs_mark,
                         "'confine' requires 'no_new_privs'; omit one of them");
        return false;
    }
    if (setup->no_new_privs == UVH_NO_NEW_PRIVS_OFF || !(on || confine || as->change) || only_check)
        return true;
#ifdef PR_SET_NO_NEW_PRIVS
    err = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno; /* threads inherit it */
#endif
    if (err == 0 || !on) /* fails before Linux 3.5; then `confine` fails, too */
        return true;
    uvh_problems_add(problems, setup->no_new_privs_mark, "no_new_privs: %s", strerror(err));
    return false;
}

void uvh_run_as_create(const struct uvh_run_as *as, const char *path, mode_t mode)
{
    if (!as->change || path == NULL)
        return;
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file < 0)
        return;
    (void)!fchown(file, as->uid, as->gid); /* user_files.c reports the consequence */
    close(file);
}

static bool change(const struct uvh_run_as *as)
{
    int err = as->name != NULL ? initgroups(as->name, as->gid) : setgroups(1, &as->gid);
    return err == 0 && setgid(as->gid) == 0 && setuid(as->uid) == 0;
}

static bool is_changed(const struct uvh_run_as *as)
{
    bool ids =
        getuid() == as->uid && geteuid() == as->uid && getgid() == as->gid && getegid() == as->gid;
    return ids && (as->uid == 0 || (setuid(0) != 0 && seteuid(0) != 0));
}

bool uvh_run_as_change(const struct uvh_run_as *as)
{
    if (!as->change)
        return true;
    if (!change(as)) {
        fprintf(stderr, "uvhttp: cannot change to user '%s' (%ld) and group %ld: %s\n", as->user,
                (long)as->uid, (long)as->gid, strerror(errno));
        return false;
    }
    if (is_changed(as))
        return true;
    fprintf(stderr, "uvhttp: the process can become root again after the change to user '%s'\n",
            as->user);
    return false;
}
