/* See landlock.h. The C library has no functions for these system calls. */
#include "landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/landlock.h>

/* Numbers of kernels that are newer than the header. */
enum { ABI_REFER = 2, ABI_TRUNCATE = 3, ABI_TCP = 4, ABI_IOCTL = 5, ABI_SIGNAL = 6 };
#define FS_TRUNCATE     (1ULL << 14)
#define FS_IOCTL_DEVICE (1ULL << 15)
#define TCP_CONNECT     (1ULL << 1)
#define SCOPE_SIGNAL    (1ULL << 1)

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE                                                                                     \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                              \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | \
     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REFER | FS_TRUNCATE)
#define NEVER                                                                                    \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM | FS_IOCTL_DEVICE)
#define OF_FILES (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE)

/* The kernel accepts members that it does not know if they are 0. */
struct attributes {
    uint64_t files, tcp, scopes;
};

int uvh_landlock_begin(struct uvh_landlock *landlock)
{
    long abi =
        syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, LANDLOCK_CREATE_RULESET_VERSION);
    struct attributes attributes = {.files = READ | WRITE | NEVER};
    *landlock = (struct uvh_landlock){.rules = NULL};
    if (abi < 0)
        return errno;
    if (abi < ABI_REFER)
        attributes.files &= ~(uint64_t)LANDLOCK_ACCESS_FS_REFER;
    if (abi < ABI_TRUNCATE)
        attributes.files &= ~(uint64_t)FS_TRUNCATE;
    if (abi < ABI_IOCTL)
        attributes.files &= ~(uint64_t)FS_IOCTL_DEVICE;
    attributes.tcp = abi >= ABI_TCP ? TCP_CONNECT : 0;
    attributes.scopes = abi >= ABI_SIGNAL ? SCOPE_SIGNAL : 0;
    landlock->handled = attributes.files;
    long ruleset = syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0U);
    if (ruleset < 0)
        return errno;
    landlock->ruleset = (int)ruleset;
    return 0;
}

static int add(struct uvh_landlock *landlock, const struct stat *found, bool write)
{
    struct uvh_landlock_rule *rules =
        realloc(landlock->rules, (landlock->count + 1) * sizeof(*rules));
    if (rules == NULL)
        return ENOMEM;
    landlock->rules = rules;
    rules[landlock->count++] =
        (struct uvh_landlock_rule){.device = found->st_dev, .inode = found->st_ino, .write = write};
    return 0;
}

int uvh_landlock_allow(struct uvh_landlock *landlock, const char *path, bool write)
{
    struct stat found;
    int descriptor = open(path, O_PATH | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &found) != 0) {
        int err = errno;
        if (descriptor >= 0)
            close(descriptor);
        return err;
    }
    uint64_t rights = (write ? READ | WRITE : READ) & landlock->handled;
    if (!S_ISDIR(found.st_mode))
        rights &= OF_FILES;
    const struct landlock_path_beneath_attr rule = {.allowed_access = rights,
                                                    .parent_fd = descriptor};
    int err = syscall(SYS_landlock_add_rule, landlock->ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule,
                      0U) == 0
                  ? add(landlock, &found, write)
                  : errno;
    if (strcmp(path, "/proc/self") == 0 && landlock->self == 0)
        landlock->self = descriptor;
    else
        close(descriptor);
    /* A pipe has no rule, and needs none. */
    return err == EBADFD ? 0 : err;
}

int uvh_landlock_end(struct uvh_landlock *landlock)
{
    int err = syscall(SYS_landlock_restrict_self, landlock->ruleset, 0U) == 0 ? 0 : errno;
    close(landlock->ruleset);
    landlock->ruleset = 0;
    return err;
}

static bool has_rule(const struct uvh_landlock *landlock, const struct stat *found, bool write)
{
    for (size_t i = 0; i < landlock->count; i++) {
        const struct uvh_landlock_rule *rule = &landlock->rules[i];
        if (rule->device == found->st_dev && rule->inode == found->st_ino &&
            (rule->write || !write))
            return true;
    }
    return false;
}

bool uvh_landlock_allows(const struct uvh_landlock *landlock, const char *path, bool write)
{
    struct stat found;
    char *above = realpath(path, NULL);
    bool allowed = false, more = above != NULL;
    while (more && !allowed) {
        allowed = stat(above, &found) == 0 && has_rule(landlock, &found, write);
        more = strcmp(above, "/") != 0;
        char *slash = strrchr(above, '/');
        slash[slash == above] = '\0';
    }
    free(above);
    return allowed;
}

void uvh_landlock_release(struct uvh_landlock *landlock)
{
    if (landlock->ruleset > 0)
        close(landlock->ruleset);
    if (landlock->self > 0)
        close(landlock->self);
    free(landlock->rules);
    *landlock = (struct uvh_landlock){.rules = NULL};
}
