/* Loaded into a confined program (LD_PRELOAD): at SIGURG it tries what a confined process must not
 * do, and writes a line with the error number of each attempt. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void report(const char *what, long result)
{
    char line[80];
    int length = snprintf(line, sizeof(line), "probe %s %d\n", what, result < 0 ? errno : 0);
    (void)!write(STDERR_FILENO, line, (size_t)length);
}

static long connect_to(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtol(port, NULL, 10))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof(address));
}

static long connect_fast(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtol(port, NULL, 10))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return sendto(socket(AF_INET, SOCK_STREAM, 0), "x", 1, MSG_FASTOPEN,
                  (struct sockaddr *)&address, sizeof(address));
}

static void probe(int number)
{
    char *arguments[] = {"true", NULL};
    struct rlimit limit;
    (void)number;
    report("fork", syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
    report("execve", syscall(SYS_execve, "/bin/true", arguments, NULL));
    report("ptrace", syscall(SYS_ptrace, 0, 0, 0, 0));
    report("mount", syscall(SYS_mount, "", "/", "", 0, NULL));
    report("unshare", syscall(SYS_unshare, 0));
    report("bpf", syscall(SYS_bpf, 0, NULL, 0));
    report("keyctl", syscall(SYS_keyctl, 0, 0));
    report("init_module", syscall(SYS_init_module, NULL, 0, ""));
    report("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
    report("setuid", syscall(SYS_setuid, getuid()));
    report("kill", syscall(SYS_kill, getppid(), 0));
    report("process_vm_readv", syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0));
    report("tgkill", syscall(SYS_tgkill, getppid(), getppid(), 0));
    report("signal_owner", fcntl(STDERR_FILENO, F_SETOWN, getppid()));
    report("limits", syscall(SYS_prlimit64, getppid(), RLIMIT_CPU, NULL, &limit));
    report("setuid_file", chmod(getenv("PROBE_FILE"), 04755));
    report("fast_open", connect_fast(getenv("PROBE_PORT")));
    report("mptcp", socket(AF_INET, SOCK_STREAM, 262));
    report("udp", socket(AF_INET6, SOCK_DGRAM, 0));
    report("raw", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
    report("memory_file", memfd_create("probe", MFD_CLOEXEC));
    report("ring_enter", syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
    report("limits_of_group", open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    report("packet", socket(AF_PACKET, SOCK_RAW, 0));
    report("terminal", ioctl(STDERR_FILENO, TIOCSTI, ""));
    report("dumpable", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
    report("read", open(getenv("PROBE_FILE"), O_RDONLY | O_CLOEXEC));
    report("create", open(getenv("PROBE_NEW"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    report("null", open("/dev/null", O_RDWR | O_CLOEXEC));
    report("connect", connect_to(getenv("PROBE_PORT")));
    report("end", 0);
}

__attribute__((constructor)) static void install(void)
{
    signal(SIGURG, probe);
}
