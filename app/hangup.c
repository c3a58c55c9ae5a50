/* See hangup.h. Called by serve.c and run.c. */
#include "hangup.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

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
    (void)number;
    struct uvh_hangup *hangup = signal->data;
    if (hangup->stops && !has_terminal()) {
        uvhttp_server_stop(hangup->server);
        return;
    }
    if (hangup->access_log != NULL)
        uvhttp_access_log_reopen(hangup->access_log);
    uvh_tls_reload(hangup->tls);
}

int uvh_hangup_start(struct uvh_hangup *hangup, uvhttp_server_t *server,
                     uvhttp_access_log_t *access_log, struct uvh_tls *tls, bool with_terminal)
{
    *hangup = (struct uvh_hangup){.server = server, .access_log = access_log, .tls = tls};
    hangup->stops = with_terminal && !is_ignored() && has_terminal();
    int err = uv_signal_init(uvhttp_server_loop(server), &hangup->signal);
    if (err != 0)
        return err;
    hangup->started = true;
    hangup->signal.data = hangup;
    uv_unref((uv_handle_t *)&hangup->signal);
    return uv_signal_start(&hangup->signal, on_signal, SIGHUP);
}

void uvh_hangup_stop(struct uvh_hangup *hangup)
{
    if (!hangup->started)
        return;
    hangup->started = false;
    uv_close((uv_handle_t *)&hangup->signal, NULL);
    uv_run(uvhttp_server_loop(hangup->server), UV_RUN_NOWAIT);
}
