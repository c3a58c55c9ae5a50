/* The program's own signal handlers are kept. */
#include "platform/signals.h"

#include <signal.h>
#include <stddef.h>

static void ignore_unless_set(int number)
{
    struct sigaction action;
    if (sigaction(number, NULL, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 ||
        action.sa_handler != SIG_DFL)
        return;
    action.sa_handler = SIG_IGN;
    sigaction(number, &action, NULL);
}

void uvh_signals_ignore_failed_writes(void)
{
    ignore_unless_set(SIGPIPE);
    ignore_unless_set(SIGXFSZ);
}
