/* See upgrade.h. The new process has the sockets as the descriptors 3, 4, ..., as those of systemd,
 * then one to report that it serves, and one to read the keys of tickets from. A variable of the
 * environment has the numbers of these. */
#include "upgrade.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <uvhttp/embedding.h>
#include <uvhttp/health.h>

#include "inherited.h"

#define VARIABLE "UVHTTP_UPGRADE"

enum { FIRST_SOCKET = 3 };

/* The path of the program is that of the start: a new version has the same. It may be a symbolic
 * link, which is then to the new version. */
static struct {
    char program[PATH_MAX];
    char **arguments;
} start;

/* What the older process says; nothing if there is none. */
static struct {
    size_t sockets;
    int ready, tickets; /* descriptors, or -1 */
    bool replace;
} new_process = {.ready = -1, .tickets = -1};

static void read_variable(void)
{
    const char *text = getenv(VARIABLE);
    unsigned long numbers[3] = {0};
    if (text == NULL || sscanf(text, "%4lu,%1lu,%1lu", &numbers[0], &numbers[1], &numbers[2]) != 3)
        return;
    new_process.sockets = numbers[0];
    new_process.ready = FIRST_SOCKET + (int)numbers[0];
    new_process.tickets = numbers[1] != 0 ? new_process.ready + 1 : -1;
    new_process.replace = numbers[2] != 0;
    unsetenv(VARIABLE); /* not for processes that this one starts */
}

void uvh_upgrade_remember(int argc, char **argv)
{
    struct stat named, running;
    ssize_t length = readlink("/proc/self/exe", start.program, sizeof(start.program) - 1);
    start.program[length > 0 ? length : 0] = '\0';
    if (argc > 0 && strchr(argv[0], '/') != NULL && strlen(argv[0]) < sizeof(start.program) &&
        stat(argv[0], &named) == 0 && stat("/proc/self/exe", &running) == 0 &&
        named.st_dev == running.st_dev && named.st_ino == running.st_ino)
        snprintf(start.program, sizeof(start.program), "%s", argv[0]);
    start.arguments = calloc((size_t)argc + 1, sizeof(*argv)); /* main.c changes `argv` */
    if (start.arguments == NULL)
        start.program[0] = '\0';
    else
        memcpy(start.arguments, argv, (size_t)argc * sizeof(*argv));
    read_variable();
}

static uvhttp_server_t *server_of(const struct uvh_upgrade *upgrade)
{
    return upgrade->servers[0];
}

/* ---- the descriptors of the new process ---- */

struct passed {
    uv_stdio_container_t *descriptors;
    size_t count, space;
    bool failed;
};

static void add(struct passed *passed, int descriptor)
{
    if (passed->count == passed->space) {
        size_t space = passed->space == 0 ? 16 : 2 * passed->space;
        uv_stdio_container_t *more =
            realloc(passed->descriptors, space * sizeof(*passed->descriptors));
        passed->failed |= more == NULL;
        if (more == NULL)
            return;
        passed->descriptors = more;
        passed->space = space;
    }
    uv_stdio_container_t *next = &passed->descriptors[passed->count++];
    next->flags = UV_INHERIT_FD;
    next->data.fd = descriptor;
}

static void add_socket(const uvhttp_listening_t *listening, void *arg)
{
    add(arg, listening->fd);
}

/* The keys fit into the buffer of a pipe. Returns its end for reading, or -1. */
static int open_tickets(const struct uvh_upgrade *upgrade)
{
    unsigned char state[UVHTTP_TLS_TICKET_STATE_SIZE];
    int ends[2];
    if (upgrade->tls == NULL || uvhttp_tls_save_tickets(upgrade->tls, state) != 0 ||
        pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    bool written = write(ends[1], state, sizeof(state)) == (ssize_t)sizeof(state);
    explicit_bzero(state, sizeof(state));
    close(ends[1]);
    if (written)
        return ends[0];
    close(ends[0]);
    return -1;
}

/* The environment without what is for this process only, and with ours. */
static char **make_environment(char *variable)
{
    static const char *const removed[] = {
        "LISTEN_PID=", "LISTEN_FDS=", "LISTEN_FDNAMES=", "WATCHDOG_PID=", VARIABLE "="};
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **environment = calloc(count + 2, sizeof(*environment));
    for (size_t i = 0; environment != NULL && i < count; i++) {
        bool keep = true;
        for (size_t k = 0; k < sizeof(removed) / sizeof(removed[0]); k++)
            keep = keep && strncmp(environ[i], removed[k], strlen(removed[k])) != 0;
        if (keep)
            environment[kept++] = environ[i];
    }
    if (environment != NULL)
        environment[kept] = variable;
    return environment;
}

/* ---- the old process ---- */

static void on_handle_closed(uv_handle_t *handle)
{
    struct uvh_upgrade *upgrade = handle->data;
    upgrade->open--;
}

static void close_handles(struct uvh_upgrade *upgrade)
{
    uv_handle_t *handles[] = {(uv_handle_t *)&upgrade->process, (uv_handle_t *)&upgrade->ready};
    for (size_t i = 0; i < 2; i++) {
        if (handles[i]->data == upgrade && !uv_is_closing(handles[i]))
            uv_close(handles[i], on_handle_closed);
    }
}

static void on_ended(uv_process_t *process, int64_t status, int signal)
{
    struct uvh_upgrade *upgrade = process->data;
    char reason[64];
    if (signal != 0)
        snprintf(reason, sizeof(reason), "signal %d", signal);
    else
        snprintf(reason, sizeof(reason), "status %lld", (long long)status);
    uvhttp_server_t *server = server_of(upgrade);
    if (upgrade->passed && (status != 0 || signal != 0))
        uvhttp_server_log(server, UVHTTP_LOG_ERROR, "upgrade: the new process has ended with %s",
                          reason);
    else if (!upgrade->passed) /* else it was stopped, or upgraded and has served to the end */
        uvhttp_server_log(server, UVHTTP_LOG_ERROR,
                          "upgrade: the new process has ended with %s before it served%s", reason,
                          uvhttp_server_is_ready(server, NULL, 0) ? "; this one goes on" : "");
    if (!upgrade->passed)
        upgrade->failed(upgrade->arg);
    close_handles(upgrade);
}

static void allocate(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    static char byte;
    (void)handle, (void)wanted;
    *buffer = uv_buf_init(&byte, 1);
}

static void on_ready(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct uvh_upgrade *upgrade = stream->data;
    (void)buffer;
    if (count == 0)
        return;
    uv_read_stop(stream);
    if (count < 0)
        return; /* on_ended follows */
    upgrade->passed = upgrade->done(upgrade->process.pid, upgrade->arg);
    if (!upgrade->passed)
        (void)uv_process_kill(&upgrade->process, SIGTERM);
}

static int spawn(struct uvh_upgrade *upgrade, struct passed *passed, int tickets)
{
    char variable[96];
    size_t sockets = passed->count - FIRST_SOCKET;
    snprintf(variable, sizeof(variable), VARIABLE "=%zu,%d,%d", sockets, tickets >= 0,
             uvh_inherited_replaces());
    add(passed, -1);
    if (tickets >= 0)
        add(passed, tickets);
    char **environment = make_environment(variable);
    if (environment == NULL || passed->failed) {
        free(environment);
        return UV_ENOMEM;
    }
    uv_stdio_container_t *ready = &passed->descriptors[FIRST_SOCKET + sockets];
    ready->flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE; /* for the new process */
    ready->data.stream = (uv_stream_t *)&upgrade->ready;
    uv_process_options_t options = {.file = start.program,
                                    .args = start.arguments,
                                    .env = environment,
                                    .exit_cb = on_ended,
                                    .stdio = passed->descriptors,
                                    .stdio_count = (int)passed->count};
    int err = uv_spawn(upgrade->loop, &upgrade->process, &options);
    free(environment);
    return err;
}

static int start_process(struct uvh_upgrade *upgrade)
{
    struct passed passed = {.count = 0};
    for (int i = 0; i < FIRST_SOCKET; i++)
        add(&passed, i);
    for (size_t i = 0; i < UVH_UPGRADE_SERVERS; i++) {
        if (upgrade->servers[i] != NULL)
            (void)uvhttp_server_each_listening(upgrade->servers[i], add_socket, &passed);
    }
    int tickets = open_tickets(upgrade);
    int err = uv_pipe_init(upgrade->loop, &upgrade->ready, 0);
    upgrade->ready.data = upgrade;
    upgrade->open = err == 0;
    if (err == 0) {
        err = passed.failed ? UV_ENOMEM : spawn(upgrade, &passed, tickets);
        upgrade->process.data = upgrade; /* also after an error it must be closed */
        upgrade->open++;
    }
    if (tickets >= 0)
        close(tickets);
    free(passed.descriptors);
    return err != 0 ? err : uv_read_start((uv_stream_t *)&upgrade->ready, allocate, on_ready);
}

void uvh_upgrade_start(struct uvh_upgrade *upgrade)
{
    uvhttp_server_t *server = server_of(upgrade);
    if (upgrade->open > 0 || upgrade->passed) {
        uvhttp_server_log(server, UVHTTP_LOG_WARNING,
                          "upgrade: process %d has been started and does not serve yet; to start "
                          "another one, end it",
                          (int)upgrade->process.pid);
        return;
    }
    if (start.program[0] == '\0') {
        uvhttp_server_log(server, UVHTTP_LOG_ERROR,
                          "upgrade: the path of the program is not known; is /proc mounted?");
        return;
    }
    upgrade->loop = uvhttp_server_loop(server);
    upgrade->process.data = upgrade->ready.data = NULL;
    int err = start_process(upgrade);
    if (err != 0) {
        uvhttp_server_log(server, UVHTTP_LOG_ERROR, "upgrade: '%s' cannot be started: %s",
                          start.program, uvhttp_strerror(err));
        close_handles(upgrade);
        return;
    }
    uv_unref((uv_handle_t *)&upgrade->process);
    uv_unref((uv_handle_t *)&upgrade->ready);
    uvhttp_server_log(server, UVHTTP_LOG_INFO, "upgrade: process %d starts",
                      (int)upgrade->process.pid);
}

void uvh_upgrade_stop(struct uvh_upgrade *upgrade)
{
    if (upgrade->open == 0)
        return;
    if (!upgrade->passed && uv_is_active((uv_handle_t *)&upgrade->process))
        (void)uv_process_kill(&upgrade->process, SIGTERM);
    close_handles(upgrade);
    while (upgrade->open > 0)
        uv_run(upgrade->loop, UV_RUN_ONCE);
}

/* ---- the new process ---- */

size_t uvh_upgrade_sockets(bool *replace)
{
    *replace = new_process.replace;
    return new_process.sockets;
}

void uvh_upgrade_restore_tickets(uvhttp_tls_t *tls)
{
    unsigned char state[UVHTTP_TLS_TICKET_STATE_SIZE];
    if (new_process.tickets < 0)
        return;
    bool whole = read(new_process.tickets, state, sizeof(state)) == (ssize_t)sizeof(state);
    close(new_process.tickets);
    new_process.tickets = -1;
    if (whole && tls != NULL)
        (void)uvhttp_tls_restore_tickets(tls, state);
    explicit_bzero(state, sizeof(state));
}

bool uvh_upgrade_is_awaited(void)
{
    return new_process.ready >= 0;
}

void uvh_upgrade_tell_ready(void)
{
    if (new_process.ready < 0)
        return;
    (void)!write(new_process.ready, "", 1);
    close(new_process.ready);
    new_process.ready = -1;
}
