/* See hangup.h. */
#include "hangup.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <uvhttp/embedding.h>
#include <uvhttp/health.h>

#include "service.h"

/* True if the process has a controlling terminal. */
static bool has_terminal(void)
{
    int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (terminal >= 0)
        close(terminal);
    return terminal >= 0;
}

static bool is_ignored(void)
{
    struct sigaction action;
    return sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct uvh_hangup *hangup = signal->data;
    if (number == SIGQUIT || (number == SIGHUP && hangup->stops && !has_terminal())) {
        uvhttp_server_log(hangup->server, UVHTTP_LOG_INFO, "signal %s",
                          number == SIGQUIT ? "SIGQUIT" : "SIGHUP");
        uvhttp_server_stop(hangup->server);
        return;
    }
    if ((number == SIGHUP || number == SIGUSR2) &&
        !uvhttp_server_is_ready(hangup->server, NULL, 0)) /* it stops */
        return;
    hangup->act(number, hangup->arg);
}

static void ignore(uv_signal_t *signal, int number)
{
    (void)signal, (void)number;
}

/* From here on to the end of the process a signal must not end it: the status is that of the
 * regular stop. libuv restores the default action with the last handle of a signal, so these are on
 * a loop that is never closed. */
static void keep_handlers(uvhttp_server_t *server, void *arg)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT};
    static uv_loop_t loop;
    static uv_signal_t signals[sizeof(numbers) / sizeof(numbers[0])];
    (void)server;
    struct uvh_hangup *hangup = arg;
    if (!hangup->replaced)
        uvh_service_stopping();
    if (uv_loop_init(&loop) != 0)
        return;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (uv_signal_init(&loop, &signals[i]) == 0)
            (void)uv_signal_start(&signals[i], ignore, numbers[i]);
    }
}

int uvh_hangup_start(struct uvh_hangup *hangup, uvhttp_server_t *server, bool with_terminal)
{
    static const int numbers[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT};
    hangup->server = server;
    hangup->stops = with_terminal && !is_ignored() && has_terminal();
    uvhttp_server_on_stopping(server, keep_handlers, hangup);
    int err = 0;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && err == 0; i++) {
        uv_signal_t *signal = &hangup->signals[i];
        err = uv_signal_init(uvhttp_server_loop(server), signal);
        if (err != 0)
            break;
        hangup->started++;
        signal->data = hangup;
        uv_unref((uv_handle_t *)signal);
        err = uv_signal_start(signal, on_signal, numbers[i]);
    }
    return err;
}

void uvh_hangup_stop(struct uvh_hangup *hangup)
{
    if (hangup->started == 0)
        return;
    while (hangup->started > 0)
        uv_close((uv_handle_t *)&hangup->signals[--hangup->started], NULL);
    uv_run(uvhttp_server_loop(hangup->server), UV_RUN_NOWAIT);
}
