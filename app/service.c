/* See service.h. Messages are sent as sd_notify(3) describes; errors are ignored, as there. */
#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

int uvh_service_ready(struct uvh_service *service, uvhttp_server_t *server)
{
    char text[64];
    uint32_t interval = watchdog_ms();
    service->workers = uvhttp_server_worker_count(server);
    atomic_store(&service->alive, service->workers);
    snprintf(text, sizeof(text), "READY=1\nMAINPID=%ld\nSTATUS=serving", (long)getpid());
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

void uvh_service_replaced(struct uvh_service *service, long pid)
{
    char text[64];
    snprintf(text, sizeof(text), "MAINPID=%ld\nREADY=1\nSTATUS=serving", pid);
    send_message(text);
    service->pid_file = NULL;
}

/* ---- the pid file ---- */

bool uvh_service_write_pid(struct uvh_service *service, const struct uvh_text *path,
                           struct uvh_problems *problems)
{
    char text[32];
    int size = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    if (path->text == NULL)
        return true;
    int descriptor = open(path->text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool written = descriptor >= 0 && write(descriptor, text, (size_t)size) == size;
    int error = errno;
    if (descriptor >= 0)
        close(descriptor);
    if (!written)
        uvh_problems_add(problems, path->mark, "the pid file '%s' cannot be written: %s%s",
                         path->text, uvhttp_strerror(-error), uvh_user_files_advice(-error));
    service->pid_file = written ? path->text : NULL;
    return written;
}

void uvh_service_remove_pid(struct uvh_service *service)
{
    if (service->pid_file != NULL)
        unlink(service->pid_file); /* not permitted to another user: the next start writes it */
}

long uvh_service_main_pid(void)
{
    const char *text = getenv("MAINPID");
    long pid = text == NULL ? -1 : strtol(text, NULL, 10);
    return pid > 0 ? pid : -1;
}

long uvh_service_read_pid(const char *path)
{
    char text[32] = "", *end;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = descriptor < 0 ? -1 : read(descriptor, text, sizeof(text) - 1);
    int error = errno;
    if (descriptor >= 0)
        close(descriptor);
    long pid = strtol(text, &end, 10);
    if (size < 0)
        fprintf(stderr, "uvhttp: the pid file '%s' cannot be read: %s; is the server running?\n",
                path, strerror(error));
    else if (pid <= 0 || (*end != '\n' && *end != '\0'))
        fprintf(stderr, "uvhttp: the pid file '%s' has no process id\n", path);
    else if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        fprintf(stderr, "uvhttp: process %ld of the pid file '%s' does not run\n", pid, path);
    else
        return pid;
    return -1;
}
