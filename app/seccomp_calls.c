/* See seccomp_calls.h. */
#include "seccomp_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <seccomp.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41 /* names memory */
#endif

/* Names that an architecture or libseccomp does not have are skipped. Those with rules for their
 * arguments are below. Not here: to execute programs and start processes, to change users, to trace
 * other processes, to mount, and whatever else administers the machine. */
static const char *const names[] = {
    /* memory */
    "brk", "madvise", "mincore", "mmap", "mmap2", "mprotect", "mremap", "munmap", "membarrier",
    /* threads and signals */
    "exit", "exit_group", "futex", "futex_time64", "get_robust_list", "getcpu", "getpid", "getppid",
    "getpgrp", "getpgid", "gettid", "restart_syscall", "rseq", "rt_sigaction", "rt_sigpending",
    "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait", "rt_sigtimedwait_time64",
    "sched_getaffinity", "sched_yield", "set_robust_list", "sigaltstack", "sigreturn",
    /* time and numbers */
    "clock_getres", "clock_getres_time64", "clock_gettime", "clock_gettime64", "clock_nanosleep",
    "clock_nanosleep_time64", "getrandom", "gettimeofday", "nanosleep", "time",
    /* the process */
    "getegid", "geteuid", "getgid", "getgroups", "getresgid", "getresuid", "getrlimit", "getrusage",
    "getuid", "sysinfo", "ugetrlimit", "umask", "uname",
    /* events */
    "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd2",
    "memfd_create", "pipe2", "poll", "ppoll", "ppoll_time64", "pselect6", "pselect6_time64",
    "select", "_newselect",
    /* sockets */
    "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen",
    "recvfrom", "recvmmsg", "recvmmsg_time64", "recvmsg", "setsockopt", "shutdown",
    /* descriptors */
    "close", "close_range", "copy_file_range", "dup", "dup2", "dup3", "fadvise64", "fadvise64_64",
    "fallocate", "fdatasync", "flock", "fsync", "ftruncate", "ftruncate64", "_llseek", "lseek",
    "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readv",
    "sendfile", "sendfile64", "splice", "write", "writev",
    /* files */
    "access", "chown", "chown32", "faccessat", "faccessat2", "fchown", "fchown32", "fchownat",
    "fstat", "fstat64", "fstatat64", "fstatfs", "fstatfs64", "getcwd", "getdents64",
    "inotify_add_watch", "inotify_init1", "inotify_rm_watch", "lchown", "link", "linkat", "lstat",
    "lstat64", "mkdir", "mkdirat", "newfstatat", "open", "openat", "openat2", "readlink",
    "readlinkat", "rename", "renameat", "renameat2", "rmdir", "stat", "stat64", "statfs",
    "statfs64", "statx", "unlink", "unlinkat", "utimensat"};

/* No UDP, and no other protocol over IP: Landlock only restricts connections of TCP. */
static const struct {
    int family, type, protocol;
} sockets[] = {
    {AF_INET, SOCK_STREAM, 0},
    {AF_INET, SOCK_STREAM, IPPROTO_TCP},
    {AF_INET6, SOCK_STREAM, 0},
    {AF_INET6, SOCK_STREAM, IPPROTO_TCP},
    {AF_UNIX, SOCK_STREAM, 0},
    {AF_UNIX, SOCK_DGRAM, 0},
    {AF_NETLINK, SOCK_RAW, 0 /* addresses of the machine */},
};
/* None sets the receiver of signals (F_SETOWN). */
static const int commands[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD,
                               F_GETFL, F_SETFL,         F_SETLK, F_SETLKW};
static const unsigned long requests[] = {FIONBIO, FIONREAD, FIOCLEX, TCGETS, TIOCGPGRP, TIOCGWINSZ};
static const int controls[] = {PR_SET_NAME, PR_SET_VMA};

#define TYPE_MASK 0xf /* SOCK_NONBLOCK and SOCK_CLOEXEC are above */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int allow(scmp_filter_ctx filter, const char *name)
{
    int call = seccomp_syscall_resolve_name(name);
    return call == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
}

static int allow_with(scmp_filter_ctx filter, int call, struct scmp_arg_cmp argument)
{
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &argument);
}

/* A thread may be started, but no process. The arguments of clone3 are in memory, where they cannot
 * be checked, so it fails, and the C library uses clone. */
static int allow_threads(scmp_filter_ctx filter)
{
#ifdef __s390x__
    return allow_with(filter, SCMP_SYS(clone),
                      SCMP_A1(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
#else
    return allow_with(filter, SCMP_SYS(clone),
                      SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
#endif
}

static int allow_socket(scmp_filter_ctx filter, size_t i)
{
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 3,
                            SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)sockets[i].family, 0),
                            SCMP_A1(SCMP_CMP_MASKED_EQ, TYPE_MASK, (scmp_datum_t)sockets[i].type),
                            SCMP_A2(SCMP_CMP_EQ, (scmp_datum_t)sockets[i].protocol, 0));
}

static int allow_command(scmp_filter_ctx filter, int command)
{
    struct scmp_arg_cmp argument = SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)command, 0);
    int err = allow_with(filter, SCMP_SYS(fcntl), argument);
    return err == 0 ? allow_with(filter, SCMP_SYS(fcntl64), argument) : err;
}

static int add_rules(scmp_filter_ctx filter)
{
    int err = allow_threads(filter);
    for (size_t i = 0; i < COUNT(names) && err == 0; i++)
        err = allow(filter, names[i]);
    for (size_t i = 0; i < COUNT(sockets) && err == 0; i++)
        err = allow_socket(filter, i);
    for (size_t i = 0; i < COUNT(commands) && err == 0; i++)
        err = allow_command(filter, commands[i]);
    const struct {
        int call;
        struct scmp_arg_cmp argument;
    } others[] = {
        {SCMP_SYS(socketpair), SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0)},
        /* a connection of TCP Fast Open, which Landlock does not see */
        {SCMP_SYS(sendto), SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0)},
        {SCMP_SYS(sendmsg), SCMP_A2(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0)},
        {SCMP_SYS(sendmmsg), SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0)},
        /* other processes */
        {SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0)},
        {SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_EQ, 0, 0)},
        /* programs with the privileges of their owners */
        {SCMP_SYS(chmod), SCMP_A1(SCMP_CMP_MASKED_EQ, S_ISUID | S_ISGID, 0)},
        {SCMP_SYS(fchmod), SCMP_A1(SCMP_CMP_MASKED_EQ, S_ISUID | S_ISGID, 0)},
        {SCMP_SYS(fchmodat), SCMP_A2(SCMP_CMP_MASKED_EQ, S_ISUID | S_ISGID, 0)},
    };
    for (size_t i = 0; i < COUNT(others) && err == 0; i++)
        err = allow_with(filter, others[i].call, others[i].argument);
    for (size_t i = 0; i < COUNT(requests) && err == 0; i++)
        err = allow_with(filter, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_EQ, requests[i], 0));
    for (size_t i = 0; i < COUNT(controls) && err == 0; i++)
        err =
            allow_with(filter, SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)controls[i], 0));
    return err;
}

void uvh_seccomp_refuse_rings(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (filter != NULL &&
        seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(io_uring_setup), 0) == 0)
        (void)seccomp_load(filter);
    seccomp_release(filter);
}

int uvh_seccomp_restrict(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    if (filter == NULL)
        return ENOMEM;
    int err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1); /* all threads */
    if (err == 0)
        (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* from libseccomp 2.5 */
    if (err == 0)
        err = add_rules(filter);
    if (err == 0)
        err = seccomp_load(filter);
    seccomp_release(filter);
    return -err;
}
