/* See null_rows.h. */
#include "support/null_rows.h"

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

sigjmp_buf null_rows_jump;

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };

static struct sigaction previous[SIGNALS];
static const char *current_function, *current_parameter;
static int rows, failed;
static volatile sig_atomic_t crashed;

static void on_crash(int number)
{
    crashed = number;
    siglongjmp(null_rows_jump, 1);
}

void null_rows_begin(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_crash;
    action.sa_flags = SA_NODEFER;
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &action, &previous[i]);
    rows = failed = 0;
}

void null_rows_enter(const char *function, const char *parameter)
{
    current_function = function;
    current_parameter = parameter;
    crashed = 0;
    rows++;
}

void null_rows_leave(bool passed)
{
    if (passed)
        return;
    failed++;
    print_error("%s with `%s` NULL: %s\n", current_function, current_parameter,
                crashed == 0 ? "returns something else than its header says"
                             : strsignal((int)crashed));
}

void null_rows_end(void)
{
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &previous[i], NULL);
    if (failed > 0)
        fail_msg("%d of %d rows failed", failed, rows);
    assert_true(rows > 0);
}
