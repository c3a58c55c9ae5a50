/* Landlock of Linux (landlock(7)): a thread, and those that it starts later, can open only files
 * below allowed directories. They also can neither execute a program, nor connect over TCP (from
 * Linux 6.7), nor send signals to other processes (from 6.12). */
#ifndef UVH_APP_LANDLOCK_H
#define UVH_APP_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A file, or a directory with everything below it. */
struct uvh_landlock_rule {
    dev_t device;
    ino_t inode;
    bool write;
};

struct uvh_landlock {
    struct uvh_landlock_rule *rules;
    size_t count;
    unsigned long long handled; /* rights that the kernel knows */
    int ruleset;                /* a descriptor, or 0 */
    int self; /* the same, of /proc/self: without it that could get another inode */
};

/* All functions return 0 or an errno; ENOSYS or EOPNOTSUPP: the kernel cannot do this. Release in
 * either case. */
int uvh_landlock_begin(struct uvh_landlock *landlock);

/* Allows to read files and directories, and with `write` also to change, create and remove them. */
int uvh_landlock_allow(struct uvh_landlock *landlock, const char *path, bool write);

/* Restricts this thread, forever. */
int uvh_landlock_end(struct uvh_landlock *landlock);

/* True if the rules allow that for an existing path, as the kernel decides it. */
bool uvh_landlock_allows(const struct uvh_landlock *landlock, const char *path, bool write);

void uvh_landlock_release(struct uvh_landlock *landlock);

#endif
