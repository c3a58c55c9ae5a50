/* See confine.h. */
#include "confine.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "confine_paths.h"
#include "seccomp_calls.h"

/* What a server needs besides its own files: shared libraries that are loaded when they are needed,
 * names of users, the time zone, settings of OpenSSL, whether there is a terminal, the number of
 * processors, metrics. */
static const char *const system_paths[] = {"/lib",
                                           "/lib64",
                                           "/usr/lib",
                                           "/usr/lib64",
                                           "/usr/local/lib",
                                           "/usr/share/zoneinfo",
                                           "/etc/ld.so.cache",
                                           "/etc/localtime",
                                           "/etc/nsswitch.conf",
                                           "/etc/passwd",
                                           "/etc/group",
                                           "/run/systemd/userdb",
                                           "/etc/hosts",
                                           "/etc/host.conf",
                                           "/etc/resolv.conf",
                                           "/etc/gai.conf",
                                           "/etc/services",
                                           "/dev/urandom",
                                           "/dev/tty",
                                           "/sys/devices/system/cpu",
                                           "/sys/fs/cgroup",
                                           "/proc/self"};

struct visit {
    struct uvh_landlock *files;
    const struct uvh_setup *setup;
    struct uvh_problems *problems;
    uvh_advice_cb warn;
    void *arg;
};

/* How a user knows the option. */
static const char *name_of(const struct uvh_setup *setup)
{
    return setup->confine.mark.line != 0 ? "confine" : "--confine";
}

static void refuse(const struct visit *visit, const char *text)
{
    char line[600];
    snprintf(line, sizeof(line), "%s: %s%s", name_of(visit->setup), text,
             visit->setup->confine.mode == UVH_CONFINE_BEST_EFFORT
                 ? ""
                 : "; with 'best-effort' the server starts without it");
    if (visit->setup->confine.mode == UVH_CONFINE_BEST_EFFORT)
        visit->warn(line, visit->arg);
    else
        uvh_problems_add(visit->problems, visit->setup->confine.mark, "%s", line);
}

static void refuse_landlock(const struct visit *visit, int err)
{
    char text[400];
    const char *why = err == ENOSYS       ? "the kernel has no Landlock, which Linux 5.13 has"
                      : err == EOPNOTSUPP ? "Landlock is off; the parameter lsm= of the kernel can "
                                            "add 'landlock'"
                      : err == EPERM      ? "the service manager or the container does not permit "
                                            "the calls of Landlock"
                                          : strerror(err);
    snprintf(text, sizeof(text), "files cannot be restricted: %s", why);
    refuse(visit, text);
}

/* A file in the top directory, whose rule covers all others. */
static void warn_of_top(const struct visit *visit, const struct uvh_confine_path *path)
{
    char found[PATH_MAX], text[200];
    if (path->root || path->required || realpath(path->path, found) == NULL ||
        strcmp(found, "/") != 0)
        return;
    snprintf(text, sizeof(text),
             "%s: the server can %s every file, because it has one of its own in '/'; move that to "
             "another directory",
             name_of(visit->setup), path->write ? "write to" : "read");
    visit->warn(text, visit->arg);
}

/* Paths of other keys are reported by those that open them. */
static void allow(const struct uvh_confine_path *path, void *arg)
{
    const struct visit *visit = arg;
    warn_of_top(visit, path);
    int err = uvh_landlock_allow(visit->files, path->path, path->write);
    if (err != 0 && (path->required || err == ENOMEM))
        uvh_problems_add(visit->problems, path->mark, "%s: '%s' cannot be opened: %s",
                         name_of(visit->setup), path->path, strerror(err));
}

static void check(const struct uvh_confine_path *path, void *arg)
{
    const struct visit *visit = arg;
    struct stat found;
    if (stat(path->path, &found) == 0 &&
        !uvh_landlock_allows(visit->files, path->path, path->write))
        uvh_problems_add(visit->problems, path->mark,
                         "confine: since the start the server cannot %s '%s'; restart it, and for "
                         "later changes add a directory above to '%s' of 'confine'",
                         path->write ? "write to" : "read", path->path,
                         path->write ? "write" : "read");
}

/* Rules belong to directories, not to names. */
static void warn_of_link(const struct uvh_confine_path *path, void *arg)
{
    const struct visit *visit = arg;
    struct stat found;
    char text[2 * PATH_MAX];
    char *target = lstat(path->path, &found) == 0 && S_ISLNK(found.st_mode)
                       ? realpath(path->path, NULL)
                       : NULL;
    if (path->root && target != NULL &&
        !uvh_landlock_allows(visit->files, dirname(target), path->write)) {
        snprintf(text, sizeof(text),
                 "%s: '%s' is a link, and its later targets cannot be read; add a directory above "
                 "them to 'read' of 'confine'",
                 name_of(visit->setup), path->path);
        visit->warn(text, visit->arg);
    }
    free(target);
}

static int allow_system_paths(struct uvh_landlock *files)
{
    int err = uvh_landlock_allow(files, "/dev/null", true);
    for (size_t i = 0; i < sizeof(system_paths) / sizeof(system_paths[0]) && err != ENOMEM; i++)
        err = uvh_landlock_allow(files, system_paths[i], false);
    return err == ENOMEM ? err : 0;
}

bool uvh_confine_files(struct uvh_confine *confine, const struct uvh_setup *setup,
                       const struct uvh_options *options, bool only_check, uvh_advice_cb warn,
                       void *arg, struct uvh_problems *problems)
{
    struct visit visit = {&confine->files, setup, problems, warn, arg};
    size_t before = problems->count;
    *confine = (struct uvh_confine){.active = false};
    if (setup->confine.mode == UVH_CONFINE_OFF)
        return true;
    if (setup->tls.wanted)
        uvh_tls_read_settings();
    if (!only_check)
        uvh_seccomp_refuse_rings();
    int err = uvh_landlock_begin(&confine->files);
    if (err == 0) {
        err = allow_system_paths(&confine->files);
        uvh_confine_paths(setup, options, !only_check, allow, &visit);
        bool end = err == 0 && problems->count == before && !only_check;
        if (end)
            err = uvh_landlock_end(&confine->files);
        confine->active = end && err == 0;
    }
    if (err != 0)
        refuse_landlock(&visit, err);
    if (confine->active)
        uvh_confine_paths(setup, options, false, warn_of_link, &visit);
    return problems->count == before;
}

bool uvh_confine_calls(struct uvh_confine *confine, const struct uvh_setup *setup,
                       uvh_advice_cb warn, void *arg)
{
    char text[200];
    if (setup->confine.mode == UVH_CONFINE_OFF)
        return true;
    int err = uvh_seccomp_restrict();
    confine->active = confine->active || err == 0;
    if (err == 0)
        return true;
    snprintf(text, sizeof(text), "%s: system calls cannot be restricted: %s", name_of(setup),
             strerror(err));
    if (setup->confine.mode == UVH_CONFINE_BEST_EFFORT)
        warn(text, arg);
    else
        fprintf(stderr, "uvhttp: %s\n", text);
    return setup->confine.mode == UVH_CONFINE_BEST_EFFORT;
}

bool uvh_confine_allows(const struct uvh_confine *confine, const struct uvh_setup *next,
                        const struct uvh_options *options, struct uvh_problems *problems)
{
    /* the list is not changed */
    struct visit visit = {(struct uvh_landlock *)(uintptr_t)&confine->files, next, problems, NULL,
                          NULL};
    size_t before = problems->count;
    if (confine->files.count > 0)
        uvh_confine_paths(next, options, false, check, &visit);
    return problems->count == before;
}

void uvh_confine_release(struct uvh_confine *confine)
{
    uvh_landlock_release(&confine->files);
}
