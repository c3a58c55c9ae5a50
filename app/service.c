/* See service.h. Messages are sent as sd_notify(3) describes; errors are ignored, as there. */
#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <uvhttp/error.h>

#include "user_files.h"

/* ---- messages ---- */

static void send_message(const char *text)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = path == NULL ? 0 : strlen(path);
    if (length == 0 || length >= sizeof(address.sun_path))
        return;
    memcpy(address.sun_path, path, length);
    if (*path == '@') /* the abstract namespace of Linux */
        address.sun_path[0] = '\0';
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0)
        return;
    (void)sendto(descriptor, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(descriptor);
}

static void answer(uvhttp_server_t *server, size_t worker, void *arg)
{
    struct uvh_service *service = arg;
    (void)server, (void)worker;
    atomic_fetch_add(&service->alive, 1);
}

/* Without the message of one worker there is none for systemd, which then ends the process. */
static void on_tick(uvhttp_server_t *server, void *arg)
{
    struct uvh_service *service = arg;
    if (atomic_load(&service->alive) < service->workers)
        return;
    atomic_store(&service->alive, 0);
    send_message("WATCHDOG=1");
    for (size_t i = 0; i < service->workers; i++) {
        if (uvhttp_server_post(server, i, answer, service) != 0)
            atomic_fetch_add(&service->alive, 1); /* out of memory, or it has ended */
    }
}

/* The variables are those of another process if this one is its child. */
static uint32_t watchdog_ms(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    if (usec == NULL || (pid != NULL && strtol(pid, NULL, 10) != (long)getpid()))
        return 0;
    unsigned long long interval = strtoull(usec, NULL, 10) / 1000;
    return interval > UINT32_MAX ? UINT32_MAX : (uint32_t)interval;
}

int uvh_service_ready(struct uvh_service *service, uvhttp_server_t *server, bool tells)
{
    char text[64];
    uint32_t interval = watchdog_ms();
    service->workers = uvhttp_server_worker_count(server);
    atomic_store(&service->alive, service->workers);
    snprintf(text, sizeof(text), "READY=1\nMAINPID=%ld\nSTATUS=serving", (long)getpid());
    if (tells)
        send_message(text);
    /* three messages in the interval: one may be late */
    return interval == 0 ? 0
                         : uvhttp_server_every(server, interval / 3 > 0 ? interval / 3 : 1, on_tick,
                                               service, NULL);
}

void uvh_service_reloading(void)
{
    struct timespec now;
    char text[64];
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
             (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
    send_message(text);
}

void uvh_service_reloaded(const char *status)
{
    char text[128];
    snprintf(text, sizeof(text), "READY=1\nSTATUS=%s", status);
    send_message(text);
}

void uvh_service_stopping(void)
{
    send_message("STOPPING=1\nSTATUS=stopping");
}

void uvh_service_replaced(long pid)
{
    char text[64];
    snprintf(text, sizeof(text), "MAINPID=%ld\nREADY=1\nSTATUS=serving", pid);
    send_message(text);
}

/* ---- the pid file ---- */

/* False with errno. */
static bool write_pid(const char *path)
{
    char text[32];
    int size = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    int descriptor = open(path, flags, 0644);
    /* after an upgrade: that of the older process, which was root when it wrote it */
    if (descriptor < 0 && errno == EACCES && unlink(path) == 0)
        descriptor = open(path, flags, 0644);
    bool written = descriptor >= 0 && write(descriptor, text, (size_t)size) == size;
    int error = errno;
    if (descriptor >= 0)
        close(descriptor);
    errno = error;
    return written;
}

bool uvh_service_write_pid(struct uvh_service *service, const struct uvh_text *path,
                           struct uvh_problems *problems)
{
    if (path->text == NULL)
        return true;
    bool written = write_pid(path->text);
    if (!written)
        uvh_problems_add(problems, path->mark, "the pid file '%s' cannot be written: %s%s",
                         path->text, uvhttp_strerror(-errno), uvh_user_files_advice(-errno));
    service->pid_file = written ? path->text : NULL;
    return written;
}

/* The first bytes of a file as a string. False, with errno, if it cannot be read. */
static bool read_start(const char *path, char text[32])
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = descriptor < 0 ? -1 : read(descriptor, text, 31);
    int error = errno;
    if (descriptor >= 0)
        close(descriptor);
    text[size > 0 ? size : 0] = '\0';
    errno = error;
    return size >= 0;
}

/* -1: none. */
static long parse_pid(const char *text)
{
    char *end;
    long pid = strtol(text, &end, 10);
    return pid > 0 && pid <= INT_MAX && (*end == '\n' || *end == '\0') ? pid : -1;
}

/* It may have that of a process which replaces this one, or was started with the same file. */
static bool has_own_pid(const char *path)
{
    char text[32];
    return read_start(path, text) && parse_pid(text) == (long)getpid();
}

void uvh_service_restore_pid(struct uvh_service *service)
{
    if (service->pid_file != NULL && !has_own_pid(service->pid_file))
        (void)write_pid(service->pid_file);
}

void uvh_service_remove_pid(struct uvh_service *service)
{
    if (service->pid_file != NULL && has_own_pid(service->pid_file))
        unlink(service->pid_file); /* not permitted to another user: the next start writes it */
}

long uvh_service_main_pid(void)
{
    const char *text = getenv("MAINPID");
    long pid = text == NULL ? -1 : strtol(text, NULL, 10);
    return pid > 0 ? pid : -1;
}

/* A stale file may have the number of any process. True, with its name, if that is not ours;
 * without /proc it is not known. */
static bool is_other_program(long pid, char name[32])
{
    char path[64], own[32];
    snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
    if (!read_start(path, name) || !read_start("/proc/self/comm", own) || strcmp(name, own) == 0)
        return false;
    name[strcspn(name, "\n")] = '\0';
    return true;
}

long uvh_service_read_pid(const char *path)
{
    char text[32], name[32];
    bool found = read_start(path, text);
    int error = errno;
    long pid = parse_pid(text);
    if (!found)
        fprintf(stderr, "uvhttp: the pid file '%s' cannot be read: %s; is the server running?\n",
                path, strerror(error));
    else if (pid < 0)
        fprintf(stderr, "uvhttp: the pid file '%s' has no process id\n", path);
    else if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        fprintf(stderr, "uvhttp: process %ld of the pid file '%s' does not run\n", pid, path);
    else if (is_other_program(pid, name))
        fprintf(stderr,
                "uvhttp: process %ld of the pid file '%s' is another program, '%s'; if the server "
                "does not run, remove the file\n",
                pid, path, name);
    else
        return pid;
    return -1;
}
